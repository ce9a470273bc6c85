"""What models and tools say while they say it: messages of the `messages` mode in, whose they are and whether they are
told. What a piece of a message becomes is `saying`'s, which call a chunk belongs to `modelcalls`', what the checkpoint
makes of it all `history`'s.

Rules:

1. A chunk is told in the call that fed it. The chunk that ends the call is marked (`chunk_position`); a call that fails
   has no such chunk and is closed from outside.
2. A message that came whole is told whole, unless the client holds it or a call of the same task has said just that:
   nodes copy and rename what a model streamed.
3. A tool result is told when it comes, unless the client holds it or cannot tell which message's call it answers.
4. Nothing is told twice: a message with a call that the client holds already is left to `history`.
5. Of a message that was learned whole beside the stream no chunk is told, whenever it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from ..checkpoint.messages import History
from ..checkpoint.predicted_state import Predictions
from ..content.blocks import ToolCallBlock
from ..content.reader import finish_reason, read_content, text_delta
from ..convert.to_agui import to_agui
from ..convert.to_events import as_events
from ..jsonable.to_json import to_json
from ..losses import Losses
from ..options import Options
from ..outbox import Outbox
from ..parts.channels import written_messages
from ..parts.message import chunk_fields, fields, is_chunk, kind_of
from ..parts.part import Namespace, is_within
from ..run.subagents import Subagents
from ..run.usage import Usage
from ..wire import events
from .blocks import Saying
from .call_ids import CallIds
from .model_calls import ModelCall, ModelCalls, task_of
from .reasoning import ReasoningLane
from .visibility import Speakers, is_muted

_SHORT = 4096  # characters of a chunk's text that is surely no frame too large


class Speech:
    """The messages being said in one run."""

    def __init__(
        self,
        outbox: Outbox,
        options: Options,
        speakers: Speakers,
        subagents: Subagents,
        usage: Usage,
        predictions: Predictions,
        history: History,
        losses: Losses,
    ) -> None:
        self._outbox = outbox
        self._view = outbox.view
        self._options = options
        self._speakers = speakers
        self._subagents = subagents
        self._usage = usage
        self._predictions = predictions
        self._history = history
        self._losses = losses
        self._hot: ModelCall | None = None
        self._hot_id: Any = None
        self.call_ids = CallIds(outbox.view)
        self.calls = ModelCalls()
        self._saying = Saying(outbox, options, self.call_ids, predictions, history)
        self._shown: set[str] = set()
        """The ids of messages learned beside the stream, until the conversation is judged."""
        self._results: dict[str, str] = {}
        """The ids of tool results told since the conversation was last judged, and those of the calls they answer."""

    def chunk_of_text(self, message: Any, metadata: Any) -> events.Event | None:
        """The event of a chunk that only goes on with the text said last, already in the view; None for any other.

        The one path that must be fast: it passes the outbox by.
        """
        call = self._hot
        if call is None or metadata is not call.metadata or (view := chunk_fields(message)) is None:
            return None
        delta = text_delta(view)
        if (
            not delta
            or view.get("id") != self._hot_id
            or call.told_id is None
            or not call.text_open
            or len(delta) > _SHORT
        ):
            return None
        call.text.append(delta)
        event = events.text_content(call.told_id, delta, call.subagent)
        self._view.append_text(event)
        return event

    def heard(self, ns: Namespace, message: Any, metadata: Mapping[str, Any]) -> str | None:
        """Tells a message of the `messages` mode, a chunk or whole; the call it answers, by the id it is told under."""
        self._hot = None
        view = fields(message)
        kind = kind_of(view)
        if kind == "tool":
            call_id = str(view.get("tool_call_id"))
            self._speakers.answered(ns, metadata, call_id)
            self._predictions.answered(call_id)
            self.whole(ns, message, metadata)
            return self.call_ids.answered(call_id, self._subagents.of(ns))
        if kind == "ai" and is_chunk(view) and not _is_output(metadata):
            self._chunk(ns, view, metadata, live=not isinstance(message, Mapping))
        elif kind in ("ai", "chat"):
            self.whole(ns, message, metadata)
        return None

    def whole(self, ns: Namespace, message: Any, metadata: Mapping[str, Any], *, replayed: bool = False) -> None:
        """Tells an assistant message or a tool result that came whole (rules 3 and 4); `replayed`: from an earlier run,
        which has counted its usage."""
        view = fields(message)
        message_id = view.get("id")
        if not isinstance(message_id, str) or not message_id:
            return
        told = to_json(to_agui(message, 0, self._options, self._losses.block))
        if kind_of(view) == "tool":
            if told and not self._view.has(message_id):
                self._result(ns, told[0], metadata)
            return
        if self._view.has(message_id) or not told:
            return
        itself: Mapping[str, Any] = next((item for item in told if item["id"] == message_id), {})
        call_ids = [call["id"] for call in itself.get("toolCalls", ())]
        copied = self.calls.copied(task_of(metadata), itself.get("content", ""), call_ids)
        if copied is not None:
            copied.take_id(message_id)
            return
        if not replayed:
            self._count(view, metadata)
        call = self._begin(ns, message_id, metadata)
        call.ended = True
        for call_id in call_ids:
            self._speakers.called(ns, metadata, call_id)
        if call.silent or not self._begin_calls(call, itself):
            return
        tellings = [(item["id"], as_events(item, call.subagent)) for item in told]
        for item_id, telling in tellings:
            if telling is not None and not self._view.has(item_id):
                self._outbox.tell_all(telling)
                call.told_ids.append(item_id)

    def returned(self, ns: Namespace, node: str, output: Any) -> None:
        """A node returned its output. If that has a message of the node's own model, the node is no tool node."""
        if not self._speakers.runs_tools(ns, node):
            return
        stored = {fields(message).get("id") for message in written_messages(output, self._options.messages_key)}
        if any(call.is_of(ns, node) and not stored.isdisjoint((call.provider_id, call.run_id)) for call in self.calls):
            self._speakers.returned(ns, node)

    def _begin_calls(self, call: ModelCall, message: Mapping[str, Any]) -> bool:
        """Settles the ids of a whole message's calls; whether all of them can be told."""
        told = True
        for item in message.get("toolCalls", ()):
            begun = self.call_ids.begin(item["id"], call.message_id, call.owner)
            item["id"], told = begun or item["id"], told and begun is not None
        return told

    def unsaved(self) -> set[str]:
        """The ids told since the conversation was last judged; what a subagent said is the client's to keep."""
        unsaved = set(self._results)
        for call in self.calls:
            (self._history.kept if call.owner is not None else unsaved).update(call.all_ids)
        return unsaved

    def not_among(self, ids: AbstractSet[Any], answered: AbstractSet[Any]) -> set[str]:
        """The ids emitted since the conversation was last judged, of messages that are not stored, also not under other
        ids; `ids`: of the stored ones, `answered`: the calls that stored results answer."""
        found = {message_id for message_id, call_id in self._results.items() if call_id not in answered}
        for call in self.calls:
            if ids.isdisjoint((call.told_id, call.provider_id, call.run_id)):
                found.update(call.all_ids)
        return found

    def shown(self, stored: Mapping[str, events.Event]) -> tuple[set[str], set[str]]:
        """Messages are learned beside the stream: what streamed and is whole there is closed, and no more is told of
        it (rule 5). The ids that stay as the client has them, and those whose message is stored under another id."""
        self._hot = None
        self._shown = set(stored)
        stays: set[str] = set()
        gone: set[str] = set()
        for call in [call for call in self.calls if not call.silent and call.told_id]:
            names = (call.told_id, call.provider_id, call.run_id)
            message = next((stored[name] for name in names if name and name in stored), self._copy(call, stored))
            if message is None:
                continue
            if not call.begins(message):
                stays.update(call.all_ids)
                continue
            self._saying.leave(call)
            if message["id"] != call.told_id:
                gone.update(item for item in call.all_ids if item not in stored)
        return stays, gone

    def _copy(self, call: ModelCall, stored: Mapping[str, events.Event]) -> events.Event | None:
        """The only message new to the client that begins with what a call has said: nodes and providers rename."""
        new = [wire for item, wire in stored.items() if wire["role"] == "assistant" and not self._view.has(item)]
        same = [wire for wire in new if call.begins(wire) and (call.text or call.tools.ids)]
        return same[0] if len(same) == 1 else None

    def settle(self) -> None:
        """The conversation has been judged: what was told so far is saved, or dropped."""
        self.calls.silence()
        self.forget()

    def forget(self) -> None:
        """A superstep of the root ended: its messages were reconciled, or stay with the client where the graph has no
        messages channel."""
        self._hot = None
        self._results.clear()
        self._shown.clear()
        self._saying.forget()
        self.calls.forget()

    def end_all(self) -> None:
        """Closes everything that is open (rule 1)."""
        self._hot = None
        for call in self.calls.going():
            self._saying.close(call)

    def realign(self) -> None:
        """An exception came between two events of a message: what counts as open is what the client has open."""
        self._hot = None
        opened = self._view.open
        for call in self.calls:
            self._saying.realign(call, opened)

    def end_within(self, ns: Namespace) -> None:
        """Closes what is open in the graph at `ns` and within it."""
        self._hot = None
        for call in self.calls.going():
            if is_within(tuple(call.task.split("|")[:-1]), ns):
                self._saying.close(call)

    def _chunk(self, ns: Namespace, view: Mapping[str, Any], metadata: Mapping[str, Any], *, live: bool) -> None:
        message_id = view.get("id")
        if not isinstance(message_id, str):
            message_id = ""
        call = self.calls.of_chunk(message_id, metadata, live=live)
        if call is None:
            call = self._begin(ns, message_id, metadata)
        self._count(view, metadata)
        call.finish = finish_reason(view) or call.finish
        if self._shown and call.told_id is None and not self._shown.isdisjoint((call.run_id, call.provider_id)):
            call.silent = True
        for piece in read_content(view, report=self._losses.block):
            if isinstance(piece, ToolCallBlock) and piece.id:
                self._speakers.called(ns, metadata, piece.id)
            self._saying.piece(call, piece)
        if view.get("chunk_position") == "last":
            self._saying.close(call)
            call.ended = True
        elif live and call.text_open and call.reasoning.is_closed:
            self._hot, self._hot_id = call, message_id

    def _count(self, view: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        usage = view.get("usage_metadata")
        if usage is not None:
            response = view.get("response_metadata")
            self._losses.attempt("The token usage", self._usage.add, usage, metadata, response, otherwise=None)

    def _begin(self, ns: Namespace, message_id: str, metadata: Mapping[str, Any]) -> ModelCall:
        subagent = self._subagents.of(ns)
        tag = self._subagents.tag(subagent)
        depth = len(subagent.ns) if subagent else 0
        silent = self._subagents.hides(subagent) or self._speakers.is_silent(ns, metadata, depth)
        call = self.calls.begin(message_id, metadata)
        call.silent, call.subagent = silent, tag
        call.owner = subagent.id if subagent else None
        call.mute_text = is_muted(metadata, "messages")
        call.mute_calls = is_muted(metadata, "tool-calls")
        call.reasoning = ReasoningLane(self._view.has, call.subagent)
        self._predictions.begin(metadata)
        return call

    def _result(self, ns: Namespace, result: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        subagent = self._subagents.of(ns)
        depth = len(subagent.ns) if subagent else 0
        if self._subagents.hides(subagent) or self._speakers.in_tool(ns, depth):
            return
        call_id = self.call_ids.answered(result["toolCallId"], subagent)
        if call_id is None:
            return
        if subagent is None:
            self._results[result["id"]] = result["toolCallId"]
        else:
            self._history.kept.add(result["id"])
        self._outbox.tell_all(as_events({**result, "toolCallId": call_id}, self._subagents.tag(subagent)) or [])


def _is_output(metadata: Mapping[str, Any]) -> bool:
    """Whether a chunk is a node's output, not a model's: a sum of chunks that a node returned (it names no model)."""
    return bool(metadata) and "ls_model_type" not in metadata and "ls_provider" not in metadata
