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
from ..inputs.forking import Checkpoint, Search
from ..replaced_messages import ReplacedMessages
from ..run_outcome import RunOutcome
from .runs import Graph

_FIRST_PAGE, _LARGEST_PAGE = 8, 64
_Search = TypeVar("_Search", Search, ReplacedMessages)


async def searched(graph: Graph, config: Any, search: _Search, messages_key: str) -> _Search:
    """The search, done. Raises what the checkpointer raises."""
    if search.is_complete:
        return search
    async with aclosing(_history(graph, config)) as history:
        async for state in history:
            search.feed(_checkpoint(state, messages_key))
            if search.is_complete:
                break
    return search


async def with_replaced(graph: Graph, thread_id: str, outcome: RunOutcome, options: Options) -> RunOutcome:
    """The outcome with the messages that summaries replaced, where `options` keep them."""
    search, config = ReplacedMessages(options, outcome.values), {"configurable": {"thread_id": thread_id}}
    return replace(outcome, values=(await searched(graph, config, search, options.messages_key)).values)


async def _history(graph: Graph, config: Any) -> AsyncGenerator[StateSnapshot, None]:
    """The states of a thread, the newest first."""
    page, before = _FIRST_PAGE, None
    while True:
        count = 0
        found = cast("AsyncGenerator[StateSnapshot, None]", graph.aget_state_history(config, before=before, limit=page))
        async with aclosing(found) as states:
            async for state in states:
                count, before = count + 1, state.config
                yield state
        if count < page:
            return
        page = min(2 * page, _LARGEST_PAGE)


def _checkpoint(state: StateSnapshot, messages_key: str) -> Checkpoint:
    values = values_of(state)
    parent = (state.parent_config or {}).get("configurable", {}).get("checkpoint_id")
    return Checkpoint(
        id=str(state.config["configurable"]["checkpoint_id"]),
        parent_id=parent,
        messages=values.get(messages_key) or (),
        values=values,
        is_unfinished=bool(state.next),
        run_id=(state.metadata or {}).get("run_id"),
    )


def values_of(state: StateSnapshot) -> Mapping[str, Any]:
    """The values of a state by channel; what a function keeps is one value, perhaps a model or a dataclass."""
    values: Any = state.values
    return values if isinstance(values, Mapping) else getattr(values, "__dict__", {})
