"""The history of a thread of a compiled graph, read in pages: `history`.

The pages grow: LangGraph loads a whole listing before it gives its first state, and most of what is looked for is near
the end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any

from langgraph.types import StateSnapshot

from ...thread_info import Checkpoint
from ..checkpointers import Graph, answered

_FIRST_PAGE, _LARGEST_PAGE = 8, 64


async def history(
    graph: Graph, config: Any, seconds: float, before: str | None = None
) -> AsyncGenerator[Checkpoint, None]:
    """The checkpoints of a thread, the newest first. `seconds`: in which the checkpointer has to answer for a page.
    `before`: only those older than this one, by its id. Raises what the checkpointer raises."""
    page, newer = _FIRST_PAGE, before
    while True:
        older: Any = None if newer is None else {"configurable": {"checkpoint_id": newer}}
        states = await answered(_page(graph, config, older, page), seconds)
        for state in states:
            newer = str(state.config["configurable"]["checkpoint_id"])
            yield _checkpoint(state, newer)
        if len(states) < page:
            return
        page = min(2 * page, _LARGEST_PAGE)


async def _page(graph: Graph, config: Any, before: Any, count: int) -> list[StateSnapshot]:
    return [state async for state in graph.aget_state_history(config, before=before, limit=count)]


def _checkpoint(state: StateSnapshot, checkpoint_id: str) -> Checkpoint:
    return Checkpoint(
        id=checkpoint_id,
        parent_id=(state.parent_config or {}).get("configurable", {}).get("checkpoint_id"),
        created_at=state.created_at,
        values=values_of(state),
        next=state.next,
        metadata=state.metadata or {},
    )


def values_of(state: StateSnapshot) -> Mapping[str, Any]:
    """The values of a state by channel; what a function keeps is one value, perhaps a model or a dataclass."""
    values: Any = state.values
    return values if isinstance(values, Mapping) else getattr(values, "__dict__", {})
