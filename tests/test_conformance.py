"""Every fixture, live, through the real clients: accepted without a word, and in the end the checkpoint's (G1, G2).

One run of the graph feeds a translator per reader: a client version and what its view is known to be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from langgraph_agui.translator import ClientView, Failed
from langgraph_agui.translator.agui_messages import to_agui_messages

from fixtures import FIXTURES, Turn
from fixtures.run import MODES, Conversation, Version

from . import fidelity
from .agui_client import VERSIONS, AguiClient, Answer
from .told import Telling, left_open, options_for, view_for


class Form(NamedTuple):
    """How the stream is asked for."""

    version: Version
    subgraphs: bool
    modes: Sequence[str]


FORMS = {
    "v1": Form("v1", True, MODES),
    "v1-flat": Form("v1", False, MODES),
    "v2": Form("v2", True, MODES),
    "v2-flat": Form("v2", False, MODES),
    "more-modes": Form("v1", True, [*MODES, "tasks", "checkpoints", "tools"]),
}
KNOWN = ("unknown", "carried over", "empty", "with the input")
"""What is known of the client's view. Forms but the first make do with two: the rest differs in nothing they differ in."""
STALE = ("shortened", "without its beginning", "turned around", "with a lost message")

UNTOLD_STATE = {
    "functional_interrupt": "an interrupt before the entrypoint returned: no values were streamed, no state was told",
}
"""Fixtures whose state a stream does not tell, with the reason."""


@dataclass
class Verdicts:
    """What was found wrong, by kind."""

    refused: list[str] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    state: list[str] = field(default_factory=list)
    view: list[str] = field(default_factory=list)
    end: list[str] = field(default_factory=list)


class Reader:
    """One client that follows a thread turn by turn."""

    def __init__(self, version: str, known: str, messages_key: str | None) -> None:
        self.version = version
        self.known = known
        self.options = options_for(version, messages_key)
        self.messages: list[dict[str, Any]] = []
        self.state: Any = {}
        self.view: ClientView | None = None
        self.telling = Telling()

    def begin(self, turn: Turn, run_id: str) -> None:
        """Begins to follow a turn, the client holding what `known` says."""
        view: ClientView | None = None
        if self.known == "empty":
            self.messages, self.state = [], {}
        elif self.known == "carried over":
            view = self.view
        elif self.known == "with the input":
            given = turn.input if isinstance(turn.input, dict) else {}
            held = {message["id"] for message in self.messages}
            sent = to_agui_messages([item for item in given.get("messages", ()) if "id" in item])
            added = [item.model_dump(by_alias=True, exclude_none=True) for item in sent if item.id not in held]
            self.messages = [*self.messages, *added]
        elif self.known in STALE:
            self.messages = staled(self.messages, self.known)
        if view is None and self.known != "unknown":
            view = view_for(self.version, self.messages, self.state)
        self.telling = Telling(self.options, view, run_id)

    def end(self, client: AguiClient) -> Answer:
        """What the real client holds after the turn, having held what this reader did."""
        answer = client.play(self.telling.events, version=self.version, messages=self.messages, state=self.state)
        self.messages, self.state, self.view = answer.messages, answer.state, self.telling.view
        return answer


def staled(messages: list[dict[str, Any]], how: str) -> list[dict[str, Any]]:
    """A conversation as a client holds it that has missed something."""
    if how == "shortened":
        return messages[: len(messages) // 2]
    if how == "without its beginning":
        return messages[1:]
    if how == "turned around":
        return messages[::-1]
    return [*messages, {"id": "lost-1", "role": "user", "content": "Nobody got this."}]


async def follow(name: str, form: Form, known: Sequence[str], client: AguiClient, turns: Sequence[Turn]) -> Verdicts:
    """Runs the turns of a fixture, told to every reader, and judges after each."""
    fixture = FIXTURES[name]
    conversation = Conversation(fixture)
    readers = [Reader(version, one, fixture.messages_key) for version in VERSIONS for one in known]
    found = Verdicts()
    for number, turn in enumerate(turns):
        error = await run(conversation, turn, form, readers, number)
        state = await conversation.state()
        for reader in readers:
            values = reader.telling.translator.values if state is None else state.values
            where = f"turn {number}, client {reader.version}, {reader.known}: "
            judge(reader, client, None if error else values, turn, found, where)
    if name in UNTOLD_STATE:
        found.state = [wrong for wrong in found.state if not wrong.startswith("turn 0")]
    return found


async def run(
    conversation: Conversation, turn: Turn, form: Form, readers: Sequence[Reader], number: int
) -> Exception | None:
    """One turn, each part fed to every reader when it comes."""
    for reader in readers:
        reader.begin(turn, f"run-{number}")
    raised: Exception | None = None
    stream = conversation.stream(turn, form.version, subgraphs=form.subgraphs, modes=form.modes)
    parts = aiter(stream)
    while True:
        try:
            part = await anext(parts)
        except StopAsyncIteration:
            break
        except Exception as error:
            raised = error
            break
        for reader in readers:
            reader.telling.feed(part)
    for reader in readers:
        reader.telling.finish(Failed(raised) if raised else None)
    return raised


def judge(reader: Reader, client: AguiClient, values: Any, turn: Turn, found: Verdicts, where: str) -> None:
    """Compares one client's end with the checkpoint's `values`, if it is to have them."""
    telling, options = reader.telling, reader.options
    known = reader.known != "unknown" or not reader.messages
    answer = reader.end(client)
    if not answer.accepted:
        found.refused.append(f"{where}{answer.error} {answer.warnings[:3]}")
    if still := left_open(telling.events):
        found.left_open.append(f"{where}{still}")
    view = telling.view
    if (known and view.knows_messages and view.messages != answer.messages) or (
        view.knows_state and view.state != answer.state
    ):
        found.view.append(f"{where}view {view.messages} {view.state}\n client {answer.messages} {answer.state}")
    if telling.end != {"breakpoint": "interrupt"}.get(turn.ends, turn.ends):
        found.end.append(f"{where}ended with {telling.end}, not {turn.ends}")
    if values is None:
        return
    if isinstance(values, dict) and options.messages_key in values:
        want, got = fidelity.stored(values, options), fidelity.conversation(telling.own(answer.messages))
        if want != got:
            found.messages.append(f"{where}\n want {want}\n got  {got}")
    if fidelity.state(values, options) != answer.state:
        found.state.append(f"{where}\n want {fidelity.state(values, options)}\n got  {answer.state}")


_found: dict[tuple[str, str], Verdicts] = {}


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=FIXTURES)
def fixture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def found(fixture: str, form: str, agui_client: AguiClient) -> Verdicts:
    """What is wrong with a fixture in a form; it is run once for all tests."""
    if (fixture, form) not in _found:
        turns = FIXTURES[fixture].turns
        _found[fixture, form] = await follow(
            fixture, FORMS[form], KNOWN if form == "v1" else KNOWN[:2], agui_client, turns
        )
    return _found[fixture, form]


async def test_the_client_accepts_every_stream_without_a_warning(found: Verdicts) -> None:
    assert found.refused == []


async def test_everything_is_closed_before_the_terminal_event(found: Verdicts) -> None:
    assert found.left_open == []


async def test_the_messages_are_the_checkpoints(found: Verdicts) -> None:
    assert found.messages == []


async def test_the_state_is_the_checkpoints(found: Verdicts) -> None:
    assert found.state == []


async def test_the_view_is_the_clients(found: Verdicts) -> None:
    assert found.view == []


async def test_the_stream_ends_as_the_run_did(found: Verdicts) -> None:
    assert found.end == []
