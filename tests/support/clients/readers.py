"""Clients that follow a thread turn by turn, each with a translator that is told what its client holds, or is not.

Here: `Reader`, and judging what the real client ends with against the checkpoint. Never here: where the parts
come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView
from langgraph_agui.translator.convert.to_agui import to_agui_messages

from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer
from tests.support.streams.translator_runs import TranslatorRun, left_open, needless, options_for, view_for
from tests.support.sweeps import Choice, every

KNOWN = ("unknown", "carried over", "empty", "with the input")
"""What is known of a client's view when a turn begins."""
STALE = ("shortened", "without its beginning", "turned around", "with a lost message")
"""What a client that has missed something holds. The translator is told so."""
ADDING = {"functional_messages"}
"""Fixtures that are functions whose value has messages. The value is what one call gave, not the conversation
(`translator/checkpoint/reconcile.py`, rule 8): behind what a client is known to hold it must have the value's messages.
Of a client of which nothing is known it is the value alone: only a snapshot brings the question, which comes after its
answer, in order."""


@dataclass
class Verdicts:
    """What was found wrong, by kind."""

    refused: list[str] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    view: list[str] = field(default_factory=list)
    needless: list[str] = field(default_factory=list)
    not_asked_for: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)


class Reader:
    """One client that follows a thread turn by turn."""

    def __init__(self, version: str, known: str, messages_key: str | None, *, adds: bool = False) -> None:
        self.version = version
        self.known = known
        self.adds = adds
        """Whether the values are added to what the client holds (`ADDING`)."""
        self.options = options_for(version, messages_key)
        self.messages: list[dict[str, Any]] = []
        self.state: Any = {}
        self.view: ClientView | None = None
        self.telling = TranslatorRun()
        self.begun = ClientView()
        """What the client was known to hold when the turn began."""

    def begin(self, given: Any, run_id: str, source: Literal["local", "platform"] | None = None) -> None:
        """Begins to follow a turn with the input `given`, the client holding what `known` says. `source`: where its
        parts come from, if their shape does not show it."""
        view: ClientView | None = None
        if self.known == "empty":
            self.messages, self.state = [], {}
        elif self.known == "carried over":
            view = self.view
        elif self.known == "with the input":
            held = {message["id"] for message in self.messages}
            asked = given.get(self.options.messages_key, ()) if isinstance(given, Mapping) else ()
            sent = to_agui_messages([item for item in asked if isinstance(item, Mapping) and "id" in item])
            added = [item.model_dump(by_alias=True, exclude_none=True) for item in sent if item.id not in held]
            self.messages = [*self.messages, *added]
        elif self.known in STALE:
            self.messages = staled(self.messages, self.known)
        if view is None and self.known != "unknown":
            view = view_for(self.version, self.messages, self.state)
        self.begun = view.copy() if view is not None else ClientView(version=self.options.protocol_version)
        self.telling = TranslatorRun(self.options, view, run_id, source)

    def end(self, client: AguiClient) -> Answer:
        """What the real client holds after the turn, having held what this reader did."""
        answer = client.play(self.telling.events, version=self.version, messages=self.messages, state=self.state)
        self.messages, self.state, self.view = answer.messages, answer.state, self.telling.view
        return answer


def readers_of(name: str, known: Sequence[str], messages_key: str | None, chosen: Choice) -> list[Reader]:
    """Readers of a thread: in a sweep a client of each version for all that may be `known`, or else one for each, its
    versions in turn. For another `name` they begin with the other version."""
    pairs = [(version, one) for at, one in enumerate(known) for version in (VERSIONS[at % 2], VERSIONS[at % 2 - 1])]
    picked = pairs if chosen is every else pairs[crc32(name.encode()) % 2 :: 2]
    return [Reader(version, one, messages_key, adds=name in ADDING) for version, one in picked]


def staled(messages: list[dict[str, Any]], how: str) -> list[dict[str, Any]]:
    """A conversation as a client holds it that has missed something."""
    if how == "shortened":
        return messages[: len(messages) // 2]
    if how == "without its beginning":
        return messages[1:]
    if how == "turned around":
        return messages[::-1]
    return [*messages, {"id": "lost-1", "role": "user", "content": "Nobody got this."}]


def judge(reader: Reader, client: AguiClient, values: Any, ends: str, found: Verdicts, where: str) -> None:
    """Compares one client's end with the checkpoint's `values`, if it is to have them."""
    telling, options = reader.telling, reader.options
    known = reader.known != "unknown" or not reader.messages
    held = reader.messages if reader.adds and reader.known != "unknown" else []
    answer = reader.end(client)
    if not answer.accepted:
        found.refused.append(f"{where}{answer.error} {answer.warnings[:3]}")
    if still := left_open(telling.events):
        found.left_open.append(f"{where}{still}")
    if vain := needless(telling.events, reader.begun):
        found.needless.append(f"{where}{vain}")
    if raw := [event for event in telling.events if event["type"] == "RAW" or event.keys() & {"rawEvent", "input"}]:
        found.not_asked_for.append(f"{where}{raw}")
    view = telling.view
    if (known and view.knows_messages and view.messages != answer.messages) or (
        view.knows_state and view.state != answer.state
    ):
        found.view.append(f"{where}view {view.messages} {view.state}\n client {answer.messages} {answer.state}")
    if telling.end != {"breakpoint": "interrupt"}.get(ends, ends):
        found.end.append(f"{where}ended with {telling.end}, not {ends}")
    if values is None:
        return
    if isinstance(values, dict) and options.messages_key in values:
        stored = {message["id"] for message in [*held, *expected(values, options).messages]}
        messages = expected(values, options, waiting=telling.emitted_by_waiting()).messages
        valued = {message["id"] for message in messages}
        messages = [*(message for message in held if message["id"] not in valued), *messages]
        ids = [message["id"] for message in messages]
        beside = set(ids) - stored
        want, got = comparable(messages, beside), comparable(telling.own(answer.messages, ids), beside)
        if want != got:
            found.messages.append(f"{where}\n want {want}\n got  {got}")
    if expected(values, options).state != answer.state:
        found.state.append(f"{where}\n want {expected(values, options).state}\n got  {answer.state}")
