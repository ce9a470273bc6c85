"""Messages of the `messages` mode: which of them are emitted while they stream, and from which chunk on.

`blocks.py` says what one content block becomes, `model_calls.py` which call a chunk belongs to, and `visibility.py`
what is visible. `checkpoint/messages.py` reconciles the messages with the checkpoint.

Rules

1. A chunk is emitted by the call of `feed` that brought it. Only the arguments of a tool call wait, until its name is
   known, and citations and an abnormal finish reason, until the message ends. The chunk that ends a model call has a
   mark (`chunk_position`:
   https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/messages/ai.py). A model call that
   fails does not have such a chunk, and neither does a call that streams `ChatMessageChunk`s. Those are closed when
   their superstep or the run ends.
2. A message that came whole is emitted whole, unless the client has it, or a call of the same task or of a graph that
   the task runs has streamed the same content: nodes copy and rename what a model streamed. The streamed text stays
   until the values have the copy; then one snapshot replaces it with the copy. Clients recognise a message by its id
   (`@ag-ui/client` when it merges a snapshot, CopilotKit in its React keys), so the copy is another message to them. A
   node has to keep the id if the message is to stay the same.
3. A tool result is emitted when it comes, under the id that it is stored under, unless the client has it or cannot
   know which message's call it answers (`calls.py`). If a node returns a result as a dictionary, the stream has no
   message for it, because LangGraph looks for message objects
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_messages.py). In a subgraph,
   the values of that graph have it long before those of the root.
4. Nothing is emitted twice: if a whole message of the root graph has a call that the client already has, the message is
   left to the reconciliation.
5. If a checkpoint that was read during the stream has a message whole, no more of its chunks are emitted. A stored
   message with a tool call that was emitted is the message of that call, even if the rest differs: a node may rename,
   edit or join what was streamed.
6. A chunk is late if its model call has not ended when the superstep in which it began is reconciled. Nothing more of
   that call is emitted: its record is suppressed (`on_superstep_end`), and `blocks.py` emits nothing of a suppressed
   record. After a model call has ended, a chunk with its id begins another call, because models reuse ids.
7. What a node returned may be older than the run: a function (`@entrypoint`) returns everything that it keeps, and
   there are no values before its result. If it is unknown what the client has, such a text is not emitted, because the
   client would append it to its own copy.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk

from ..client.reducer import append_arguments
from ..client.view import ClientView
from ..content.blocks import ToolCallBlock
from ..content.reader import arguments_delta, finish_reason, read_content, text_delta
from ..convert.to_agui import kind_and_role, to_agui
from ..convert.to_events import as_events
from ..jsonable.json_prefix import JsonPrefix
from ..jsonable.to_json import to_json
from ..ledger import Ledger, Overlap, Record
from ..losses import Losses, Reason
from ..options import Options
from ..owner import Owner
from ..parts.channels import written_messages
from ..parts.message import fields, is_chunk, kind_of
from ..parts.part import Namespace, is_within
from ..wire.events import Event
from .blocks import BlockEvents
from .model_calls import ModelCall, ModelCalls, task_of
from .predicted_state import Predictions
from .usage import Usage
from .visibility import VisibilityRules, node_of

_SHORT = 4096
"""The length of a text, in characters, that certainly fits into one frame."""


class MessageStream:
    """The messages of the models and tools of one run, while they stream."""

    def __init__(
        self,
        view: ClientView,
        options: Options,
        ledger: Ledger,
        visibility: VisibilityRules,
        predictions: Predictions,
        losses: Losses,
        remove: Callable[[str], Iterator[Event]],
    ) -> None:
        self._view = view
        self._options = options
        self._ledger = ledger
        self._visibility = visibility
        self._predictions = predictions
        self._losses = losses
        self.usage = Usage()
        self._calls = ModelCalls(ledger)
        self._blocks = BlockEvents(view, options, ledger, predictions, losses, remove)

    def next_delta(self, message: Any, metadata: Any) -> Event | None:
        """The event for a chunk that only continues what its message has open, already applied to the view; None for
        any other chunk.

        Every token takes this path, so it must be fast. A message may be an object of this process or a platform's
        JSON. For anything else this may raise, and `on_message` reads it instead.
        """
        kind = type(message)
        if kind is AIMessageChunk:
            view = message.__dict__
        elif kind is dict and message.get("type") == "AIMessageChunk":
            view = message
        else:
            return None
        record = self._ledger.latest.get(view.get("id"))
        if record is None or record.call is None:
            return None
        call: ModelCall = record.call  # type: ignore[assignment]
        if metadata is not call.metadata and (
            view is not message or metadata["langgraph_checkpoint_ns"] != call.task or not _names_model(metadata)
        ):
            return None
        event, store = call.next_text, self._view.store
        if event is not None and (delta := text_delta(view)):
            entry = store.entries.get(event["messageId"])
            if entry is None or len(delta) > _SHORT:
                return None
            event = event.copy()
            event["delta"] = delta
            entry.append_text(delta)
            return event
        event, delta = call.next_arguments, arguments_delta(view, call.next_index)
        if event is None or not delta or len(delta) > _SHORT:
            return None
        event = event.copy()
        event["delta"] = delta
        append_arguments(store, event)
        return event

    def on_message(self, ns: Namespace, message: Any, metadata: Mapping[str, Any], owner: Owner) -> Iterator[Event]:
        """The events of a message of the `messages` mode, a chunk or whole."""
        view = fields(message)
        kind, role = kind_and_role(view)
        if not self._view.knows_messages and _is_of_function(metadata) and not self._is_new(view, kind, metadata):
            return
        if kind == "tool":
            call_id = str(view.get("tool_call_id"))
            self._visibility.on_result(ns, metadata, call_id)
            if owner.id is None and not self._visibility.in_tool(ns):
                self._predictions.on_result(call_id)
            yield from self.on_whole(ns, message, metadata, owner)
        elif kind == "ai" and is_chunk(view) and (not metadata or _names_model(metadata)):
            yield from self._on_chunk(ns, view, metadata, owner, role, live=not isinstance(message, Mapping))
        elif kind == "ai" or kind_of(view) == "chat":
            yield from self.on_whole(ns, message, metadata, owner)

    def answered(self, message: Any, owner: Owner) -> str | None:
        """The emitted id of the call that a message answers; None if it is not a result, or not an emitted one."""
        view = fields(message)
        return self._ledger.calls.answered(str(view.get("tool_call_id")), owner) if kind_of(view) == "tool" else None

    def on_whole(
        self, ns: Namespace, message: Any, metadata: Mapping[str, Any], owner: Owner, *, is_replayed: bool = False
    ) -> Iterator[Event]:
        """The events of an assistant message or a tool result that came whole (rules 2 to 4). `is_replayed`: it comes
        from an earlier run, which has counted its usage."""
        view, client = fields(message), self._view
        message_id = view.get("id")
        if not isinstance(message_id, str) or not message_id:
            self._losses.drop("message", None, Reason.NO_ID)
            return
        made = to_json(to_agui(message, 0, self._options, self._losses))
        if not made or client.has(message_id):
            return
        if kind_of(view) == "tool":
            yield from self._result(ns, made[0], owner)
            return
        itself: Mapping[str, Any] = next((item for item in made if item["id"] == message_id), {})
        call_ids = [call["id"] for call in itself.get("toolCalls", ())]
        copied = self._calls.copied(task_of(metadata), itself.get("content", ""), call_ids, client)
        if copied is not None:
            self._calls.take_id(copied, message_id)
            self._losses.drop("message", message_id, Reason.COPY)
            return
        if not is_replayed:
            self._count(view, metadata)
        call = self._begin(ns, message_id, metadata, owner)
        record = call.record
        text = itself.get("content")
        if isinstance(text, str) and text and _names_model(metadata) and not call.released(text):
            self._ledger.suppress(record, Reason.STRUCTURED)  # the checkpoint brings it, if the graph saves it
        for call_id in call_ids:
            self._visibility.on_call(ns, metadata, call_id)
        made_events: list[Event] = []
        if not record.is_suppressed and self._emits_calls(call, itself):
            for item in made:
                item_events = as_events(item, owner.tag)
                if item_events is not None and not client.has(item["id"]):
                    self._ledger.emit_beside(record, item["id"])
                    made_events += item_events
        self._ledger.close(record)
        yield from call.part_of_tool(made_events)

    def results_in(self, messages: Any, owner: Owner) -> Iterator[Any]:
        """The results at the end of a graph's messages for calls that have no result at the client yet (rule 3)."""
        for message in reversed(messages if type(messages) in (list, tuple) else ()):
            view = fields(message)
            if kind_of(view) != "tool":
                return
            if not self._view.has(str(view.get("id"))) and self._awaits(self.answered(message, owner)):
                yield message

    def _awaits(self, call_id: str | None) -> bool:
        """Whether the client has this call but not its result."""
        if call_id is None or self._view.message_of_call(call_id) is None:
            return False
        return not any(message.get("toolCallId") == call_id for message in self._view.messages)

    def on_node_output(self, ns: Namespace, node: str, output: Any) -> None:
        """A node returned its output. A node that returns a message of its own model is not a tool node."""
        if not self._visibility.runs_tools(ns, node):
            return
        stored = {fields(message).get("id") for message in written_messages(output, self._options.messages_key)}
        for call in self._calls:
            if call.is_of(ns, node) and not stored.isdisjoint(call.record.names):
                self._visibility.on_own_message(ns, node)
                return

    def on_checkpoint(self, stored: Mapping[str, Event]) -> Generator[Event, None, Overlap]:
        """A checkpoint was read during the stream: closes the messages that it has whole (rule 5). `stored`: the
        checkpoint's messages, by id."""
        self._ledger.on_checkpoint(stored)
        overlap = Overlap(set(), set())
        of_call = {tool["id"]: message for message in stored.values() for tool in message.get("toolCalls", ())}
        for call in [call for call in self._calls if call.record.id is not None and not call.record.is_suppressed]:
            record = call.record
            with_call = next((of_call[item] for item in call.tools.emitted_ids if item in of_call), None)
            named = next((stored[name] for name in record.names if name in stored), None)
            message = with_call or named or self._copy(call, stored)
            if message is None:
                continue
            if with_call is None and not call.begins(message, self._view):
                overlap.continued.update(record.ids)
                continue
            yield from self._blocks.close_as_stored(call)
            if message["id"] != record.id:
                overlap.renamed.update(
                    item for item in record.ids if item not in stored and not self._is_reused(item, record)
                )
        return overlap

    def on_superstep_end(self, is_compared: bool) -> None:
        """A superstep of the root graph ended. `is_compared`: its messages were compared with the stored ones; then
        nothing more is emitted of messages that began in it."""
        self._ledger.latest.clear()
        if is_compared:
            for call in self._calls.unfinished():
                self._ledger.suppress(call.record, Reason.RECONCILED)
            self._visibility.saving.update(node_of(call.metadata) for call in self._calls if self._was_saved(call))
        self._ledger.superstep_ended(is_compared=is_compared)
        self._calls.forget()

    def close(self, ns: Namespace = ()) -> Iterator[Event]:
        """Closes the messages that are open in the graph at `ns` and in the graphs within it (rule 1)."""
        for call in self._calls.unfinished():
            if not ns or is_within(tuple(call.task.split("|")[:-1]), ns):
                yield from self._blocks.close(call)

    def stop(self) -> None:
        """The run has failed: chunks no longer take the shorter path, and `Translator.feed` ignores the parts that
        follow."""
        self._ledger.latest.clear()

    def _was_saved(self, call: ModelCall) -> bool:
        """Whether the text of a call was held to its end, and the client then got it from a checkpoint."""
        if call.prefix is None or not call.hidden_text:
            return False
        return any((self._view.message(name) or {}).get("content") for name in call.record.names)

    def _is_new(self, view: Mapping[str, Any], kind: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a message certainly belongs to this run: one of its models said it, or it answers one of their
        calls."""
        if kind == "tool":
            return self._view.message_of_call(str(view.get("tool_call_id"))) is not None
        return is_chunk(view) or not metadata or _names_model(metadata)

    def _is_reused(self, message_id: str, record: Record) -> bool:
        """Whether another message is streaming under the id by now."""
        return self._ledger.streaming(message_id) not in (None, record)

    def _copy(self, call: ModelCall, stored: Mapping[str, Event]) -> Event | None:
        """The only stored message, new to the client, that begins with what a call has streamed so far: nodes and
        providers rename messages. None if there are several, or none."""
        if not (call.has_text or call.tools.ids):
            return None
        new = [item for item in stored.values() if item["role"] == "assistant" and not self._view.has(item["id"])]
        same = [item for item in new if call.begins(item, self._view)]
        return same[0] if len(same) == 1 else None

    def _on_chunk(
        self,
        ns: Namespace,
        view: Mapping[str, Any],
        metadata: Mapping[str, Any],
        owner: Owner,
        role: str | None,
        *,
        live: bool,
    ) -> Iterator[Event]:
        """The events of a chunk. `role`: the role of a `ChatMessageChunk` that AG-UI does not have; it becomes the name
        of the message."""
        message_id = view.get("id")
        if not isinstance(message_id, str):
            message_id = ""
        call = self._calls.of_chunk(message_id, metadata, live=live)
        if call is None:
            call = self._begin(ns, message_id, metadata, owner)
            call.name = call.name or role
        record = call.record
        call.next_text = call.next_arguments = None
        self._count(view, metadata)
        call.finish = finish_reason(view) or call.finish
        if record.id is None and self._ledger.is_read(record):
            self._ledger.suppress(record, Reason.STORED)
        blocks = read_content(view, report=self._losses.block)
        for block in blocks:
            if isinstance(block, ToolCallBlock) and block.id:
                self._visibility.on_call(ns, metadata, block.id)
            yield from call.part_of_tool(self._blocks.on_block(call, block))
        if view.get("chunk_position") == "last":
            yield from self._blocks.close(call)
            self._ledger.close(record)
        elif not self._options.raw_events:  # with raw events a chunk becomes two events, and the shorter path makes one
            self._ledger.latest[message_id] = record
            self._blocks.prepare(call, blocks[-1] if blocks else None)

    def _count(self, view: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        usage = view.get("usage_metadata")
        if usage is not None:
            response = view.get("response_metadata")
            with self._losses.guard("The token usage"):
                self.usage.add(usage, metadata, response)

    def _begin(self, ns: Namespace, message_id: str, metadata: Mapping[str, Any], owner: Owner) -> ModelCall:
        decision = self._visibility.decide(ns, metadata, owner.depth)
        parent = None if decision.parent_call is None else self._ledger.calls.answered(decision.parent_call, owner)
        call = self._calls.begin(message_id, metadata, owner._replace(in_tool=parent is not None), parent)
        call.hides_text = call.hides_text or decision.hides_text
        call.prefix = JsonPrefix() if decision.may_be_structured else None
        hidden = Reason.SUBAGENT if owner.is_hidden else decision.hidden
        if hidden is None and decision.parent_call is not None and parent is None:
            hidden = Reason.NO_CALL
        if hidden is not None:
            self._ledger.suppress(call.record, hidden)
        if call.record.owner.writes_state:
            self._predictions.begin(metadata)
        return call

    def _emits_calls(self, call: ModelCall, message: Mapping[str, Any]) -> bool:
        """Chooses the ids of the calls of a whole message; returns whether all of them can be emitted."""
        emitted = True
        for item in message.get("toolCalls", ()):
            call_id = self._ledger.calls.emit(item["id"], call.message_id, call.record.owner)
            item["id"], emitted = call_id or item["id"], emitted and call_id is not None
        if not emitted:
            self._losses.drop("message", call.message_id, Reason.ID_TAKEN)
        return emitted

    def _result(self, ns: Namespace, result: Mapping[str, Any], owner: Owner) -> Iterator[Event]:
        call_id = self._ledger.calls.answered(result["toolCallId"], owner)
        if owner.is_hidden or self._visibility.in_tool(ns, owner.depth) or call_id is None:
            why = Reason.NO_CALL if call_id is None else Reason.IN_TOOL
            self._losses.drop("result", result["id"], Reason.SUBAGENT if owner.is_hidden else why)
            return
        self._ledger.emit_result(result["id"], result["toolCallId"], owner)
        yield from as_events({**result, "toolCallId": call_id}, owner.tag) or ()


def _names_model(metadata: Mapping[str, Any]) -> bool:
    """Whether the metadata belongs to a model call. The metadata of a message that a node returned names no model."""
    return "ls_provider" in metadata or "ls_model_type" in metadata


def _is_of_function(metadata: Mapping[str, Any]) -> bool:
    """Whether a function returned a message: the input itself triggers it, where an edge triggers a graph's node."""
    triggers = metadata.get("langgraph_triggers")
    return isinstance(triggers, list | tuple) and "__start__" in triggers
