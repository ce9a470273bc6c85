"""Adds the agent's plan to the conversation as an activity. The option `plan` names the channel that contains the plan,
such as `todos`.

Rules:

1. The plan is the current value of this channel. If the value is None, the thread has no plan. A client gets the same
   plan after a reload, because the channel is stored with the thread.
2. A thread has at most one plan, whose id never changes. The plan is placed where it was first written, which is after
   the results that follow the first `write_todos` call. `write_todos` is the tool of LangChain's todo middleware
   (https://github.com/langchain-ai/langchain/blob/master/libs/langchain_v1/langchain/agents/middleware/todo.py). If no
   message contains such a call, the plan is placed at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..jsonable.to_json import to_json
from ..options import Options
from ..parts.channels import UnreadableChannel
from ..wire import ids
from ..wire.events import Event

ACTIVITY: Final = "plan"
"""The activity type of plans."""
_TOOL: Final = "write_todos"


def plan_of(named: Mapping[Any, Any], options: Options) -> Event | None:
    """Returns the plan in a thread's channels as a wire message, or None if the thread has no plan."""
    value = None if options.plan is None else named.get(options.plan)
    if options.plan is None or value is None or type(value) is UnreadableChannel:
        return None
    content = {options.plan: to_json(value)}
    return {"id": ids.plan_id(options.plan), "role": "activity", "activityType": ACTIVITY, "content": content}


def with_plan(messages: Sequence[Event], plan: Event | None) -> list[Event]:
    """Inserts a thread's plan into a copy of its messages, in the position that rule 2 defines."""
    listed = list(messages)
    if plan is None:
        return listed
    calls = (at for at, message in enumerate(listed) if any(map(_writes_plan, message.get("toolCalls", ()))))
    at = next(calls, len(listed) - 1) + 1
    while at < len(listed) and listed[at]["role"] == "tool":
        at += 1
    return [*listed[:at], plan, *listed[at:]]


def _writes_plan(call: Event) -> bool:
    return bool(call["function"]["name"] == _TOOL)
