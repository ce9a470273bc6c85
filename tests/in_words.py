"""Fixtures, graphs and hand-made parts told to a client, and events in words short enough to be written in a table.

Only telling and reading live here; what must come of it is in the tests.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from langgraph_agui.translator import ClientView, Failed, Options

from fixtures import FIXTURES, Fixture, Turn
from fixtures.run import Conversation, Version

from .told import Telling, told

Event = dict[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


class Told(NamedTuple):
    """One run, told."""

    events: list[Event]
    view: ClientView
    values: Any
    """The last root `values` of the run."""
    waiting: list[str]
    """The ids of the messages that graphs with a pending interrupt have emitted."""

    @property
    def lines(self) -> list[str]:
        """The conversation's events in words; see `lines`."""
        return lines(self.events)

    def kinds(self, *kinds: str) -> list[Event]:
        """The events of these types."""
        return [event for event in self.events if event["type"] in kinds]

    @property
    def texts(self) -> dict[str, str]:
        """What was streamed as text, by message, in the order in which the messages began."""
        texts: dict[str, str] = {event["messageId"]: "" for event in self.kinds("TEXT_MESSAGE_START")}
        for event in self.kinds("TEXT_MESSAGE_CONTENT"):
            texts[event["messageId"]] += event["delta"]
        return texts


async def tell(
    fixture: Fixture | str,
    options: Options | None = None,
    *,
    view: ClientView | None = None,
    known: bool = True,
    version: Version = "v1",
    subgraphs: bool = True,
) -> list[Told]:
    """Every turn of a fixture, told to one client as it runs, each part read when it comes.

    `known`: the client's view is known, and it holds what the user says before each turn, as a front end does.
    """
    fixture = FIXTURES[fixture] if isinstance(fixture, str) else fixture
    conversation = Conversation(fixture)
    options = options or Options()
    view = view if view is not None else ClientView([], {}, options.protocol_version) if known else None
    runs: list[Told] = []
    for number, turn in enumerate(fixture.turns, 1):
        if known and view is not None:
            view = ClientView([*view.messages, *asked(turn)], view.state, options.protocol_version)
        run = Telling(options, view, f"run-{number}")
        runs.append(await _run(run, conversation, turn, version, subgraphs))
        view = runs[-1].view
    return runs


async def tell_one(fixture: Fixture | str, options: Options | None = None, **how: Any) -> Told:
    """The first turn of a fixture."""
    return (await tell(fixture, options, **how))[0]


def tell_parts(parts: Iterable[Any], options: Options | None = None, view: ClientView | None = None) -> Told:
    """Hand-made parts, told as a run that ends well."""
    return _told(told(parts, None, options, view if view is not None else ClientView([], {})))


def asked(turn: Turn) -> list[Event]:
    """What the user says in a turn, as the front end holds it."""
    given = turn.input.get("messages", ()) if isinstance(turn.input, dict) else ()
    return [dict(one) for one in given if one["role"] == "user" and isinstance(one["content"], str) and "id" in one]


def lines(events: Iterable[Event]) -> list[str]:
    """The events of the conversation in words, deltas that follow one another joined, random ids numbered (`#1`)."""
    numbers: dict[str, str] = {}
    return [_numbered(line, numbers) for line in _joined(events)]


def is_subsequence(wanted: Sequence[str], found: Iterable[str]) -> bool:
    """Whether the wanted lines come in this order, whatever comes between."""
    rest = iter(found)
    return all(line in rest for line in wanted)


async def _run(run: Telling, conversation: Conversation, turn: Turn, version: Version, subgraphs: bool) -> Told:
    try:
        async for part in conversation.stream(turn, version, subgraphs=subgraphs):
            run.feed(part)
        run.finish()
    except Exception as error:
        if turn.ends != "error":
            raise
        run.finish(Failed(error))
    return _told(run)


def _told(run: Telling) -> Told:
    return Told(run.events, run.view, run.translator.values, run.waiting(run.view.messages))


def _joined(events: Iterable[Event]) -> Iterator[str]:
    pending, deltas = "", ""
    for event in events:
        line = _line(event)
        if line is None:
            continue
        head, delta = line
        if delta is not None and head == pending:
            deltas += delta
            continue
        if pending:
            yield f"{pending} {deltas}"
        pending, deltas = (head, delta) if delta is not None else ("", "")
        if delta is None:
            yield head
    if pending:
        yield f"{pending} {deltas}"


def _line(event: Event) -> tuple[str, str | None] | None:
    """An event's words, and its delta if it has one; None for what is not the conversation's."""
    get = event.get
    message, call = get("messageId"), get("toolCallId")
    end = f" {get('metadata')}" if "metadata" in event else ""
    match event["type"]:
        case "TEXT_MESSAGE_START":
            told = f"{message} begins" + (f" as {event['name']}" if "name" in event else "")
            told = told if event["role"] == "assistant" else f"{told} by {event['role']}"
        case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
            return f"{message}:", event["delta"]
        case "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END":
            told = f"{message} ends{end}"
        case "REASONING_MESSAGE_START":
            told = f"{message} thinks"
        case "REASONING_ENCRYPTED_VALUE":
            told = f"{event['entityId']} sealed {event['encryptedValue']}"
        case "TOOL_CALL_START":
            told = f"{call} calls {event['toolCallName']} in {event['parentMessageId']}"
        case "TOOL_CALL_ARGS":
            return f"{call}:", event["delta"]
        case "TOOL_CALL_END":
            told = f"{call} ends"
        case "TOOL_CALL_RESULT":
            told = f"{message} answers {call}: {event['content']}{end}"
        case "MESSAGES_SNAPSHOT":
            told = "snapshot " + " ".join(one["id"] for one in event["messages"])
        case "ACTIVITY_SNAPSHOT":
            told = f"{message} shows {event['activityType']}"
        case "SUBAGENT_STARTED":
            told = f"subagent {event['name']} begins for {get('parentToolCallId')} in {get('parentMessageId')}"
        case "SUBAGENT_FINISHED":
            told = f"subagent {event['outcome']['type']}"
        case "SUBAGENT_ERROR":
            told = f"subagent failed: {event['message']}"
        case _:
            return None
    return told, None


def _numbered(line: str, numbers: dict[str, str]) -> str:
    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(), f"#{len(numbers) + 1}")

    return _HEX.sub(number, _UUID.sub(number, line))
