"""A random run against a LangGraph server: `run_platform`. A real server is killed, paused, cut off and restarted. In
front of it is an app of ours, with twenty people who post, connect and watch. A proxy between the two cuts connections.

| server | faults | because |
|---|---|---|
| `aegra` | all | its data are in PostgreSQL, and Redis tells it which runs were cut off: these begin again |
| `dev` | all but `kill` | it writes its threads to files every ten seconds and when it ends, and loses the rest |

Only one page posts to a thread of Aegra, which runs all inputs at once.

What must hold, beside rules 1 and 4 of `oracle`:

1. The app is never killed. So none of its streams is torn, and none of its watchers' streams ends.
2. A message ends in success, or is refused, or its run is lost: then it may be in the thread. Nothing else happens.
3. A request that is refused has the status 503, and `Retry-After`; or 409, if another run is active. What the app asks
   of the server before it answers has the time that `RetryPolicy` gives for the first answer, but the request that
   starts a run has more.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

import httpx
from langgraph_agui.connect import Intake, Platform, RetryPolicy
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.translator import ClientView
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.chaos import oracle
from tests.chaos.people import LONGEST_ANSWER, Page, Person, Watcher
from tests.chaos.run import END_WITHIN, SLOWNESS, THREADS, Report, ended, faults_happen, shown
from tests.support.servers.platforms.aegra_server import mortal_aegra_server
from tests.support.servers.platforms.dev_server import mortal_dev_server
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.processes.server_process import ServerStartError
from tests.support.servers.proxy import Way, proxied
from tests.support.servers.serving import posted, served

PLATFORMS = ("dev", "aegra")
_GRAPH = "chaos"
_LONGEST = 10.0
"""Seconds for which the server is away or paused, at most: more than the first answer may take, and less than the
lease of Aegra's runs."""
_AS_IT_SHOULD = {"success", "shown", "409", "503", "lost"}
"""What may become of a post."""
_IDS = UUID("0f2bd5a4-6f36-4c5e-8a3b-5c1c7f1f6e10")


@dataclass(frozen=True, slots=True)
class Target:
    """A server, and the way to it."""

    name: str
    server: MortalServer
    way: Way


async def kill(target: Target, chance: random.Random) -> None:
    """kill -9, and a start some time later."""
    await target.server.kill()
    await asyncio.sleep(chance.uniform(0, _LONGEST))
    await _started(target.server)


async def pause(target: Target, chance: random.Random) -> None:
    """SIGSTOP: connections stay open, and nothing is answered."""
    target.server.pause()
    try:
        await asyncio.sleep(chance.uniform(0.5, _LONGEST))
    finally:
        target.server.resume()


async def restart(target: Target, chance: random.Random) -> None:
    """SIGINT, as Ctrl-C does, and a start."""
    await target.server.end()
    await _started(target.server)


async def cut(target: Target, chance: random.Random) -> None:
    """The proxy resets all connections."""
    target.way.cut()


async def close(target: Target, chance: random.Random) -> None:
    """The proxy resets all connections, and those that come, for some time."""
    target.way.close()
    await asyncio.sleep(chance.uniform(0.5, _LONGEST))
    target.way.open()


async def _notice_starvation() -> None:
    """Notes how long this event loop gets no time."""
    _OfAnApp.starved = 0.0
    while True:
        began = time.monotonic()
        await asyncio.sleep(0.1)
        _OfAnApp.starved = max(_OfAnApp.starved, time.monotonic() - began - 0.1)


async def _started(server: MortalServer) -> None:
    """Starts the server. On a slow machine, the first attempt may take too long."""
    while True:
        try:
            return await server.start()
        except ServerStartError:
            await server.end()


Fault = Callable[[Target, random.Random], Awaitable[None]]
_FAULTS: Mapping[str, Fault] = {fault.__name__: fault for fault in (kill, pause, restart, cut, close)}


class _OfAnApp(Person):
    """Somebody whose server, an app of ours, is never killed. It shares this event loop, so a connection may take
    long."""

    longest = RetryPolicy().first_answer + SLOWNESS
    """Seconds in which a request is refused."""
    starved = 0.0
    """Seconds for which this event loop got no time from the machine at once, at most."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.client.timeout = httpx.Timeout(LONGEST_ANSWER)

    def refused(self, response: httpx.Response, seconds: float) -> None:
        """See `Person`: rule 3."""
        if response.status_code == 409:
            return
        if response.status_code != 503 or "retry-after" not in response.headers:
            self.is_wrong(f"{response.request.url.path} was refused with {response.status_code}, {response.headers}")
        if seconds > self.longest + 2 * _OfAnApp.starved:
            self.is_wrong(f"{response.request.url.path} was refused after {seconds:.1f} s")

    def torn(self, error: Exception) -> None:
        """See `Person`: rule 1."""
        self.is_wrong(f"a stream was torn: {error!r}")


class _Page(_OfAnApp, Page):
    longest = _OfAnApp.longest + RetryPolicy().read_timeout


class _Watcher(_OfAnApp, Watcher):
    def stream_ended(self) -> None:
        """See `Watcher`: rule 1."""
        self.is_wrong(f"its stream ended with {self.view.terminal}")


class _Reader(_OfAnApp):
    """A page that is loaded again and again: it connects, and reads to the end."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connections = 0

    async def read(self) -> None:
        """Reads until it is cancelled."""
        while True:
            await self.once()
            await asyncio.sleep(self.chance.uniform(0.2, 2))

    async def once(self) -> bool:
        """Connects once. Returns whether the stream ended with the thread, and not with an error."""
        view, self.view = self.view, ClientView([], {}, version="1.0")
        body, began = {**posted(self.thread_id), "messages": []}, time.monotonic()
        try:
            async with self.client.stream("POST", f"{self.urls[0]}/{self.agent}/connect", json=body) as response:
                if response.status_code != 200:
                    self.refused(response, time.monotonic() - began)
                    self.view = view
                    return False
                self.connections += 1
                async for _ in self.events(response):
                    pass
        except httpx.HTTPError as error:
            self.torn(error)
            return False
        last = self.view.terminal or {}
        if last.get("type") == "RUN_ERROR" and last.get("code") != "lost":
            self.is_wrong(f"its stream ended with {last}")
        return last.get("type") != "RUN_ERROR"


async def run_platform(name: str, seconds: float, seed: int, only: Sequence[str] | None = None) -> Report:
    """Runs a server of this name, an app and their people for so many seconds of faults, then lets everything come to
    its end."""
    faults = {fault: _FAULTS[fault] for fault in _FAULTS if name == "aegra" or fault != "kill"}
    if unknown := {*(only or ())} - faults.keys():
        raise ValueError(f"only: expected some of {', '.join(faults)}, got {', '.join(sorted(unknown))}")
    faults = {fault: happens for fault, happens in faults.items() if not only or fault in only}
    with ExitStack() as servers:
        if name == "aegra":
            server = servers.enter_context(mortal_aegra_server("tests.chaos.graph", [_GRAPH]))
        else:
            server = servers.enter_context(mortal_dev_server({_GRAPH: f"tests.chaos.graph:{_GRAPH}"}))
        async with proxied(server.url) as way, get_client(url=way.url) as client:
            source = Platform(client, _GRAPH)
            agents = {
                "queued": Agent(source, intake=Intake(busy="queue")),
                "strict": Agent(source, intake=Intake(busy="reject")),
            }
            async with served(agui_app(agents)) as app:
                return await _run(Target(name, server, way), client, app.url, random.Random(seed), seconds, faults)


async def _run(
    target: Target,
    client: LangGraphClient,
    url: str,
    chance: random.Random,
    seconds: float,
    faults: Mapping[str, Fault],
) -> Report:
    pages, watchers, readers = _people(url, chance, posters=1 if target.name == "aegra" else 2)
    is_over, happened = asyncio.Event(), Counter[str]()
    wrong: list[str] = []
    readings = [*(watcher.watch for watcher in watchers), *(reader.read for reader in readers)]
    async with ended([_notice_starvation, *readings]):
        chats = [asyncio.create_task(page.chat(is_over)) for page in pages]
        await faults_happen(target, chance, seconds, (1, 6), faults, happened)
        is_over.set()
        _, late = await asyncio.wait(chats, timeout=END_WITHIN)
        wrong += [f"{page.name} got no answer in {END_WITHIN:g} s: {page.messages[-1]}" for page in pages if late]
        for chat in late:
            chat.cancel()
        values = {thread_id: await _values(client, thread_id) for thread_id in {page.thread_id for page in pages}}
        wrong += await shown(watchers, values)
    for reader in readers:
        if not await reader.once():
            reader.is_wrong("the thread could not be read in the end")
        if sentence := oracle.shown(reader, values[reader.thread_id]):
            wrong.append(sentence)
    texts = {
        thread_id: [str(message["id"]) for message in each["messages"] if message["type"] == "human"]
        for thread_id, each in values.items()
    }
    wrong += oracle.lost_and_doubled(pages, texts)
    for page in pages:
        for message in page.messages:
            if odd := {*message.outcomes} - _AS_IT_SHOULD:
                page.is_wrong(f"{message.id} had the outcomes {sorted(odd)}")
    people: list[Person] = [*pages, *watchers, *readers]
    for person in people:
        wrong += person.mistakes
        await person.client.aclose()
    outcomes = Counter(outcome for page in pages for message in page.messages for outcome in message.outcomes)
    summary = (
        f"faults: {dict(happened)}\nposts: {dict(outcomes)}\n"
        f"messages: {sum(len(page.messages) for page in pages)}; connections of watchers: "
        f"{sum(watcher.connections for watcher in watchers)}, of readers: "
        f"{sum(reader.connections for reader in readers)}\n"
        f"the event loop got no time from the machine for {_OfAnApp.starved:.1f} s"
    )
    return Report(summary, wrong)


def _people(url: str, chance: random.Random, posters: int) -> tuple[list[_Page], list[_Watcher], list[_Reader]]:
    """Five people for each thread: so many who post, two who watch, and the others connect."""
    pages, watchers, readers = list[_Page](), list[_Watcher](), list[_Reader]()
    for number in range(THREADS):
        agent, thread_id = "strict" if number % 2 else "queued", str(uuid5(_IDS, f"{number} {chance.random()}"))
        for place in range(5):
            own, name = random.Random(chance.random()), f"person-{number}{place}"
            if place < posters:
                pages.append(_Page([url], agent, thread_id, own, name))
            elif place < 3:
                readers.append(_Reader([url], agent, thread_id, own, name))
            else:
                watchers.append(_Watcher([url], agent, thread_id, own, name))
    return pages, watchers, readers


async def _values(client: LangGraphClient, thread_id: str) -> Any:
    """The values of a thread, as soon as no run of it is active. Raises `TimeoutError` if one stays active."""
    async with asyncio.timeout(END_WITHIN):
        while any(run["status"] in ("pending", "running") for run in await client.runs.list(thread_id)):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        if not await client.threads.search(ids=[thread_id]):  # every message to it was refused
            return {"messages": []}
        return (await client.threads.get_state(thread_id))["values"]
