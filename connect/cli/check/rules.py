"""Defines the rules, in the order in which they are checked: `RULES`. Each rule makes its own runs and connections.

A check returns if the server follows the rule. Otherwise it raises `Broken`, `NotOffered` or `NotChecked`.
`docs/conformance.md` lists the rules under the same numbers and names. A number that begins with C is that of a rule
that follows from AG-UI itself, and one with P that of a rule of the proposal in `docs/connect.md`. A number is never
given to another rule, because reports name it.

Two readers have the same end if they hold the same messages and the same state. Ends are compared only within a thread,
since a model may answer the same question differently.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from ....translator import ClientView
from ...testing.checks import differences
from ...testing.grammar import Event
from .results import Broken, NotChecked, NotOffered, brief
from .server import CONTENT, ENDS, Refused, Server, Stream, empty_view, with_message

_UNKNOWN: Final = ("0-0", "not an offset")
_BODIES: Final = (b"{", b"[]", b'{"messages": 1}')
_OVER: Final = "the run was over too soon: use --message to ask for something that takes the agent longer"


@dataclass(frozen=True, slots=True)
class First:
    """The first run, with which later runs are compared."""

    thread: str
    events: list[Event]
    frames: int
    view: ClientView


class Trial:
    """The check of one server. `message` is sent to the agent in each run; `drops` is how many connections to drop."""

    def __init__(self, server: Server, message: str, drops: int) -> None:
        self.server = server
        self.message = message
        self.drops = drops
        self._first: First | None = None

    @property
    def first(self) -> First:
        """The first run. Raises `NotChecked` if it failed its own rule."""
        if self._first is None:
            raise NotChecked("the rule run failed")
        return self._first

    @first.setter
    def first(self, first: First) -> None:
        self._first = first

    def new_client(self) -> tuple[str, ClientView]:
        """Returns a new thread id, and the view of a client that sends its first message there."""
        _ = self.first
        return str(uuid4()), with_message(empty_view(), self.message)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its number and name, the sentence that is printed for it, its reason, and the function that checks
    it."""

    number: str
    name: str
    says: str
    why: str
    check: Callable[[Trial], Awaitable[None]]


async def _run(trial: Trial) -> None:
    thread, client = str(uuid4()), with_message(empty_view(), trial.message)
    run_id = f"check-{uuid4()}"
    async with trial.server.run(thread, client, run_id) as stream:
        await stream.rest()
    view = stream.check()
    _check_begins(stream, thread, run_id)
    kinds = [event["type"] for event in stream.events]
    if kinds.count("RUN_STARTED") != 1:
        raise Broken("one run", f"{kinds.count('RUN_STARTED')}")
    if view.outcome is None:
        raise Broken("a run that does not fail", brief(view.terminal))
    _check_has(view, client)
    trial.first = First(thread, stream.events, len(stream.frames), view)


async def _errors(trial: Trial) -> None:
    _ = trial.first
    for body in _BODIES:
        response = await trial.server.post(body)
        if not 400 <= response.status_code < 500:
            raise Broken(f"a 4xx status for the body {body.decode()}", str(response.status_code))
        try:
            error = response.json()
        except ValueError:
            error = None
        if not (isinstance(error, dict) and all(isinstance(error.get(name), str) for name in ("error", "message"))):
            raise NotOffered(f"the {response.status_code} for the body {body.decode()} is {brief(response.text)}")


async def _idle(trial: Trial) -> None:
    first = trial.first
    for client in (empty_view(), first.view):
        stream = await trial.server.read_thread(first.thread, client)
        _check_same(first.view, _idle_view(stream, first.thread), "a client that connects later", may_have_more=True)
        if _kind(stream.view) != _kind(first.view):
            raise Broken(f"the end of the run, {brief(first.view.terminal)}", brief(stream.view.terminal))


async def _unknown_thread(trial: Trial) -> None:
    await trial.server.read_thread(trial.first.thread)
    stream = await trial.server.read_thread(str(uuid4()))
    if stream.frames:
        raise Broken("a stream without events", brief([event.get("type") for event in stream.events]))


async def _dropped_connection(trial: Trial) -> None:
    await trial.server.read_thread(trial.first.thread)
    for index, count in enumerate(_drop_points(trial.first.frames, trial.drops)):
        thread, client = trial.new_client()
        async with trial.server.run(thread, client) as stream:
            await stream.take(count)
        client = stream.view if index % 2 else empty_view()
        end = _idle_view(await trial.server.read_thread(thread, client), thread)
        where = f"a connection that is dropped after {count} events"
        if _is_shortened(end, trial.first.view):
            raise Broken(f"{where}: the run continues to its end", brief([end.terminal, _answer(end)]))
        later = _idle_view(await trial.server.read_thread(thread), thread)
        _check_same(end, later, f"{where}: a client that connects after the end", may_have_more=True)


async def _late_joiner(trial: Trial) -> None:
    async with _start_run(trial) as (thread, first), trial.server.connect(thread) as joined:
        before = len(first.events)
        await _read_both(first, joined)
        _check_begins(joined, thread, first.view.run_id)
        is_live = any(event["type"] in CONTENT and event in joined.events for event in first.events[before:])
        reader = "the client that joined in the middle of the run"
        _check_same(first.check(), joined.check(), reader, may_have_more=not is_live)
        if not is_live:
            raise NotChecked(_OVER)  # it received the thread as it was after the run


async def _offsets(trial: Trial) -> None:
    async with _start_run(trial) as (thread, first):
        offsets = [(count, id_) for count, (id_, _) in enumerate(first.frames, 1) if id_]
        if not offsets:
            raise NotOffered("the events of a run have no ids")
        count, last = offsets[len(offsets) // 2]
        async with trial.server.connect(thread, last=last) as joined:
            await _read_both(first, joined)
    if len({id_ for id_, _ in first.frames if id_}) < len([id_ for id_, _ in first.frames if id_]):
        raise Broken("distinct ids", brief([id_ for id_, _ in first.frames]))
    if joined.frames and joined.frames[0][1].get("type") == "RUN_STARTED":
        raise NotChecked(f"the server no longer has the events after {last}; {_OVER}")
    for expected, got in _pair_events(first.frames[count:], joined.frames):
        if expected != got:
            raise Broken(f"after {last}: {brief(expected)}", brief(got))


async def _gap(trial: Trial) -> None:
    thread = trial.first.thread
    view = _idle_view(await trial.server.read_thread(thread), thread)
    for last in _UNKNOWN:
        again = _idle_view(await trial.server.read_thread(thread, last=last), thread)
        _check_same(view, again, f"a client with the unknown Last-Event-ID {last!r}")


async def _stop(trial: Trial) -> None:
    async with _start_run(trial) as (thread, first):
        status, body = await trial.server.stop(thread, first.view.run_id)
        if not isinstance(body.get("stopped"), bool):
            raise Broken('{"stopped": true} or {"stopped": false}', brief(body))
        if body["stopped"]:
            async with trial.server.run(thread, with_message(first.view, trial.message)) as following:
                await _read_both(first, following)
            if following.check().outcome is None:
                raise Broken("a thread that accepts the next message", brief(following.view.terminal))
        else:
            await first.rest()
    if _kind(first.check()) not in ("cancelled", "error"):
        raise NotChecked(_OVER)
    if not body["stopped"] and status != 202:
        raise Broken('{"stopped": true} for a run that was stopped', brief(body))


async def _stop_idle(trial: Trial) -> None:
    status, body = await trial.server.stop(trial.first.thread)
    if (status, body.get("stopped")) != (200, False):
        raise Broken('200 {"stopped": false} when no run is active', f"{status} {brief(body)}")


async def _busy(trial: Trial) -> None:
    async with _start_run(trial) as (thread, first):
        try:
            async with trial.server.run(thread, with_message(first.view, trial.message)) as second:
                await _read_both(first, second)
        except Refused as refused:
            if refused.response.status_code != 409:
                raise Broken("409, or a run that waits", refused.got) from None
            await first.rest()
            if first.check().outcome is None:
                raise Broken("a first run that continues undisturbed", brief(first.view.terminal)) from None
            return
    messages = [first.check().messages[0], second.client.messages[-1]]
    second.check()
    ids = [message["id"] for message in _idle_view(await trial.server.read_thread(thread), thread).messages]
    for message in messages:
        if message["id"] not in ids:
            raise Broken(f"the message {message['id']} in the thread, because its run was not refused", brief(ids))


async def _next(trial: Trial) -> None:
    first = trial.first
    if _kind(first.view) == "interrupt":
        raise NotChecked("the agent waits for an answer")
    client = with_message(first.view, trial.message)
    async with trial.server.run(first.thread, client) as stream:
        view = (await stream.rest()).check()
    if view.outcome is None:
        raise Broken("a run that does not fail", brief(view.terminal))
    _check_has(view, client)
    try:
        later = _idle_view(await trial.server.read_thread(first.thread), first.thread)
    except NotOffered:
        return  # without connect there is no other view to compare with
    _check_same(view, later, "a client that connects later", may_have_more=True)


async def _watch(trial: Trial) -> None:
    first = trial.first
    if _kind(first.view) == "interrupt":
        raise NotChecked("the agent waits for an answer")
    async with trial.server.watch(first.thread) as watching:
        await watching.until(lambda event: event.get("type") in ENDS)
        watching.check()
        async with trial.server.run(first.thread, with_message(watching.view, trial.message)) as stream:
            view = (await stream.rest()).check()
        if await watching.until(_ends_run(view.run_id)) is None:
            raise Broken(f"the run {view.run_id}, and a stream that stays open", "the end of the stream")
    _check_same(view, watching.check(), "the client that watches")


async def _watch_runs(trial: Trial) -> None:
    first = trial.first
    if _kind(first.view) == "interrupt":
        raise NotChecked("the agent waits for an answer")
    later = with_message((await trial.server.read_thread(first.thread)).view, trial.message)
    async with trial.server.watch(first.thread, only_runs=True) as watching:
        await watching.until(lambda event: event.get("type") in ENDS)
        async with trial.server.run(first.thread, later) as stream:
            run_id = (await stream.rest()).check().run_id
        await watching.until(_ends_run(run_id))
    kinds = [(event["type"] in ENDS, event["type"] == "RUN_STARTED") for event in watching.events]
    if kinds != [(False, True), (True, False)] * 2:
        raise Broken("the first and the last event of two runs", brief([event["type"] for event in watching.events]))


async def _thread(trial: Trial) -> None:
    first = trial.first
    thread = await trial.server.get("thread", f"/threads/{quote(first.thread, safe='')}")
    if thread.get("id") != first.thread or not isinstance(thread.get("status"), str):
        raise Broken(f"the id {first.thread} and a status", brief(thread))
    if thread["status"] == "running":
        raise Broken("another status than running, after the run", brief(thread))
    status = await trial.server.status(f"/threads/{uuid4()}")
    if status != HTTPStatus.NOT_FOUND:
        raise Broken("404 for an unknown thread", str(status))


async def _threads(trial: Trial) -> None:
    first = trial.first
    threads = (await trial.server.get("threads", "/threads")).get("threads")
    if not isinstance(threads, list):
        raise Broken('{"threads": [...]}', brief(threads))
    ids = [thread.get("id") for thread in threads if isinstance(thread, Mapping)]
    if first.thread not in ids:
        raise Broken(f"the thread {first.thread}, on the first page", brief(ids))


async def _info(trial: Trial) -> None:
    found = await trial.server.info()
    if "agents" not in found:
        raise NotOffered(f"GET /info is of something else: {brief(found)}")
    agents = found["agents"]
    name = trial.server.endpoint.agent
    if not isinstance(agents, Mapping):
        raise Broken('{"agents": {...}}', brief(agents))
    if name not in agents:
        raise NotOffered(f"it does not list the agent {name!r}, but {brief(list(agents))}")


RULES: Final = (
    Rule(
        "C1",
        "run",
        "a run is a valid stream, from RUN_STARTED with its ids to one terminal event",
        "a client ends a stream at the first event that it does not accept",
        _run,
    ),
    Rule(
        "P1",
        "errors",
        "an invalid request is answered by a 4xx with an error and a message",
        "a client can tell its own mistake from a server that may be asked again",
        _errors,
    ),
    Rule(
        "P2",
        "idle",
        "connect after a run gives the same messages, state and outcome",
        "a page that is reloaded shows what it showed before",
        _idle,
    ),
    Rule(
        "P3",
        "unknown-thread",
        "connect to an unknown thread gives no events",
        "a page may connect before its first message, and learns of no thread that is hidden from it",
        _unknown_thread,
    ),
    Rule(
        "P4",
        "dropped",
        "a run survives its connection, and connect gives the rest of it",
        "a reload, a tunnel or a laptop that sleeps must not stop the agent",
        _dropped_connection,
    ),
    Rule(
        "P5",
        "late-joiner",
        "connect in the middle of a run ends like the run's own stream",
        "a second tab, or a page that was reloaded, sees the same answer grow",
        _late_joiner,
    ),
    Rule(
        "P6",
        "offsets",
        "connect with Last-Event-ID gives exactly the events after it",
        "a client that lost its connection repeats nothing and misses nothing",
        _offsets,
    ),
    Rule(
        "P7",
        "gap",
        "connect with an unknown Last-Event-ID is the same as without one",
        "a server keeps events for some time only, and may have been restarted",
        _gap,
    ),
    Rule(
        "P8",
        "stop",
        "stop ends the run for its readers, and the thread accepts the next message",
        "since a run survives its connection, a stop button needs a request of its own",
        _stop,
    ),
    Rule(
        "P9",
        "stop-idle",
        "stop on an idle thread answers that nothing was stopped",
        "a stop may arrive after the end of its run, and is no error then",
        _stop_idle,
    ),
    Rule(
        "P10",
        "busy",
        "a second run on a busy thread is refused with 409, or waits",
        "two runs that write one thread at once lose messages",
        _busy,
    ),
    Rule(
        "C2",
        "next",
        "a second message on a thread continues it",
        "a client sends all its messages each time, and none of them may be gone or there twice",
        _next,
    ),
    Rule(
        "P11",
        "watch",
        "watch gives the thread, and each run that starts later",
        "a page shows what another page, a job or another user starts",
        _watch,
    ),
    Rule(
        "P12",
        "watch-runs",
        "watch with events=runs gives only the first and the last event of each run",
        "a list of threads learns of runs without reading all that they say",
        _watch_runs,
    ),
    Rule(
        "P13",
        "thread",
        "a thread is read by its id, with its status; an unknown one is a 404",
        "a page knows whether a thread exists and runs, before it opens a stream",
        _thread,
    ),
    Rule(
        "P14",
        "threads",
        "the list of threads has the thread of a run",
        "a sidebar finds the conversation that was just begun",
        _threads,
    ),
    Rule("P15", "info", "info lists the agent", "a client finds the agents of a server by its URL alone", _info),
)


@asynccontextmanager
async def _start_run(trial: Trial) -> AsyncIterator[tuple[str, Stream]]:
    """Starts a run on a new thread, reads up to its first content, and yields the thread id and the run's stream.
    Raises `NotChecked` if the run streams no content."""
    thread, client = trial.new_client()
    async with trial.server.run(thread, client) as stream:
        if await stream.until_content() is None:
            raise NotChecked("the agent's runs stream no content")
        yield thread, stream


async def _read_both(one: Stream, other: Stream) -> None:
    """Reads two streams to their ends at the same time, because a server may wait for either reader."""
    async with asyncio.TaskGroup() as group:
        group.create_task(one.rest())
        group.create_task(other.rest())


def _idle_view(stream: Stream, thread: str) -> ClientView:
    """Returns the view of a client that has connected. Raises `Broken` if the server does not know the thread."""
    if not stream.events:
        raise Broken(f"the thread {thread}", "a stream without events")
    _check_begins(stream, thread, None)
    return stream.check()


def _check_begins(stream: Stream, thread: str, run_id: str | None) -> None:
    """Raises `Broken` unless the stream begins with this thread and this run (with any run, if `run_id` is None)."""
    got = {name: (stream.events or [{}])[0].get(name) for name in ("type", "threadId", "runId")}
    expected = {"type": "RUN_STARTED", "threadId": thread, "runId": run_id or got["runId"]}
    if got != expected:
        raise Broken(f"first {expected}", brief(got))


def _check_has(view: ClientView, client: ClientView) -> None:
    """Raises `Broken` unless the view still contains the last message that the client sent."""
    ids = [message["id"] for message in view.messages]
    if (message_id := client.messages[-1]["id"]) not in ids:
        raise Broken(f"the user's message {message_id}", f"the messages {brief(ids)}")


def _check_same(one: ClientView, other: ClientView, reader: str, *, may_have_more: bool = False) -> None:
    """Raises `Broken` unless two clients hold the same. `reader` describes the other one. With `may_have_more`, the
    first client has read the run itself, so it may also hold what is not stored: reasoning, activities, and messages of
    subagents."""
    for sentence in differences(one, other, may_have_more=may_have_more):
        raise Broken(f"{reader}: the same end", brief(sentence))


def _kind(view: ClientView) -> str:
    """Returns how the last run ended: the type of its outcome, or "error"."""
    return str((view.outcome or {"type": "error"})["type"])


def _is_shortened(end: ClientView, whole: ClientView) -> bool:
    """Whether a run ended early, judged by the view after a run that did not."""
    answer = _answer(end)
    return _kind(end) in ("cancelled", "error") or (answer != _answer(whole) and _answer(whole).startswith(answer))


def _answer(view: ClientView) -> str:
    """Returns the text of the last message if it is an assistant message, else an empty string."""
    last: Mapping[str, Any] = view.messages[-1] if view.messages else {}
    return str(last.get("content") or "") if last.get("role") == "assistant" else ""


def _ends_run(run_id: str | None) -> Callable[[Event], bool]:
    """Returns a test for the event that ends this run. A `RUN_ERROR` does not name its run."""
    return lambda event: (
        event.get("type") == "RUN_ERROR" or (event.get("type") == "RUN_FINISHED" and event.get("runId") == run_id)
    )


def _drop_points(count: int, drops: int) -> list[int]:
    """Returns the numbers of events after which the connection of a run is dropped. They are spread over the whole run,
    and include its first event and its last event but one."""
    last = max(count - 1, 1)
    return sorted({1 + (last - 1) * index // max(drops - 1, 1) for index in range(drops)})


def _pair_events(expected: list[tuple[str, Event]], got: list[tuple[str, Event]]) -> Iterator[tuple[Any, Any]]:
    """Pairs the events of two streams. The shorter stream is filled up with "no event"."""
    for index in range(max(len(expected), len(got))):
        yield tuple(  # type: ignore[misc]
            frames[index] if index < len(frames) else "no event" for frames in (expected, got)
        )
