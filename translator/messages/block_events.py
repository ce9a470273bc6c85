"""Makes the events for the content blocks of a model call: text, tool calls, reasoning and others. `model_calls.py`
finds the model call that a block belongs to, and `visibility.py` decides whether the model call is visible.

Rules:

1. Each model call produces one message. The message's id does not change while the message is streaming. The text and
   the tool calls stay open until the model call ends. A tool call that the provider runs stays open until its result
   arrives. Reasoning stays open until a text, a tool call or other reasoning begins.
2. The id is fixed when the first block that may be emitted arrives. If the client already has a message with that id,
   that message is removed, because the client would append the new text to it
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts). The new
   message will replace it in the checkpoint anyway, because LangGraph's reducer replaces messages by id
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/graph/message.py). If the client's
   messages are unknown, no snapshot can remove that message, so the new message is not emitted. If another model call
   is still streaming a message with that id, the rest of that message is not emitted.
3. The client does not let one agent reopen an item that another agent opened
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/verify/verify.ts). If a
   subagent's message has the same id as another agent's message, it gets a new id, which contains the name of the
   subagent's task. If a message of the run itself has the same id as a subagent's message, the run's message is not
   emitted until the values contain it.
4. Media, and results of tools that the provider runs, become separate messages, because the content of an AG-UI
   assistant message can only be text (https://docs.ag-ui.com/concepts/messages). These messages are emitted as they
   arrive. Citations and an abnormal finish reason are emitted with the end of the text. If a message with an id has no
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
from .reasoning_events import ReasoningEvents
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

    def on_block(self, model_call: ModelCall, block: Block) -> Iterable[Event]:
        """Returns the events for one content block."""
        if isinstance(block, Text):
            return self._answer(model_call, to_text(block.text))
        if isinstance(block, ToolCallBlock):
            return self._tool_call(model_call, block)
        if model_call.record.is_suppressed or model_call.only_surfaces:
            return ()
        if isinstance(block, (Reasoning, Encrypted)):
            return self._reasoning(model_call, block)
        if isinstance(block, ServerResult):
            return self._server_result(model_call, block)
        if isinstance(block, Media):
            return self._media(model_call, block)
        if isinstance(block, Signature):
            return self._signature(model_call, block)
        if isinstance(block, Citation):
            model_call.citations.append(block.citation)
        else:
            self._losses.drop("content block", block.kind, Reason.UNKNOWN_BLOCK)
        return ()

    def prepare(self, model_call: ModelCall, last: Block | None) -> None:
        """Prepares the shorter path. If the next chunk of the model call may simply be appended to an open text or tool
        call, this method sets the events for that chunk. `last`: the last block of the current chunk."""
        view, message_id, tag = self._view, model_call.record.id, model_call.record.owner.tag
        reasoning = model_call.reasoning
        if reasoning is not None and not reasoning.is_closed(view.open_spans):
            return
        if model_call.record.is_suppressed or message_id is None:
            return
        if model_call.has_text and not model_call.withholds_text and message_id in view.open_texts:
            model_call.next_text = events.text_content(message_id, "", tag)
        if isinstance(last, ToolCallBlock) and (tool_call := model_call.tool_calls.at(last.index)) is not None:
            is_begun = tool_call.is_emitted and tool_call.size > 0 and tool_call.emitted_id in view.open_calls
            if is_begun and tool_call.emitted_id not in self._predictions:
                model_call.next_arguments, model_call.next_index = (
                    events.tool_args(tool_call.emitted_id, "", tag),
                    last.index,
                )

    def close(self, model_call: ModelCall) -> Iterator[Event]:
        """Yields the events that close all open items of a model call's message. A suppressed message has no open
        items: if an item with its id is open, that item belongs to another message."""
        view, tag, message_id = self._view, model_call.record.owner.tag, model_call.record.id
        model_call.next_text = model_call.next_arguments = None
        if model_call.record.is_suppressed:
            return
        if model_call.prefix is not None and model_call.hidden_text:
            self._losses.drop("text of the message", model_call.message_id, Reason.STRUCTURED)
        yield from self._end_reasoning(model_call)
        for tool_call in model_call.tool_calls.calls:
            if not tool_call.is_decided:
                self._losses.drop("tool call", tool_call.emitted_id, Reason.NO_NAME)
        yield from tool_calls.ends(model_call.tool_calls, tag, view.open_calls)
        metadata: dict[str, Any] = {"finishReason": model_call.finish} if model_call.finish else {}
        if model_call.citations:
            metadata["citations"] = model_call.citations
        model_call.finish, model_call.citations = None, []
        if message_id is None:
            return
        if metadata and not model_call.withholds_text and message_id not in view.open_texts:
            yield from model_call.part_of_tool(self._text(model_call, ""))
        if message_id in view.open_texts:
            yield events.text_end(message_id, metadata, tag)

    def close_as_stored(self, model_call: ModelCall) -> Iterator[Event]:
        """Yields the events that close a message because a checkpoint contains the complete message. The rest of the
        message is not streamed, because the checkpoint adds it."""
        for tool_call in model_call.tool_calls.calls:
            tool_call.is_superseded = True
        yield from self.close(model_call)
        self._ledger.suppress(model_call.record, Reason.STORED)

    def _id(self, model_call: ModelCall) -> Iterable[Event]:
        """Fixes the id of the message if it is not fixed yet, or suppresses the message (rules 2 and 3). If another
        message has the id, returns the events that free the id."""
        return self._fix_id(model_call) if model_call.record.id is None else ()

    def _fix_id(self, model_call: ModelCall) -> Iterator[Event]:
        ledger, record, view = self._ledger, model_call.record, self._view
        message_id, owner = model_call.message_id, record.owner
        message = view.message(message_id)
        opener = ledger.opener(message_id, owner.tag) if message is None else message.get("subagentRunId")
        if opener != owner.tag:
            if owner.id is None:
                ledger.suppress(record, Reason.OTHER_AGENT)
                return
            message_id = ids.repeated_message_id(message_id, model_call.task)
        other = ledger.streaming(message_id)
        if other is not None and isinstance(other.model_call, ModelCall):
            yield from self.close(other.model_call)
            ledger.suppress(other, Reason.SUPERSEDED)
        if view.has(message_id):
            yield from self._snapshots.without(message_id)
            if view.has(message_id):
                ledger.suppress(record, Reason.ON_CLIENT)
                return
        ledger.emit(record, message_id)

    def _answer(self, model_call: ModelCall, text: str) -> Iterable[Event]:
        model_call.has_text = True
        is_suppressed = model_call.record.is_suppressed
        if model_call.only_surfaces:
            self._losses.drop("text of the message", model_call.message_id, Reason.HIDDEN)
            return ()
        if model_call.hides_text and not model_call.hidden_text and not is_suppressed:
            why = Reason.MARKED if is_hidden(model_call.metadata, "messages") else Reason.STRUCTURED
            self._losses.drop("text of the message", model_call.message_id, why)
        text = model_call.text_to_emit(text)
        if not text or is_suppressed:
            return ()
        return chain(self._end_reasoning(model_call), self._text(model_call, text))

    def _text(self, model_call: ModelCall, text: str) -> Iterator[Event]:
        yield from self._id(model_call)
        message_id, tag = model_call.record.id, model_call.record.owner.tag
        if message_id is None or model_call.record.is_suppressed:
            return
        if message_id not in self._view.open_texts:
            yield events.text_start(message_id, "assistant", model_call.name, tag)
        if text:
            yield events.text_content(message_id, text, tag)

    def _reasoning(self, model_call: ModelCall, block: Reasoning | Encrypted) -> Iterator[Event]:
        if model_call.hides_reasoning or not self._options.reasoning:
            why = Reason.MARKED if self._options.reasoning else Reason.OPTION
            self._losses.drop("reasoning of the message", model_call.message_id, why)
            return
        yield from self._id(model_call)
        record, ledger, view = model_call.record, self._ledger, self._view
        if record.id is not None:
            if model_call.reasoning is None:
                model_call.reasoning = ReasoningEvents(record.owner.tag)
            yield from model_call.reasoning.add(
                block, record.id, view.has, view.open_spans, lambda block_id: ledger.emit_companion(record, block_id)
            )

    def _end_reasoning(self, model_call: ModelCall) -> Iterable[Event]:
        """Returns the events that close the open reasoning block of a model call, if it has one."""
        return () if model_call.reasoning is None else model_call.reasoning.end(self._view.open_spans)

    def _tool_call(self, model_call: ModelCall, block: ToolCallBlock) -> Iterator[Event]:
        record, view = model_call.record, self._view
        tool_call = model_call.tool_calls.find(block, model_call.message_id)
        if not (record.is_suppressed or model_call.hides_call(tool_call)):
            yield from self._id(model_call)
        message_id = record.id or model_call.message_id
        args = to_text(block.args or "")
        made = tool_calls.fragment(
            tool_call,
            args,
            message_id,
            record.owner.tag,
            lambda tool_call: self._emits(model_call, tool_call),
            view.open_calls,
        )
        if made and not (record.is_suppressed or model_call.hides_call(tool_call)):
            yield from self._end_reasoning(model_call)
            if model_call.name and message_id not in view.open_texts:  # only the event that opens a text has a name
                yield from self._text(model_call, "")
            yield from made

    def _emits(self, model_call: ModelCall, tool_call: ToolCall) -> bool:
        """Decides whether a tool call is emitted. If so, chooses its id and starts its predictions."""
        why = model_call.record.reason
        if why is None and model_call.hides_call(tool_call):
            why = Reason.MARKED if model_call.hides_tool_calls else Reason.HIDDEN
        elif why is None and tool_call.name in self._options.hidden_tools:
            why = Reason.OPTION
        elif why is None:
            emitted_id = self._ledger.call_ids.emit(
                tool_call.emitted_id, model_call.message_id, model_call.record.owner
            )
            if emitted_id is not None:
                tool_call.emitted_id = emitted_id
                if model_call.writes_state:
                    self._predictions.watch(emitted_id, tool_call.name)
                return True
            why = Reason.ID_TAKEN
        self._losses.drop("tool call", tool_call.emitted_id, why)
        return False

    def _server_result(self, model_call: ModelCall, block: ServerResult) -> Iterator[Event]:
        view, tag = self._view, model_call.record.owner.tag
        tool_call = model_call.tool_calls.of_result(block.call_id)
        call_id = tool_call.emitted_id if tool_call else block.call_id
        yield from self._id(model_call)
        result_id = ids.result_id(model_call.message_id, call_id)
        if model_call.record.is_suppressed or view.has(result_id):
            return
        if not self._options.tool_results or (tool_call and not tool_call.is_emitted):
            self._losses.drop("result", result_id, Reason.NO_CALL if self._options.tool_results else Reason.OPTION)
            return
        if call_id in view.open_calls:
            yield events.tool_end(call_id, tag)
        self._ledger.emit_companion(model_call.record, result_id)
        answer = ServerResult(call_id, block.content, block.error)
        yield from as_events(result_message(model_call.message_id, answer, self._options), tag) or ()

    def _media(self, model_call: ModelCall, block: Media) -> Iterator[Event]:
        yield from self._id(model_call)
        media_id = ids.media_id(model_call.message_id, model_call.media)
        model_call.media += 1
        if model_call.record.is_suppressed:  # `_id` has just suppressed it
            self._losses.drop("media", media_id, model_call.record.reason or Reason.HIDDEN)
        elif not self._view.has(media_id):
            self._ledger.emit_companion(model_call.record, media_id)
            yield events.activity_snapshot(media_id, "media", block.part, model_call.record.owner.tag)

    def _signature(self, model_call: ModelCall, block: Signature) -> Iterator[Event]:
        tag = model_call.record.owner.tag
        if block.call_id is not None:
            if self._view.message_of_call(block.call_id) is not None:
                yield events.call_encrypted(block.call_id, block.value, tag)
        elif not model_call.withholds_text:
            yield from self._text(model_call, "")
            if model_call.record.id is not None:
                yield events.reasoning_encrypted(model_call.record.id, block.value, tag)
