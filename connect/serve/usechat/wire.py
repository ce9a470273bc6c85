"""Encodes the events of a run as a UI message stream: `UiWire`. Pure.

The protocol is described at https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol. A stream has one `UIMessage`: the answer
after a message of the user. Its parts are those that `parts` makes of the messages which the client has, so a page that
follows a run ends with what a page has that loads the thread.

| event of AG-UI | chunk |
|---|---|
| `RUN_STARTED` | `start`, with the id of the answer, and `threadId` and `runId` as its metadata |
| messages, reasoning, tool calls, results, activities | what `chunks.Answer` finds to have changed |
| `STATE_SNAPSHOT`, `STATE_DELTA` | a transient `data-state` with the channels that have changed |
| `CUSTOM` | a transient `data-` part with its name; `data-custom-` if the name is one of ours |
| the activity "tool_progress" | a transient `data-tool_progress` |
| `RUN_FINISHED` | `finish`, with the usage as metadata; `abort` for a run that was stopped |
| `RUN_ERROR` | `error` |
| the last of these | `[DONE]` |
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from ....translator import ClientView
from ...events.encoded import Batch
from .chunks import Answer, Chunk, frames
from .parts import PROGRESS, Run, answer_id, answer_parts

Event = dict[str, Any]

HEADERS: Final = {"x-vercel-ai-ui-message-stream": "v1"}
_DONE: Final = b"data: [DONE]\n\n"
_TEXTS: Final = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT")
_OURS: Final = frozenset({"state", "interrupt", "run_error", "plan", PROGRESS})
"""Names of data parts that no custom event has."""
_UNSEEN: Final = frozenset(
    {"STEP_STARTED", "STEP_FINISHED", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR", "RAW"}
)
"""Events that change nothing of a page."""


class UiWire:
    """The stream of one request.

    `view`: what the client has; None if it joins a run. `before`: the id of the message before the answer; of a client
    that joins, it is the last message of a user. `answer`: the parts that the page has of the answer. `answer_id`: its
    id; None if the client joins.
    """

    media_type = "text/event-stream; charset=utf-8"
    heartbeat = b": heartbeat\n\n"

    def __init__(
        self,
        view: ClientView | None = None,
        before: str | None = None,
        answer_id: str | None = None,
        answer: Answer | None = None,
        *,
        page_tools: Collection[str] = (),
        dynamic: bool = False,
    ) -> None:
        self._view = view or ClientView()
        self._before = before
        self._answer_id = answer_id
        self._answer = answer or Answer()
        self._page_tools = page_tools
        self._dynamic = dynamic
        self._has_begun = self._is_stale = False
        self._known = frozenset(self._view.order)
        """The ids of the messages that came before this stream."""

    def encode(self, batch: Batch) -> bytes:
        """Returns the frames of a batch."""
        return b"".join(self._frames(encoded.event for encoded in batch))

    def _frames(self, events: Iterable[Event]) -> Iterable[bytes]:
        for event in events:
            yield from frames(self._chunks(event))
            if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                yield _DONE
        yield from frames(self._refreshed())

    def _chunks(self, event: Event) -> list[Chunk]:
        """Returns the chunks for an event. What it changes of the answer may be left to `_refreshed`, which is called
        at the end of each batch."""
        kind = event["type"]
        self._view.apply_emitted(event)
        if kind in _UNSEEN:
            return []
        if kind in _TEXTS or kind == "TOOL_CALL_ARGS":
            place = None if self._is_stale else self._answer.open_place(event.get("messageId") or event["toolCallId"])
            if place is not None:
                return [self._answer.append(place, event["delta"])]
        match kind:
            case "RUN_FINISHED" | "RUN_ERROR":
                self._is_stale = True
                return [*self._refreshed(), *self._ended(event)]
            case "STATE_SNAPSHOT" | "STATE_DELTA":
                return self._state(event)
            case "CUSTOM":
                name = f"custom-{event['name']}" if event["name"] in _OURS else event["name"]
                return [_transient(name, event["value"])]
            case "ACTIVITY_SNAPSHOT" | "ACTIVITY_DELTA" if event["activityType"] == PROGRESS:
                message = self._view.message(event["messageId"]) or event
                return [{**_transient(PROGRESS, message.get("content")), "id": event["messageId"]}]
        self._is_stale = True
        return []

    def _refreshed(self) -> list[Chunk]:
        """Returns the chunks after which the page has the answer."""
        view = self._view
        if not self._is_stale or not (self._answer_id or view.knows_messages or view.terminal):
            return []
        self._is_stale = False
        messages = view.messages
        if self._answer_id is None:
            self._before = next((item["id"] for item in reversed(messages) if item["role"] == "user"), None)
            self._answer_id = answer_id(self._before)
        start: list[Chunk] = []
        if not self._has_begun:
            self._has_begun = True
            metadata = {"threadId": view.thread_id, "runId": view.run_id}
            start = [{"type": "start", "messageId": self._answer_id, "messageMetadata": metadata}]
        open_items = view.open
        run = Run(
            interrupts=interrupts_of(view),
            streaming={*open_items.texts, *open_items.reasonings, *open_items.calls},
            page_tools=self._page_tools,
            dynamic=self._dynamic,
        )
        return [*start, *self._answer.become(answer_parts(self._of_answer(messages), run))]

    def _of_answer(self, messages: list[Event]) -> list[Event]:
        """Returns the messages of the answer: those after the one that it answers. If a graph removes that one, they
        are those that came in this stream."""
        if self._before is None:
            return messages
        for place, message in enumerate(messages):
            if message["id"] == self._before:
                return messages[place + 1 :]
        return [message for message in messages if message["id"] not in self._known]

    def _ended(self, event: Event) -> list[Chunk]:
        if event["type"] == "RUN_ERROR":
            return [{"type": "error", "errorText": event["message"]}]
        outcome = event.get("outcome") or {}
        asked = interrupts_of(self._view)
        settled = self._answer.settle({interrupt["id"] for interrupt in asked})
        if outcome.get("type") == "cancelled":
            return [*settled, {"type": "abort"}]
        waits = asked or outcome.get("pendingToolCallIds") or event.get("pendingToolCallIds")
        finish: Chunk = {"type": "finish", "finishReason": "tool-calls" if waits else "stop"}
        metadata = {name: event[name] for name in ("usage", "result") if event.get(name)}
        return [*settled, {**finish, "messageMetadata": metadata} if metadata else finish]

    def _state(self, event: Event) -> list[Chunk]:
        state = self._view.state
        if event["type"] == "STATE_DELTA" and isinstance(state, dict):
            names = {_name(operation["path"]) for operation in event["delta"]}
            state = {name: state.get(name) for name in sorted(names)}
        return [_transient("state", state)]


def interrupts_of(view: ClientView) -> list[Event]:
    """Returns the interrupts that a thread waits at."""
    interrupts: list[Event] = (view.outcome or {}).get("interrupts") or []
    return interrupts


def _name(path: str) -> str:
    """Returns the channel in a path of a JSON patch."""
    return path.split("/")[1].replace("~1", "/").replace("~0", "~") if "/" in path else ""


def _transient(name: str, value: Any) -> Chunk:
    return {"type": f"data-{name}", "data": value, "transient": True}
