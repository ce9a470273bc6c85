"""Runs of fixtures and of hand-made parts, and their events as lines that are short enough for a table.

What must come of a run is in the tests.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from langgraph_agui.translator import ClientView, Failed, Options

from fixtures import FIXTURES, Fixture, Turn
from fixtures.run import Conversation, Version
from tests.support.streams.translator_runs import TranslatorRun, run_parts

Event = dict[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")


class Translated(NamedTuple):
    """One run, translated."""

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


async def run_fixture(
    fixture: Fixture | str,
    options: Options | None = None,
    *,
    view: ClientView | None = None,
    known: bool = True,
    version: Version = "v1",
    subgraphs: bool = True,
) -> list[Translated]:
    """Every turn of a fixture for one client, each part translated when it comes.

    `known`: the client's view is known, and has the user's messages before each turn, as a front end does.
    """
    fixture = FIXTURES[fixture] if isinstance(fixture, str) else fixture
    conversation = Conversation(fixture)
    options = options or Options()
    view = view if view is not None else ClientView([], {}, options.protocol_version) if known else None
    runs: list[Translated] = []
    for number, turn in enumerate(fixture.turns, 1):
        if known and view is not None:
            view = ClientView([*view.messages, *asked(turn)], view.state, options.protocol_version)
        run = TranslatorRun(options, view, f"run-{number}")
        runs.append(await _run(run, conversation, turn, version, subgraphs))
        view = runs[-1].view
    return runs


async def run_turn(fixture: Fixture | str, options: Options | None = None, **how: Any) -> Translated:
    """The first turn of a fixture."""
    return (await run_fixture(fixture, options, **how))[0]


def run_made(parts: Iterable[Any], options: Options | None = None, view: ClientView | None = None) -> Translated:
    """Hand-made parts, as a run that succeeds."""
    return _translated(run_parts(parts, None, options, view if view is not None else ClientView([], {})))


def asked(turn: Turn) -> list[Event]:
    """The user's messages of a turn, as the front end has them."""
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


async def _run(
    run: TranslatorRun, conversation: Conversation, turn: Turn, version: Version, subgraphs: bool
) -> Translated:
    try:
        async for part in conversation.stream(turn, version, subgraphs=subgraphs):
            run.feed(part)
        run.finish()
    except Exception as error:
        if turn.ends != "error":
            raise
        run.finish(Failed(error))
    return _translated(run)


def _translated(run: TranslatorRun) -> Translated:
    return Translated(run.events, run.view, run.translator.values, run.waiting(run.view.messages))


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
            line = f"{message} begins" + (f" as {event['name']}" if "name" in event else "")
            line = line if event["role"] == "assistant" else f"{line} by {event['role']}"
        case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
            return f"{message}:", event["delta"]
        case "TEXT_MESSAGE_END" | "REASONING_MESSAGE_END":
            line = f"{message} ends{end}"
        case "REASONING_MESSAGE_START":
            line = f"{message} thinks"
        case "REASONING_ENCRYPTED_VALUE":
            line = f"{event['entityId']} sealed {event['encryptedValue']}"
        case "TOOL_CALL_START":
            line = f"{call} calls {event['toolCallName']} in {event['parentMessageId']}"
        case "TOOL_CALL_ARGS":
            return f"{call}:", event["delta"]
        case "TOOL_CALL_END":
            line = f"{call} ends"
        case "TOOL_CALL_RESULT":
            line = f"{message} answers {call}: {event['content']}{end}"
        case "MESSAGES_SNAPSHOT":
            line = "snapshot " + " ".join(one["id"] for one in event["messages"])
        case "ACTIVITY_SNAPSHOT":
            line = f"{message} shows {event['activityType']}"
        case "SUBAGENT_STARTED":
            line = f"subagent {event['name']} begins for {get('parentToolCallId')} in {get('parentMessageId')}"
        case "SUBAGENT_FINISHED":
            line = f"subagent {event['outcome']['type']}"
        case "SUBAGENT_ERROR":
            line = f"subagent failed: {event['message']}"
        case _:
            return None
    return line, None


def _numbered(line: str, numbers: dict[str, str]) -> str:
    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(), f"#{len(numbers) + 1}")

    return _HEX.sub(number, _UUID.sub(number, line))
