"""Answers the requests of CopilotKit's client: runs and agents (`runs`, `info`), and threads (`threads`)."""

from collections.abc import Iterator

from ..agents import AgentNames
from ..protocol import Endpoint
from .runs import endpoints as endpoints_of_runs
from .threads import endpoints as endpoints_of_threads


def endpoints(agents: AgentNames) -> Iterator[Endpoint]:
    """Yields all endpoints."""
    yield from endpoints_of_runs()
    yield from endpoints_of_threads()


__all__ = ["endpoints"]
