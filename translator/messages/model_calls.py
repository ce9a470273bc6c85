"""Which model call a chunk belongs to, and under which id its message is told. Nothing is told here.

The id of a chunk is not the id its message has in the checkpoint, nor even the same for all chunks of one call. What is
measured on langgraph 1.0 to 1.2 (a *run id* is LangChain's `lc_run--…`, a *provider id* any other):

- ordinary adapters: every chunk, and the checkpoint, have the run id;
- a provider id on every chunk but the last, empty one: the checkpoint has the provider id;
- OpenAI's Responses API: an empty first chunk with the provider id, the rest with the run id; the checkpoint has the
  provider id. In its older output format the provider id comes in the middle;
- changing provider ids: the checkpoint has the first;
- a model that calls its callbacks itself: another uuid on every chunk.

Rules:

1. A chunk with an id its task has seen in a call that goes on belongs to that call.
2. Locally all chunks of one call carry the same metadata *object*: that decides, but never for two run ids.
3. Otherwise (a platform's JSON): a new run id takes up the lone call of its task that has only shown an empty chunk
   with a provider id; a new provider id is another name of the lone call of its task that has only a run id; anything
   else is a call of its own. Where that is wrong the root `values` mends it.
4. A message is told under the provider id if it is known when its first content comes, else under the run id.
5. A call that has ended takes no more chunks: the same id again is another call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..parts.part import Namespace, task_path
from .reasoning import ReasoningLane
from .tool_calls import ToolLane

_RUN_IDS: Final = ("lc_run--", "run--", "lc_")


def is_run_id(message_id: str) -> bool:
    """Whether LangChain made `message_id` from the run of the model call, not the provider."""
    return message_id.startswith(_RUN_IDS)


class ModelCall:
    """One call of a chat model: the message it says, and what of it has been told."""

    __slots__ = (
        "citations",
        "ended",
        "finish",
        "media",
        "metadata",
        "mute_calls",
        "mute_text",
        "name",
        "owner",
        "provider_id",
        "reasoning",
        "run_id",
        "silent",
        "subagent",
        "task",
        "text",
        "text_open",
        "told_id",
        "told_ids",
        "tools",
    )

    reasoning: ReasoningLane

    def __init__(self, task: str, metadata: Mapping[str, Any], message_id: str) -> None:
        self.task = task
        """The task that made the call (`langgraph_checkpoint_ns`)."""
        self.metadata = metadata
        name = metadata.get("lc_agent_name")
        self.name = name if isinstance(name, str) and name else None
        self.run_id: str | None = None
        self.provider_id: str | None = None
        self.take_id(message_id)
        self.told_id: str | None = None
        """The id the message is told under; None: nothing told yet."""
        self.told_ids: list[str] = []
        """The messages told beside it: media, results of tools the provider ran."""
        self.silent = False
        """Nothing of it is told while it streams."""
        self.mute_text = False
        self.mute_calls = False
        self.subagent: str | None = None
        """The `subagentRunId` its events carry."""
        self.owner: str | None = None
        """The subagent that makes it, whether its events say so or not."""
        self.text: list[str] = []
        self.text_open = False
        self.tools = ToolLane()
        self.citations: list[Any] = []
        self.media = 0
        self.finish: str | None = None
        self.ended = False

    @property
    def message_id(self) -> str:
        """The id the message is told under, or would be now (rule 4)."""
        return self.told_id or self.provider_id or self.run_id or self.task

    @property
    def all_ids(self) -> list[str]:
        """The ids of every message told of this call."""
        return [*self.reasoning.told_ids, *([self.told_id] if self.told_id else []), *self.told_ids]

    def take_id(self, message_id: str) -> None:
        """Learns an id of one of its chunks."""
        if is_run_id(message_id):
            self.run_id = self.run_id or message_id
        else:
            self.provider_id = self.provider_id or message_id

    def is_of(self, ns: Namespace, node: str) -> bool:
        """Whether a task of this node of the graph at `ns` made the call."""
        path = task_path(ns, self.metadata)
        return path[:-1] == ns and path[-1].partition(":")[0] == node

    def is_same(self, text: str, call_ids: list[str]) -> bool:
        """Whether a message with this text and these tool calls says what this call said."""
        return bool(text or call_ids) and self.tools.ids == call_ids and "".join(self.text) == text

    def begins(self, message: Mapping[str, Any]) -> bool:
        """Whether a wire message begins with what this call has said so far, or is that."""
        ids = [call["id"] for call in message.get("toolCalls", ())]
        content = message.get("content") or ""
        said = "".join(self.text)
        return isinstance(content, str) and content.startswith(said) and ids[: len(self.tools.ids)] == self.tools.ids


class ModelCalls:
    """The model calls since the conversation was last judged, found by the ids and metadata of their chunks."""

    def __init__(self) -> None:
        self._by_id: dict[tuple[str, str], ModelCall] = {}
        self._by_task: dict[str, list[ModelCall]] = {}
        self._going: list[ModelCall] = []
        """All that have not ended, and perhaps some that have: `going` removes these."""

    def __iter__(self) -> Iterator[ModelCall]:
        return (call for calls in self._by_task.values() for call in calls)

    def of_chunk(self, message_id: str, metadata: Mapping[str, Any], *, live: bool) -> ModelCall | None:
        """The call that a chunk goes on with, or None if it begins one.

        `live`: the chunk is an object of this process, so that its metadata object identifies the call.
        """
        task = task_of(metadata)
        known = self._by_id.get((task, message_id))
        if known is not None and not known.ended and (not live or known.metadata is metadata):
            return known
        call = self._continued(task, message_id, metadata, live)
        if call is not None:
            self._by_id[task, message_id] = call
            call.take_id(message_id)
        return call

    def begin(self, message_id: str, metadata: Mapping[str, Any]) -> ModelCall:
        """A new call."""
        call = ModelCall(task_of(metadata), metadata, message_id)
        self._by_task.setdefault(call.task, []).append(call)
        self._going.append(call)
        self._by_id[call.task, message_id] = call
        return call

    def copied(self, task: str, text: str, call_ids: list[str]) -> ModelCall | None:
        """The only call of `task` that said just this."""
        same = [call for call in self._by_task.get(task, ()) if not call.silent and call.is_same(text, call_ids)]
        return same[0] if len(same) == 1 else None

    def going(self) -> list[ModelCall]:
        """The calls that have not ended."""
        self._going = [call for call in self._going if not call.ended]
        return self._going

    def silence(self) -> None:
        """Makes the calls that have not ended emit no more: the beginning of their messages has been reconciled."""
        for call in self.going():
            call.silent = True

    def forget(self) -> None:
        """Forgets the calls that have ended."""
        self._by_id = {key: call for key, call in self._by_id.items() if not call.ended}
        self._by_task.clear()
        for call in self.going():
            self._by_task.setdefault(call.task, []).append(call)

    def _continued(self, task: str, message_id: str, metadata: Mapping[str, Any], live: bool) -> ModelCall | None:
        going = [call for call in self._by_task.get(task, ()) if not call.ended]
        run_id = is_run_id(message_id)
        if live:
            same = [call for call in going if call.metadata is metadata and not (run_id and call.run_id)]
        elif run_id:
            same = [call for call in going if call.run_id is None and call.told_id is None and not call.text]
        else:
            same = [call for call in going if call.run_id is not None and call.provider_id is None]
        return same[0] if len(same) == 1 else None


def task_of(metadata: Mapping[str, Any]) -> str:
    """The task a message comes from, as LangGraph names it in the message's metadata."""
    return str(metadata.get("langgraph_checkpoint_ns", ""))
