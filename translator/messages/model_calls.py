"""Which model call a chunk belongs to, and under which id its message is emitted. Emits nothing.

The id of a chunk is not the id its message has in the checkpoint, nor even the same for all chunks of one call. What is
measured on langgraph 1.0 to 1.2 (a *run id* is LangChain's `lc_run--…`, a *provider id* any other):

- ordinary adapters: every chunk, and the checkpoint, have the run id;
- a provider id on every chunk but the last, empty one: the checkpoint has the provider id;
- OpenAI's Responses API: an empty first chunk with the provider id, the rest with the run id; the checkpoint has the
  provider id. In its older output format the provider id comes in the middle;
- changing provider ids: the checkpoint has the first;
- a model that calls its callbacks itself: another uuid on every chunk.

Rules:

1. A chunk with an id that its task has seen in a call which has not ended belongs to that call (but see rule 2).
2. Locally all chunks of one call carry the same metadata *object*: that decides, but never for run ids, which are
   unique. (Who copies the metadata on the way keeps calls apart by run ids alone.)
3. Otherwise (a platform's JSON): a new run id continues the lone call of its task that has had only an empty chunk with
   a provider id; a new provider id is another name of the lone call of its task that has only a run id; anything else
   is a call of its own. Where that is wrong, the root `values` mend it.
4. A message is emitted under the provider id if that is known when its first content block comes, else under the run
   id.
5. A call that has ended takes no more chunks: the same id again is another call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ..client.view import ClientView
from ..content.blocks import Key
from ..jsonable.json_prefix import JsonPrefix
from ..ledger import Ledger, Record
from ..owner import Owner
from ..parts.part import Namespace, task_path
from ..wire.events import Event
from .reasoning import ReasoningEvents
from .tool_calls import ToolCalls

_BEGIN: Final = frozenset({"TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "ACTIVITY_SNAPSHOT"})
"""The events whose metadata begins that of a message or a tool call."""
_RUN_IDS: Final = ("lc_run--", "run--", "lc_")


def is_run_id(message_id: str) -> bool:
    """Whether LangChain made `message_id` from the run of the model call, not the provider."""
    return message_id.startswith(_RUN_IDS)


class ModelCall:
    """One call of a chat model while it streams. What is known of its message is in `record`, which is the ledger's."""

    __slots__ = (
        "citations",
        "finish",
        "has_text",
        "hidden_text",
        "hides_calls",
        "hides_reasoning",
        "hides_text",
        "media",
        "metadata",
        "name",
        "next_arguments",
        "next_index",
        "next_text",
        "parent_call",
        "prefix",
        "reasoning",
        "record",
        "task",
        "tools",
    )

    def __init__(self, task: str, metadata: Mapping[str, Any], owner: Owner, parent_call: str | None) -> None:
        self.task = task
        """The task that made the call (`langgraph_checkpoint_ns`)."""
        self.metadata = metadata
        name = metadata.get("lc_agent_name")
        self.name = name if isinstance(name, str) and name else None
        self.record = Record(owner, self)
        self.parent_call = parent_call
        """The id of the tool call, as the client knows it, as part of which the call is visible."""
        self.hides_text = self.hides_reasoning = is_hidden(metadata, "messages")
        self.hides_calls = is_hidden(metadata, "tool-calls")
        self.prefix: JsonPrefix | None = None
        """What reads its text as long as that may be structured output, and is held; None: it is not, or not any
        more."""
        self.has_text = False
        """Whether a chunk had text, emitted or not."""
        self.hidden_text: list[str] = []
        """The text that is not emitted although the call is visible."""
        self.reasoning = ReasoningEvents(owner.tag)
        self.tools = ToolCalls()
        self.citations: list[Any] = []
        self.media = 0
        """How many media it has had."""
        self.next_text: Event | None = None
        """The event, without its delta, of a chunk that only has more text; None: what it becomes is not decided."""
        self.next_arguments: Event | None = None
        """The same of a chunk that only has more arguments of the tool call at `next_index`."""
        self.next_index: Key = None
        self.finish: str | None = None
        """The finish reason, if it is not an ordinary one and has not been emitted."""

    @property
    def message_id(self) -> str:
        """The id that the message is emitted under, or would be now (rule 4)."""
        record = self.record
        return record.id or record.provider_id or record.run_id or self.task

    @property
    def withholds_text(self) -> bool:
        """Whether its text is not emitted, or not yet."""
        return self.hides_text or (self.prefix is not None and bool(self.hidden_text))

    def released(self, text: str) -> str:
        """What is to be emitted of its text when this comes: this; nothing, while the text is withheld; or all that was
        held, if this cannot continue JSON."""
        if self.hides_text or self.prefix is not None:
            self.hidden_text.append(text)
        if self.hides_text or (self.prefix is not None and self.prefix.continues(text)):
            return ""
        if self.prefix is not None:
            self.prefix, text = None, "".join(self.hidden_text)
            self.hidden_text.clear()
        return text

    def part_of_tool(self, made: Iterable[Event]) -> Iterable[Event]:
        """The events of the call. Those that begin an item name the tool call that it is visible as a part of."""
        return made if self.parent_call is None else map(self._with_parent, made)

    def _with_parent(self, event: Event) -> Event:
        if event["type"] not in _BEGIN:
            return event
        return {**event, "metadata": {**event.get("metadata", {}), "parentToolCallId": self.parent_call}}

    @property
    def has_begun(self) -> bool:
        """Whether a chunk had content that fixes the id, or text."""
        return self.has_text or self.record.id is not None

    def text(self, view: ClientView) -> str:
        """The text of the call so far: what is withheld, or what the client has under its id. "" if the client has no
        such message, as of a call that was suppressed before it was emitted."""
        if self.withholds_text:
            return "".join(self.hidden_text)
        message = None if self.record.id is None else view.message(self.record.id)
        content = None if message is None else message.get("content")
        return content if isinstance(content, str) else ""

    def is_of(self, ns: Namespace, node: str) -> bool:
        """Whether a task of this node of the graph at `ns` made the call."""
        path = task_path(ns, self.metadata)
        return path[:-1] == ns and path[-1].partition(":")[0] == node

    def begins(self, message: Mapping[str, Any], view: ClientView) -> bool:
        """Whether an AG-UI message begins with what has come of this call, or is that."""
        ids = [call["id"] for call in message.get("toolCalls", ())]
        content = message.get("content") or ""
        if not isinstance(content, str) or ids[: len(self.tools.ids)] != self.tools.ids:
            return False
        return content.startswith(self.text(view))


class ModelCalls:
    """The model calls since the last reconciliation, found by the ids (which the ledger has) and metadata of their
    chunks."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_task: dict[str, list[ModelCall]] = {}
        self._live: list[ModelCall] = []
        """All that have not ended, and perhaps some that have: `unfinished` removes these."""

    def __iter__(self) -> Iterator[ModelCall]:
        return (call for calls in self._by_task.values() for call in calls)

    def of_chunk(self, message_id: str, metadata: Mapping[str, Any], *, live: bool) -> ModelCall | None:
        """The call that a chunk continues, or None if it begins one. The call takes the id.

        `live`: the chunk is an object of this process, so that its metadata object identifies the call.
        """
        task = task_of(metadata)
        record = self._ledger.of_stream_id(task, message_id)
        call = None if record is None else record.call
        is_certain = not live or is_run_id(message_id)
        if not isinstance(call, ModelCall) or not (is_certain or call.metadata is metadata):
            call = self._continued(task, message_id, metadata, live)
        if call is not None:
            self.take_id(call, message_id)
        return call

    def take_id(self, call: ModelCall, message_id: str) -> None:
        """A message of the call has this id."""
        self._ledger.take_id(call.record, call.task, message_id, is_run_id=is_run_id(message_id))

    def begin(
        self, message_id: str, metadata: Mapping[str, Any], owner: Owner, parent_call: str | None = None
    ) -> ModelCall:
        """A new call. `parent_call`: the tool call that it is visible as a part of."""
        call = ModelCall(task_of(metadata), metadata, owner, parent_call)
        self._by_task.setdefault(call.task, []).append(call)
        self._live.append(call)
        self.take_id(call, message_id)
        return call

    def copied(self, task: str, text: str, call_ids: list[str], view: ClientView) -> ModelCall | None:
        """The only call of `task`, or of a graph that it runs, with just this text and these tool calls."""
        if not (text or call_ids):
            return None
        within = f"{task}|"
        same = [
            call
            for name, calls in self._by_task.items()
            if name == task or name.startswith(within)
            for call in calls
            if not call.record.is_suppressed and call.tools.ids == call_ids and call.text(view) == text
        ]
        return same[0] if len(same) == 1 else None

    def unfinished(self) -> list[ModelCall]:
        """The calls that have not ended."""
        self._live = [call for call in self._live if not call.record.has_ended]
        return self._live

    def forget(self) -> None:
        """Forgets the calls that have ended."""
        self._by_task.clear()
        for call in self.unfinished():
            self._by_task.setdefault(call.task, []).append(call)

    def _continued(self, task: str, message_id: str, metadata: Mapping[str, Any], live: bool) -> ModelCall | None:
        open_calls = [call for call in self._by_task.get(task, ()) if not call.record.has_ended]
        run_id = is_run_id(message_id)
        if live:
            same = [call for call in open_calls if call.metadata is metadata and not (run_id and call.record.run_id)]
        elif run_id:
            same = [call for call in open_calls if call.record.run_id is None and not call.has_begun]
        else:
            same = [call for call in open_calls if call.record.run_id and call.record.provider_id is None]
        return same[0] if len(same) == 1 else None


def is_hidden(metadata: Mapping[str, Any], what: str) -> bool:
    """Whether the metadata of a call asks to hide its `messages` or its `tool-calls`, as in `ag-ui-langgraph`."""
    return any(metadata.get(f"{prefix}emit-{what}") is False for prefix in ("", "copilotkit:"))


def task_of(metadata: Mapping[str, Any]) -> str:
    """The task a message comes from, as LangGraph names it in the message's metadata."""
    return str(metadata.get("langgraph_checkpoint_ns", ""))
