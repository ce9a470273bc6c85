"""Clients that watch: what they were told, run by run, and what the real ones hold then.

Here: `watching`, a pair of them (one for each client version) on one thread or assistant. Never here: tests.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from typing import Any

import httpx
from ag_ui.core import BaseEvent
from langgraph_agui.connect import watch
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView, Options
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol

Event = dict[str, Any]

WITHIN = 30.0
"""Seconds in which what a test waits for has to come."""
_TURNS = 100
"""Turns of the event loop in which a thread in memory is read."""


class WatchError(AssertionError):
    """What was waited for did not come; says what did."""


class Watcher:
    """One client: every event it was told, its view of them, and the client's version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.events: list[Event] = []
        self.view = ClientView(version=protocol(version))
        self.is_over = False
        self.came_back: list[str] = []
        """The ids of messages that the client had, lost and got again."""
        self._gone: set[str] = set()
        self._news = asyncio.Event()

    async def hear(self, told: AsyncGenerator[BaseEvent, None]) -> None:
        """Reads until it is cancelled, or to the end."""
        async with aclosing(told):
            async for event in told:
                self.events.append(event.model_dump(mode="json", by_alias=True, exclude_none=True))
                before = _ids(self.view)
                self.view.apply(self.events[-1])
                after = _ids(self.view)
                self.came_back += sorted(self._gone & after)
                self._gone = (self._gone | before) - after
                self._tell()
        self.is_over = True
        self._tell()

    @property
    def text(self) -> str:
        """The last message's text, however it came: a watcher that finds a run gets what it has said in a snapshot."""
        return str(self.view.messages[-1].get("content", "")) if self.view.messages else ""

    @property
    def runs(self) -> list[list[Event]]:
        """The events of each run, in the order they were told."""
        starts = [place for place, event in enumerate(self.events) if event["type"] == "RUN_STARTED"]
        return [self.events[start:end] for start, end in pairwise([*starts, len(self.events)])]

    @property
    def ended(self) -> list[str]:
        """The ids of the runs that were told to their end, in order."""
        return [run[0]["runId"] for run in self.runs if is_end(run[-1])]

    def run(self, run_id: str) -> list[Event]:
        """The events of this run, which was told once."""
        [run] = [run for run in self.runs if run[0]["runId"] == run_id]
        return run

    async def until(self, holds: Callable[["Watcher"], bool], what: str) -> None:
        """Returns when something holds of what was told."""
        try:
            async with asyncio.timeout(WITHIN):
                while not holds(self):
                    if self.is_over:
                        raise WatchError(f"the stream ended without {what}: {brief(self.events)}")
                    await self.changed()
        except TimeoutError:
            raise WatchError(f"{what} did not come: {brief(self.events)}") from None

    async def changed(self) -> None:
        """Returns when something is told, or the stream ends."""
        self._news.clear()
        await self._news.wait()

    def _tell(self) -> None:
        self._news.set()


class Watchers:
    """A watcher for each client version, told the same."""

    def __init__(self) -> None:
        self.each = [Watcher(version) for version in VERSIONS]

    @property
    def first(self) -> Watcher:
        """The newest version's."""
        return self.each[0]

    async def until(self, holds: Callable[[Watcher], bool], what: str) -> None:
        """Returns when something holds for all of them."""
        for watcher in self.each:
            await watcher.until(holds, what)

    async def told(self, run_id: str) -> list[Event]:
        """Returns when this run was told to its end: its events. Each watcher was told it once."""
        await self.until(lambda watcher: run_id in watcher.ended, f"the end of the run {run_id!r}")
        first, *_ = [watcher.run(run_id) for watcher in self.each]
        return first

    async def started(self, run_id: str) -> None:
        """Returns when this run's start was told."""
        await self.until(lambda watcher: run_id in [run[0]["runId"] for run in watcher.runs], f"the run {run_id!r}")

    async def count(self, runs: int) -> list[str]:
        """Returns when so many runs were told to their end: their ids."""
        await self.until(lambda watcher: len(watcher.ended) >= runs, f"{runs} runs")
        return self.first.ended

    async def says(self, text: str) -> None:
        """Returns when the last message's text ends so."""
        await self.until(lambda watcher: watcher.text.endswith(text), repr(text))

    async def over(self) -> None:
        """Returns when their streams have ended."""
        for watcher in self.each:
            async with asyncio.timeout(WITHIN):
                while not watcher.is_over:
                    await watcher.changed()

    def assert_shows_beginnings(self, client: AguiClient, texts: Sequence[str]) -> None:
        """No assistant's text that a real client ever held was anything but a beginning of one of these."""
        for watcher in self.each:
            answer = client.play(watcher.events, version=watcher.version, mode="connect", trace=True)
            held = [message for step in answer.trace for message in step["messages"] if message["role"] == "assistant"]
            shown = {message.get("content") or "" for message in held}
            assert not [each for each in shown if not any(text.startswith(each) for text in texts)]

    def assert_holds(self, client: AguiClient, values: Any, options: Options | None = None) -> None:
        """The real clients took all of it without a word, and end with what the thread holds. No message went away and
        came back."""
        for watcher in self.each:
            assert watcher.came_back == []
            chosen = options or Options()
            answer = client.play(watcher.events, version=watcher.version, mode="connect")
            assert (answer.error, answer.warnings) == (None, [])
            shown = [each for each in answer.messages if each.get("activityType") != "run_error"]
            assert comparable(shown) == comparable(expected(values, chosen).messages)
            assert answer.state == expected(values, chosen).state


def _ids(view: ClientView) -> set[str]:
    return {message["id"] for message in view.messages}


@asynccontextmanager
async def watching(source: Any, *thread_id: str, **how: Any) -> AsyncIterator[Watchers]:
    """Watchers of this source, for as long as the block lasts; then they go away, and leave no task.

    Of a thread on which nothing runs the block begins when they have its state, and a platform's stream of it.
    """
    watchers = Watchers()
    tasks = []
    async with _looked(source, *thread_id, times=len(watchers.each)):
        for watcher in watchers.each:
            told = watch(source, *thread_id, **{"options": Options(protocol_version=protocol(watcher.version)), **how})
            tasks.append(asyncio.create_task(watcher.hear(told)))
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    try:
        yield watchers
    finally:
        for task in tasks:
            task.cancel()
        said = await asyncio.gather(*tasks, return_exceptions=True)
    assert not [error for error in said if isinstance(error, Exception)], said
    assert not [task for task in asyncio.all_tasks() if _is_ours(task)]


@asynccontextmanager
async def _looked(source: Any, *thread_id: str, times: int) -> AsyncIterator[None]:
    """At its end waits for the answers of so many first looks at an idle thread: a run that is started then is on the
    stream from its first event on."""
    if not (isinstance(source, LangGraphClient) and thread_id and await _is_idle(source, *thread_id)):
        yield
        return
    place = f"/threads/{thread_id[0]}"
    answers: Counter[str] = Counter()
    has_come = asyncio.Event()

    async def count(answer: httpx.Response) -> None:
        answers[answer.request.url.path] += 1
        if all(answers[place + rest] >= times for rest in ("/stream", "/runs", "/state")):
            has_come.set()

    hooks = source.http.client.event_hooks
    source.http.client.event_hooks = {**hooks, "response": [*hooks["response"], count]}
    try:
        yield
        async with asyncio.timeout(WITHIN):
            await has_come.wait()
    finally:
        source.http.client.event_hooks = hooks


async def _is_idle(client: LangGraphClient, thread_id: str) -> bool:
    try:
        return (await client.threads.get(thread_id))["status"] != "busy"
    except NotFoundError:
        return False


def _is_ours(task: "asyncio.Task[Any]") -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    is_run = task.get_name().startswith("run ")  # those outlive their readers
    return code is not None and "langgraph_agui/connect" in code.co_filename and not is_run


def is_end(event: Event) -> bool:
    return event["type"] in ("RUN_FINISHED", "RUN_ERROR")


def ending(run: list[Event]) -> str:
    """How a run ended: success, interrupt, cancelled, or an error's code."""
    last = run[-1]
    return str(last.get("code")) if last["type"] == "RUN_ERROR" else str(last["outcome"]["type"])


def streamed(events: list[Event]) -> str:
    """The text of assistants that came in pieces. A user's message is in a snapshot or comes by itself, as the run was
    found."""
    starts = [event for event in events if event["type"] == "TEXT_MESSAGE_START"]
    users = {event["messageId"] for event in starts if event["role"] == "user"}
    contents = [event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"]
    return "".join(event["delta"] for event in contents if event["messageId"] not in users)


def brief(events: list[Event]) -> list[Any]:
    """Events in few words, for a failure's message."""
    return [(event["type"], event.get("runId") or event.get("delta") or event.get("code")) for event in events[-80:]]
