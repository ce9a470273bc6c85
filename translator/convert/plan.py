"""The agent's plan as an activity of the conversation: the channel that the option `plan` names, such as `todos`.

Rules:

1. The plan is what the thread has in this channel; with None it has no plan. So a client has the
   same plan after a reload.
2. A thread has one plan, under one id. Its place is where it was first written: behind the results of the first call of
   `write_todos`, the tool of LangChain's and deepagents' todo middleware, or at the end if there is no such call.
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
"""The type of the activity."""
_TOOL: Final = "write_todos"


def plan_of(named: Mapping[Any, Any], options: Options) -> Event | None:
    """The plan of a thread with these channels, as a wire message; None: the thread has none."""
    value = None if options.plan is None else named.get(options.plan)
    if options.plan is None or value is None or type(value) is UnreadableChannel:
        return None
    content = {options.plan: to_json(value)}
    return {"id": ids.plan_id(options.plan), "role": "activity", "activityType": ACTIVITY, "content": content}


def with_plan(messages: Sequence[Event], plan: Event | None) -> list[Event]:
    """A thread's messages with its plan among them."""
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
