"""The rules, in the order in which they are tried: `RULES`. Each makes runs and connections of its own.

A rule returns if the server keeps it, and else raises `Broken`, `NotOffered` or `NotChecked`. `docs/connect.md` has
the same names. The end of a reader is its messages and its state. Ends are compared within one thread only, since a
model may answer differently the next time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from ....translator import ClientView
from ...testing.checks import differences
from ...testing.grammar import Event
from .results import Broken, NotChecked, NotOffered, brief
from .server import CONTENT, ENDS, Refused, Server, Stream, asking, nothing

_UNKNOWN: Final = ("0-0", "not an offset")
_BODIES: Final = (b"{", b"[]", b'{"messages": 1}')
_OVER: Final = "the run was over too soon: name a message with --message that takes the agent longer"


@dataclass(frozen=True, slots=True)
class First:
    """The first run, which the others are compared with."""

    thread: str
    events: list[Event]
    frames: int
    view: ClientView


class Trial:
    """One server being checked. `message`: what the agent is asked. `drops`: how many connections are lost."""

    def __init__(self, server: Server, message: str, drops: int) -> None:
        self.server = server
        self.message = message
        self.drops = drops
        self._first: First | None = None

    @property
    def first(self) -> First:
        """The first run; raises `NotChecked` if it was no run."""
        if self._first is None:
            raise NotChecked("the rule run is broken")
        return self._first

    @first.setter
    def first(self, first: First) -> None:
        self._first = first

    def new(self) -> tuple[str, ClientView]:
        """A new thread, and the client that asks there."""
        _ = self.first
        return str(uuid4()), asking(nothing(), self.message)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, what it says, and what tries it."""

    name: str
    says: str
    check: Callable[[Trial], Awaitable[None]]


async def _run(trial: Trial) -> None:
    thread, client = str(uuid4()), asking(nothing(), trial.message)
    run_id = f"check-{uuid4()}"
    async with trial.server.run(thread, client, run_id) as stream:
        await stream.rest()
    view = stream.checked()
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
        response = await trial.server.posted(body)
        if not 400 <= response.status_code < 500:
            raise Broken(f"a 4xx for the body {body.decode()}", str(response.status_code))
        try:
            found = response.json()
        except ValueError:
            found = None
        if not (isinstance(found, dict) and all(isinstance(found.get(name), str) for name in ("error", "message"))):
            raise NotOffered(f"the {response.status_code} for the body {body.decode()} is {brief(response.text)}")


async def _idle(trial: Trial) -> None:
    first = trial.first
    for client in (nothing(), first.view):
        stream = await trial.server.connected(first.thread, client)
        _check_same(first.view, _idle_view(stream, first.thread), "a client that connects later", may_have_more=True)
        if _kind(stream.view) != _kind(first.view):
            raise Broken(f"the end of the run, {brief(first.view.terminal)}", brief(stream.view.terminal))


async def _unknown_thread(trial: Trial) -> None:
    await trial.server.connected(trial.first.thread)
    stream = await trial.server.connected(str(uuid4()))
    if stream.frames:
        raise Broken("a stream without events", brief([event.get("type") for event in stream.events]))


async def _dropped(trial: Trial) -> None:
    await trial.server.connected(trial.first.thread)
    for place, count in enumerate(_places(trial.first.frames, trial.drops)):
        thread, client = trial.new()
        async with trial.server.run(thread, client) as stream:
            await stream.take(count)
        back = stream.view if place % 2 else nothing()
        end = _idle_view(await trial.server.connected(thread, back), thread)
        where = f"a connection that is lost after {count} events"
        if _is_shortened(end, trial.first.view):
            raise Broken(f"{where}: the run continues to its end", brief([end.terminal, _answer(end)]))
        later = _idle_view(await trial.server.connected(thread), thread)
        _check_same(end, later, f"{where}: a client that connects after the end", may_have_more=True)


async def _late_joiner(trial: Trial) -> None:
    async with _running(trial) as (thread, first), trial.server.connect(thread) as joined:
        before = len(first.events)
        await _both(first, joined)
        _check_begins(joined, thread, first.view.run_id)
        is_live = any(event["type"] in CONTENT and event in joined.events for event in first.events[before:])
        who = "the client that joined in the middle of the run"
        _check_same(first.checked(), joined.checked(), who, may_have_more=not is_live)
        if not is_live:
            raise NotChecked(_OVER)  # it got the thread as it was afterwards


async def _offsets(trial: Trial) -> None:
    async with _running(trial) as (thread, first):
        named = [(place, id_) for place, (id_, _) in enumerate(first.frames, 1) if id_]
        if not named:
            raise NotOffered("the events of a run have no ids")
        place, last = named[len(named) // 2]
        async with trial.server.connect(thread, last=last) as joined:
            await _both(first, joined)
    if len({id_ for id_, _ in first.frames if id_}) < len([id_ for id_, _ in first.frames if id_]):
        raise Broken("ids that differ", brief([id_ for id_, _ in first.frames]))
    if joined.frames and joined.frames[0][1].get("type") == "RUN_STARTED":
        raise NotChecked(f"the server does not have the events after {last} any more; {_OVER}")
    for wanted, got in _paired(first.frames[place:], joined.frames):
        if wanted != got:
            raise Broken(f"after {last}: {brief(wanted)}", brief(got))


async def _gap(trial: Trial) -> None:
    thread = trial.first.thread
    view = _idle_view(await trial.server.connected(thread), thread)
    for last in _UNKNOWN:
        again = _idle_view(await trial.server.connected(thread, last=last), thread)
        _check_same(view, again, f"a client with the unknown Last-Event-ID {last!r}")


async def _stop(trial: Trial) -> None:
    async with _running(trial) as (thread, first):
        status, body = await trial.server.stop(thread, first.view.run_id)
        if not isinstance(body.get("stopped"), bool):
            raise Broken('{"stopped": true}, or false', brief(body))
        if body["stopped"]:
            async with trial.server.run(thread, asking(first.view, trial.message)) as following:
                await _both(first, following)
            if following.checked().outcome is None:
                raise Broken("a thread that takes the next message", brief(following.view.terminal))
        else:
            await first.rest()
    if _kind(first.checked()) not in ("cancelled", "error"):
        raise NotChecked(_OVER)
    if not body["stopped"] and status != 202:
        raise Broken('{"stopped": true} for a run that was stopped', brief(body))


async def _stop_idle(trial: Trial) -> None:
    status, body = await trial.server.stop(trial.first.thread)
    if (status, body.get("stopped")) != (200, False):
        raise Broken('200 {"stopped": false} where nothing runs', f"{status} {brief(body)}")


async def _busy(trial: Trial) -> None:
    async with _running(trial) as (thread, first):
        try:
            async with trial.server.run(thread, asking(first.view, trial.message)) as second:
                await _both(first, second)
        except Refused as refused:
            if refused.response.status_code != 409:
                raise Broken("409, or a run that waits", refused.got) from None
            await first.rest()
            if first.checked().outcome is None:
                raise Broken("a first run that is not disturbed", brief(first.view.terminal)) from None
            return
    sent = [first.checked().messages[0], second.client.messages[-1]]
    second.checked()
    ids = [message["id"] for message in _idle_view(await trial.server.connected(thread), thread).messages]
    for message in sent:
        if message["id"] not in ids:
            raise Broken(f"the message {message['id']} in the thread, as of each run that was not refused", brief(ids))


async def _next(trial: Trial) -> None:
    first = trial.first
    if _kind(first.view) == "interrupt":
        raise NotChecked("the agent waits for an answer")
    client = asking(first.view, trial.message)
    async with trial.server.run(first.thread, client) as stream:
        view = (await stream.rest()).checked()
    if view.outcome is None:
        raise Broken("a run that does not fail", brief(view.terminal))
    _check_has(view, client)
    try:
        later = _idle_view(await trial.server.connected(first.thread), first.thread)
    except NotOffered:
        return  # what the client has is all that is known
    _check_same(view, later, "a client that connects later", may_have_more=True)


async def _watch(trial: Trial) -> None:
    first = trial.first
    if _kind(first.view) == "interrupt":
        raise NotChecked("the agent waits for an answer")
    async with trial.server.watch(first.thread) as watching:
        await watching.until(lambda event: event.get("type") in ENDS)
        watching.checked()
        async with trial.server.run(first.thread, asking(watching.view, trial.message)) as stream:
            view = (await stream.rest()).checked()
        if await watching.until(_ends_run(view.run_id)) is None:
            raise Broken(f"the run {view.run_id}, and a stream that stays", "the end of the stream")
    _check_same(view, watching.checked(), "the client that watches")


async def _info(trial: Trial) -> None:
    agents = (await trial.server.info()).get("agents")
    name = trial.server.place.agent
    if not isinstance(agents, Mapping):
        raise Broken('{"agents": {...}}', brief(agents))
    if name not in agents:
        raise NotOffered(f"there is no agent {name!r} in it, but {brief(list(agents))}")


RULES: Final = (
    Rule("run", "a run is a stream that a client takes, from RUN_STARTED with its ids to one terminal event", _run),
    Rule("errors", "an invalid request is a 4xx with an error and a message", _errors),
    Rule("idle", "connect after a run: the same messages, state and end", _idle),
    Rule("unknown-thread", "connect to an unknown thread: no events", _unknown_thread),
    Rule("dropped", "a run does not end with its connection, and connect has the rest", _dropped),
    Rule("late-joiner", "connect in the middle of a run: the same end as the first reader has", _late_joiner),
    Rule("offsets", "connect with Last-Event-ID: exactly the events after it", _offsets),
    Rule("gap", "connect with an unknown Last-Event-ID: the same as without one", _gap),
    Rule("stop", "stop ends the run for its readers, and the thread takes the next message", _stop),
    Rule("stop-idle", "stop where nothing runs: the answer is that nothing was stopped", _stop_idle),
    Rule("busy", "a second run on a busy thread is refused with 409, or waits", _busy),
    Rule("next", "a second message on a thread continues it", _next),
    Rule("watch", "watch: the thread, and each run that starts later", _watch),
    Rule("info", "info names the agent", _info),
)


@asynccontextmanager
async def _running(trial: Trial) -> AsyncIterator[tuple[str, Stream]]:
    """A new run on a new thread, whose first content has come: the thread, and the run's stream. Raises `NotChecked`
    for a run that has none."""
    thread, client = trial.new()
    async with trial.server.run(thread, client) as stream:
        if await stream.until_content() is None:
            raise NotChecked("the agent's runs stream no content")
        yield thread, stream


async def _both(one: Stream, other: Stream) -> None:
    """Reads two streams to their ends, at once: a server may wait for either reader."""
    async with asyncio.TaskGroup() as group:
        group.create_task(one.rest())
        group.create_task(other.rest())


def _idle_view(stream: Stream, thread: str) -> ClientView:
    """What a client has that has connected. Raises `Broken` where the thread is not found."""
    if not stream.events:
        raise Broken(f"the thread {thread}", "a stream without events")
    _check_begins(stream, thread, None)
    return stream.checked()


def _check_begins(stream: Stream, thread: str, run_id: str | None) -> None:
    """That the stream begins with this thread, and this run (None: any)."""
    got = {name: (stream.events or [{}])[0].get(name) for name in ("type", "threadId", "runId")}
    wanted = {"type": "RUN_STARTED", "threadId": thread, "runId": run_id or got["runId"]}
    if got != wanted:
        raise Broken(f"first {wanted}", brief(got))


def _check_has(view: ClientView, client: ClientView) -> None:
    """That what the client has sent is still in its messages."""
    ids = [message["id"] for message in view.messages]
    if (sent := client.messages[-1]["id"]) not in ids:
        raise Broken(f"the user's message {sent}", f"the messages {brief(ids)}")


def _check_same(one: ClientView, other: ClientView, who: str, *, may_have_more: bool = False) -> None:
    """That another client has what this one has. `may_have_more`: this one has read the run, so it may have what is not
    stored too: reasoning, activities, messages of subagents."""
    for sentence in differences(one, other, may_have_more=may_have_more):
        raise Broken(f"{who}: the same end", brief(sentence))


def _kind(view: ClientView) -> str:
    """How the last run ended: the type of its outcome, or "error"."""
    return str((view.outcome or {"type": "error"})["type"])


def _is_shortened(end: ClientView, whole: ClientView) -> bool:
    """Whether a run ended before its end, as that of a whole one shows."""
    answer = _answer(end)
    return _kind(end) in ("cancelled", "error") or (answer != _answer(whole) and _answer(whole).startswith(answer))


def _answer(view: ClientView) -> str:
    """The text of the last message, if it is an assistant's."""
    last: Mapping[str, Any] = view.messages[-1] if view.messages else {}
    return str(last.get("content") or "") if last.get("role") == "assistant" else ""


def _ends_run(run_id: str | None) -> Callable[[Event], bool]:
    """Whether an event ends this run. A failure does not name its run."""
    return lambda event: (
        event.get("type") == "RUN_ERROR" or (event.get("type") == "RUN_FINISHED" and event.get("runId") == run_id)
    )


def _places(count: int, most: int) -> list[int]:
    """After how many of a run's events its connection is lost: places all over it, its first and its last among
    them."""
    last = max(count - 1, 1)
    return sorted({1 + (last - 1) * each // max(most - 1, 1) for each in range(most)})


def _paired(wanted: list[tuple[str, Event]], got: list[tuple[str, Event]]) -> Iterator[tuple[Any, Any]]:
    """The events of two streams side by side; "no event" where one has no more."""
    for place in range(max(len(wanted), len(got))):
        yield tuple(each[place] if place < len(each) else "no event" for each in (wanted, got))  # type: ignore[misc]
