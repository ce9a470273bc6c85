"""Puts events that nodes and tools send with LangChain's `adispatch_custom_event` into the stream of their run.
LangGraph's `custom` mode does not include them, but a callback handler in the run's config gets them.

| name | becomes |
|---|---|
| `manually_emit_message`, `copilotkit_manually_emit_message` | a message: `message_id`, `message` |
| `manually_emit_tool_call`, `copilotkit_manually_emit_tool_call` | a tool call: `id`, `name`, `args` |
| `manually_emit_state`, `copilotkit_manually_emit_intermediate_state` | state, until a node has written the channel |
| `copilotkit_exit` | `CUSTOM` with the name `Exit` and the value true |

These are the names of `ag-ui-langgraph` and of CopilotKit's Python package. The result is treated like output of a
model or a node: a message that is not stored is removed when its step ends. Each of these events also becomes a
`CUSTOM` event, as events of any other name do, except CopilotKit's state.

The data of an event are copied when it is sent, because a node may send one object many times, and change it in
between. An event keeps its place in the stream of the graph in which it was sent. A thread that a node has started
itself has no such stream; its events are emitted in the next turn of the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from ....translator import to_json
from ...inputs.configs import with_callback

_log = logging.getLogger(__name__)

_MESSAGE: Final = ("manually_emit_message", "copilotkit_manually_emit_message")
_CALL: Final = ("manually_emit_tool_call", "copilotkit_manually_emit_tool_call")
_STATE: Final = ("manually_emit_state", "copilotkit_manually_emit_intermediate_state")
_EXIT: Final = "copilotkit_exit"


class _Dispatched(NamedTuple):
    """An event that was sent. `metadata`: the metadata of the node or tool that sent it."""

    name: str
    data: Any
    metadata: Mapping[str, Any]


class _Handler(BaseCallbackHandler):
    """Writes each event of a run to the stream of the graph in which it was sent. LangChain calls it in the context and
    the thread of the sender."""

    run_inline = True
    ignore_agent = ignore_chain = ignore_chat_model = ignore_llm = ignore_retriever = ignore_retry = True

    def __init__(self, emit: Callable[[Any], bool], label: str) -> None:
        self._emit_part, self._label = emit, label
        self._loop = asyncio.get_running_loop()

    def on_custom_event(self, name: str, data: Any, **about: Any) -> None:
        """Takes an event that was sent."""
        event = _Dispatched(name, to_json(data), about.get("metadata") or {})
        try:
            write = get_stream_writer()
        except (RuntimeError, KeyError):  # a thread without the node's context
            self._hand_over(event)
        else:
            write(event)

    def _hand_over(self, event: _Dispatched) -> None:
        """Gives the run an event that another thread sent."""
        try:
            self._loop.call_soon_threadsafe(self._emit, event)
        except RuntimeError:  # the event loop is closed
            self._log_lost(event)

    def _emit(self, event: _Dispatched) -> None:
        ns = tuple(str(event.metadata.get("langgraph_checkpoint_ns") or "").split("|")[:-1])
        for mode, data in _read(event):
            if not self._emit_part((ns, mode, data)):
                self._log_lost(event)
                return

    def _log_lost(self, event: _Dispatched) -> None:
        _log.warning("The event %r was sent after the end of its run (%s).", event.name, self._label)


def with_handler(config: RunnableConfig, emit: Callable[[Any], bool], label: str) -> RunnableConfig:
    """Returns the config of a run whose stream includes dispatched events. Each part of the stream must be read with
    `parts_of`.

    - `emit`: emits a part that comes from another thread; see `run.Stream`.
    - `label`: the name of the run in log lines.
    """
    return with_callback(config, _Handler(emit, label))


def parts_of(part: Any) -> Iterable[Any]:
    """Returns a part of a run's stream; or, in place of a dispatched event, the parts of LangGraph's modes that it
    becomes."""
    if type(part) is not tuple or type(part[-1]) is not _Dispatched:  # a recording has parts of other shapes
        return (part,)
    return [(part[0], mode, data) for mode, data in _read(part[-1])]


def _read(event: _Dispatched) -> Iterator[tuple[str, Any]]:
    """Yields the mode and the payload of each part that an event becomes."""
    name, data = event.name, event.data
    if name == _EXIT:
        yield "custom", {"name": "Exit", "value": True}
        return
    if isinstance(data, Mapping):
        if name in _STATE:
            yield "custom", {"name": "agui_state", "value": data}
        elif (message := _message(name, data)) is not None:
            yield "messages", (message, {**event.metadata, "agui_visibility": "stream"})
    if name != _STATE[1]:
        yield "custom", {"name": name, "value": data}


def _message(name: str, data: Mapping[str, Any]) -> AIMessage | None:
    """Returns the message that an event asks for; None if it asks for no message, or lacks a field."""
    if name in _MESSAGE and isinstance(data.get("message"), str) and isinstance(data.get("message_id"), str):
        return AIMessage(data["message"], id=data["message_id"])
    if name not in _CALL or not (isinstance(data.get("id"), str) and isinstance(data.get("name"), str)):
        return None
    args = data.get("args")
    if isinstance(args, str):
        try:
            args = orjson.loads(args)
        except orjson.JSONDecodeError:
            return None
    if not isinstance(args, Mapping):
        return None
    call: Any = {"id": data["id"], "name": data["name"], "args": dict(args), "type": "tool_call"}
    return AIMessage("", id=data["id"], tool_calls=[call])
