"""Finds the model call that a chunk belongs to, and chooses the id under which the message is emitted. This module
emits no events.

The id of a chunk may differ from the id of its message in the checkpoint, and the chunks of one model call may have
different ids. LangChain makes a *run id*, which begins with `lc_run--`
(`run--` in older versions; other ids of LangChain begin with `lc_`;
https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/language_models/chat_models.py). Any
other id is a *provider id*. LangChain prefers a provider id when it merges chunks (`add_ai_message_chunks` in
https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/messages/ai.py). With LangGraph 1.0 to
1.2, the ids are these:

- Most adapters: all chunks and the stored message have the run id.
- Adapters that set a provider id on every chunk, except for an empty last chunk: the stored message has the provider
  id.
- OpenAI's Responses API: an empty first chunk has the provider id, all other chunks have the run id, and the stored
  message has the provider id. In the older output format, a chunk in the middle has the provider id instead of the
  first one.
- Adapters whose chunks have different provider ids: the stored message has the provider id of the first chunk.
- Models that call LangChain's callbacks themselves: each chunk has a UUID of its own.

Rules:

1. A chunk belongs to a model call of the same task if that model call has not ended and one of its chunks had the same
   id. Rule 2 limits this for local graphs.
2. In a local graph, all chunks of one model call carry the same metadata *object*, which identifies the model call. A
   run id is unique, so it also identifies the model call. If code around the stream copies the metadata, only run ids
   can tell model calls apart.
3. In a platform's JSON, nothing identifies the model call of a chunk whose id is new, so the model call is guessed. A
   chunk with a new run id continues a model call that has only had empty chunks with a provider id. A chunk with a new
   provider id continues a model call that has only had a run id. In both cases, exactly one model call of the task must
   fit. Any other chunk begins a new model call. If the guess is wrong, the `values` of the root graph correct the
   messages.
4. The message's id is chosen when the first content block that may be emitted arrives. It is the provider id if that id
   is known, and the run id if not. If no chunk has had an id, it is the task of the model call
   (`langgraph_checkpoint_ns`).
5. A model call that has ended takes no more chunks. A later chunk with the same id belongs to another model call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from ..client.view import ClientView
from ..content.blocks import Key
from ..jsonable.json_prefix import JsonPrefix
from ..ledger import Ledger, Record
from ..owner import Owner
from ..parts.part import Namespace, task_path
from ..wire.events import Event
from .reasoning_events import ReasoningEvents
from .tool_calls import StreamedCalls, ToolCall
from .visibility import RENDER_A2UI

_BEGIN: Final = frozenset({"TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "ACTIVITY_SNAPSHOT"})
"""The events that begin a message or a tool call. The metadata of such an event becomes the metadata of the message or
the tool call."""
_RUN_IDS: Final = ("lc_run--", "run--", "lc_")


def is_run_id(message_id: str) -> bool:
    """Whether `message_id` is a run id. If not, it is a provider id."""
    return message_id.startswith(_RUN_IDS)


class ModelCall:
    """One call to a chat model while its answer is streaming. The facts about the message are in `record`, which
    belongs to the ledger."""

    __slots__ = (
        "citations",
        "finish",
        "has_text",
        "hidden_text",
        "hides_reasoning",
        "hides_text",
        "hides_tool_calls",
        "media",
        "metadata",
        "name",
        "next_arguments",
        "next_index",
        "next_text",
        "only_surfaces",
        "parent_tool_call",
        "prefix",
        "reasoning",
        "record",
        "task",
        "tool_calls",
        "writes_state",
    )

    def __init__(self, task: str, metadata: Mapping[str, Any], owner: Owner, parent_tool_call: str | None) -> None:
        self.task = task
        """The task that made the model call (`langgraph_checkpoint_ns`)."""
        self.metadata = metadata
        name = metadata.get("lc_agent_name")
        self.name = name if isinstance(name, str) and name else None
        self.record = Record(owner, self)
        self.parent_tool_call = parent_tool_call
        """The id by which the client knows the tool call under which this model call is displayed; None if the model
        call is displayed on its own."""
        self.hides_text = self.hides_reasoning = is_hidden(metadata, "messages")
        self.hides_tool_calls = is_hidden(metadata, "tool-calls")
        self.only_surfaces = False
        """Whether nothing is emitted but the calls of A2UI's tool (`visibility.py`, rule 7)."""
        self.prefix: JsonPrefix | None = None
        """Checks whether the text may still be structured output. Until this is ruled out, the text is held back. None
        if the text is not held back, or is no longer held back."""
        self.writes_state = False
        """Whether the state that is predicted from the tool calls of this model call belongs to the run's state."""
        self.has_text = False
        """Whether a chunk had text, even if the text was not emitted."""
        self.hidden_text: list[str] = []
        """The pieces of text that have not been emitted although the model call is visible."""
        self.reasoning: ReasoningEvents | None = None
        """None until a chunk contains reasoning."""
        self.tool_calls = StreamedCalls()
        self.citations: list[Any] = []
        self.media = 0
        """The number of media blocks so far."""
        self.next_text: Event | None = None
        """The event for the next chunk, without its delta, if that chunk adds only text. None if such a chunk must not
        take the shorter path."""
        self.next_arguments: Event | None = None
        """The same for a chunk that adds only arguments to the tool call at `next_index`."""
        self.next_index: Key = None
        self.finish: str | None = None
        """The finish reason, if it is abnormal and has not been emitted yet."""

    @property
    def message_id(self) -> str:
        """The id under which the message is emitted. If nothing has been emitted yet, the id that it would get now
        (rule 4)."""
        record = self.record
        return record.id or record.provider_id or record.run_id or self.task

    @property
    def withholds_text(self) -> bool:
        """Whether the text is hidden or held back."""
        return self.hides_text or (self.prefix is not None and bool(self.hidden_text))

    def text_to_emit(self, text: str) -> str:
        """Returns the text to emit when `text` arrives. If no text is withheld, this is `text` itself. While text is
        withheld, it is an empty string. As soon as the withheld text can no longer be JSON, it is all of that text."""
        if self.hides_text or self.prefix is not None:
            self.hidden_text.append(text)
        if self.hides_text or (self.prefix is not None and self.prefix.continues(text)):
            return ""
        if self.prefix is not None:
            self.prefix, text = None, "".join(self.hidden_text)
            self.hidden_text.clear()
        return text

    def part_of_tool(self, made: Iterable[Event]) -> Iterable[Event]:
        """Returns these events of the model call. If the model call is displayed under a tool call, the id of that tool
        call is added to each event that begins an item."""
        return made if self.parent_tool_call is None else map(self._with_parent, made)

    def _with_parent(self, event: Event) -> Event:
        if event["type"] not in _BEGIN:
            return event
        return {**event, "metadata": {**event.get("metadata", {}), "parentToolCallId": self.parent_tool_call}}

    def hides_call(self, tool_call: ToolCall) -> bool:
        """Whether a tool call of the model call is hidden. If only A2UI's calls are visible, a call without a name is
        hidden until its name is known."""
        return self.hides_tool_calls or (self.only_surfaces and tool_call.name != RENDER_A2UI)

    @property
    def has_content(self) -> bool:
        """Whether the model call has produced any content: text, or another block that may be emitted."""
        return self.has_text or self.record.id is not None

    def text(self, view: ClientView) -> str:
        """The text of the model call so far. If text is withheld, this is the withheld text. If not, it is the text of
        the client's copy, or an empty string if the client does not have the message."""
        if self.withholds_text:
            return "".join(self.hidden_text)
        message = None if self.record.id is None else view.message(self.record.id)
        content = None if message is None else message.get("content")
        return content if isinstance(content, str) else ""

    def is_of(self, ns: Namespace, node: str) -> bool:
        """Whether the model call was made by this node of the graph at `ns`."""
        path = task_path(ns, self.metadata)
        return path[:-1] == ns and path[-1].partition(":")[0] == node

    def begins(self, message: Mapping[str, Any], view: ClientView) -> bool:
        """Whether an AG-UI message begins with the text and the tool calls that this model call has streamed so far."""
        ids = [tool_call["id"] for tool_call in message.get("toolCalls", ())]
        content = message.get("content") or ""
        if not isinstance(content, str) or ids[: len(self.tool_calls.ids)] != self.tool_calls.ids:
            return False
        return content.startswith(self.text(view))


class ModelCalls:
    """Finds the model calls of one run by the metadata and the ids of their chunks. A model call that has ended is
    forgotten when a superstep of the root graph ends."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._by_task: dict[str, list[ModelCall]] = {}
        self._live: list[ModelCall] = []
        """The model calls that have not ended. `unfinished` updates this list, so it may still contain some that have
        ended."""

    def __iter__(self) -> Iterator[ModelCall]:
        return chain.from_iterable(self._by_task.values())

    def of_chunk(self, message_id: str, metadata: Mapping[str, Any], *, live: bool) -> ModelCall | None:
        """Returns the model call that a chunk continues, and records the id of the chunk for that model call. Returns
        None if the chunk begins a model call.

        `live`: whether the chunk is a local message object, so that its metadata object identifies the model call.
        """
        task = task_of(metadata)
        record = self._ledger.of_stream_id(task, message_id)
        model_call = None if record is None else record.model_call
        if isinstance(model_call, ModelCall):
            is_certain = not live or is_run_id(message_id)
            if is_certain or model_call.metadata is metadata:
                return model_call
        continued = self._continued(task, message_id, metadata, live)
        if continued is not None:
            self.take_id(continued, message_id)
        return continued

    def take_id(self, model_call: ModelCall, message_id: str) -> None:
        """Records that a chunk of the model call has this id."""
        self._ledger.take_id(model_call.record, model_call.task, message_id, is_run_id=is_run_id(message_id))

    def begin(
        self, message_id: str, metadata: Mapping[str, Any], owner: Owner, parent_tool_call: str | None = None
    ) -> ModelCall:
        """Creates a model call. `parent_tool_call`: the id of the tool call under which the model call is displayed."""
        model_call = ModelCall(task_of(metadata), metadata, owner, parent_tool_call)
        self._by_task.setdefault(model_call.task, []).append(model_call)
        self._live.append(model_call)
        self.take_id(model_call, message_id)
        return model_call

    def copied(self, task: str, text: str, tool_call_ids: list[str], view: ClientView) -> ModelCall | None:
        """The model call that has exactly this text and these tool calls, and that was made by `task` or by a graph
        that the task runs. None if no such model call, or more than one, exists."""
        if not (text or tool_call_ids):
            return None
        within = f"{task}|"
        same = [
            model_call
            for name, model_calls in self._by_task.items()
            if name == task or name.startswith(within)
            for model_call in model_calls
            if not model_call.record.is_suppressed
            and model_call.tool_calls.ids == tool_call_ids
            and model_call.text(view) == text
        ]
        return same[0] if len(same) == 1 else None

    def unfinished(self) -> list[ModelCall]:
        """The model calls that have not ended."""
        if self._live:
            self._live = [model_call for model_call in self._live if not model_call.record.has_ended]
        return self._live

    def forget(self) -> None:
        """Forgets the model calls that have ended."""
        self._by_task.clear()
        for model_call in self.unfinished():
            self._by_task.setdefault(model_call.task, []).append(model_call)

    def _continued(self, task: str, message_id: str, metadata: Mapping[str, Any], live: bool) -> ModelCall | None:
        unfinished = [model_call for model_call in self._by_task.get(task, ()) if not model_call.record.has_ended]
        if not unfinished:
            return None
        run_id = is_run_id(message_id)
        if live:
            same = [
                model_call
                for model_call in unfinished
                if model_call.metadata is metadata and not (run_id and model_call.record.run_id)
            ]
        elif run_id:
            same = [
                model_call
                for model_call in unfinished
                if model_call.record.run_id is None and not model_call.has_content
            ]
        else:
            same = [
                model_call
                for model_call in unfinished
                if model_call.record.run_id and model_call.record.provider_id is None
            ]
        return same[0] if len(same) == 1 else None


def is_hidden(metadata: Mapping[str, Any], what: str) -> bool:
    """Whether the metadata of a model call asks to hide the text (`what` is `messages`) or the tool calls
    (`tool-calls`). `ag-ui-langgraph` and CopilotKit's `copilotkit_customize_config` use the same keys
    (https://github.com/CopilotKit/CopilotKit/blob/main/sdk-python/copilotkit/langgraph.py)."""
    return metadata.get(f"emit-{what}") is False or metadata.get(f"copilotkit:emit-{what}") is False


def task_of(metadata: Mapping[str, Any]) -> str:
    """The task that a message comes from, according to the message's metadata."""
    return str(metadata.get("langgraph_checkpoint_ns", ""))
