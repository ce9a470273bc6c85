"""Finds the tool calls in which the interrupts of a thread were raised, by the tasks of its state. Pure.

A state does not contain the inputs of its tasks, but it contains their paths. Rules:

1. The path of a task that the i-th `Send` of a superstep started begins with `"__pregel_push", i`
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_algo.py). LangChain's
   `create_agent` sends those tool calls of the last message that have no result yet, in their order, to the node
   `tools`. So if a state has as many such tasks as calls, and all of the node `tools`, the i-th task runs the i-th
   call. `Send` may start tasks of any other node for other reasons. If a task that has finished has answered another
   call, the graph sends the calls in another order, and no interrupt names a call.
2. A node called `tools` that was not sent a call runs all calls of the message in one task. If only one of them has no
   result, the task runs that call. If several have none, nothing shows which of them asks.
3. If a subgraph has the interrupt too, the innermost task that runs a call counts.
4. If the run has named the calls of its interrupts, these take precedence over the other rules, since its stream has
   shown the inputs of the tasks. Without them, a graph that sends the calls in another order is noticed only when one
   of its tasks has finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import ToolMessage

from ..translator import unanswered_calls

_PUSH: Final = "__pregel_push"
_TOOLS: Final = "tools"
_NONE: Final[Mapping[str, None]] = {}
State = Mapping[str, Any]
"""A state of a graph, as a platform returns it: its `values`, and its `tasks` with their `id`, `name`, `path`,
`interrupts`, `result` and `state`."""


def with_calls(interrupts: Iterable[Any], state: State, told: Mapping[str, str | None] = _NONE) -> list[Any]:
    """Returns the interrupts. Those that were raised in a tool become JSON, with the id of the tool call as
    `tool_call_id`. `told`: by the id of an interrupt, the tool call that the run has named (rule 4).
    """
    asked = list(interrupts)
    calls = {**_calls_of(state), **told} if asked else {}
    return [_with_call(interrupt, calls.get(_id_of(interrupt))) for interrupt in asked]


def _with_call(interrupt: Any, call_id: str | None) -> Any:
    if call_id is None:
        return interrupt
    names = ("id", "value", "response_schema")
    if not isinstance(interrupt, Mapping):
        interrupt = {name: getattr(interrupt, name) for name in names if hasattr(interrupt, name)}
    return {**interrupt, "tool_call_id": call_id}


def _calls_of(state: State) -> dict[str, str | None]:
    """Returns, by the id of an interrupt, the tool call in which it was raised; None if the call is not certain."""
    of_tasks = _calls_of_tasks(state)
    calls: dict[str, str | None] = {}
    for task in state.get("tasks") or ():
        inner = task.get("state")
        within = _calls_of(inner) if isinstance(inner, Mapping) else {}
        for interrupt in task.get("interrupts") or ():
            key = _id_of(interrupt)
            call_id = within.get(key) or of_tasks.get(task.get("id"))
            calls[key] = call_id if calls.get(key, call_id) == call_id else None
    return calls


def _calls_of_tasks(state: State) -> dict[Any, str]:
    """Returns, by the id of a task, the tool call that it runs (rules 1 and 2)."""
    tasks, values = state.get("tasks") or (), state.get("values")
    sent = sorted((task for task in tasks if _is_sent(task)), key=lambda task: int(task["path"][1]))
    answers = {task["id"]: set(_answered_calls(task.get("result"))) for task in sent}
    calls = _waiting(values, set().union(*answers.values()))
    if {task.get("name") for task in sent} == {_TOOLS} and len(sent) == len(calls):
        called = {task["id"]: call_id for task, call_id in zip(sent, calls, strict=True)}
        return called if all(answers[task] <= {call_id} for task, call_id in called.items()) else {}
    alone = [task["id"] for task in tasks if task.get("name") == _TOOLS]
    return dict(zip(alone, calls, strict=True)) if len(alone) == len(calls) == 1 else {}


def _is_sent(task: State) -> bool:
    path = task.get("path")
    return isinstance(path, list | tuple) and len(path) > 1 and path[0] == _PUSH and type(path[1]) is int


def _waiting(values: Any, answered: set[str]) -> Sequence[str]:
    """Returns the tool calls of the last message that have no result, or received it in this superstep
    (`answered`)."""
    lists = values.values() if isinstance(values, Mapping) else ()
    calls = [_calls_in(messages, answered) for messages in lists if isinstance(messages, list | tuple)]
    waiting = [ids for ids in calls if ids]
    return waiting[0] if len(waiting) == 1 else ()


def _calls_in(messages: Sequence[Any], answered: set[str]) -> list[str]:
    before = [message for message in messages if _answered_by(message) not in answered]
    return [call_id for call_id, _ in unanswered_calls(before)]


def _answered_calls(result: Any) -> Iterator[str]:
    """Yields the tool calls that the messages in a task's result answer. LangGraph puts the values that a task wrote to
    the same channel into `{"$writes": [...]}`."""
    for value in result.values() if isinstance(result, Mapping) else ():
        writes = value.get("$writes") if isinstance(value, Mapping) else None
        for written in writes if isinstance(writes, list) else [value]:
            for message in written if isinstance(written, list | tuple) else [written]:
                if (call_id := _answered_by(message)) is not None:
                    yield call_id


def _answered_by(message: Any) -> str | None:
    """Returns the tool call that a message, or its JSON, answers; None if it is not the result of a tool."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id
    call_id = message.get("tool_call_id") if isinstance(message, Mapping) else None
    return call_id if isinstance(call_id, str) else None


def _id_of(interrupt: Any) -> str:
    return str(interrupt.get("id") if isinstance(interrupt, Mapping) else interrupt.id)
