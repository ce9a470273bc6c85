"""What a sweep looks at: `make test` looks at some of its cases, `make sweep` at all of them.

A sweep goes through many cases of one rule, such as the cuts of recorded runs. Its tests that look at all are marked
`sweep`. The choice is the same each time, and spread over all fixtures. That clients accept a stream and end with the
checkpoint is tested on each of them, live. Another rule is tested on a share of them, each file on other ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet

_Case = TypeVar("_Case")

SWEEP = pytest.mark.sweep
_SOME = 4


class Choice(Protocol):
    """Chooses among the cases of a sweep, by the name of what they are cases of."""

    def __call__(self, cases: Sequence[_Case], name: str, /) -> Sequence[_Case]: ...


def some(cases: Sequence[_Case], name: str) -> Sequence[_Case]:
    """About four of them, in even distances; for another name they begin at another place."""
    step = max(1, len(cases) // _SOME)
    return cases[crc32(name.encode()) % step :: step]


def one(cases: Sequence[_Case], name: str) -> Sequence[_Case]:
    """One of them, if there are any; for another name another one."""
    return [cases[crc32(name.encode()) % len(cases)]] if cases else []


def every(cases: Sequence[_Case], name: str) -> Sequence[_Case]:
    """All of them."""
    return cases


CHOSEN = pytest.mark.parametrize("chosen", [some, pytest.param(every, marks=SWEEP)], ids=["some", "every"])
"""A test that is given `chosen`, a `Choice`: it looks at some of its cases, and in a sweep at all."""


def one_each(cases: Iterable[str], variants: Sequence[str], *, begin: int = 0, of: int = 1) -> list[ParameterSet]:
    """Pairs of a case and a variant: see `in_turn`. Every case has all variants."""
    return in_turn(dict.fromkeys(cases, variants), begin=begin, of=of)


def in_turn(cases: Mapping[str, Sequence[str]], *, begin: int = 0, of: int = 1) -> list[ParameterSet]:
    """Pairs of a case and a variant, as parameters: each case with one of its variants, in turn. The other pairs are
    those of the sweep.

    `begin` is the number of the first case: tests of the same cases with another one look at other variants. Of `of`
    cases one is tested, and the others are those of the sweep.
    """
    found = []
    for number, (case, variants) in enumerate(cases.items(), begin):
        tested = variants[number // of % len(variants)] if number % of == 0 else None
        for variant in variants:
            marks: Any = () if variant == tested else SWEEP
            found.append(pytest.param(case, variant, id=f"{case}-{variant}", marks=marks))
    return found


def leave_out_sweeps(metafunc: pytest.Metafunc) -> None:
    """Leaves the cases of a sweep out of the parameters of a test, unless all of them are."""
    parametrize = metafunc.parametrize

    def parametrized(argnames: Any, argvalues: Iterable[Any], *, ids: Any = None, **more: Any) -> None:
        values = list(argvalues)
        kept = [number for number, value in enumerate(values) if not _is_of_sweep(value)] or range(len(values))
        if isinstance(ids, Iterable):
            names = list(ids)
            ids = [names[number] for number in kept]
        parametrize(argnames, [values[number] for number in kept], ids=ids, **more)

    metafunc.parametrize = parametrized  # type: ignore[method-assign]


def _is_of_sweep(value: Any) -> bool:
    return isinstance(value, ParameterSet) and any(mark.name == SWEEP.name for mark in value.marks)
