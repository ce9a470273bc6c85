"""What a sweep looks at: `make test` looks at some of its cases, `make sweep` at all of them.

A sweep goes through many cases of one rule, such as the cuts of recorded runs. Its tests that look at all are marked
`sweep`. The choice is the same each time, and spread over all fixtures: the rule is tested on each of them.
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
    """One of them; for another name another one."""
    return [cases[crc32(name.encode()) % len(cases)]]


def every(cases: Sequence[_Case], name: str) -> Sequence[_Case]:
    """All of them."""
    return cases


CHOSEN = pytest.mark.parametrize("chosen", [some, pytest.param(every, marks=SWEEP)], ids=["some", "every"])
"""A test that is given `chosen`, a `Choice`: it looks at some of its cases, and in a sweep at all."""


def one_each(cases: Iterable[str], variants: Sequence[str], *, always: Sequence[str] = ()) -> list[ParameterSet]:
    """Pairs of a case and a variant: see `in_turn`. Every case has all variants."""
    return in_turn(dict.fromkeys(cases, variants), always=always)


def in_turn(cases: Mapping[str, Sequence[str]], *, always: Sequence[str] = ()) -> list[ParameterSet]:
    """Pairs of a case and a variant, as parameters: each case with one of its variants, in turn, and with those that
    are `always` tested. The other pairs are those of the sweep."""
    found = []
    for place, (case, variants) in enumerate(cases.items()):
        rest = [variant for variant in variants if variant not in always]
        tested = {*always, rest[place % len(rest)]} if rest else {*always}
        for variant in variants:
            marks: Any = () if variant in tested else SWEEP
            found.append(pytest.param(case, variant, id=f"{case}-{variant}", marks=marks))
    return found
