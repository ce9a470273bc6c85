"""Which model call a chunk belongs to, and under which id its message is emitted. Emits nothing.

The id of a chunk may differ from the id of its message in the checkpoint, and the chunks of one call may have different
ids. A *run id* is made by LangChain and begins with `lc_run--`
(https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/language_models/chat_models.py); any
other id is a *provider id*. This was measured on langgraph 1.0 to 1.2:

- ordinary adapters: every chunk has the run id, and so has the checkpoint;
- a provider id on every chunk but the last, which is empty: the checkpoint has the provider id;
- OpenAI's Responses API: an empty first chunk has the provider id, and the rest have the run id; the checkpoint has the
  provider id. In the API's older output format the provider id comes in the middle;
- provider ids that change: the checkpoint has the first one;
- a model that calls its callbacks itself: every chunk has another uuid.

Rules:

1. If a call of the same task has not ended and has had a chunk with the same id, a chunk belongs to that call (but see
   rule 2).
2. In a local graph, all chunks of one call carry the same metadata *object*, and that object decides. Run ids are
   unique, so for them it does not matter. (If someone copies the metadata on the way, only run ids tell calls apart.)
3. Otherwise (a platform's JSON), a new run id continues a call that has had only an empty chunk with a provider id, and
   a new provider id is another name for a call that has only a run id, if the task has just one such call. Anything
   else is a new call. If that is wrong, the `values` of the root graph correct it.
4. A message is emitted under the provider id if that is known when its first content block comes, and otherwise under
   the run id.
5. A call that has ended takes no more chunks: if its id comes again, it is another call.
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
"""The events that begin a message or a tool call, and whose metadata becomes that of the item."""
_RUN_IDS: Final = ("lc_run--", "run--", "lc_")


def is_run_id(message_id: str) -> bool:
    """Whether LangChain made `message_id` from the run of the model call. Otherwise the provider made it."""
    return message_id.startswith(_RUN_IDS)


class ModelCall:
    """One call of a chat model while it streams. The ledger's `record` has the facts about its message."""

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
        """The id of the tool call that this call is shown as a part of, as the client knows it."""
        self.hides_text = self.hides_reasoning = is_hidden(metadata, "messages")
        self.hides_calls = is_hidden(metadata, "tool-calls")
        self.prefix: JsonPrefix | None = None
        """Reads the text while it may be structured output and is therefore held; None if the text is not held, or no
        longer."""
        self.has_text = False
        """Whether a chunk had text, emitted or not."""
        self.hidden_text: list[str] = []
        """The text that has not been emitted although the call is visible."""
        self.reasoning = ReasoningEvents(owner.tag)
        self.tools = ToolCalls()
        self.citations: list[Any] = []
        self.media = 0
        """The number of media blocks so far."""
        self.next_text: Event | None = None
        """The event, without its delta, for a chunk that only has more text; None if the shorter path must not be
        taken."""
        self.next_arguments: Event | None = None
        """The same for a chunk that only has more arguments of the tool call at `next_index`."""
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
        """The text to emit when `text` comes: `text` itself; nothing, while the call's text is withheld; or everything
        that was held, if `text` cannot continue JSON."""
        if self.hides_text or self.prefix is not None:
            self.hidden_text.append(text)
        if self.hides_text or (self.prefix is not None and self.prefix.continues(text)):
            return ""
        if self.prefix is not None:
            self.prefix, text = None, "".join(self.hidden_text)
            self.hidden_text.clear()
        return text

    def part_of_tool(self, made: Iterable[Event]) -> Iterable[Event]:
        """The events of the call. Those that begin an item name the tool call that the item is shown as a part of."""
        return made if self.parent_call is None else map(self._with_parent, made)

    def _with_parent(self, event: Event) -> Event:
        if event["type"] not in _BEGIN:
            return event
        return {**event, "metadata": {**event.get("metadata", {}), "parentToolCallId": self.parent_call}}

    @property
    def has_begun(self) -> bool:
        """Whether a chunk had text, or other content that fixes the id."""
        return self.has_text or self.record.id is not None

    def text(self, view: ClientView) -> str:
        """The text of the call so far: what is withheld, or what the client has under its id. Empty if the client does
        not have the message, for example because the call was suppressed before anything was emitted."""
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
        """Whether an AG-UI message begins with what this call has streamed so far, or equals it."""
        ids = [call["id"] for call in message.get("toolCalls", ())]
        content = message.get("content") or ""
        if not isinstance(content, str) or ids[: len(self.tools.ids)] != self.tools.ids:
            return False
        return content.startswith(self.text(view))


class ModelCalls:
    """The model calls since the last reconciliation. A call is found by the metadata of its chunks and by their ids,
    which the ledger has."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_task: dict[str, list[ModelCall]] = {}
        self._live: list[ModelCall] = []
        """All calls that have not ended, and perhaps some that have; `unfinished` removes those."""

    def __iter__(self) -> Iterator[ModelCall]:
        return (call for calls in self._by_task.values() for call in calls)

    def of_chunk(self, message_id: str, metadata: Mapping[str, Any], *, live: bool) -> ModelCall | None:
        """The call that a chunk continues, or None if it begins one. The call takes the id.

        `live`: the chunk is an object of this process, so its metadata object identifies the call.
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
        """A new call. `parent_call`: the tool call that it is shown as a part of."""
        call = ModelCall(task_of(metadata), metadata, owner, parent_call)
        self._by_task.setdefault(call.task, []).append(call)
        self._live.append(call)
        self.take_id(call, message_id)
        return call

    def copied(self, task: str, text: str, call_ids: list[str], view: ClientView) -> ModelCall | None:
        """The only call of `task`, or of a graph that it runs, with exactly this text and these tool calls."""
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
    """Whether the metadata of a call asks to hide its `messages` or its `tool-calls`. The keys are those of
    `ag-ui-langgraph` and of CopilotKit's `copilotkit_customize_config`
    (https://github.com/CopilotKit/CopilotKit/blob/main/sdk-python/copilotkit/langgraph.py)."""
    return any(metadata.get(f"{prefix}emit-{what}") is False for prefix in ("", "copilotkit:"))


def task_of(metadata: Mapping[str, Any]) -> str:
    """The task that a message comes from, as LangGraph names it in the message's metadata."""
    return str(metadata.get("langgraph_checkpoint_ns", ""))
