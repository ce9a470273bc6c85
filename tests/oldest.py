"""A pytest plugin for the run on the oldest versions: what is said of a fixture holds for every test that is given it.

Loaded with `-p tests.oldest`, which `make test-versions` does beside `-m "not newest"`. A test over a fixture, or over
a provider's adapter, that the oldest versions do not have becomes one of the `newest`.
"""

from typing import Any

import pytest

from fixtures import FIXTURES, Fixture

GRPC = "google-"
"""The models whose adapter, in its version for langchain-core 1.0, speaks gRPC: no canned HTTP answers it."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests whose parameters need more than the oldest versions, or a server, which serves all fixtures."""
    for item in items:
        given = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        served = "dev_server" in getattr(item, "fixturenames", ())
        if served or any(_needs_more(value) for value in given):
            item.add_marker("newest")


def _needs_more(value: Any) -> bool:
    kind = type(value)  # not isinstance: some parameters raise when they are looked at
    if kind is Fixture:
        return bool(value.newest)
    if kind is str:
        return value.startswith(GRPC) or (value in FIXTURES and FIXTURES[value].newest)
    return kind is tuple and any(_needs_more(each) for each in value)
