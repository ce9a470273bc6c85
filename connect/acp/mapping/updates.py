"""Turns the AG-UI events of a thread into session updates for an editor: `Updates`. One object serves a session for its
whole life, across all runs of the thread.

Rules:

1. Messages and calls have the same ids as in the checkpoint. If a model repeats the id of a call in a later message, a
   number is appended to the ids of the later calls, in the order of their messages.
2. Nothing is emitted twice. Of a snapshot, only what the editor lacks is emitted. If the editor has a part of a
   message, it is the rest; if a message was rewritten, it is emitted as another message, because the protocol can't
   replace one.
3. A call is announced when its name is known, receives its arguments when they are complete, and ends with its result.
4. Messages of users are emitted only while `emits_users` is set, because an editor already has the prompts it has sent.
5. What a subagent writes becomes the content of the call that runs it. The content is sent again when it has doubled
   and when it has ended, so that its cost stays proportional. The result replaces it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from ....translator import ClientView
from .calls import Before, Card, Kind, Locate, Update, kind_of
from .content import text_block, to_blocks
from .plans import PLANS, entries
from .progress import ACTIVITY as TOOL_PROGRESS
from .progress import ToolProgress

Event = dict[str, Any]

_TOOL_STEPS: Final = ("tools",)
"""The last part of the names of steps that run tools."""
_MESSAGE: Final = "agent_message_chunk"
_THOUGHT: Final = "agent_thought_chunk"
_FIRST_SPEECH: Final = 200
"""How many characters a subagent must have written before they are emitted for the first time."""


class Updates:
    """The updates of one session.

    - `locate`: returns the absolute path of a file that a tool names.
    - `kinds`: what tools do, by tool name. For other tools it is guessed.
    - `before`: returns the text of a file before a tool writes it. If None, no file is read. No file is read for calls
      in a snapshot either, since they may have run already.
    """

    def __init__(
        self, locate: Locate, *, kinds: Mapping[str, Kind] | None = None, before: Before | None = None
    ) -> None:
        self.emits_users = False
        """Whether messages of users are emitted."""
        self.finish_reason: str | None = None
        """Why a model ended its last message, as the provider reports it: `length`, `content_filter`, `refusal`, ..."""
        self._locate, self._kinds, self.before = locate, kinds or {}, before
        self._texts: dict[str, list[str]] = {}
        """Fragments of the texts that the editor has, by message id."""
        self._removed: set[str] = set()
        """Ids of texts that the last snapshot of the run lacked. If they stream again, they start from the
        beginning."""
        self._repeated: dict[str, int] = {}
        """Removed texts that stream again, by message id, and how many of their characters have arrived."""
        self._revisions: dict[str, int] = {}
        """How often a message was rewritten, by message id."""
        self._known: set[str] = set()
        """Ids of emitted messages that do not stream: those of users, media and results."""
        self._cards: dict[tuple[str, str], Card] = {}
        """Cards by the id of the message and the id of the call."""
        self._latest: dict[str, Card] = {}
        """The latest card for each call id."""
        self._times: dict[str, int] = {}
        """How many cards have the same call id."""
        self._subagents: dict[str, Card] = {}
        """The card of the call that runs a subagent, by the subagent's run id."""
        self._other_roles: set[str] = set()
        """Ids of messages that are streaming and are not from a model."""
        self._tools = ToolProgress()
        self._state = ClientView(state={})
        self._plan: list[Update] = []

    def of(self, event: Event) -> list[Update]:
        """Returns the updates for the next event."""
        handler = _HANDLERS.get(event["type"])
        return [] if handler is None else handler(self, event)

    def note_prompt(self, message_id: str) -> None:
        """Notes that the editor already has this message of its user."""
        self._known.add(message_id)

    def open_cards(self) -> list[Card]:
        """Returns the calls without a result, in order."""
        return [card for card in self._cards.values() if card.is_open]

    def card(self, call_id: str) -> Card | None:
        """Returns the latest call with this id."""
        return self._latest.get(call_id)

    def for_permission(self, card: Card) -> Update:
        """Returns the fields of a call for a request for permission."""
        return card.for_permission(self._locate)

    def give_up(self, waiting: Container[str] = ()) -> list[Update]:
        """Ends all open calls, except those that wait for an answer. `waiting` are their ids for the editor."""
        return [card.give_up() for card in self.open_cards() if card.id not in waiting]

    # --- events that stream -------------------------------------------------------------------------------------------

    def _text_started(self, event: Event) -> list[Update]:
        self._comes_again(event["messageId"])
        if event.get("role", "assistant") != "assistant":
            self._other_roles.add(event["messageId"])
        elif "subagentRunId" not in event:
            self.finish_reason = None
        return []

    def _run_started(self, event: Event) -> list[Update]:
        self._removed = set(self._texts)  # a run may stream texts of earlier runs again, from the beginning
        return []

    def _comes_again(self, message_id: str) -> None:
        if message_id in self._removed:
            self._removed.discard(message_id)
            self._texts[message_id] = ["".join(self._texts[message_id])]
            self._repeated[message_id] = 0

    def _skip_repetition(self, kind: str, message_id: str, delta: str) -> list[Update]:
        """Skips a text that the editor had before it was removed, and returns the update for what is new in it."""
        [emitted], count = self._texts[message_id], self._repeated[message_id]
        if emitted.startswith(delta, count):
            self._repeated[message_id] += len(delta)
            return []
        del self._repeated[message_id]
        return self._text(kind, {"id": message_id, "content": emitted[:count] + delta})

    def _thought_started(self, event: Event) -> list[Update]:
        self._comes_again(event["messageId"])
        return []

    def _speech(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return self._speech_of_subagent(event)
        return [] if event["messageId"] in self._other_roles else self._delta(_MESSAGE, event)

    def _thought(self, event: Event) -> list[Update]:
        return [] if "subagentRunId" in event else self._delta(_THOUGHT, event)

    def _delta(self, kind: str, event: Event) -> list[Update]:
        message_id, delta = event["messageId"], event["delta"]
        if message_id in self._repeated:
            return self._skip_repetition(kind, message_id, delta)
        self._texts.setdefault(message_id, []).append(delta)
        return [self._text_chunk(kind, message_id, delta)]

    def _speech_of_subagent(self, event: Event) -> list[Update]:
        card = self._subagents.get(event["subagentRunId"])
        if card is None or not card.is_open:
            return []
        card.speech += event["delta"]
        if len(card.speech) < max(_FIRST_SPEECH, 2 * card.emitted_speech):
            return []
        return _without_none(card.show_speech())

    def _text_ended(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            card = self._subagents.get(event["subagentRunId"])
            if card is None or not card.is_open:
                return []
            update = card.show_speech()
            card.speech += "\n\n" if card.speech else ""
            card.emitted_speech = len(card.speech)
            return _without_none(update)
        self._other_roles.discard(event["messageId"])
        self._repeated.pop(event["messageId"], None)
        self.finish_reason = (event.get("metadata") or {}).get("finishReason")
        return []

    def _call_started(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return []
        self.finish_reason = None
        return self._announce(event.get("parentMessageId") or "", event["toolCallId"], event["toolCallName"])

    def _call_arguments(self, event: Event) -> list[Update]:
        card = self._latest.get(event["toolCallId"])
        if card is not None and "subagentRunId" not in event:
            card.arguments.append(event["delta"])
        return []

    def _call_ended(self, event: Event) -> list[Update]:
        card = self._latest.get(event["toolCallId"])
        if card is None or "subagentRunId" in event:
            return []
        return _without_none(card.complete_input(self._locate, self.before))

    def _call_result(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return []
        return self._result(event["messageId"], event["toolCallId"], event)

    def _step_started(self, event: Event) -> list[Update]:
        if "subagentRunId" in event or event["stepName"].rpartition("/")[2] not in _TOOL_STEPS:
            return []
        return [card.begin() for card in self.open_cards() if card.status == "pending" and card.input is not None]

    def _subagent_started(self, event: Event) -> list[Update]:
        card = self._latest.get(event.get("parentToolCallId") or "")
        if (parent := event.get("parentSubagentRunId")) is not None:
            card = self._subagents.get(parent)
        if card is None:
            return []
        self._subagents[event["subagentRunId"]] = card
        return [card.begin()] if card.status == "pending" else []

    def _activity(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return []
        if event.get("activityType") != TOOL_PROGRESS:
            return self._media(event["messageId"], event) if "content" in event else []
        report = self._tools.report(event)
        card = None if report is None else self._latest.get(report.call_id)
        return [] if report is None or card is None or not card.is_open else [card.show_report(report)]

    def _state_changed(self, event: Event) -> list[Update]:
        self._state.apply_emitted(event)
        state = self._state.base
        plan = next((plan for name in PLANS if (plan := entries(state, name)) is not None), [])
        if plan == self._plan:
            return []
        self._plan = plan
        return [{"sessionUpdate": "plan", "entries": plan}]

    # --- complete messages --------------------------------------------------------------------------------------------

    def _messages(self, event: Event) -> list[Update]:
        updates: list[Update] = []
        latest = dict(self._latest)
        self._removed = self._texts.keys() - {message["id"] for message in event["messages"]}
        for message in event["messages"]:
            if "subagentRunId" in message:
                continue
            match message["role"]:
                case "assistant":
                    updates += self._text(_MESSAGE, message)
                    for call in message.get("toolCalls") or ():
                        updates += self._whole_call(message["id"], call)
                        latest[call["id"]] = self._cards[message["id"], call["id"]]
                case "reasoning":
                    updates += self._text(_THOUGHT, message)
                case "tool":
                    updates += self._result(message["id"], message["toolCallId"], message, latest)
                case "activity":
                    updates += self._activity({"type": "ACTIVITY_SNAPSHOT", "messageId": message["id"], **message})
                case "user":
                    updates += self._user(message)
        return updates

    def _text(self, kind: str, message: Event) -> list[Update]:
        message_id, content = message["id"], message.get("content") or ""
        emitted = "".join(self._texts.get(message_id, ()))
        if not isinstance(content, str) or emitted.startswith(content):
            return []
        if not content.startswith(emitted):
            self._revisions[message_id] = self._revisions.get(message_id, 0) + 1
            emitted = ""
        self._texts[message_id] = [content]
        return [self._text_chunk(kind, message_id, content[len(emitted) :])]

    def _text_chunk(self, kind: str, message_id: str, text: str) -> Update:
        """Returns the update for a text of a message. A rewritten message has a new id."""
        number = self._revisions.get(message_id)
        own_id = message_id if number is None else f"{message_id}-revised-{number}"
        return _chunk(kind, own_id, text_block(text))

    def _user(self, message: Event) -> list[Update]:
        if message["id"] in self._known:
            return []
        self._known.add(message["id"])
        if not self.emits_users:
            return []
        return [_chunk("user_message_chunk", message["id"], block) for block in to_blocks(message.get("content"))]

    def _media(self, message_id: str, activity: Event) -> list[Update]:
        if activity.get("activityType") != "media" or message_id in self._known:
            return []
        self._known.add(message_id)
        return [_chunk(_MESSAGE, message_id, block) for block in to_blocks(activity["content"])]

    def _whole_call(self, parent: str, call: Event) -> list[Update]:
        function = call["function"]
        updates = self._announce(parent, call["id"], function["name"])
        card = self._cards[parent, call["id"]]
        if card.input is None and card.is_open:
            card.arguments = [function["arguments"]] if function["arguments"] else []
            if card.arguments:
                updates += _without_none(card.complete_input(self._locate, None))
        return updates

    def _announce(self, parent: str, call_id: str, name: str) -> list[Update]:
        if (parent, call_id) in self._cards:
            return []
        self._times[call_id] = times = self._times.get(call_id, 0) + 1
        own_id = call_id if times == 1 else f"{call_id}-{times}"
        card = Card(own_id, call_id, name, self._kinds.get(name) or kind_of(name))
        self._cards[parent, call_id] = self._latest[call_id] = card
        return [card.announce()]

    def _result(
        self, message_id: str, call_id: str, result: Event, latest: Mapping[str, Card] | None = None
    ) -> list[Update]:
        card = (self._latest if latest is None else latest).get(call_id)
        if message_id in self._known or card is None:
            return []
        self._known.add(message_id)
        updates = _without_none(card.complete_input(self._locate, None))
        if card.status == "pending":
            updates.append(card.begin())
        failed = (result.get("metadata") or {}).get("status") == "error"
        return [*updates, card.end(result["content"], failed=failed)]


def _chunk(kind: str, message_id: str, content: Update) -> Update:
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


def _without_none(*updates: Update | None) -> list[Update]:
    return [update for update in updates if update is not None]


_HANDLERS: Final[Mapping[str, Callable[[Updates, Event], list[Update]]]] = {
    "RUN_STARTED": Updates._run_started,
    "TEXT_MESSAGE_START": Updates._text_started,
    "TEXT_MESSAGE_CONTENT": Updates._speech,
    "TEXT_MESSAGE_END": Updates._text_ended,
    "REASONING_MESSAGE_START": Updates._thought_started,
    "REASONING_MESSAGE_CONTENT": Updates._thought,
    "TOOL_CALL_START": Updates._call_started,
    "TOOL_CALL_ARGS": Updates._call_arguments,
    "TOOL_CALL_END": Updates._call_ended,
    "TOOL_CALL_RESULT": Updates._call_result,
    "STEP_STARTED": Updates._step_started,
    "SUBAGENT_STARTED": Updates._subagent_started,
    "ACTIVITY_SNAPSHOT": Updates._activity,
    "ACTIVITY_DELTA": Updates._activity,
    "STATE_SNAPSHOT": Updates._state_changed,
    "STATE_DELTA": Updates._state_changed,
    "MESSAGES_SNAPSHOT": Updates._messages,
}
