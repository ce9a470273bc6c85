"""Reads the messages of a graph with the calls that CopilotKit's middleware holds back from it: `messages_in`.

CopilotKit's `CopilotKitMiddleware` hides calls of the page's tools from the graph while the graph runs the other calls
of the same message. It takes them out of the message, keeps them in the channel `copilotkit`, and puts them back when
the agent ends (https://github.com/CopilotKit/CopilotKit/blob/main/sdk-python/copilotkit/copilotkit_lg_middleware.py).
A client has received these calls. So they are put back into their message when it is read. Otherwise they would vanish
from the page and come back, and a page could not run its tools while the agent waits at an interrupt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .message import fields_of, is_object

_CHANNEL: Final = "copilotkit"


def messages_in(channels: Mapping[Any, Any] | None, messages_key: str) -> Any:
    """Returns the value of the messages channel, with the calls that CopilotKit's middleware holds back. Without such
    calls, returns the value itself. `channels`: the values of the channels by name; None if they are not known."""
    if channels is None:
        return None
    messages: Any = channels.get(messages_key)
    held = channels.get(_CHANNEL)
    if type(held) is not dict or type(messages) not in (list, tuple):
        return messages
    message_id, calls = held.get("original_ai_message_id"), held.get("original_tool_calls")
    if type(held.get("intercepted_tool_calls")) is not list or type(message_id) is not str or type(calls) is not list:
        return messages
    return [_with_calls(message, message_id, calls) for message in messages]


def _with_calls(message: Any, message_id: str, calls: list[Any]) -> Any:
    """Returns the message with these calls if it has this id, or else the message itself."""
    own_id = fields_of(message).get("id")
    if type(own_id) is not str or own_id != message_id:
        return message
    if is_object(message):
        return message.model_copy(update={"tool_calls": calls})
    return {**message, "tool_calls": calls} if type(message) is dict else message
