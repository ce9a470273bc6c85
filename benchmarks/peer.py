"""`ag-ui-langgraph` on the same graph, for comparison. Installed only for the benchmark."""

from __future__ import annotations

from typing import Any, NamedTuple

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from starlette.types import ASGIApp

from .graphs import ASKED


class MissingPeerError(Exception):
    """`ag-ui-langgraph` is not installed; the message says how to."""


class Peer(NamedTuple):
    """The peer's agent around a graph."""

    graph: Any
    raw: bool

    async def run(self, where: Any, state: Any = None) -> int:
        """One run, encoded; the bytes of it."""
        agent = self._agent()
        asked = RunAgentInput.model_validate(
            {
                "threadId": where["configurable"]["thread_id"],
                "runId": "run",
                "messages": ASKED["messages"],
                "state": state or {},
                "tools": [],
                "context": [],
                "forwardedProps": {},
            }
        )
        encoder = EventEncoder()
        return sum([len(encoder.encode(event).encode()) async for event in agent.run(asked)])

    def app(self, path: str) -> ASGIApp:
        """An app that serves it, as the peer's documentation has it."""
        from ag_ui_langgraph import add_langgraph_fastapi_endpoint
        from fastapi import FastAPI

        app = FastAPI()
        add_langgraph_fastapi_endpoint(app, self._agent(), path)
        return app

    def _agent(self) -> Any:
        return _agent_class()(name="agent", graph=self.graph, emit_raw_events=self.raw)


def require() -> None:
    """Raises `MissingPeerError` if the peer cannot be imported."""
    _agent_class()


def _agent_class() -> Any:
    try:
        from ag_ui_langgraph import LangGraphAgent
    except ImportError as error:
        raise MissingPeerError(
            f"the benchmark compares with ag-ui-langgraph, which cannot be imported ({error}):"
            " run `make bench`, or pip install --group bench, or leave it out with --without-peer"
        ) from error
    return LangGraphAgent
