"""What cannot be translated costs itself: a log line that names thread and run, and a count in the terminal event."""

import inspect
import logging
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph_agui.translator import Cancelled, ClientView, Failed, Finished, Lost, Options, translator
from langgraph_agui.translator.call_ids import CallIds
from langgraph_agui.translator.checkpoint.message_cache import MessageCache
from langgraph_agui.translator.checkpoint.reconcile import StoredMessages
from langgraph_agui.translator.checkpoint.state import State
from langgraph_agui.translator.checkpoint.values import RootValues
from langgraph_agui.translator.checkpoint.waiting_subgraphs import WaitingSubgraphs
from langgraph_agui.translator.client.contents import ClientContents
from langgraph_agui.translator.client.message_store import MessageStore, StoredCall, StoredMessage
from langgraph_agui.translator.client.open_items import OpenItems
from langgraph_agui.translator.client.reducer import REDUCES
from langgraph_agui.translator.endings import Ending
from langgraph_agui.translator.ledger import Ledger
from langgraph_agui.translator.messages.block_events import BlockEvents
from langgraph_agui.translator.messages.model_calls import ModelCalls
from langgraph_agui.translator.messages.predicted_state import Predictions
from langgraph_agui.translator.messages.reasoning_events import ReasoningEvents
from langgraph_agui.translator.messages.stream import MessageStream
from langgraph_agui.translator.messages.tool_calls import StreamedCalls
from langgraph_agui.translator.messages.usage import Usage
from langgraph_agui.translator.messages.visibility import VisibilityRules
from langgraph_agui.translator.parts.platform_messages import AccumulatedMessages
from langgraph_agui.translator.parts.v3 import Envelopes
from langgraph_agui.translator.run.delegations import Delegations
from langgraph_agui.translator.run.interrupts import Interrupts
from langgraph_agui.translator.run.progress import ToolProgress
from langgraph_agui.translator.run.steps import Steps
from langgraph_agui.translator.run.subagents import Subagents
from langgraph_agui.translator.snapshots import Snapshots
from langgraph_agui.translator.tool_tasks import ToolTasks

from fixtures.recordings import recordings
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.translator_runs import Event, TranslatorRun, left_open, run_parts
from tests.support.sweeps import SWEEP


class Raises:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("do not look")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare")

    __hash__ = None  # type: ignore[assignment]


@dataclass
class Values:
    """A graph's values, of which one property raises."""

    messages: list[Any]
    good: int = 1
    bad: int = 2

    def __getattribute__(self, name: str) -> Any:
        if name == "bad":
            raise RuntimeError("do not look")
        return object.__getattribute__(self, name)


class BadKey(str):
    """A name of a channel that raises when it is compared."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare")


class BadMapping(dict[str, Any]):
    """A message's JSON that raises when it is read."""

    def get(self, *_: Any) -> Any:
        raise RuntimeError("do not look")


GOOD = {"type": "ai", "id": "good", "content": "good"}
TEXT = {"type": "text", "text": "hi"}
BAD_BLOCKS: dict[str, Any] = {
    "an unhashable type": {"type": ["x"]},
    "a type that raises": {"type": Raises()},
    "an object that raises": Raises(),
    "a number": 7,
    "a block that raises": BadMapping(type="text", text="x"),
}
STREAMED = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_provider": "p"}


@pytest.mark.parametrize("what", BAD_BLOCKS)
@pytest.mark.parametrize("place", ["values", "stream", "ending"])
def test_a_bad_content_block_costs_itself_and_one_log_line(
    place: str, what: str, agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    block = BAD_BLOCKS[what]
    user = {"type": "human", "id": "user", "content": [block, TEXT]}
    answer = AIMessage.model_construct(id="answer", content=[block, TEXT], type="ai")
    values = {"messages": [user, answer, GOOD], "count": 1}
    telling = TranslatorRun()
    if place == "stream":
        chunk = AIMessageChunk.model_construct(id="answer", content=[block, TEXT], type="AIMessageChunk")
        telling.feed(("messages", (chunk, STREAMED)))
    telling.finish(Finished(state=values)) if place == "ending" else telling.feed(("values", values))
    if place != "ending":
        telling.finish()
    played = agui_client.play(telling.events)
    assert played.accepted
    assert played.state == {"count": 1}
    assert [message["content"] for message in played.messages] == [[TEXT], "hi", "good"]
    assert "metadata" not in telling.events[-1]
    lines = sorted(record.getMessage() for record in caplog.records)
    assert [line.split(" is left out")[0] for line in lines] == [
        "A content block of the message 'answer'",
        "A content block of the message 'user'",
    ]
    assert all("thread 'thread-1', run 'run-1'" in line for line in lines)


LOST: dict[str, tuple[Any, str]] = {
    "no message": ({"messages": [7, GOOD], "good": 1}, "The message 0"),
    "a message that raises": ({"messages": [Raises(), GOOD], "good": 1}, "The message 0"),
    "a mapping that raises": ({"messages": [BadMapping(GOOD), GOOD], "good": 1}, "The message 0"),
    "a field that raises": (
        {"messages": [{"type": "human", "id": "m", "content": "x", "name": Raises()}, GOOD], "good": 1},
        "The message 'm'",
    ),
    "a channel that raises": (Values([GOOD]), "The state channel 'bad'"),
    "a name that raises": ({"messages": [GOOD], BadKey("bad"): 1, "good": 1}, "The state channel 'bad'"),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ending", [None, Cancelled(), Failed("no"), Lost("no")], ids=["end", "cancel", "fail", "lose"])
@pytest.mark.parametrize("what", LOST)
def test_a_lost_message_or_channel_is_counted_in_the_terminal_event(
    what: str, ending: Ending | None, version: str, agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    values, line = LOST[what]
    options = Options(protocol_version=protocol(version), error_activity=False)
    run = run_parts([("values", values)] * 2, ending, options)
    played = agui_client.play(run.events, version=version)
    assert (played.state, [message["content"] for message in played.messages]) == ({"good": 1}, ["good"])
    assert run.events[-1]["metadata"] == {"lost": 1}
    assert played.accepted
    assert [record.getMessage() for record in caplog.records] == [
        f"{line} is left out of the events of thread 'thread-1', run 'run-1'."
    ]


@pytest.mark.last_resort
@pytest.mark.parametrize("what", ["an item", "the list"])
def test_an_interrupt_that_cannot_be_read_is_an_interrupt(what: str, agui_client: AguiClient) -> None:
    interrupts: Any = (Raises(),) if what == "an item" else Raises()
    run = run_parts([("values", {"messages": [GOOD]})], Finished(interrupts=interrupts))
    played = agui_client.play(run.events)
    assert played.accepted
    assert (run.end, len(played.pending_interrupts)) == ("interrupt", 1)
    assert run.events[-1].get("metadata") == (None if what == "an item" else {"lost": 1})


class Faulty:
    """Raises in one call of a method, and otherwise does what it does."""

    def __init__(self, method: Callable[..., Any], number: int) -> None:
        self.method = method
        self.calls_left = number
        self.raised = False
        self.args: tuple[Any, ...] = ()
        """What the call had that raised."""

    def bound(self) -> Callable[..., Any]:
        """What to put in the method's place."""

        def call(*args: Any, **named: Any) -> Any:
            self.calls_left -= 1
            if self.calls_left == 0:
                self.raised, self.args = True, args
                raise RuntimeError("a fault")
            return self.method(*args, **named)

        return call


KINDS: list[type] = [
    *(ClientContents, MessageStore, OpenItems, StoredMessage, StoredCall, Delegations, ToolProgress),
    *(
        StoredMessages,
        State,
        Steps,
        Subagents,
        VisibilityRules,
        Usage,
        Interrupts,
        RootValues,
        Predictions,
        CallIds,
        Ledger,
    ),
    *(
        ReasoningEvents,
        StreamedCalls,
        ModelCalls,
        BlockEvents,
        MessageStream,
        MessageCache,
        Snapshots,
        ToolTasks,
        WaitingSubgraphs,
        AccumulatedMessages,
        Envelopes,
    ),
]
METHODS = [
    (kind, name)
    for kind in KINDS
    for name, method in vars(kind).items()
    if inspect.isfunction(method) and not name.startswith("__")
]
READ_AGAIN = {"next_delta", "append_text"}
"""Methods of the shorter way: after a fault there the part is read again, the longer way, and nothing is lost."""
STREAMS = [
    "local/subagents_one_asks",
    "local/model_raises_mid_text",
    "platform-messages/gathered_calls",
    "platform-v3/subagent",
]


@pytest.mark.last_resort
@pytest.mark.parametrize("number", [1, pytest.param(3, marks=SWEEP)])
@pytest.mark.parametrize("stream", STREAMS)
def test_a_fault_anywhere_is_counted_and_ends_no_stream(
    stream: str, number: int, agui_client: AguiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first call of each method, or in a later one."""
    source, name = stream.split("/")
    recording = next(recordings(source, fixture=name))  # type: ignore[arg-type]

    def run_with(faults: Iterable[tuple[type, str, Faulty]]) -> TranslatorRun:
        with monkeypatch.context() as patch:
            for kind, method, faulty in faults:
                patch.setattr(kind, method, faulty.bound())
            return run_parts(recording.parts, Finished(state=recording.state["values"]), view=ClientView([], {}))

    counting = [(kind, method, Faulty(getattr(kind, method), sys.maxsize)) for kind, method in METHODS]
    run_with(counting)
    raised = 0
    for kind, method, counted in counting:
        if sys.maxsize - counted.calls_left < number:
            continue  # this stream calls it less often
        faulty = Faulty(getattr(kind, method), number)
        run = run_with([(kind, method, faulty)])
        assert faulty.raised, f"{kind.__name__}.{method}"
        raised += 1
        assert ends(run) == 1
        played = agui_client.play(run.events)
        end = (played.error, played.warnings, left_open(run.events), run.events[-1].get("metadata", {}).keys())
        assert (f"{kind.__name__}.{method}", *end[:3]) == (f"{kind.__name__}.{method}", None, [], [])
        assert end[3] == {"lost"} or (method in READ_AGAIN and not end[3]), f"{kind.__name__}.{method}"
    assert raised > 50


ENDS = ("STEP_FINISHED", "SUBAGENT_FINISHED")
BEFORE_ENDS = [
    (MessageStream, "on_message"),
    (MessageStream, "close"),
    (MessageStream, "results_in"),
    (ToolProgress, "superstep_ended"),
]
"""Methods that are called before the subagents and the steps of a superstep are ended."""


@pytest.mark.last_resort
@pytest.mark.parametrize(("kind", "method"), BEFORE_ENDS)
def test_a_fault_before_it_delays_no_end_of_a_step_or_subagent(
    kind: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = next(recordings("local", fixture="subagents_nested"))

    def ends_of_feeds() -> list[list[Event]]:
        run = run_parts(recording.parts, Finished(state=recording.state["values"]), view=ClientView([], {}))
        return [[event for event in feed if event["type"] in ENDS] for feed in run.feeds]

    whole = ends_of_feeds()
    for number in count(1):
        faulty = Faulty(getattr(kind, method), number)
        with monkeypatch.context() as patch:
            patch.setattr(kind, method, faulty.bound())
            ended = ends_of_feeds()
        if not faulty.raised:
            break
        assert (number, ended) == (number, whole)
    assert number > 3


def ends(run: TranslatorRun) -> int:
    """How many terminal events a run has."""
    return sum(event["type"] in ("RUN_FINISHED", "RUN_ERROR") for event in run.events)


PASSED: list[tuple[Any, str]] = [
    (translator, "framed"),
    (ClientContents, "accepts"),
    (ClientContents, "apply_emitted"),
    (OpenItems, "apply"),
    *((REDUCES, kind) for kind in REDUCES),
]
"""What each event of its type passes between the handler that made it and the client."""


def of_item(event: Event) -> set[str]:
    """The ids that say which item an event is of."""
    names = ["messageId", "toolCallId", "parentMessageId", "stepName"]
    if event["type"].startswith("SUBAGENT_"):
        names = ["subagentRunId"]
    return {event[name] for name in names if name in event}


def lost_with(event: Event, whole: TranslatorRun, damaged: TranslatorRun) -> list[Event]:
    """What a run without one event lacks that has nothing to do with that event."""
    kinds = ("MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "STATE_DELTA")
    if event["type"] in kinds:  # other events bring what it has
        return []
    rest = [one for one in whole.events[:-1] if one not in damaged.events and one["type"] not in kinds]
    return [one for one in rest if one != event and not of_item(one) & of_item(event)]


@pytest.mark.last_resort
@pytest.mark.parametrize("stream", ["local/subagents_one_asks", "local/reasoning_responses"])
def test_an_event_that_cannot_be_emitted_costs_itself_alone(
    stream: str, agui_client: AguiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    source, name = stream.split("/")
    recording = next(recordings(source, fixture=name))  # type: ignore[arg-type]

    def run() -> TranslatorRun:
        return run_parts(recording.parts, Finished(state=recording.state["values"]), view=ClientView([], {}))

    whole = run()
    positions = 0
    for owner, passed in PASSED:
        for number in count(1):
            caplog.clear()
            with monkeypatch.context() as patch:
                put = patch.setitem if owner is REDUCES else patch.setattr
                faulty = Faulty(owner[passed] if owner is REDUCES else getattr(owner, passed), number)
                put(owner, passed, faulty.bound())
                damaged = run()
            if not faulty.raised:
                break
            positions += 1
            played = agui_client.play(damaged.events)
            where = (passed, number)
            errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
            assert (where, played.error, played.warnings, left_open(damaged.events)) == (where, None, [], [])
            assert (where, ends(damaged), damaged.events[0]["type"]) == (where, 1, "RUN_STARTED")
            assert (where, damaged.end, len(errors)) == (where, whole.end, 1)
            assert (where, damaged.events[-1]["metadata"]) == (where, {"lost": 1})
            lost = next(argument for argument in faulty.args if type(argument) is dict)
            assert (where, lost_with(lost, whole, damaged)) == (where, [])
            if owner is not OpenItems:  # which comes last: the view has the event then
                assert (where, damaged.view.messages) == (where, played.messages)
    assert positions > 3 * len(whole.events)


@pytest.mark.parametrize("ending", [None, Cancelled(), Failed("no"), Lost("no")], ids=["end", "cancel", "fail", "lose"])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_activity_that_is_nested_too_deeply_is_a_custom_event(
    version: str, ending: Ending | None, agui_client: AguiClient
) -> None:
    telling = TranslatorRun(Options(protocol_version=protocol(version)), ClientView([], {}, protocol(version)))
    telling.feed(("custom", {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "A", "content": {}}))
    deep: Any = {}
    for _ in range(100):
        deep = {"a": deep}
    for step in range(4):
        patch = [{"op": "add", "path": "/a" * (1 + 101 * step), "value": deep}]
        telling.feed(("custom", {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "A", "patch": patch}))
    copied = [{"op": "copy", "from": "/a", "path": "/a" * 150}]
    telling.feed(("custom", {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "A", "patch": copied}))
    telling.feed(("values", {"messages": [{"type": "human", "id": "u", "content": [TEXT]}]}))  # a snapshot
    telling.finish(ending)
    assert [event["type"] for event in telling.events if "name" in event] == ["CUSTOM"] * 3
    played = agui_client.play(telling.events, version=version)
    assert (played.accepted, ends(telling), [message["id"] for message in played.messages[:2]]) == (True, 1, ["a", "u"])
    assert agui_client.play(telling.view.catch_up(), version=version).messages == telling.view.messages
    assert "metadata" not in telling.events[-1]


def test_a_client_that_has_what_is_nested_too_deeply_is_brought_up_to_date(agui_client: AguiClient) -> None:
    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    activity = {"id": "a", "role": "activity", "activityType": "A", "content": deep}
    telling = TranslatorRun(view=ClientView([activity], {"deep": deep}))
    telling.feed(("values", {"messages": [{"type": "human", "id": "u", "content": [TEXT]}]}))
    telling.finish()
    assert "metadata" not in telling.events[-1]
    for events in (telling.events, telling.view.catch_up()):
        played = agui_client.play(events)
        assert (played.error, [message["id"] for message in played.messages]) == (None, ["a", "u"])


@pytest.mark.parametrize("calls", [7, True, {"a": 1}, [7], "ab", [{"id": ["x"]}], [{"id": "c", "function": 7}]])
def test_tool_calls_of_a_users_message_cost_nothing(calls: Any) -> None:
    held = {"id": "u", "role": "user", "content": "hi", "toolCalls": calls}
    telling = TranslatorRun(view=ClientView([held], {}))
    telling.feed(((), "values", {"messages": [HumanMessage("hi", id="u")]}))
    telling.feed(((), "values", {"messages": [HumanMessage("hi", id="u"), AIMessage("yes", id="a")]}))
    ending = telling.finish()[-1]
    assert (telling.view.order, ending["type"], ending.get("metadata")) == (["u", "a"], "RUN_FINISHED", None)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("as_json", [True, False])
def test_a_message_that_streamed_and_is_stored_unreadable_stays_displayed(known: bool, as_json: bool) -> None:
    """The graph has not removed it. What is stored next to it is as it was, for every reader."""
    contents: list[Any] = [[{"type": "thinking", "thinking": "Hm.", "index": 0}], "Ha", "lf"]
    fine = AIMessage("fine", id="ok-1")
    broken = AIMessage.model_construct(id="bad", content="Half", type="ai", additional_kwargs=Raises())
    stored: list[Any] = [HumanMessage("go", id="u"), fine, broken]
    if as_json:
        stored = [{"type": "human", "id": "u", "content": "go"}, dict(fine), dict(broken)]
    chunks = [AIMessageChunk(content=content, id="bad") for content in contents]
    chunks.append(AIMessageChunk(content="", id="bad", chunk_position="last"))
    parts: list[Any] = [((), "values", {"messages": stored[:1]}), ((), "values", {"messages": stored[:2]})]
    parts += [((), "messages", (chunk, STREAMED)) for chunk in chunks]
    parts += [((), "updates", {"n": {"messages": stored[2:]}}), ((), "values", {"messages": stored})]
    mended = [*stored[:2], AIMessage("Half.", id="bad")]
    parts += [((), "values", {"messages": stored, "more": 1}), ((), "values", {"messages": mended})]
    telling = TranslatorRun(view=ClientView([], {}) if known else None)
    views: list[ClientView] = [telling.view.copy()]
    displayed: list[tuple[Any, Any]] = []
    for part in parts:
        telling.feed(part)
        views.append(telling.view.copy())
        held = {message["id"]: message.get("content") for message in telling.view.messages}
        displayed.append((held.get("ok-1"), held.get("bad")))
    texts = [None, None, "Ha", "Half", "Half", "Half", "Half", "Half", "Half."]
    assert displayed[1:] == [("fine", text) for text in texts]
    assert "bad-reasoning-0" in views[-2].order
    telling.finish()
    assert telling.events[-1]["metadata"] == {"lost": 1}
    for view in views:
        reader = view.copy()
        for event in telling.view.catch_up(reader.copy()):
            reader.apply(event)
        assert reader.messages == telling.view.messages
