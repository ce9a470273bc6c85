"""What one piece of a model's message becomes: text, tool call, reasoning and other events. Never whose message it is,
nor whether it may be told: that is settled on the `ModelCall` before.

Rules:

1. One message per model call, one id while it streams; its text is open until the call ends, its tool calls too, a
   reasoning block until something else is said.
2. The id is settled when the first piece is told. A message of that id which the client holds already is dropped there:
   the checkpoint will put the new one in its place. A call that is still saying one of that id says no more.
3. The client lets nobody reopen what another opened. Where a subagent's message has the id of somebody else's it gets
   one of its own, with its task's name; another message waits for the checkpoint.
4. Media, and results of tools the provider runs, are messages beside it, told as they come. Citations and an abnormal
   finish reason come with the end of the text, which is opened for them if need be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checkpoint.messages import History
from ..checkpoint.predicted_state import Predictions
from ..client.open_items import OpenItems
from ..content.blocks import Block, Citation, Encrypted, Media, Reasoning, ServerResult, Signature, Text, ToolCallBlock
from ..convert.to_agui import result_message
from ..convert.to_events import as_events
from ..jsonable.to_json import to_text
from ..options import Options
from ..outbox import Outbox
from ..wire import events, ids
from . import tool_calls
from .call_ids import CallIds
from .model_calls import ModelCall
from .tool_calls import ToolCall


class Saying:
    """Tells the pieces of model calls as they come, and closes the calls."""

    def __init__(
        self,
        outbox: Outbox,
        options: Options,
        call_ids: CallIds,
        predictions: Predictions,
        history: History,
    ) -> None:
        self._outbox = outbox
        self._view = outbox.view
        self._options = options
        self._call_ids = call_ids
        self._predictions = predictions
        self._history = history
        self._owners: dict[str, str | None] = {}
        """By message id: the subagent that opened it in this run."""
        self._telling: dict[str, ModelCall] = {}
        """By message id: the call that was told under it last."""

    def piece(self, call: ModelCall, piece: Block) -> None:
        """Tells one piece of the call's message."""
        self._outbox.tell_all(list(self._told(call, piece)))

    def close(self, call: ModelCall) -> None:
        """Closes what is open of the call's message."""
        outbox = self._outbox
        outbox.tell_all(call.reasoning.end())
        for tool in call.tools.calls:
            if not tool.ended:
                outbox.tell_all(list(self._predictions.ended(tool)))
        outbox.tell_all(tool_calls.ended(call.tools, call.subagent))
        metadata: dict[str, Any] = {"finishReason": call.finish} if call.finish else {}
        if call.citations:
            metadata["citations"] = call.citations
        call.finish, call.citations = None, []
        if metadata and call.told_id and not call.text_open and not call.silent:
            outbox.tell_all(list(self._text(call, "")))
        if call.text_open:
            call.text_open = False
            outbox.tell(events.text_end(call.message_id, metadata, call.subagent))

    def realign(self, call: ModelCall, opened: OpenItems) -> None:
        """Takes over what the client has open of the call's message, after an exception came between two events."""
        call.text_open = call.told_id in opened.texts
        call.reasoning.realign(opened.spans)
        for tool in call.tools.calls:
            tool.ended = tool.told and tool.told_id not in opened.calls

    def leave(self, call: ModelCall) -> None:
        """Closes what is open of a message that is known whole; what it lacks is not made up, and no more is said."""
        for tool in call.tools.calls:
            tool.args.append("")  # a call that ends without any gets the arguments of one that has none
        self.close(call)
        call.silent = True

    def forget(self) -> None:
        """Lets go of the calls that have ended."""
        self._telling = {message_id: call for message_id, call in self._telling.items() if not call.ended}

    def _told(self, call: ModelCall, piece: Block) -> Iterator[events.Event]:
        """The events of one piece."""
        if isinstance(piece, Text):
            call.text.append(said := to_text(piece.text))
            if said and not (call.silent or call.mute_text):
                yield from call.reasoning.end()
                yield from self._text(call, said)
        elif isinstance(piece, ToolCallBlock):
            yield from self._tool(call, piece)
        elif call.silent:
            return
        elif isinstance(piece, Reasoning | Encrypted):
            if self._options.reasoning and not call.mute_text:
                yield from call.reasoning.add(piece, self._id(call))
        elif isinstance(piece, ServerResult):
            yield from self._server_result(call, piece)
        elif isinstance(piece, Media):
            yield from self._media(call, piece)
        elif isinstance(piece, Citation):
            call.citations.append(piece.citation)
        elif isinstance(piece, Signature):
            yield from self._signature(call, piece)

    def _id(self, call: ModelCall) -> str:
        """The id of the call's message, settled now (rule 2)."""
        if call.told_id is None:
            call.told_id = self._own_id(call)
            self._replace(call, call.told_id)
            self._history.touched(call.told_id)
        return call.told_id

    def _own_id(self, call: ModelCall) -> str:
        """The id of the call's message, another one if it is somebody else's (rule 3)."""
        message_id = call.message_id
        owner = self._owners.get(message_id, call.subagent)
        held = self._view.message(message_id)
        if held is not None:
            owner = held.get("subagentRunId")
        if owner != call.subagent:
            if call.owner is not None:
                message_id = f"{message_id}-{call.task}"
            else:
                call.silent = True
        self._owners.setdefault(message_id, call.subagent)
        return message_id

    def _replace(self, call: ModelCall, message_id: str) -> None:
        if call.silent:
            return
        other = self._telling.get(message_id)
        if other is not None and not other.ended:
            self.close(other)
            other.silent = True
        self._telling[message_id] = call
        if self._view.has(message_id) and not self._history.without(message_id):
            call.silent = True

    def _text(self, call: ModelCall, said: str) -> Iterator[events.Event]:
        message_id = self._id(call)
        if call.silent:
            return
        if not call.text_open:
            call.text_open = True
            yield events.text_start(message_id, "assistant", call.name, call.subagent)
        if said:
            yield events.text_content(message_id, said, call.subagent)

    def _tool(self, call: ModelCall, piece: ToolCallBlock) -> Iterator[events.Event]:
        tool = call.tools.find(piece, call.message_id)
        muted = call.silent or call.mute_calls
        message_id = call.message_id if muted else self._id(call)
        args = to_text(piece.args or "")
        told = tool_calls.told(tool, args, message_id, call.subagent, lambda tool: not self._begins(call, tool))
        if told and not (call.silent or call.mute_calls):
            yield from call.reasoning.end()
            if call.name and not call.text_open:  # the only event that carries a name opens the text
                yield from self._text(call, "")
            yield from self._predictions.told(tool, told)

    def _begins(self, call: ModelCall, tool: ToolCall) -> bool:
        """Whether a tool call is told; settles the id."""
        if call.silent or call.mute_calls or tool.name in self._options.hidden_tools:
            return False
        told_id = self._call_ids.begin(tool.told_id, call.message_id, call.owner)
        tool.told_id = told_id or tool.told_id
        return told_id is not None

    def _server_result(self, call: ModelCall, piece: ServerResult) -> Iterator[events.Event]:
        tool = call.tools.of_result(piece.call_id)
        call_id = tool.told_id if tool else piece.call_id
        result_id = ids.result_id(self._id(call), call_id)
        if call.silent or not self._options.tool_results or (tool and not tool.told) or self._view.has(result_id):
            return
        if tool and not tool.ended:
            tool.ended = True
            yield events.tool_end(tool.told_id, call.subagent)
        call.told_ids.append(result_id)
        answer = ServerResult(call_id, piece.content, piece.error)
        yield from as_events(result_message(call.message_id, answer, self._options), call.subagent) or ()

    def _media(self, call: ModelCall, piece: Media) -> Iterator[events.Event]:
        media_id = ids.media_id(self._id(call), call.media)
        call.media += 1
        if not self._view.has(media_id):
            call.told_ids.append(media_id)
            yield events.activity_snapshot(media_id, "media", piece.part, call.subagent)

    def _signature(self, call: ModelCall, piece: Signature) -> Iterator[events.Event]:
        if piece.call_id is not None:
            if self._view.call_owner(piece.call_id) is not None:
                yield events.call_encrypted(piece.call_id, piece.value, call.subagent)
        else:
            yield from self._text(call, "")
            yield events.reasoning_encrypted(self._id(call), piece.value, call.subagent)
