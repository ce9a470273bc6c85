"""The messages of a thread as a conversation: what a client has of them, under which ids, and which tool calls wait for
a result. Messages may have any form that LangGraph accepts: objects, their JSON, pairs, texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..content.blocks import ToolCallBlock
from ..content.reader import read_content
from ..jsonable.to_json import to_json
from ..options import Options
from ..parts.channels import channels
from ..parts.message import fields
from ..wire.events import Event
from .plan import plan_of, with_plan
from .to_agui import id_of, kind_and_role, to_agui


def client_contents(values: Any, options: Options | None = None) -> tuple[list[Event], Any]:
    """The messages, as wire dicts, and the state that a client has once it has everything of a thread with these
    values.

    `values`: the values of a checkpoint, also of a platform's.
    `options`: what of them is visible.

    A client has exactly this after a run that succeeded. After one that waits at an interrupt it also has what the
    subgraphs that wait have emitted.
    """
    options = options or Options()
    named = channels(values)
    if named is None:
        return [], to_json(values)
    stored = named.get(options.messages_key)
    messages: dict[str, Event] = {}
    for position, message in enumerate(stored if isinstance(stored, list | tuple) else ()):
        for wire in to_agui(message, position, options):
            messages.setdefault(wire["id"], wire)
    if isinstance(stored, list | tuple):
        messages = {wire["id"]: wire for wire in with_plan([*messages.values()], plan_of(named, options))}
    state = {name: value for name, value in named.items() if options.shows_channel(name)}
    return to_json([*messages.values()]), to_json(state)


def message_ids(messages: Iterable[Any]) -> list[str]:
    """The ids under which a client knows a thread's messages. That of a message without an id is made from its
    position."""
    return [id_of(fields(message), position) for position, message in enumerate(messages)]


def unanswered_calls(messages: Sequence[Any]) -> list[tuple[str, str]]:
    """The ids and names of the tool calls that wait for a result.

    They are the calls of the thread's last assistant message that have no result behind it. If a user message follows,
    none waits: a result can only go directly behind its call. A call with broken arguments waits too, because some
    adapters send it to their model again, and the provider then asks for its result. A tool that the provider runs
    needs no result.
    """
    results: set[str] = set()
    for message in reversed(messages):
        view = fields(message)
        match kind_and_role(view)[0]:
            case "tool":
                results.add(str(view.get("tool_call_id")))
            case "human":
                return []
            case "ai":
                return [call for call in _calls(view) if call[0] not in results]
    return []


def _calls(view: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The calls of an assistant message that have an id and a name, without those that the provider runs."""
    blocks = [block for block in read_content(view, whole=True) if isinstance(block, ToolCallBlock)]
    return [(call.id, call.name) for call in blocks if call.id and call.name and not call.server]
