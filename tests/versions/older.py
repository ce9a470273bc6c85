"""What the runs on older versions leave out: what is said of a fixture holds for every test that is given it.

Here: `leave_out`. Never here: what a certain version lacks (`oldest`, `middle`).
"""

from collections.abc import Iterable
from typing import Any

import pytest

from fixtures import FIXTURES, Fixture

SERVERS = {"dev_server", "mortal_server", "backend"}
"""Fixtures that are servers, which serve all graphs."""


def leave_out(items: list[pytest.Item], otherwise: Iterable[str], *, models: str | None = None) -> None:
    """Makes `newest` the tests whose names begin like one of `otherwise`, those that are given a fixture of the newest
    versions or a model whose name begins with `models`, and those of servers."""
    names = tuple(otherwise)
    for item in items:
        given = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        served = SERVERS & set(getattr(item, "fixturenames", ()))
        if served or item.name.startswith(names) or any(_needs_more(value, models) for value in given):
            item.add_marker("newest")


def _needs_more(value: Any, models: str | None) -> bool:
    kind = type(value)  # not isinstance: some parameters raise when they are looked at
    if kind is Fixture:
        return bool(value.newest)
    if kind is str:
        is_model = models is not None and value.startswith(models)
        return is_model or (value in FIXTURES and FIXTURES[value].newest)
    return kind is tuple and any(_needs_more(each, models) for each in value)
