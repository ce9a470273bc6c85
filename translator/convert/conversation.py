"""Reads a thread's messages as a conversation. The functions return the client's messages and state, the message ids,
and the unanswered tool calls.

Messages may have any form that LangGraph accepts, such as objects, their JSON, pairs or plain strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..content.blocks import ToolCallBlock
from ..content.read_blocks import read_content
from ..jsonable.to_json import to_json
from ..options import Options
from ..parts.channels import channels
from ..parts.held_calls import messages_in
from ..parts.message import fields_of
from ..wire.events import Event
from .plan import plan_of, with_plan
from .to_agui import id_of, kind_and_role, to_agui


def client_contents(values: Any, options: Options | None = None) -> tuple[list[Event], Any]:
    """Returns the messages (as wire dicts) and the state that a client has after receiving all visible contents of a
    thread.

    `values`: the values of the thread's checkpoint, possibly from a platform.
    `options`: decides which messages and channels are visible.

    If the run succeeded, a client that followed the run has this state, and these messages in this order. It may also
    have messages that the checkpoint does not contain: messages of subagents, activities that nodes and tools wrote,
    and messages that the options `unsaved="keep"` and `history="keep"` keep. If the run stopped at an interrupt, the
    client also has the messages of the subgraphs and the nodes that are waiting at the interrupt.
    """
    options = options or Options()
    named = channels(values)
    if named is None:
        return [], to_json(values)
    stored = messages_in(named, options.messages_key)
    messages: dict[str, Event] = {}
    for position, message in enumerate(stored if isinstance(stored, (list, tuple)) else ()):
        for wire in to_agui(message, position, options):
            messages.setdefault(wire["id"], wire)
    if isinstance(stored, (list, tuple)):
        messages = {wire["id"]: wire for wire in with_plan([*messages.values()], plan_of(named, options))}
    state = {name: value for name, value in named.items() if options.shows_channel(name)}
    return to_json([*messages.values()]), to_json(state)


def message_ids(messages: Iterable[Any]) -> list[str]:
    """Returns the ids under which a client knows a thread's messages. A message without an id gets an id that is
    derived from its position."""
    return [id_of(fields_of(message), position) for position, message in enumerate(messages)]


def unanswered_calls(messages: Sequence[Any], *, of_turn: bool = False) -> list[tuple[str, str]]:
    """Returns the ids and names of the unanswered tool calls.

    A tool call is unanswered if the thread's last assistant message contains it and no result for it follows. If a user
    message follows that assistant message, no tool call counts as unanswered, because providers require results to
    directly follow the tool calls. A tool call with malformed arguments counts too, because some adapters send it back
    to the model, and the provider then requires a result. A tool call that the provider runs itself never counts.

    With `of_turn=True`, the calls of all assistant messages after the last user message are considered. A graph may
    continue without the results of a page's tools, and get them later.
    """
    results: set[str] = set()
    calls: list[tuple[str, str]] = []
    for message in reversed(messages):
        fields = fields_of(message)
        match kind_and_role(fields)[0]:
            case "tool":
                results.add(str(fields.get("tool_call_id")))
            case "human":
                break
            case "ai":
                calls = [call for call in _calls(fields) if call[0] not in results] + calls
                if not of_turn:
                    break
    return calls


def _calls(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the ids and names of an assistant message's tool calls. Tool calls that lack an id or a name, or that the
    provider runs itself, are left out."""
    blocks = [block for block in read_content(fields, whole=True) if isinstance(block, ToolCallBlock)]
    return [(call.id, call.name) for call in blocks if call.id and call.name and not call.server]
