"""Reads and writes the marks of tool calls that wait for the page: `PageCall`, `awaited_calls`.

A page runs some tools itself (https://docs.ag-ui.com/concepts/tools). An agent can wait for the result of such a tool
at an interrupt, whose value is `PageCall.value`. The mark in this value distinguishes the interrupt from a question to
a person:

1. A run that waits for nothing but pages has finished. Its outcome is a success, which names these tool calls as
   `pendingToolCallIds`. A client answers them with tool messages, and not in `resume`.
2. If a person is asked too, the outcome is an interrupt with that question alone. A client may send the results of its
   tools with the answer, or before it.
3. A page can answer only what it has received. So if the tool call is not among the client's messages, because what the
   model of a subagent says is hidden from it, the call itself is emitted when the run ends.
4. The message that made the calls has a mark too (`CALLS`). When the run continues, its first values do not contain the
   result that the client has sent. The client's copy of the result stays, because the run will store it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from ..jsonable.to_json import to_json
from ..parts.message import fields_of, kind_of, mapping_in

CALLS: Final = "agui_page_calls"
"""The key in the `response_metadata` of a model's message whose value is the ids of its calls of the page's tools."""
_TYPE: Final = "agui_page_call"
"""The `type` of the value of such an interrupt."""


class PageCall(NamedTuple):
    """A tool call that waits for the page.

    `id`: The id of the call.
    `name`: The name of the tool.
    `args`: Its arguments, as JSON.
    """

    id: str
    name: str
    args: Any

    @property
    def value(self) -> dict[str, Any]:
        """The value of the interrupt at which the call waits. It has AG-UI's own field `toolCallId`."""
        return {"type": _TYPE, "toolCallId": self.id, "name": self.name, "args": self.args}

    @classmethod
    def of(cls, value: Any) -> PageCall | None:
        """Returns the tool call that waits at an interrupt with this value; None if it is any other interrupt."""
        if not isinstance(value, Mapping) or value.get("type") != _TYPE:
            return None
        call_id, name = value.get("toolCallId"), value.get("name")
        return cls(call_id, name, value.get("args")) if isinstance(call_id, str) and isinstance(name, str) else None

    @property
    def arguments(self) -> str:
        """The arguments as the text of JSON."""
        return "{}" if self.args is None else orjson.dumps(to_json(self.args)).decode()


def awaited_calls(messages: Sequence[Any]) -> set[str]:
    """Returns the ids of the calls of the page's tools in the last message of a model that have no result after it.
    `messages`: those of a thread or a subgraph, as objects or as JSON."""
    answered: set[Any] = set()
    for message in reversed(messages):
        fields = fields_of(message)
        kind = kind_of(fields)
        if kind == "ai":
            marked = mapping_in(fields, "response_metadata").get(CALLS)
            ids = marked if isinstance(marked, list | tuple) else ()
            return {call_id for call_id in ids if isinstance(call_id, str) and call_id not in answered}
        if kind != "tool":
            break
        answered.add(fields.get("tool_call_id"))
    return set()
