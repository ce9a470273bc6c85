"""Plain AG-UI over HTTP: the requests of AG-UI's own client and of a bare `EventSource` (`runs`), and what clients may
send (`inputs`), and how a graph looks (`graphs`)."""

from collections.abc import Iterator

from ..agents import AgentNames
from ..protocol import Endpoint
from .graphs import endpoints as endpoints_of_graphs
from .inputs import endpoints as endpoints_of_inputs
from .runs import endpoints as endpoints_of_runs


def endpoints(agents: AgentNames) -> Iterator[Endpoint]:
    """Yields all endpoints."""
    yield from endpoints_of_runs(agents)
    yield from endpoints_of_inputs()
    yield from endpoints_of_graphs()


__all__ = ["endpoints"]
