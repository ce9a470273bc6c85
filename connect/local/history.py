"""The history of a thread of a compiled graph, read in pages: the checkpoint that a plan forks at (`searched`), and
what summaries replaced (`with_replaced`).

The pages grow: LangGraph loads a whole listing before it gives its first state, and most of what is looked for is near
the end.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, TypeVar, cast

from langgraph.types import StateSnapshot

from ...translator import Options
from ..inputs.forking import Search
from ..replaced_messages import ReplacedMessages
from ..run_outcome import RunOutcome
from ..thread_info import Checkpoint
from .runs import Graph

_FIRST_PAGE, _LARGEST_PAGE = 8, 64
_Search = TypeVar("_Search", Search, ReplacedMessages)


async def searched(graph: Graph, config: Any, search: _Search) -> _Search:
    """The search, done. Raises what the checkpointer raises."""
    if search.is_complete:
        return search
    async with aclosing(history(graph, config)) as checkpoints:
        async for checkpoint in checkpoints:
            search.feed(checkpoint)
            if search.is_complete:
                break
    return search


async def with_replaced(graph: Graph, thread_id: str, outcome: RunOutcome, options: Options) -> RunOutcome:
    """The outcome with the messages that summaries replaced, where `options` keep them."""
    search, config = ReplacedMessages(options, outcome.values), {"configurable": {"thread_id": thread_id}}
    return replace(outcome, values=(await searched(graph, config, search)).values)


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
