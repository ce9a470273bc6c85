"""Makes the events for the content blocks of a model call: text, tool calls, reasoning and others. `model_calls.py`
finds the model call that a block belongs to, and `visibility.py` decides whether the model call is visible.

Rules:

1. Each model call produces one message, whose id does not change while it streams. The text and the tool calls stay
   open until the model call ends. A tool call that the provider runs stays open until its result arrives. Reasoning
   stays open until a text, a tool call or other reasoning begins.
2. The id is fixed as soon as a block arrives that may be emitted. If the client already has a message with that id, the
   old message is removed, because a stored message with the same id would replace it anyway. If another model call is
   still streaming a message with that id, the rest of that other message is not emitted.
3. The client does not let one agent reopen an item that another agent opened
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts). If a
   subagent's message has the same id as another agent's message, the subagent's message gets a new id, which contains
   the name of the subagent's task. If a message of the run itself has the same id as a subagent's message, it is not
   emitted until the values contain it.
4. Media, and results of tools that the provider runs, become separate messages, because the content of an AG-UI
   assistant message can only be text (https://docs.ag-ui.com/concepts/messages). These messages are emitted as they
   arrive. Citations and an abnormal finish reason are emitted with the end of the text. If the message has an id but no
   open text, an empty text is opened for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ..client.view import ClientView
from ..content.blocks import Block, Citation, Encrypted, Media, Reasoning, ServerResult, Signature, Text, ToolCallBlock
from ..convert.to_agui import result_message
from ..convert.to_events import as_events
from ..jsonable.to_json import to_text
from ..ledger import Ledger
from ..losses import Losses, Reason
from ..options import Options
from ..snapshots import Snapshots
from ..wire import events, ids
from ..wire.events import Event
from . import tool_calls
from .model_calls import ModelCall, is_hidden
from .predicted_state import Predictions
from .tool_calls import ToolCall


class BlockEvents:
    """Makes the events for the content blocks of model calls, and the events that close the message of a model call."""

    def __init__(
        self,
        view: ClientView,
        options: Options,
        ledger: Ledger,
        predictions: Predictions,
        snapshots: Snapshots,
        losses: Losses,
    ) -> None:
        self._view = view
        self._options = options
        self._ledger = ledger
        self._predictions = predictions
        self._losses = losses
        self._snapshots = snapshots

    def on_block(self, call: ModelCall, block: Block) -> Iterable[Event]:
        """Returns the events for one content block."""
        if isinstance(block, Text):
            return self._answer(call, to_text(block.text))
        if isinstance(block, ToolCallBlock):
            return self._tool_call(call, block)
        if call.record.is_suppressed:
            return ()
        if isinstance(block, (Reasoning, Encrypted)):
            return self._reasoning(call, block)
        if isinstance(block, ServerResult):
            return self._server_result(call, block)
        if isinstance(block, Media):
            return self._media(call, block)
        if isinstance(block, Signature):
            return self._signature(call, block)
        if isinstance(block, Citation):
            call.citations.append(block.citation)
        else:
            self._losses.drop("content block", block.kind, Reason.UNKNOWN_BLOCK)
        return ()

    def prepare(self, call: ModelCall, last: Block | None) -> None:
        """Prepares the shorter path: sets the events for the next chunk of the model call if that chunk may simply
        append to an open text or tool call. `last`: the last block of the current chunk."""
        view, message_id, tag = self._view, call.record.id, call.record.owner.tag
        if call.record.is_suppressed or message_id is None or not call.reasoning.is_closed(view.open_spans):
            return
        if call.has_text and not call.withholds_text and message_id in view.open_texts:
            call.next_text = events.text_content(message_id, "", tag)
        if isinstance(last, ToolCallBlock) and (tool := call.tools.at(last.index)) is not None:
            is_begun = tool.is_emitted and tool.size > 0 and tool.emitted_id in view.open_calls
            if is_begun and tool.emitted_id not in self._predictions:
                call.next_arguments, call.next_index = events.tool_args(tool.emitted_id, "", tag), last.index

    def close(self, call: ModelCall) -> Iterator[Event]:
        """Yields the events that close all open items of a model call's message. A suppressed message has no open
        items. If an item with the same id is open, that item belongs to another message."""
        view, tag, message_id = self._view, call.record.owner.tag, call.record.id
        call.next_text = call.next_arguments = None
        if call.record.is_suppressed:
            return
        if call.prefix is not None and call.hidden_text:
            self._losses.drop("text of the message", call.message_id, Reason.STRUCTURED)
        yield from call.reasoning.end(view.open_spans)
        for tool in call.tools.calls:
            if not tool.has_begun:
                self._losses.drop("tool call", tool.emitted_id, Reason.NO_NAME)
        yield from tool_calls.ends(call.tools, tag, view.open_calls)
        metadata: dict[str, Any] = {"finishReason": call.finish} if call.finish else {}
        if call.citations:
            metadata["citations"] = call.citations
        call.finish, call.citations = None, []
        if message_id is None:
            return
        if metadata and not call.withholds_text and message_id not in view.open_texts:
            yield from call.part_of_tool(self._text(call, ""))
        if message_id in view.open_texts:
            yield events.text_end(message_id, metadata, tag)

    def close_as_stored(self, call: ModelCall) -> Iterator[Event]:
        """Yields the events that close a message which a checkpoint contains in full. The rest of the message is not
        streamed, because the checkpoint adds it."""
        for tool in call.tools.calls:
            tool.is_superseded = True
        yield from self.close(call)
        self._ledger.suppress(call.record, Reason.STORED)

    def _id(self, call: ModelCall) -> Iterator[Event]:
        """Fixes the id of the message, or suppresses the message (rules 2 and 3). Yields the events that free the id,
        if another message has it."""
        ledger, record, view = self._ledger, call.record, self._view
        if record.id is not None:
            return
        message_id, owner = call.message_id, record.owner
        message = view.message(message_id)
        opener = ledger.opener(message_id, owner.tag) if message is None else message.get("subagentRunId")
        if opener != owner.tag:
            if owner.id is None:
                ledger.suppress(record, Reason.OTHER_AGENT)
                return
            message_id = ids.repeated_message_id(message_id, call.task)
        other = ledger.streaming(message_id)
        if other is not None and isinstance(other.call, ModelCall):
            yield from self.close(other.call)
            ledger.suppress(other, Reason.SUPERSEDED)
        if view.has(message_id):
            yield from self._snapshots.without(message_id)
            if view.has(message_id):
                ledger.suppress(record, Reason.ON_CLIENT)
                return
        ledger.emit(record, message_id)

    def _answer(self, call: ModelCall, text: str) -> Iterable[Event]:
        call.has_text = True
        is_suppressed = call.record.is_suppressed
        if call.hides_text and not call.hidden_text and not is_suppressed:
            why = Reason.MARKED if is_hidden(call.metadata, "messages") else Reason.STRUCTURED
            self._losses.drop("text of the message", call.message_id, why)
        text = call.released(text)
        if not text or is_suppressed:
            return ()
        return chain(call.reasoning.end(self._view.open_spans), self._text(call, text))

    def _text(self, call: ModelCall, text: str) -> Iterator[Event]:
        yield from self._id(call)
        message_id, tag = call.record.id, call.record.owner.tag
        if message_id is None or call.record.is_suppressed:
            return
        if message_id not in self._view.open_texts:
            yield events.text_start(message_id, "assistant", call.name, tag)
        if text:
            yield events.text_content(message_id, text, tag)

    def _reasoning(self, call: ModelCall, block: Reasoning | Encrypted) -> Iterator[Event]:
        if call.hides_reasoning or not self._options.reasoning:
            why = Reason.MARKED if self._options.reasoning else Reason.OPTION
            self._losses.drop("reasoning of the message", call.message_id, why)
            return
        yield from self._id(call)
        record, ledger, view = call.record, self._ledger, self._view
        if record.id is not None:
            yield from call.reasoning.add(
                block, record.id, view.has, view.open_spans, lambda block_id: ledger.emit_companion(record, block_id)
            )

    def _tool_call(self, call: ModelCall, block: ToolCallBlock) -> Iterator[Event]:
        record, view = call.record, self._view
        tool = call.tools.find(block, call.message_id)
        if not (record.is_suppressed or call.hides_calls):
            yield from self._id(call)
        message_id = record.id or call.message_id
        args = to_text(block.args or "")
        made = tool_calls.fragment(
            tool, args, message_id, record.owner.tag, lambda tool: self._emits(call, tool), view.open_calls
        )
        if made and not (record.is_suppressed or call.hides_calls):
            yield from call.reasoning.end(view.open_spans)
            if call.name and message_id not in view.open_texts:  # only the event that opens a text has a name
                yield from self._text(call, "")
            yield from made

    def _emits(self, call: ModelCall, tool: ToolCall) -> bool:
        """Decides whether a tool call is emitted. If it is, this method chooses the id and starts the predictions."""
        why = call.record.reason
        if why is None and call.hides_calls:
            why = Reason.MARKED
        elif why is None and tool.name in self._options.hidden_tools:
            why = Reason.OPTION
        elif why is None:
            emitted_id = self._ledger.calls.emit(tool.emitted_id, call.message_id, call.record.owner)
            if emitted_id is not None:
                tool.emitted_id = emitted_id
                if call.writes_state:
                    self._predictions.watch(emitted_id, tool.name)
                return True
            why = Reason.ID_TAKEN
        self._losses.drop("tool call", tool.emitted_id, why)
        return False

    def _server_result(self, call: ModelCall, block: ServerResult) -> Iterator[Event]:
        view, tag = self._view, call.record.owner.tag
        tool = call.tools.of_result(block.call_id)
        call_id = tool.emitted_id if tool else block.call_id
        yield from self._id(call)
        result_id = ids.result_id(call.message_id, call_id)
        if call.record.is_suppressed or view.has(result_id):
            return
        if not self._options.tool_results or (tool and not tool.is_emitted):
            self._losses.drop("result", result_id, Reason.NO_CALL if self._options.tool_results else Reason.OPTION)
            return
        if call_id in view.open_calls:
            yield events.tool_end(call_id, tag)
        self._ledger.emit_companion(call.record, result_id)
        answer = ServerResult(call_id, block.content, block.error)
        yield from as_events(result_message(call.message_id, answer, self._options), tag) or ()

    def _media(self, call: ModelCall, block: Media) -> Iterator[Event]:
        yield from self._id(call)
        media_id = ids.media_id(call.message_id, call.media)
        call.media += 1
        if call.record.is_suppressed:  # `_id` has just suppressed it
            self._losses.drop("media", media_id, call.record.reason or Reason.HIDDEN)
        elif not self._view.has(media_id):
            self._ledger.emit_companion(call.record, media_id)
            yield events.activity_snapshot(media_id, "media", block.part, call.record.owner.tag)

    def _signature(self, call: ModelCall, block: Signature) -> Iterator[Event]:
        tag = call.record.owner.tag
        if block.call_id is not None:
            if self._view.message_of_call(block.call_id) is not None:
                yield events.call_encrypted(block.call_id, block.value, tag)
        elif not call.withholds_text:
            yield from self._text(call, "")
            if call.record.id is not None:
                yield events.reasoning_encrypted(call.record.id, block.value, tag)
