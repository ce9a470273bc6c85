"""Messages of the `messages` mode: which of them are emitted while they stream, and from which chunk on.

What one content block becomes is in `blocks.py`, which call a chunk belongs to in `model_calls.py`, what is visible in
`visibility.py`; what the checkpoint has is reconciled in `checkpoint/messages.py`.

Rules

1. A chunk is emitted by the call of `feed` that brought it. Only the arguments of a tool call wait until its name is
   known, and citations and an abnormal finish reason until the message ends. The chunk that ends a model call is marked
   (`chunk_position`). A model call that fails has no such chunk, nor has one of `ChatMessageChunk`s: it is closed when
   its superstep or the run ends.
2. A message that came whole is emitted whole, unless the client has it or a call of the same task, or of a graph that
   the task runs, has streamed just that: nodes copy and rename what a model streamed. The streamed text stays until the
   values have the copy; then one snapshot puts the copy in its place. Clients know a message by its id
   (`@ag-ui/client`'s merge of a snapshot, and React's keys in CopilotKit), so that it is another one to them: only a
   node that keeps the id keeps the message.
3. A tool result is emitted when it comes, under the id that it is stored under, unless the client has it or cannot
   know which message's call it answers (`calls.py`). If a node returns a result as a dictionary, the stream has no
   message for it, because LangGraph looks for message objects
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_messages.py). In a subgraph,
   the values of that graph have it long before those of the root.
4. Nothing is emitted twice: a whole message of the root graph with a call that the client already has is left to the
   reconciliation.
5. Of a message that a checkpoint has whole, read beside the stream, no chunk is emitted. A stored message with a tool
   call that was emitted is its message, whatever else the two have: a node may rename, edit or join what streamed.
6. A chunk is late if its model call has not ended when the superstep in which it began is reconciled. No more of that
   call is emitted: its record is suppressed (`on_superstep_end`), and `blocks.py` emits nothing of a suppressed record.
   After a model call has ended, a chunk with its id begins another one: models use an id again.
7. What a node returned may be older than the run: a function (`@entrypoint`) gives all that it keeps, and has no values
   before. A client of which it is not known what it has would append such a text to its own copy: it is not emitted.
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
"""Characters of a text that surely fits into one frame."""


class MessageStream:
    """The messages that models and tools of one run say while they say them."""

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
        """The event of a chunk that only continues what its message has open, applied to the view; None for any other.

        The one path that must be fast: messages may be objects of this process or a platform's JSON. May raise for
        what is no message: `on_message` reads those.
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
        """The emitted id of the call that a message answers; None if it is no result, or one that is not emitted."""
        view = fields(message)
        return self._ledger.calls.answered(str(view.get("tool_call_id")), owner) if kind_of(view) == "tool" else None

    def on_whole(
        self, ns: Namespace, message: Any, metadata: Mapping[str, Any], owner: Owner, *, is_replayed: bool = False
    ) -> Iterator[Event]:
        """The events of an assistant message or a tool result that came whole (rules 2 to 4). `is_replayed`: an earlier
        run has counted its usage."""
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
        """The results at the end of a graph's messages whose calls the client has without one (rule 3)."""
        for message in reversed(messages if type(messages) in (list, tuple) else ()):
            view = fields(message)
            if kind_of(view) != "tool":
                return
            if not self._view.has(str(view.get("id"))) and self._awaits(self.answered(message, owner)):
                yield message

    def _awaits(self, call_id: str | None) -> bool:
        """Whether the client has this call, and no result of it."""
        if call_id is None or self._view.message_of_call(call_id) is None:
            return False
        return not any(message.get("toolCallId") == call_id for message in self._view.messages)

    def on_node_output(self, ns: Namespace, node: str, output: Any) -> None:
        """A node returned its output. A node that returns a message of its own model is no tool node."""
        if not self._visibility.runs_tools(ns, node):
            return
        stored = {fields(message).get("id") for message in written_messages(output, self._options.messages_key)}
        for call in self._calls:
            if call.is_of(ns, node) and not stored.isdisjoint(call.record.names):
                self._visibility.on_own_message(ns, node)
                return

    def on_checkpoint(self, stored: Mapping[str, Event]) -> Generator[Event, None, Overlap]:
        """A checkpoint was read beside the stream: closes the messages that it has whole (rule 5). `stored`: its
        messages by id."""
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
        """A superstep of the root graph ended; `is_compared`: its messages were compared with the stored ones. Then
        no more is emitted of what began in it."""
        self._ledger.latest.clear()
        if is_compared:
            for call in self._calls.unfinished():
                self._ledger.suppress(call.record, Reason.RECONCILED)
            self._visibility.saving.update(node_of(call.metadata) for call in self._calls if self._was_saved(call))
        self._ledger.superstep_ended(is_compared=is_compared)
        self._calls.forget()

    def close(self, ns: Namespace = ()) -> Iterator[Event]:
        """Closes what is open in the graph at `ns` and within it (rule 1)."""
        for call in self._calls.unfinished():
            if not ns or is_within(tuple(call.task.split("|")[:-1]), ns):
                yield from self._blocks.close(call)

    def stop(self) -> None:
        """The run has failed: no chunk takes the shorter way any more (`Translator.feed` ignores the parts that
        follow)."""
        self._ledger.latest.clear()

    def _was_saved(self, call: ModelCall) -> bool:
        """Whether the client has the text of a call from a checkpoint that was held to the end."""
        if call.prefix is None or not call.hidden_text:
            return False
        return any((self._view.message(name) or {}).get("content") for name in call.record.names)

    def _is_new(self, view: Mapping[str, Any], kind: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a message is certainly of this run: of its models, or the result of a call of theirs."""
        if kind == "tool":
            return self._view.message_of_call(str(view.get("tool_call_id"))) is not None
        return is_chunk(view) or not metadata or _names_model(metadata)

    def _is_reused(self, message_id: str, record: Record) -> bool:
        """Whether another message streams under the id by now."""
        return self._ledger.streaming(message_id) not in (None, record)

    def _copy(self, call: ModelCall, stored: Mapping[str, Event]) -> Event | None:
        """The only message new to the client that begins with what has come of a call: nodes and providers rename."""
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
        """The events of a chunk. `role`: the role of a `ChatMessageChunk` that is not AG-UI's, which names the
        message."""
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
        elif not self._options.raw_events:  # with these, a part has two events
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
        """Chooses the ids of a whole message's calls; whether all of them can be emitted."""
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
    """Whether the metadata is a model call's. A sum of chunks that a node returned names no model."""
    return "ls_provider" in metadata or "ls_model_type" in metadata


def _is_of_function(metadata: Mapping[str, Any]) -> bool:
    """Whether a function returned a message: the input itself triggers it, where an edge triggers a graph's node."""
    triggers = metadata.get("langgraph_triggers")
    return isinstance(triggers, list | tuple) and "__start__" in triggers
