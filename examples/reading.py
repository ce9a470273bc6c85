"""One reader of a thread: `read`, and whether two readers have the same: `is_equal`.

What a reader has is a `ClientView`: what the AG-UI client would have after the same events. No printing here.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from ag_ui.core import BaseEvent
from langgraph.graph.state import CompiledStateGraph
from langgraph_agui.connect import connect
from langgraph_agui.translator import ClientView


async def read(
    graph: CompiledStateGraph[Any, Any, Any, Any],
    thread_id: str,
    show: Callable[[BaseEvent], None] = lambda event: None,
    until: Callable[[BaseEvent], bool] = lambda event: False,
) -> ClientView:
    """What a new client has that reads to the end of the run, or leaves before.

    `show` is called with each event. The client leaves after the first for which `until` is true; the run continues.
    """
    view = ClientView()
    async with aclosing(connect(graph, thread_id)) as events:
        async for event in events:
            view.apply(event)
            show(event)
            if until(event):
                break
    return view


def is_equal(one: ClientView, other: ClientView) -> bool:
    """Whether two clients have the same: every message in its place, the state, and how the run ended."""
    return (one.messages, one.state, one.terminal) == (other.messages, other.state, other.terminal)
