"""What an editor gets of a thread, `Updates`: AG-UI events in, session updates out. One object lives as long as its
session, over all runs of the thread.

Rules:

1. Messages and calls have the ids of the checkpoint. A model may use the id of a call again in a later message: then a
   number is added to the ids of the later calls, in the order of their messages.
2. Nothing is emitted twice. Of a snapshot only what the editor is missing is emitted: the rest of a message that it has
   in part, and a rewritten message as another one (the protocol can't replace a message).
3. A call is announced when its name is known, gets its arguments when they are complete, and ends with its result.
4. Users' messages are emitted only while `emits_users` is true: an editor has the prompts that it has sent.
5. What a subagent writes is the content of the call that it works for, repeated when it has doubled or has ended, so
   that its cost stays in proportion. The result replaces it.
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
"""The last part of the names of steps in which tools run."""
_MESSAGE: Final = "agent_message_chunk"
_THOUGHT: Final = "agent_thought_chunk"
_FIRST_SPEECH: Final = 200
"""Characters of a subagent after which its speech is emitted for the first time."""


class Updates:
    """The updates of one session.

    - `locate`: the absolute path of a file that a tool names.
    - `kinds`: what tools do, by tool name; for other tools it is guessed.
    - `before`: the text of a file that is about to be written; None: no file is read. For a call in a snapshot none is
      read either, since the call may have run.
    """

    def __init__(
        self, locate: Locate, *, kinds: Mapping[str, Kind] | None = None, before: Before | None = None
    ) -> None:
        self.emits_users = False
        """Whether the messages of users are emitted."""
        self.finish_reason: str | None = None
        """Why the last message of a model ended, if not as usual: `length`, `content_filter`, `refusal`, ..."""
        self._locate, self._kinds, self.before = locate, kinds or {}, before
        self._texts: dict[str, list[str]] = {}
        """The texts that the editor has, in fragments, by message id."""
        self._removed: set[str] = set()
        """The ids of texts that the last snapshot of the run did not have: they begin anew if they come again."""
        self._repeated: dict[str, int] = {}
        """The texts that were removed and come again: how many of their characters have come."""
        self._revisions: dict[str, int] = {}
        """How often a message was rewritten."""
        self._known: set[str] = set()
        """The ids of messages that come whole, and were emitted: users', media, results."""
        self._cards: dict[tuple[str, str], Card] = {}
        """By the id of the message and that of the call."""
        self._latest: dict[str, Card] = {}
        """The last card with a call's id."""
        self._times: dict[str, int] = {}
        """How many cards there are with a call's id."""
        self._subagents: dict[str, Card] = {}
        """By the id of a subagent, the card of the call that it works for."""
        self._other_roles: set[str] = set()
        """The messages that stream and are no model's."""
        self._tools = ToolProgress()
        self._state = ClientView(state={})
        self._plan: list[Update] = []

    def of(self, event: Event) -> list[Update]:
        """The updates of the next event."""
        handler = _HANDLERS.get(event["type"])
        return [] if handler is None else handler(self, event)

    def note_prompt(self, message_id: str) -> None:
        """Notes that the editor has this message of its user."""
        self._known.add(message_id)

    def open_cards(self) -> list[Card]:
        """The calls without a result, in their order."""
        return [card for card in self._cards.values() if card.is_open]

    def card(self, call_id: str) -> Card | None:
        """The last call of this id."""
        return self._latest.get(call_id)

    def asked(self, card: Card) -> Update:
        """A call in a request for permission."""
        return card.asked(self._locate)

    def given_up(self, waiting: Container[str] = ()) -> list[Update]:
        """Ends the calls that are open, but those whose ids (as the editor knows them) are `waiting` for an answer."""
        return [card.given_up() for card in self.open_cards() if card.id not in waiting]

    # --- what streams -------------------------------------------------------------------------------------------------

    def _text_started(self, event: Event) -> list[Update]:
        self._comes_again(event["messageId"])
        if event.get("role", "assistant") != "assistant":
            self._other_roles.add(event["messageId"])
        elif "subagentRunId" not in event:
            self.finish_reason = None
        return []

    def _run_started(self, event: Event) -> list[Update]:
        self._removed = set(self._texts)  # a run may bring texts of earlier ones from their beginning
        return []

    def _comes_again(self, message_id: str) -> None:
        if message_id in self._removed:
            self._removed.discard(message_id)
            self._texts[message_id] = ["".join(self._texts[message_id])]
            self._repeated[message_id] = 0

    def _repeating(self, kind: str, message_id: str, delta: str) -> list[Update]:
        """The updates of a text that the editor has from before it was removed: what is new in it."""
        [emitted], come = self._texts[message_id], self._repeated[message_id]
        if emitted.startswith(delta, come):
            self._repeated[message_id] += len(delta)
            return []
        del self._repeated[message_id]
        return self._text(kind, {"id": message_id, "content": emitted[:come] + delta})

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
            return self._repeating(kind, message_id, delta)
        self._texts.setdefault(message_id, []).append(delta)
        return [self._text_chunk(kind, message_id, delta)]

    def _speech_of_subagent(self, event: Event) -> list[Update]:
        card = self._subagents.get(event["subagentRunId"])
        if card is None or not card.is_open:
            return []
        card.speech += event["delta"]
        if len(card.speech) < max(_FIRST_SPEECH, 2 * card.emitted_speech):
            return []
        return _some(card.from_subagent())

    def _text_ended(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            card = self._subagents.get(event["subagentRunId"])
            if card is None or not card.is_open:
                return []
            update = card.from_subagent()
            card.speech += "\n\n" if card.speech else ""
            card.emitted_speech = len(card.speech)
            return _some(update)
        self._other_roles.discard(event["messageId"])
        self._repeated.pop(event["messageId"], None)
        self.finish_reason = (event.get("metadata") or {}).get("finishReason")
        return []

    def _call_started(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return []
        self.finish_reason = None
        return self._announced(event.get("parentMessageId") or "", event["toolCallId"], event["toolCallName"])

    def _call_arguments(self, event: Event) -> list[Update]:
        card = self._latest.get(event["toolCallId"])
        if card is not None and "subagentRunId" not in event:
            card.arguments.append(event["delta"])
        return []

    def _call_ended(self, event: Event) -> list[Update]:
        card = self._latest.get(event["toolCallId"])
        if card is None or "subagentRunId" in event:
            return []
        return _some(card.completed_input(self._locate, self.before))

    def _call_result(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return []
        return self._result(event["messageId"], event["toolCallId"], event)

    def _step_started(self, event: Event) -> list[Update]:
        if "subagentRunId" in event or event["stepName"].rpartition("/")[2] not in _TOOL_STEPS:
            return []
        return [card.begun() for card in self.open_cards() if card.status == "pending" and card.input is not None]

    def _subagent_started(self, event: Event) -> list[Update]:
        card = self._latest.get(event.get("parentToolCallId") or "")
        if (parent := event.get("parentSubagentRunId")) is not None:
            card = self._subagents.get(parent)
        if card is None:
            return []
        self._subagents[event["subagentRunId"]] = card
        return [card.begun()] if card.status == "pending" else []

    def _activity(self, event: Event) -> list[Update]:
        if "subagentRunId" in event:
            return []
        if event.get("activityType") != TOOL_PROGRESS:
            return self._media(event["messageId"], event) if "content" in event else []
        report = self._tools.report(event)
        card = None if report is None else self._latest.get(report.call_id)
        return [] if report is None or card is None or not card.is_open else [card.says(report)]

    def _state_changed(self, event: Event) -> list[Update]:
        self._state.apply_emitted(event)
        state = self._state.base
        found = next((found for name in PLANS if (found := entries(state, name)) is not None), [])
        if found == self._plan:
            return []
        self._plan = found
        return [{"sessionUpdate": "plan", "entries": found}]

    # --- what comes whole ---------------------------------------------------------------------------------------------

    def _messages(self, event: Event) -> list[Update]:
        found: list[Update] = []
        latest = dict(self._latest)
        self._removed = self._texts.keys() - {message["id"] for message in event["messages"]}
        for message in event["messages"]:
            if "subagentRunId" in message:
                continue
            match message["role"]:
                case "assistant":
                    found += self._text(_MESSAGE, message)
                    for call in message.get("toolCalls") or ():
                        found += self._whole_call(message["id"], call)
                        latest[call["id"]] = self._cards[message["id"], call["id"]]
                case "reasoning":
                    found += self._text(_THOUGHT, message)
                case "tool":
                    found += self._result(message["id"], message["toolCallId"], message, latest)
                case "activity":
                    found += self._activity({"type": "ACTIVITY_SNAPSHOT", "messageId": message["id"], **message})
                case "user":
                    found += self._user(message)
        return found

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
        """A text of a message; a rewritten one has an id of its own."""
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
        found = self._announced(parent, call["id"], function["name"])
        card = self._cards[parent, call["id"]]
        if card.input is None and card.is_open:
            card.arguments = [function["arguments"]] if function["arguments"] else []
            if card.arguments:
                found += _some(card.completed_input(self._locate, None))
        return found

    def _announced(self, parent: str, call_id: str, name: str) -> list[Update]:
        if (parent, call_id) in self._cards:
            return []
        self._times[call_id] = times = self._times.get(call_id, 0) + 1
        own_id = call_id if times == 1 else f"{call_id}-{times}"
        card = Card(own_id, call_id, name, self._kinds.get(name) or kind_of(name))
        self._cards[parent, call_id] = self._latest[call_id] = card
        return [card.announced()]

    def _result(
        self, message_id: str, call_id: str, result: Event, latest: Mapping[str, Card] | None = None
    ) -> list[Update]:
        card = (self._latest if latest is None else latest).get(call_id)
        if message_id in self._known or card is None:
            return []
        self._known.add(message_id)
        found = _some(card.completed_input(self._locate, None))
        if card.status == "pending":
            found.append(card.begun())
        failed = (result.get("metadata") or {}).get("status") == "error"
        return [*found, card.ended(result["content"], failed=failed)]


def _chunk(kind: str, message_id: str, content: Update) -> Update:
    return {"sessionUpdate": kind, "messageId": message_id, "content": content}


def _some(*updates: Update | None) -> list[Update]:
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
