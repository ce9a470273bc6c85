"""The servers that live tests run on, each by its name: `dev` is `langgraph dev`, `aegra` is Aegra.

Where an Aegra server cannot be started, `BACKENDS` leaves it out: no test of it is collected, and none is skipped.
What a server does not have is left out likewise: `not_on` says so of a test, `cases` of a table's rows.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.servers.platforms.aegra_server import has_aegra

_Row = TypeVar("_Row")

BACKENDS = ("dev", "aegra") if has_aegra() else ("dev",)

_SERVICES = frozenset({"mortal_server", "postgres", "redis_server"})
"""The fixtures that make a test one of `make test-services`."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A server that runs, with every fixture and gated graph."""

    name: str
    url: str

    @asynccontextmanager
    async def client(self) -> AsyncIterator[LangGraphClient]:
        """A client of its SDK, closed at the end of the block."""
        async with get_client(url=self.url) as client:
            yield client


def not_on(**reasons: str) -> pytest.MarkDecorator:
    """Marks a test that is not collected on these backends, each with the reason: `not_on(aegra="has no rollback")`."""
    return pytest.mark.not_on(**reasons)


def cases(names: Iterable[str], *, aegra: Mapping[str, str]) -> list[Any]:
    """Names, for `parametrize`; those that `aegra` has reasons for are not collected on Aegra."""
    return [pytest.param(name, marks=not_on(aegra=aegra[name])) if name in aegra else name for name in names]


def on(backend: Backend, rows: Mapping[str, _Row], *, aegra: Mapping[str, str]) -> dict[str, _Row]:
    """The rows of a table for this backend: those that `cases` has collected on it.

    Raises ValueError for a reason without a row.
    """
    if strange := aegra.keys() - rows.keys():
        raise ValueError(f"left out, but not there: {sorted(strange)}")
    return {name: row for name, row in rows.items() if not (backend.name == "aegra" and name in aegra)}


def is_left_out(item: pytest.Item) -> bool:
    """Whether a test is marked as not to be collected on the backend that it would run on."""
    backend = _backend_of(item)
    return any(backend in mark.kwargs for mark in item.iter_markers("not_on"))


def needs_services(item: pytest.Item) -> bool:
    """Whether a test runs on Aegra, Redis or PostgreSQL, or kills its server."""
    return _backend_of(item) == "aegra" or not _SERVICES.isdisjoint(getattr(item, "fixturenames", ()))


def _backend_of(item: pytest.Item) -> Any:
    """The backend that a test runs on, by the fixture `backend` or `place`."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    return params.get("backend") or params.get("place")
