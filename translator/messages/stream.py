"""Decides which messages of the `messages` mode are emitted while they are streaming, and from which chunk onwards.

`block_events.py` makes the events for a content block, `model_calls.py` finds the model call that a chunk belongs to,
and `visibility.py` decides what is visible. `checkpoint/reconcile.py` compares the emitted messages with the
checkpoint.

Rules:

1. The events for a chunk are returned by the call to `feed` that receives the chunk. There are three exceptions. The
   arguments of a tool call are held back until the tool's name is known. Text that may be structured output is held
   back (`visibility.py`, rule 6). Citations and an abnormal finish reason are emitted when the message ends. The last
   chunk of a model call is marked with `chunk_position`
   (https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/messages/ai.py). A model call that
   fails has no such chunk, and neither does a model call that streams `ChatMessageChunk`s. The messages of these model
   calls are closed when their superstep or the run ends.
2. A complete message is emitted unless the client already knows it or it is a copy. A message is a copy if the same
   task, or a graph that the task runs, has streamed a message with the same content under another id. Some nodes copy a
   streamed message in this way. The streamed message stays until the values contain the copy. Then one snapshot
   replaces the streamed message with the copy. Clients treat the copy as a different message, because they identify a
   message by its id (`@ag-ui/client` when it merges a snapshot, CopilotKit in its React keys). A node can avoid this by
   keeping the id of the streamed message.
3. A tool result is emitted when it arrives, with the id under which it is stored. A result is not emitted if the client
   already has it, or if the client could not tell which tool call it answers (`call_ids.py`). It is also not emitted if
   its tool call was made in this run and the client does not know the tool call. In that case, the tool call was hidden
   or removed, and the checkpoint has to add both, because a client displays a result only together with its tool call.
   Results inside a tool or a hidden subagent are not emitted either, and neither are results that the options
   `tool_results` and `hidden_tools` exclude, nor results without an id. The result of a tool that the provider runs is
   a block of the model's answer. It is emitted unless its message is hidden, the client has it, its tool call was not
   emitted, or `tool_results` is off (`block_events.py`). If a node returns a result as a dictionary, the stream
   contains no message for the result, because LangGraph only looks for message objects
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_messages.py). If that node is
   in a subgraph, the result is taken from the subgraph's values, which arrive long before the root graph's values
   contain the result.
4. No message is emitted twice. If a complete message of the root graph contains a tool call whose id the client already
   knows, the message is not emitted when it arrives, because the client would append the arguments to the existing
   tool call (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts).
   The next comparison with the stored messages adds it.
5. If a checkpoint that was read during the stream contains a complete message, no more chunks of that message are
   emitted. If a stored message contains a tool call that has been emitted, it counts as the stored form of the streamed
   message with that tool call, even if its id or text differs. The reason is that a node may rename, edit or merge
   messages, and LangGraph's reducer identifies a message only by its id
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/graph/message.py).
6. A model call may still be running when its superstep ends. LangGraph streams its chunks until the model call itself
   ends, even if the node that made it has already returned
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_messages.py). The end of a
   superstep, of a subgraph or of a subagent closes the message (`close`), but does not end its record. What happens to
   later chunks depends on whether the messages of the superstep have been compared with the stored ones. If they have,
   no later chunk is emitted: `on_superstep_end` suppresses the record, and `block_events.py` emits nothing for a
   suppressed record. If nothing was compared, a later chunk opens the message again with the same id. Nothing is
   compared after the end of a subgraph or subagent. For a graph without a messages channel, messages are compared only
   if `unsaved` is `step` and the parts come from a local graph, whose `values` contain every channel. Some
   models reuse ids, so a chunk that arrives after the model call with the same id has ended begins a new message. The
   client then loses the earlier message (`block_events.py`, rule 2).
7. The result of a function (`@entrypoint`) may contain messages from earlier runs, because the function receives them
   as `previous` (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/func/__init__.py). The
   stream contains no values before this result. So if the client's messages are unknown, a message in the result is
   emitted only if it certainly belongs to this run. The client may already have a copy of any other message, and would
   append the text to that copy.

Order of the decisions

These questions are asked about each chunk, in this order. The first one that rules the chunk out gives the `Reason`.

1. Has the run failed (`Translator.feed`)? Does the message certainly belong to this run (rule 7)?
2. Which model call does the chunk belong to (`model_calls.py`)? A chunk with the id of a model call that has ended
   begins another one.
3. If the chunk begins a model call: is the model call visible? First the option `subagents` decides, then
   `visibility.py`, and then whether the client has the tool call under which the model call is displayed. If it is not
   visible, its record is suppressed.
4. If nothing of the message has been emitted yet: does a checkpoint that was read contain the message (rule 5)?
5. Has the record of the message been suppressed: by one of these questions, by a checkpoint (rule 5), by the end of its
   superstep (rule 6), or by another message with its id?
6. For each content block: does the metadata of the model call or an option hide this kind of content, or is it held
   back (`visibility.py`, rules 4 to 6)?
7. If nothing of the message has been emitted yet: may the message have its id? Another agent's message may have the
   same id, or the client may have a message with that id that no snapshot can remove (`block_events.py`, rules 2 and
   3).
8. If the block begins a tool call: is the tool call's id free (`call_ids.py`)?
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessageChunk

from ..client.reducer import append_arguments
from ..client.view import ClientView
from ..content.blocks import ToolCallBlock
from ..content.read_blocks import arguments_delta, finish_reason, read_content, text_delta
from ..convert.to_agui import kind_and_role, to_agui
from ..convert.to_events import as_events
from ..jsonable.json_prefix import JsonPrefix
from ..jsonable.to_json import to_json, to_text
from ..ledger import Ledger, Overlap, Record
from ..losses import Losses, Reason
from ..options import Options
from ..owner import Owner
from ..parts.channels import written_messages
from ..parts.message import fields_of, is_chunk, is_object, kind_of
from ..parts.part import Namespace, is_within
from ..snapshots import Snapshots
from ..tool_tasks import ToolTasks
from ..wire.events import Event
from .block_events import BlockEvents
from .model_calls import ModelCall, ModelCalls, is_hidden, task_of
from .predicted_state import Predictions
from .usage import Usage
from .visibility import VisibilityRules, node_of

_SHORT = 4096
"""The number of characters that certainly fit into one frame."""
_CONTENTS = frozenset({"content", "encryptedValue", "metadata", "toolCalls"})
"""The fields of an assistant message that contain its contents."""


class MessageStream:
    """Emits the messages of one run's models and tools while they are streaming."""

    def __init__(
        self,
        view: ClientView,
        options: Options,
        ledger: Ledger,
        tools: ToolTasks,
        visibility: VisibilityRules,
        predictions: Predictions,
        snapshots: Snapshots,
        losses: Losses,
    ) -> None:
        self._view = view
        self._options = options
        self._ledger = ledger
        self._tools = tools
        self._visibility = visibility
        self._predictions = predictions
        self._losses = losses
        self.usage = Usage()
        self._model_calls = ModelCalls(ledger)
        self._blocks = BlockEvents(view, options, ledger, predictions, snapshots, losses)

    def next_delta(self, message: Any, metadata: Any) -> Event | None:
        """Returns the event for a chunk that only continues an open text or tool call of its message, and applies that
        event to the view. Returns None for any other chunk.

        Most tokens take this path, so it has to be fast. A message may be a local message object or a platform's JSON.
        For anything else, this method may raise an exception. The caller then passes the message to `on_message`.
        """
        kind = type(message)
        if kind is AIMessageChunk:
            fields = message.__dict__
        elif kind is dict and message.get("type") == "AIMessageChunk":
            fields = message
        else:
            return None
        record = self._ledger.latest.get(fields.get("id"))
        if record is None or record.model_call is None:
            return None
        model_call: ModelCall = record.model_call  # type: ignore[assignment]
        if metadata is not model_call.metadata and (
            fields is not message
            or metadata["langgraph_checkpoint_ns"] != model_call.task
            or not _names_model(metadata)
        ):
            return None
        event, store = model_call.next_text, self._view.store
        if event is not None and (delta := text_delta(fields)):
            entry = store.entries.get(event["messageId"])
            if entry is None or len(delta) > _SHORT:
                return None
            event = event.copy()
            event["delta"] = delta
            entry.append_text(delta)
            return event
        event, delta = model_call.next_arguments, arguments_delta(fields, model_call.next_index)
        if event is None or not delta or len(delta) > _SHORT:
            return None
        event = event.copy()
        event["delta"] = delta
        append_arguments(store, event)
        return event

    def on_message(self, ns: Namespace, message: Any, metadata: Mapping[str, Any], owner: Owner) -> Iterable[Event]:
        """Returns the events for a message of the `messages` mode, which is a chunk or a complete message."""
        fields = fields_of(message)
        kind, role = kind_and_role(fields)
        if not self._view.knows_messages and _is_of_function(metadata) and not self._is_new(fields, kind, metadata):
            self._losses.drop("message", to_text(str(fields.get("id"))), Reason.UNKNOWN_CLIENT)
            return ()
        if kind == "ai" and is_chunk(fields) and (not metadata or _names_model(metadata)):
            return self._on_chunk(ns, fields, metadata, owner, role, live=is_object(message))
        if kind == "tool":
            call_id = str(fields.get("tool_call_id"))
            was_made = self._tools.made(ns, call_id)
            self._tools.record_result(ns, metadata, call_id)
            if was_made and owner.id is None and self._view.message_of_call(call_id) is None:
                self._losses.drop("result", str(fields.get("id")), Reason.NO_CALL)
                return ()
        if kind in ("ai", "tool") or kind_of(fields) == "chat":
            return self.on_whole(ns, message, metadata, owner)
        return ()

    def call_answered_by(self, message: Any, owner: Owner) -> str | None:
        """The emitted id of the tool call that a message answers. None if the message is not a tool result, or if its
        tool call was not emitted."""
        fields = fields_of(message)
        return (
            self._ledger.call_ids.call_of_result(str(fields.get("tool_call_id")), owner)
            if kind_of(fields) == "tool"
            else None
        )

    def on_whole(
        self, ns: Namespace, message: Any, metadata: Mapping[str, Any], owner: Owner, *, is_replayed: bool = False
    ) -> Iterator[Event]:
        """Yields the events for a complete assistant message or a tool result (rules 2 to 4). `is_replayed`: whether
        the message is from an earlier run. The tokens of such a message are not counted again."""
        fields, client = fields_of(message), self._view
        message_id = fields.get("id")
        if not isinstance(message_id, str) or not message_id:
            self._losses.drop("message", None, Reason.NO_ID)
            return
        made = to_json(to_agui(message, 0, self._options, self._losses))
        if not made or client.has(message_id):
            return
        if kind_of(fields) == "tool":
            yield from self._result(ns, made[0], owner)
            return
        itself: Event = next((item for item in made if item["id"] == message_id), {})
        tool_call_ids = [tool_call["id"] for tool_call in itself.get("toolCalls", ())]
        copied = self._model_calls.copied(task_of(metadata), itself.get("content", ""), tool_call_ids, client)
        if copied is not None:
            self._model_calls.take_id(copied, message_id)
            self._losses.drop("message", message_id, Reason.COPY)
            return
        if not is_replayed:
            self._count(fields, metadata)
        model_call = self._begin(ns, message_id, metadata, owner, whole=True)
        record = model_call.record
        for call_id in tool_call_ids:
            self._tools.record_call(ns, metadata, call_id)
        if not record.is_suppressed and _names_model(metadata):
            made = self._visible(model_call, made)
            itself = next((item for item in made if item["id"] == message_id), {})
        made_events: list[Event] = []
        if not record.is_suppressed and self._emits_calls(model_call, itself):
            for item in made:
                item_events = as_events(item, owner.tag)
                if item_events is not None and not client.has(item["id"]):
                    self._ledger.emit_companion(record, item["id"])
                    made_events += item_events
        self._ledger.close(record)
        yield from model_call.part_of_tool(made_events)

    def results_in(self, messages: Any, owner: Owner) -> Iterator[Any]:
        """Looks at the tool results at the end of a graph's messages. Yields those that the client lacks, if the client
        knows their tool calls (rule 3)."""
        for message in reversed(messages if type(messages) in (list, tuple) else ()):
            fields = fields_of(message)
            if kind_of(fields) != "tool":
                return
            if not self._view.has(str(fields.get("id"))) and self._awaits(self.call_answered_by(message, owner)):
                yield message

    def _awaits(self, call_id: str | None) -> bool:
        """Whether the client has this tool call but not its result."""
        if call_id is None or self._view.message_of_call(call_id) is None:
            return False
        return not any(message.get("toolCallId") == call_id for message in self._view.messages)

    def read_updates(self, ns: Namespace, node: str, updates: Sequence[Mapping[str, Any]]) -> None:
        """Records whether the updates of a node contain a message of the node's own model. Such a node does not count
        as a tool node."""
        if not self._tools.runs_tools(ns, node):
            return
        own = [model_call.record for model_call in self._model_calls if model_call.is_of(ns, node)]
        if own:
            key = self._options.messages_key
            stored = {fields_of(message).get("id") for message in written_messages(updates, key)}
            if any(not stored.isdisjoint(record.names) for record in own):
                self._tools.record_own_message(ns, node)

    def on_checkpoint(self, stored: Mapping[str, Event]) -> Generator[Event, None, Overlap]:
        """Yields the events that close the complete messages of a checkpoint that was read during the stream (rule 5).
        Returns an `Overlap`, which says how the other streaming messages differ from the checkpoint. `stored`: the
        checkpoint's messages, as a mapping from their ids."""
        self._ledger.read_checkpoint(stored)
        overlap = Overlap(set(), set())
        of_call = {call["id"]: message for message in stored.values() for call in message.get("toolCalls", ())}
        for model_call in [
            model_call
            for model_call in self._model_calls
            if model_call.record.id is not None and not model_call.record.is_suppressed
        ]:
            record = model_call.record
            with_call = next((of_call[item] for item in model_call.tool_calls.emitted_ids if item in of_call), None)
            named = next((stored[name] for name in record.names if name in stored), None)
            message = with_call or named or self._copy(model_call, stored)
            if message is None:
                continue
            if with_call is None and not model_call.begins(message, self._view):
                overlap.continued.update(record.ids)
                continue
            yield from self._blocks.close_as_stored(model_call)
            if message["id"] != record.id:
                overlap.surplus.update(
                    item for item in record.ids if item not in stored and not self._is_reused(item, record)
                )
        return overlap

    def on_superstep_end(self, *, is_compared: bool) -> None:
        """Handles the end of a superstep of the root graph. `is_compared`: whether the messages of that superstep were
        compared with the stored ones. If so, no further chunks of these messages are emitted (rule 6)."""
        self._ledger.latest.clear()
        if is_compared:
            for model_call in self._model_calls.unfinished():
                self._ledger.suppress(model_call.record, Reason.RECONCILED)
            for model_call in self._model_calls:
                if self._was_saved(model_call):
                    self._visibility.saving.add(node_of(model_call.metadata))
        self._ledger.superstep_ended()
        self._model_calls.forget()

    def close(self, ns: Namespace = ()) -> Iterator[Event]:
        """Yields the events that close the open messages of the graph at `ns` and of the graphs inside it (rule 1)."""
        for model_call in self._model_calls.unfinished():
            if not ns or is_within(tuple(model_call.task.split("|")[:-1]), ns):
                yield from self._blocks.close(model_call)

    def stop(self) -> None:
        """Handles the failure of the run. From now on, no chunk takes the shorter path, so that `Translator.feed` can
        ignore all chunks."""
        self._ledger.latest.clear()

    def _was_saved(self, model_call: ModelCall) -> bool:
        """Whether the text of a model call was held back until the model call ended, and the client then received the
        text from a checkpoint."""
        if model_call.prefix is None or not model_call.hidden_text:
            return False
        return any((self._view.message(name) or {}).get("content") for name in model_call.record.names)

    def _is_new(self, fields: Mapping[str, Any], kind: str, metadata: Mapping[str, Any]) -> bool:
        """Whether a message certainly belongs to this run (rule 7). This is the case if a model of this run produced
        the message, or if it is the result of a tool call that the client knows."""
        if kind == "tool":
            return self._view.message_of_call(str(fields.get("tool_call_id"))) is not None
        return is_chunk(fields) or not metadata or _names_model(metadata)

    def _is_reused(self, message_id: str, record: Record) -> bool:
        """Whether another message is now streaming under this id."""
        return self._ledger.streaming(message_id) not in (None, record)

    def _copy(self, model_call: ModelCall, stored: Mapping[str, Event]) -> Event | None:
        """The stored copy of a model call's message, if a node or the provider has given the message another id. The
        copy is a message that the client lacks, and that begins with the streamed content. None if no stored message,
        or more than one, fits this description."""
        if not (model_call.has_text or model_call.tool_calls.ids):
            return None
        new = [item for item in stored.values() if item["role"] == "assistant" and not self._view.has(item["id"])]
        same = [item for item in new if model_call.begins(item, self._view)]
        return same[0] if len(same) == 1 else None

    def _on_chunk(
        self,
        ns: Namespace,
        fields: Mapping[str, Any],
        metadata: Mapping[str, Any],
        owner: Owner,
        role: str | None,
        *,
        live: bool,
    ) -> Iterator[Event]:
        """Yields the events for a chunk. `role`: the role of a `ChatMessageChunk` if AG-UI has no such role; it becomes
        the name of the message."""
        message_id = fields.get("id")
        if not isinstance(message_id, str):
            message_id = ""
        model_call = self._model_calls.of_chunk(message_id, metadata, live=live)
        if model_call is None:
            model_call = self._begin(ns, message_id, metadata, owner)
            model_call.name = model_call.name or role
        record = model_call.record
        model_call.next_text = model_call.next_arguments = None
        self._count(fields, metadata)
        model_call.finish = finish_reason(fields) or model_call.finish
        if record.id is None and self._ledger.is_read(record):
            self._ledger.suppress(record, Reason.STORED)
        blocks = read_content(fields, whole=False, report=self._losses.block)
        for block in blocks:
            if isinstance(block, ToolCallBlock) and block.id:
                self._tools.record_call(ns, metadata, block.id)
            yield from model_call.part_of_tool(self._blocks.on_block(model_call, block))
        if fields.get("chunk_position") == "last":
            yield from self._blocks.close(model_call)
            self._ledger.close(record)
        elif not self._options.raw_events:  # with raw events, a chunk has two events; the shorter path makes only one
            self._ledger.latest[message_id] = record
            self._blocks.prepare(model_call, blocks[-1] if blocks else None)

    def _count(self, fields: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        usage = fields.get("usage_metadata")
        if usage is not None:
            response = fields.get("response_metadata")
            with self._losses.guard("The token usage"):
                self.usage.add(usage, metadata, response)

    def _begin(
        self, ns: Namespace, message_id: str, metadata: Mapping[str, Any], owner: Owner, *, whole: bool = False
    ) -> ModelCall:
        """Begins a model call. `whole`: whether its message is complete, so that it does not stream."""
        decision = self._visibility.decide(ns, metadata, owner.depth)
        outer = decision.parent_tool_call
        parent = None if outer is None else self._ledger.call_ids.call_of_result(outer, owner)
        owner = owner if parent is None and not decision.only_surfaces else owner._replace(in_tool=True)
        model_call = self._model_calls.begin(message_id, metadata, owner, parent)
        model_call.only_surfaces = decision.only_surfaces
        model_call.hides_text = model_call.hides_text or decision.hides_text
        model_call.prefix = JsonPrefix() if decision.may_be_structured else None
        hidden = Reason.SUBAGENT if owner.is_hidden else decision.hidden
        if hidden is None and outer is not None and parent is None:
            hidden = Reason.NO_CALL
        if hidden is None and whole and decision.only_surfaces:
            hidden = Reason.HIDDEN
        if hidden is not None:
            self._ledger.suppress(model_call.record, hidden)
        model_call.writes_state = self._tools.writes_state(ns, model_call.record.owner)
        if model_call.writes_state:
            self._predictions.begin(metadata)
        return model_call

    def _visible(self, model_call: ModelCall, made: Iterable[Event]) -> list[Event]:
        """Returns the messages of a model call's complete answer without the parts that are hidden (`visibility.py`,
        rules 4 to 6). If the graph saves these parts, the values add them."""
        visible: list[Event] = []
        message_id, hidden_calls = model_call.message_id, set[str]()
        for item in made:
            if item["role"] == "reasoning" and model_call.hides_reasoning:
                self._losses.drop("reasoning of the message", message_id, Reason.MARKED)
            elif item["role"] == "tool" and item["toolCallId"] in hidden_calls:
                self._losses.drop("result", item["id"], Reason.NO_CALL)
            elif item["id"] != message_id:
                visible.append(item)
            else:
                answer = self._visible_answer(model_call, item)
                hidden_calls = {call["id"] for call in item.get("toolCalls", ()) if "toolCalls" not in answer}
                if not answer.keys().isdisjoint(_CONTENTS):
                    visible.append(answer)
        return visible

    def _visible_answer(self, model_call: ModelCall, message: Event) -> Event:
        """Returns a complete assistant message without the fields that are hidden."""
        hidden: set[str] = set()
        text = message.get("content")
        if text:
            model_call.text_to_emit(text)
        if model_call.withholds_text:
            hidden.update(("content", "encryptedValue", "metadata"))
            if text:
                why = Reason.MARKED if is_hidden(model_call.metadata, "messages") else Reason.STRUCTURED
                self._losses.drop("text of the message", model_call.message_id, why)
        if model_call.hides_tool_calls:
            hidden.add("toolCalls")
            for call in message.get("toolCalls", ()):
                self._losses.drop("tool call", call["id"], Reason.MARKED)
        return {name: value for name, value in message.items() if name not in hidden}

    def _emits_calls(self, model_call: ModelCall, message: Mapping[str, Any]) -> bool:
        """Chooses ids for the tool calls of a complete message. Returns whether all of these tool calls can be
        emitted."""
        emitted = True
        for item in message.get("toolCalls", ()):
            call_id = self._ledger.call_ids.emit(item["id"], model_call.message_id, model_call.record.owner)
            item["id"], emitted = call_id or item["id"], emitted and call_id is not None
        if not emitted:
            self._losses.drop("message", model_call.message_id, Reason.ID_TAKEN)
        return emitted

    def _result(self, ns: Namespace, result: Mapping[str, Any], owner: Owner) -> Iterator[Event]:
        call_id = self._ledger.call_ids.call_of_result(result["toolCallId"], owner)
        if owner.is_hidden or self._tools.in_tool(ns, owner.depth) or call_id is None:
            why = Reason.NO_CALL if call_id is None else Reason.IN_TOOL
            self._losses.drop("result", result["id"], Reason.SUBAGENT if owner.is_hidden else why)
            return
        self._ledger.emit_result(result["id"], result["toolCallId"], owner)
        yield from as_events({**result, "toolCallId": call_id}, owner.tag) or ()


def _names_model(metadata: Mapping[str, Any]) -> bool:
    """Whether the metadata belongs to a model call. The metadata of a message that a node returned does not name a
    model."""
    return "ls_provider" in metadata or "ls_model_type" in metadata


def _is_of_function(metadata: Mapping[str, Any]) -> bool:
    """Whether the metadata belongs to a message that was returned by a function (`@entrypoint`). A function is
    triggered by the input itself (`__start__`), whereas a node of a graph is triggered by an edge."""
    triggers = metadata.get("langgraph_triggers")
    return isinstance(triggers, (list, tuple)) and "__start__" in triggers
