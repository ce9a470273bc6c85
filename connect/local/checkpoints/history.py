"""`history` reads the history of a thread of a compiled graph, in pages; `state_at` reads one state.

The pages grow, because LangGraph loads a whole page before it yields the first state, and callers mostly find what they
look for among the newest states.

A function (`@entrypoint`) keeps its conversation in the value that it saves for its next call (`previous`). This may be
more than it returns, and LangGraph leaves it out of a state
(https://docs.langchain.com/oss/python/langgraph/functional-api, `entrypoint.final`). The states here include it: the
messages that were saved, followed by those messages of the returned value that are not among them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.types import StateSnapshot

from ....translator import Options, message_ids
from ...thread_info import Checkpoint, CheckpointTask
from ..checkpointers import Graph, wait_for_answer

_FIRST_PAGE, _LARGEST_PAGE = 8, 64
_END: Final = "__end__"
_PREVIOUS: Final = "__previous__"
"""The channels of a function: its value, and what it keeps for its next call."""


async def history(
    graph: Graph, config: Any, seconds: float, before: str | None = None
) -> AsyncGenerator[Checkpoint, None]:
    """Yields the checkpoints of a thread, the newest first. Raises what the checkpointer raises.

    - `seconds`: the time within which the checkpointer must return a page.
    - `before`: the id of a checkpoint; only older ones are yielded.
    """
    page, newer = _FIRST_PAGE, before
    while True:
        older: Any = None if newer is None else {"configurable": {"checkpoint_id": newer}}
        states = await wait_for_answer(_page(graph, config, older, page), seconds)
        for state in states:
            newer = str(state.config["configurable"]["checkpoint_id"])
            yield _checkpoint(state, newer)
        if len(states) < page:
            return
        page = min(2 * page, _LARGEST_PAGE)


async def state_at(graph: Graph, config: Any, *, subgraphs: bool = False) -> StateSnapshot:
    """Returns one state of a thread. `subgraphs`: whether it includes the states of subgraphs that have begun and not
    ended."""
    return _with_conversation(graph, await _readable(graph).aget_state(config, subgraphs=subgraphs))


async def _page(graph: Graph, config: Any, before: Any, count: int) -> list[StateSnapshot]:
    states = _readable(graph).aget_state_history(config, before=before, limit=count)
    return [_with_conversation(graph, state) async for state in states]


def _is_function(graph: Graph) -> bool:
    """Returns whether a graph is a function, whose state is one value, and which keeps another for its next call."""
    return graph.stream_channels_asis == _END and _PREVIOUS in graph.channels


def _readable(graph: Graph) -> Graph:
    """Returns the graph with states that include what a function keeps for its next call."""
    return graph.copy(update={"stream_channels": [_END, _PREVIOUS]}) if _is_function(graph) else graph


def _with_conversation(graph: Graph, state: StateSnapshot) -> StateSnapshot:
    if not _is_function(graph):
        return state
    values = state.values if isinstance(state.values, Mapping) else {}
    return state._replace(values=conversation_of(values.get(_END), values.get(_PREVIOUS)))


def conversation_of(value: Any, previous: Any) -> Any:
    """Returns the value of a function with the conversation that it keeps. A value that is not a mapping stays as it
    is."""
    if not isinstance(value, Mapping):
        return value
    kept = previous if isinstance(previous, Mapping) else {_name_of_messages(value): previous}
    return {
        **value,
        **{name: _join(listed, value.get(name)) for name, listed in kept.items() if _are_messages(listed)},
    }


def _join(kept: Sequence[Any], value: Any) -> list[Any]:
    """Returns the messages that a function keeps, followed by those of its value that are not among them."""
    ids = {*message_ids(kept)}
    new = value if _are_messages(value) else ()
    return [*kept, *(message for message, name in zip(new, message_ids(new), strict=True) if name not in ids)]


def _name_of_messages(value: Mapping[str, Any]) -> str:
    """Returns the key under which a value has messages, if there is exactly one; else that of the default options."""
    names = [name for name, listed in value.items() if _are_messages(listed)]
    return names[0] if len(names) == 1 else Options().messages_key


def _are_messages(listed: Any) -> bool:
    return isinstance(listed, list | tuple) and bool(listed) and all(isinstance(item, BaseMessage) for item in listed)


def _checkpoint(state: StateSnapshot, checkpoint_id: str) -> Checkpoint:
    return Checkpoint(
        id=checkpoint_id,
        parent_id=(state.parent_config or {}).get("configurable", {}).get("checkpoint_id"),
        created_at=state.created_at,
        values=values_of(state),
        next=state.next,
        tasks=[CheckpointTask(node=task.name, interrupts=task.interrupts, error=task.error) for task in state.tasks],
        metadata=state.metadata or {},
    )


def values_of(state: StateSnapshot) -> Mapping[str, Any]:
    """Returns the values of a state by channel. The state of a function is one value, perhaps a model or a
    dataclass."""
    values: Any = state.values
    return values if isinstance(values, Mapping) else getattr(values, "__dict__", {})
