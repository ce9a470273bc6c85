"""A graph that takes its time to stop."""

import asyncio

from langgraph.graph import START, MessagesState, StateGraph

from tests.support.streams.pausing_graphs import Graph


class Cleaning:
    """A graph that takes its time to stop: `stopping` is set when it is told to, and it stops when `cleaned` is."""

    def __init__(self) -> None:
        self.reached, self.stopping, self.cleaned = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def _node(self, state: MessagesState) -> None:
        self.reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopping.set()
            await self.cleaned.wait()

    def graph(self) -> Graph:
        return StateGraph(MessagesState).add_node("cleans", self._node).add_edge(START, "cleans").compile()
