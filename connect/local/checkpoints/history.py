"""The history of a thread of a compiled graph, read in pages: `history`.

The pages grow: LangGraph loads a whole listing before it gives its first state, and most of what is looked for is near
the end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, cast

from langgraph.types import StateSnapshot

from ...thread_info import Checkpoint
from ..checkpointers import Graph

_FIRST_PAGE, _LARGEST_PAGE = 8, 64


async def history(graph: Graph, config: Any, before: str | None = None) -> AsyncGenerator[Checkpoint, None]:
    """The checkpoints of a thread, the newest first; `before`: only those older than this one, by its id."""
    page, newer = _FIRST_PAGE, before
    while True:
        older: Any = None if newer is None else {"configurable": {"checkpoint_id": newer}}
        count = 0
        found = cast("AsyncGenerator[StateSnapshot, None]", graph.aget_state_history(config, before=older, limit=page))
        async with aclosing(found) as states:
            async for state in states:
                count, newer = count + 1, str(state.config["configurable"]["checkpoint_id"])
                yield _checkpoint(state, newer)
        if count < page:
            return
        page = min(2 * page, _LARGEST_PAGE)


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
