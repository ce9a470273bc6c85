"""What models say while they say it: chunks and whole messages in, text, tool call and reasoning events out. What the
checkpoint makes of it is `history`'s; which call a chunk belongs to is `modelcalls`'.

Rules:

1. One message per model call, one id while it streams; its text is open until the call ends, its tool calls too, a
   reasoning block until something else is said.
2. A chunk is told in the call that fed it. The chunk that ends the call is marked (`chunk_position`); a call that fails
   has no such chunk and is closed from outside.
3. A message that came whole is told whole, unless the client holds it or a call of the same task has said just that:
   nodes copy and rename what a model streamed.
4. A tool result is told when it comes, unless the client holds it or cannot tell which message's call it answers.
5. Nothing is told twice: a call whose id the client holds already is left to `history`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk

from . import events, tool_calls
from .agui_messages import result_message, shown
from .content import fields, finish_reason, is_chunk, kind_of, pieces
from .history import History
from .modelcalls import ModelCall, ModelCalls, task_of
from .options import Options
from .outbox import Outbox
from .pieces import Citation, Encrypted, Media, Piece, Reasoning, ServerResult, Signature, Text, ToolPiece
from .plain import plain
from .plain import text as wire_text
from .predict import Predictions
from .reasoning import ReasoningLane
from .retell import retold
from .speakers import Speakers, is_muted
from .subagents import Subagents
from .usage import Usage

Namespace = tuple[str, ...]
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
    ) -> None:
        self._outbox = outbox
        self._view = outbox.view
        self._options = options
        self._speakers = speakers
        self._subagents = subagents
        self._usage = usage
        self._predictions = predictions
        self._history = history
        self._hot: ModelCall | None = None
        self._hot_id: Any = None
        self._repeated: set[str] = set()
        """Ids of tool calls that more than one message has: some models number their calls anew in each message."""
        self.calls = ModelCalls()
        self._results: set[str] = set()
        """The ids of tool results told since the conversation was last judged."""

    def chunk_of_text(self, message: Any, metadata: Any) -> events.Event | None:
        """The event of a chunk that only goes on with the text said last, already in the view; None for any other.

        The one path that must be fast: it passes the outbox by.
        """
        call = self._hot
        if call is None or metadata is not call.metadata or type(message) is not AIMessageChunk:
            return None
        view = message.__dict__
        delta = view["content"]
        if (
            type(delta) is not str
            or not delta
            or view["id"] != self._hot_id
            or view["tool_call_chunks"]
            or view["usage_metadata"]
            or view.get("chunk_position")
            or view["additional_kwargs"]
            or (view["response_metadata"] and not _is_ordinary(view["response_metadata"]))
            or call.told_id is None
            or not call.text_open
            or len(delta) > _SHORT
        ):
            return None
        if not delta.isascii():
            delta = wire_text(delta)
        call.text.append(delta)
        event = events.text_content(call.told_id, delta, call.subagent)
        self._view.append_text(event)
        return event

    def heard(self, ns: Namespace, message: Any, metadata: Mapping[str, Any]) -> None:
        """Tells a message of the `messages` mode, a chunk or whole."""
        self._hot = None
        view = fields(message)
        kind = kind_of(view)
        if kind == "tool":
            self._speakers.answered(metadata)
            self.whole(ns, message, metadata)
        elif kind == "ai" and is_chunk(view) and not _is_output(metadata):
            self._chunk(ns, view, metadata, live=not isinstance(message, Mapping))
        elif kind in ("ai", "chat"):
            self.whole(ns, message, metadata)

    def whole(self, ns: Namespace, message: Any, metadata: Mapping[str, Any], *, replayed: bool = False) -> None:
        """Tells an assistant message or a tool result that came whole (rules 3 and 4); `replayed`: from an earlier run,
        which has counted its usage."""
        view = fields(message)
        message_id = view.get("id")
        if not isinstance(message_id, str) or not message_id:
            return
        told = plain(shown(message, 0, self._options))
        if kind_of(view) == "tool":
            if told and not self._view.has(message_id):
                self._result(ns, told[0])
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
            self._usage.add(view.get("usage_metadata"), metadata, view.get("response_metadata"))
        call = self._begin(ns, message_id, metadata)
        call.ended = True
        held = [call_id for call_id in call_ids if self._held(call_id)]
        if call.silent or held:
            return
        tellings = [(item["id"], retold(item, call.subagent)) for item in told]
        for item_id, telling in tellings:
            if telling is not None and not self._view.has(item_id):
                self._outbox.tell_all(telling)
                call.told_ids.append(item_id)

    def unsaved(self) -> set[str]:
        """The ids told since the conversation was last judged; what a subagent said is the client's to keep."""
        unsaved = set(self._results)
        for call in self.calls:
            (self._history.kept if call.by_subagent else unsaved).update(call.all_ids)
        return unsaved

    def settle(self) -> None:
        """The conversation has been judged: what was told so far is saved, or dropped."""
        self._results.clear()
        self.calls.settle()

    def end_all(self) -> None:
        """Closes everything that is open (rule 2)."""
        self._hot = None
        for call in self.calls:
            self._close(call)

    def end_within(self, ns: Namespace) -> None:
        """Closes what is open in the graph at `ns` and below."""
        self._hot = None
        prefix = "|".join(ns) + "|"
        for call in self.calls:
            if call.task.startswith(prefix):
                self._close(call)

    def _chunk(self, ns: Namespace, view: Mapping[str, Any], metadata: Mapping[str, Any], *, live: bool) -> None:
        message_id = view.get("id")
        if not isinstance(message_id, str):
            message_id = ""
        call = self.calls.of_chunk(message_id, metadata, live=live)
        if call is None:
            call = self._begin(ns, message_id, metadata)
        self._usage.add(view.get("usage_metadata"), metadata, view.get("response_metadata"))
        call.finish = finish_reason(view) or call.finish
        for piece in pieces(view):
            self._outbox.tell_all(list(self._told(call, piece)))
        if view.get("chunk_position") == "last":
            self._close(call)
            call.ended = True
        elif live and call.text_open and call.reasoning.is_closed:
            self._hot, self._hot_id = call, message_id

    def _begin(self, ns: Namespace, message_id: str, metadata: Mapping[str, Any]) -> ModelCall:
        call = self.calls.begin(message_id, metadata)
        subagent = self._subagents.of(ns)
        depth = len(subagent.ns) if subagent else 0
        call.silent = self._subagents.silences(subagent) or self._speakers.is_silent(ns[depth:], metadata)
        call.subagent = self._subagents.tag(subagent)
        call.by_subagent = subagent is not None
        call.mute_text = is_muted(metadata, "messages")
        call.mute_calls = is_muted(metadata, "tool-calls")
        call.reasoning = ReasoningLane(self._view.has, call.subagent)
        self._predictions.begin(metadata)
        return call

    def _told(self, call: ModelCall, piece: Piece) -> Iterator[events.Event]:
        """The events of one piece."""
        if isinstance(piece, Text):
            call.text.append(said := wire_text(piece.text))
            if said and not (call.silent or call.mute_text):
                yield from call.reasoning.end()
                yield from self._text(call, said)
        elif isinstance(piece, ToolPiece):
            yield from self._tool(call, piece)
        elif call.silent:
            return
        elif isinstance(piece, Reasoning | Encrypted):
            if self._options.reasoning and not call.mute_text:
                yield from call.reasoning.add(piece, self._id(call))
        elif isinstance(piece, ServerResult):
            yield from self._server_result(call, piece)
        elif isinstance(piece, Media):
            yield from self._media(call, piece)
        elif isinstance(piece, Citation):
            call.citations.append(piece.citation)
        elif isinstance(piece, Signature):
            yield from self._signature(call, piece)

    def _id(self, call: ModelCall) -> str:
        """The id of the call's message, settled now; the client forgets what it holds under it from another call."""
        if call.told_id is None:
            call.told_id = call.message_id
            if self._view.has(call.told_id):
                self._replace(call)
            self._history.touched(call.told_id)
        return call.told_id

    def _replace(self, call: ModelCall) -> None:
        """Makes the client drop another message of the call's id, which the checkpoint will replace by this one."""
        for other in self.calls:
            if other.told_id == call.told_id and other is not call and not other.ended:
                self._close(other)
                other.silent = True
        if not self._history.without(call.message_id):
            call.silent = True

    def _text(self, call: ModelCall, said: str) -> Iterator[events.Event]:
        message_id = self._id(call)
        if call.silent:
            return
        if not call.text_open:
            call.text_open = True
            yield events.text_start(message_id, "assistant", call.name, call.subagent)
        if said:
            yield events.text_content(message_id, said, call.subagent)

    def _tool(self, call: ModelCall, piece: ToolPiece) -> Iterator[events.Event]:
        tool = call.tools.find(piece, call.message_id)
        message_id = call.message_id if call.silent or call.mute_calls else self._id(call)
        silent = call.silent or call.mute_calls
        told = tool_calls.told(
            tool,
            wire_text(piece.args or ""),
            message_id,
            call.subagent,
            lambda tool: silent or tool.name in self._options.hidden_tools or self._held(tool.told_id),
        )
        if told and not silent:
            yield from call.reasoning.end()
            if call.name and not call.text_open:  # the only event that carries a name opens the text
                yield from self._text(call, "")
            yield from self._predictions.told(tool, told)

    def _held(self, call_id: str) -> bool:
        held = self._view.call_owner(call_id) is not None
        if held:
            self._repeated.add(call_id)
        return held

    def _server_result(self, call: ModelCall, piece: ServerResult) -> Iterator[events.Event]:
        tool = call.tools.of_result(piece.call_id)
        call_id = tool.told_id if tool else piece.call_id
        result_id = f"{self._id(call)}-result-{call_id}"
        if call.silent or not self._options.tool_results or (tool and not tool.told) or self._view.has(result_id):
            return
        if tool and not tool.ended:
            tool.ended = True
            yield events.tool_end(tool.told_id, call.subagent)
        call.told_ids.append(result_id)
        answer = ServerResult(call_id, piece.content, piece.error)
        yield from retold(result_message(call.message_id, answer, self._options), call.subagent) or ()

    def _media(self, call: ModelCall, piece: Media) -> Iterator[events.Event]:
        media_id = f"{self._id(call)}-media-{call.media}"
        call.media += 1
        if not self._view.has(media_id):
            call.told_ids.append(media_id)
            yield events.activity_snapshot(media_id, "media", piece.part, call.subagent)

    def _signature(self, call: ModelCall, piece: Signature) -> Iterator[events.Event]:
        if piece.call_id is not None:
            if self._view.call_owner(piece.call_id) is not None:
                yield events.call_encrypted(piece.call_id, piece.value, call.subagent)
        else:
            yield from self._text(call, "")
            yield events.reasoning_encrypted(self._id(call), piece.value, call.subagent)

    def _close(self, call: ModelCall) -> None:
        outbox = self._outbox
        outbox.tell_all(call.reasoning.end())
        outbox.tell_all(tool_calls.ended(call.tools, call.subagent))
        metadata: dict[str, Any] = {"finishReason": call.finish} if call.finish else {}
        if call.citations:
            metadata["citations"] = call.citations
        call.finish, call.citations = None, []
        if metadata and call.told_id and not call.text_open and not call.silent:
            outbox.tell_all(list(self._text(call, "")))
        if call.text_open:
            call.text_open = False
            outbox.tell(events.text_end(call.message_id, metadata, call.subagent))

    def _result(self, ns: Namespace, result: Mapping[str, Any]) -> None:
        subagent = self._subagents.of(ns)
        depth = len(subagent.ns) if subagent else 0
        if self._subagents.silences(subagent) or self._speakers.in_tool(ns[depth:]):
            return
        if result["toolCallId"] in self._repeated:
            return
        if subagent is None:
            self._results.add(result["id"])
        else:
            self._history.kept.add(result["id"])
        self._outbox.tell_all(retold(result, self._subagents.tag(subagent)) or [])


def _is_ordinary(response_metadata: Mapping[str, Any]) -> bool:
    """Whether it says nothing but the provider's name, which some adapters put on every chunk."""
    return len(response_metadata) == 1 and "model_provider" in response_metadata


def _is_output(metadata: Mapping[str, Any]) -> bool:
    """Whether a chunk is a node's output, not a model's: a sum of chunks that a node returned (it names no model)."""
    return bool(metadata) and "ls_model_type" not in metadata and "ls_provider" not in metadata
