"""The history of threads, for inspectors (`threads`). Its paths come before those of `copilotkit`, because
`/threads/{id}` matches longer ones too."""

from collections.abc import Iterator

from ..agents import AgentNames
from ..protocol import Endpoint
from .threads import endpoints as endpoints_of_threads


def endpoints(agents: AgentNames) -> Iterator[Endpoint]:
    """Yields all endpoints."""
    yield from endpoints_of_threads()


__all__ = ["endpoints"]
