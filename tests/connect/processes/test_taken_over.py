"""Runs whose process is killed while they go on, which another process continues (`Intake(on_lost="continue")`).

A process dies at a write of its checkpointer, and another one takes the run over. A situation is what the run does, and
each is tried at all writes in a sweep. Of each run, this must hold: it ends as it does without a death, its thread has
the work of each node once, no node runs again whose work was stored, and its readers have one end.
"""

import asyncio
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.postgres import PostgresSaver

from tests.support.clients.agui_client import AguiClient
from tests.support.clients.reader_clients import ReaderClient, assert_holds
from tests.support.servers.databases.postgres import new_database
from tests.support.servers.databases.redis_server import running_redis
from tests.support.servers.gates import Gates
from tests.support.servers.processes.dying_server import FIRST, GRAPHS, LAST, WORKERS, Settings, saver_at
from tests.support.servers.processes.forks import forked
from tests.support.servers.processes.server_process import ServerProcess, free_port
from tests.support.servers.processes.several import LONG, HttpReaderClient, Process
from tests.support.servers.serving import WITHIN
from tests.support.sweeps import SWEEP

LEASE = 0.6
PLACES = [
    "redis-postgres",
    "sqlite-sqlite",
    pytest.param("redis-sqlite", marks=SWEEP),
    pytest.param("sqlite-postgres", marks=SWEEP),
]
"""The run store and the checkpointer that processes share."""
_SERVER = "tests.support.servers.processes.dying_server"
_NEXT_VERSION = [sys.executable, "-m", "tests.support.servers.processes.next_version"]
RUN = {"run_id": "run-2"}
"""The run that is killed."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the run does that is killed. `answers`: the number of questions that it answers, of those that the thread
    waits with. `first`: how many were answered before it."""

    graph: str
    answers: int = 0
    first: int = 0

    @property
    def runs_before(self) -> int:
        """The number of runs that bring the thread to the situation."""
        return (self.answers > 0) + (self.first > 0)


SITUATIONS = {
    "all kinds of nodes": Situation("everything"),
    "a breakpoint": Situation("stops"),
    "after the breakpoint": Situation("stops", answers=1),
    "two questions": Situation("questions"),
    "one of two answered": Situation("questions", answers=1),
    "the other one answered": Situation("questions", answers=1, first=1),
    "both answered": Situation("questions", answers=2),
}


class Fleet:
    """Processes that share a run store and a checkpointer."""

    def __init__(self, settings: Settings, folder: Path, clients: asyncio.TaskGroup) -> None:
        self.settings = settings
        self._folder = folder
        self._clients = clients
        self._all: list[Process] = []

    async def start(self, *, is_newer: bool = False, **settings: Any) -> Process:
        """Starts a process. `is_newer`: it is of the next version, whose runs have another format."""
        port, folder = free_port(), self._folder / f"process-{len(self._all)}"
        folder.mkdir()
        argument = replace(self.settings, port=port, **settings).argument
        command = [*([*_NEXT_VERSION, _SERVER] if is_newer else forked(_SERVER)), argument]
        process = Process(ServerProcess(command, folder, {}, port, "/health"), self._clients)
        self._all.append(process)
        await process.start()
        return process

    async def values(self, graph: str, thread: str) -> dict[str, Any]:
        """The values of a thread's last checkpoint."""
        async with saver_at(self.settings.saver) as saver:
            built = GRAPHS[graph](saver, "")
            return dict((await built.aget_state({"configurable": {"thread_id": thread}})).values)

    def journal(self, thread: str) -> list[dict[str, Any]]:
        """The lines of a thread in the journal."""
        path = Path(self.settings.journal)
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in map(json.loads, lines) if line["thread"] == thread]

    async def close(self) -> None:
        """Ends all processes."""
        await asyncio.gather(*(process.close() for process in self._all))


@contextmanager
def store_at(kind: str, folder: Path) -> Iterator[str]:
    """Where the processes have their run store."""
    if kind == "sqlite":
        yield str(folder / "runs.db")
        return
    with running_redis() as server:
        yield server.url


@contextmanager
def threads_at(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the processes have their checkpoints."""
    if kind == "sqlite":
        yield str(folder / "threads.db")
        return
    with new_database(request.getfixturevalue("postgres")) as url:
        with PostgresSaver.from_conn_string(url) as postgres:
            postgres.setup()
        yield url


@pytest.fixture(params=PLACES)
async def fleet(request: pytest.FixtureRequest, gate: Gates, tmp_path: Path) -> AsyncIterator[Fleet]:
    """What starts processes, which share a run store and a checkpointer."""
    store, saver = request.param.split("-")
    with store_at(store, tmp_path) as runs, threads_at(saver, tmp_path, request) as threads:
        settings = Settings(0, runs, threads, str(tmp_path / "journal"), gate.port, LEASE)
        async with asyncio.TaskGroup() as clients:
            fleet = Fleet(settings, tmp_path, clients)
            try:
                yield fleet
            finally:
                await fleet.close()


async def run_in(process: Process, survivor: Process, situation: Situation, thread: str) -> HttpReaderClient:
    """Brings a thread to the situation, and lets a process run its input."""
    if not situation.answers:
        return process.run(situation.graph, thread, "hi", **RUN)
    asked = await survivor.run(situation.graph, thread, "hi", run_id="run-0").over()
    if situation.first:
        first = _answers(asked, 0, situation.first)
        asked = await survivor.run(situation.graph, thread, "hi", run_id="run-1", resume=first).over()
    return process.run(situation.graph, thread, "hi", **RUN, resume=_answers(asked, 0, situation.answers))


def _answers(asked: ReaderClient, begin: int, end: int) -> list[dict[str, Any]]:
    interrupts = asked.events[-1]["outcome"]["interrupts"][begin:end]
    return [{"interruptId": each["id"], "status": "resolved", "payload": f"yes {each['id']}"} for each in interrupts]


def said(values: dict[str, Any]) -> Any:
    """What must be the same however often a process died."""
    texts = sorted(str(message.content).split(": ")[0] for message in values["messages"])
    return texts, sorted(values.get("done", ()))


def run_again(fleet: Fleet, thread: str, victim: int) -> list[str]:
    """The nodes that another process ran although the victim had stored their work."""
    lines = fleet.journal(thread)
    stored = Counter(line["node"] for line in lines if line["event"] == "committed" and line["pid"] == victim)
    begun = Counter(
        line["node"]
        for line in lines
        if line["event"] == "begun" and line["pid"] != victim and line["run"] == RUN["run_id"]
    )
    most = Counter(worker=WORKERS)  # what a subgraph has stored is stored again by its node
    return [node for node, times in stored.items() if begun[node] > max((most[node] or 1) - times, 0)]


async def check_deaths(
    fleet: Fleet, situation: Situation, deaths: list[tuple[int, bool]], whole: tuple[Any, list[str]], agui: AguiClient
) -> None:
    """Kills a process at each of these writes, and checks the rules of this module."""
    survivor = await fleet.start()
    for number, after in deaths:
        thread = f"t-{number}-{after}"
        victim = await fleet.start(dies_at=number, dies_after=after)
        watcher = survivor.watch(situation.graph, thread)
        await watcher.answered()
        asks = await run_in(victim, survivor, situation, thread)
        await asks.over()
        back = await survivor.connect(situation.graph, thread, asks.view).over()
        values = await fleet.values(situation.graph, thread)
        where = f"killed {'after' if after else 'before'} write {number}: {survivor.log}"
        assert (said(values), back.ends[-1:]) == whole, where
        assert not run_again(fleet, thread, victim.pid), where
        assert_holds(agui, back, values)
        await watcher.sees(partial(_has_ended, watcher, situation.runs_before))
        assert watcher.ends[situation.runs_before :] == whole[1], where
        await watcher.leave()


async def undisturbed(fleet: Fleet, situation: Situation) -> tuple[int, tuple[Any, list[str]]]:
    """How many writes the run has, what its thread has in the end, and how it ends."""
    process, survivor = await fleet.start(), await fleet.start()
    asks = await (await run_in(process, survivor, situation, "whole")).over()
    count = (await process.client.get("/written")).json()
    values = await fleet.values(situation.graph, "whole")
    return count, (said(values), asks.ends)


async def metrics_of(process: Process) -> str:
    """Where Prometheus reads a process."""
    return str((await process.client.get("/metrics")).json())


async def counted(url: str) -> dict[str, float]:
    """The counters of lost, continued and handed over runs, as Prometheus reads them; those that are not 0."""
    async with httpx.AsyncClient(timeout=WITHIN, trust_env=False) as prometheus:
        text = (await prometheus.get(url)).text
    found = re.findall(r"^langgraph_agui_run_(\w+)_total(?:\{.*\})? (\S+)$", text, re.MULTILINE)
    return {name: float(count) for name, count in found}


def _has_ended(reader: ReaderClient, before: int, _: object) -> bool:
    """Whether a reader has more than so many ends of runs."""
    return len(reader.ends) > before


@pytest.mark.services
@pytest.mark.parametrize(
    ("fleet", "name"),
    [
        ("redis-postgres", "all kinds of nodes"),
        ("sqlite-sqlite", "one of two answered"),
        ("redis-postgres", "both answered"),
    ],
    indirect=["fleet"],
)
async def test_a_run_is_continued_after_its_process_was_killed(
    fleet: Fleet, agui_client: AguiClient, name: str
) -> None:
    count, whole = await undisturbed(fleet, SITUATIONS[name])
    await check_deaths(fleet, SITUATIONS[name], [(count // 2, False)], whole, agui_client)


@SWEEP
@pytest.mark.services
@pytest.mark.parametrize("name", SITUATIONS)
async def test_a_run_is_continued_wherever_its_process_was_killed(
    fleet: Fleet, agui_client: AguiClient, name: str
) -> None:
    count, whole = await undisturbed(fleet, SITUATIONS[name])
    deaths = [*((number, False) for number in range(1, count + 1)), (count, True)]
    await check_deaths(fleet, SITUATIONS[name], deaths, whole, agui_client)


@pytest.mark.services
async def test_readers_stay_while_another_process_continues_the_run(
    fleet: Fleet, gate: Gates, agui_client: AguiClient
) -> None:
    """What was shown and is not in the thread is taken back once, and is said again."""
    one, other = await fleet.start(), await fleet.start()
    gate.hold("last")
    asks = one.run("two", "t", "hi")
    await gate.reached("last")
    reader, watcher = other.connect("two", "t"), other.watch("two", "t")
    for client in (asks, reader, watcher):
        await client.sees(LAST)
    await one.kill()
    assert (await asks.over()).is_torn
    back = other.connect("two", "t", asks.view)
    await gate.reached("last", times=2)
    gate.open("last")
    for client in (reader, back):
        assert (await client.over()).ends == ["success"]
        assert_holds(agui_client, client, await fleet.values("two", "t"))
    await watcher.sees(partial(_has_ended, watcher, 0))
    assert watcher.ends == ["success"]
    assert [line["attempt"] for line in fleet.journal("t") if line["event"] == "begun"] == [1, 1, 2]
    assert reader.kinds.count("RUN_STARTED") == 1
    assert await counted(await metrics_of(other)) == {"continued": 1}


@pytest.mark.services
async def test_an_input_that_comes_meanwhile_finds_the_thread_busy(fleet: Fleet, gate: Gates) -> None:
    """An input that waits has its turn after the run that is continued."""
    one, other = await fleet.start(), await fleet.start()
    gate.hold("last")
    one.run("two", "t", "hi")
    await gate.reached("last")
    await one.kill()
    refused = await other.run("two", "t", "hi", "and on", run_id="run-2").over()
    assert refused.status == 409
    waits = other.run("queued", "t", "hi", "and on", run_id="run-3")
    await gate.reached("last", times=2)
    gate.open("last")
    assert (await waits.over()).ends == ["success"]
    assert (await fleet.values("two", "t"))["done"] == ["first", "last"] * 2


@pytest.mark.services
async def test_a_run_that_was_being_stopped_is_not_continued(fleet: Fleet, gate: Gates) -> None:
    one, other = await fleet.start(), await fleet.start()
    gate.hold("last")
    one.run("two", "t", "hi")
    await gate.reached("last")
    reader = other.connect("two", "t")
    await reader.sees(LAST)
    one.send(signal.SIGSTOP)
    stopping = asyncio.create_task(other.stop("two", "t"))
    assert (await reader.over()).ends == ["cancelled"]
    await stopping
    await one.kill()
    assert gate.passed.count("last") == 1


@pytest.mark.services
@pytest.mark.parametrize("fleet", ["redis-postgres"], indirect=True)
async def test_readers_of_a_process_that_was_frozen_get_the_end_of_the_run_that_another_one_continued(
    fleet: Fleet, gate: Gates, agui_client: AguiClient
) -> None:
    """A frozen process may hold the lock of a SQLite file, which nobody can take from it."""
    one, other = await fleet.start(), await fleet.start()
    gate.hold("last")
    asks = one.run("two", "t", "hi")
    await gate.reached("last")
    one.send(signal.SIGSTOP)
    await gate.reached("last", times=2)
    reader = other.connect("two", "t")
    gate.open("last")
    assert (await reader.over()).ends == ["success"]
    one.send(signal.SIGCONT)
    assert (await asks.over()).ends == ["success"]
    assert_holds(agui_client, asks, await fleet.values("two", "t"))
    assert (await fleet.values("two", "t"))["done"] == ["first", "last"]


@pytest.mark.services
async def test_a_run_that_kills_its_process_is_tried_three_times(fleet: Fleet) -> None:
    processes = [await fleet.start() for _ in range(4)]
    asks = processes[0].run("deadly", "t", "hi")
    await asks.over()
    # each process that continues it dies; the one that is left ends the run
    ended: dict[Process, list[str]] = {}
    while not ended:
        for process in processes[1:]:
            reader = await process.connect("deadly", "t").over()
            if not reader.is_torn and reader.ends:
                ended[process] = reader.ends
    [(process, codes)] = ended.items()
    assert codes == ["unfinished"]
    assert await counted(await metrics_of(process)) == {"lost": 1}
    assert [line["attempt"] for line in fleet.journal("t") if line["node"] == "die"] == [1, 2, 3]


@pytest.mark.services
async def test_a_process_that_ends_hands_its_runs_over_at_once(
    fleet: Fleet, gate: Gates, agui_client: AguiClient
) -> None:
    """Nobody waits for a lease: it would last longer than any test."""
    fleet.settings = replace(fleet.settings, lease=LONG)
    one, other = await fleet.start(), await fleet.start()
    measured = await metrics_of(one)
    gate.hold("last", "stopped")
    asks = one.run("two", "t", "hi")
    await gate.reached("last")
    reader = other.connect("two", "t")
    await reader.sees(LAST)
    one.send(signal.SIGTERM)
    assert (await asks.over()).end == "shutdown"
    await gate.reached("stopped")
    await gate.reached("last", times=2)
    assert [await counted(url) for url in (measured, await metrics_of(other))] == [{"handed_over": 1}, {"continued": 1}]
    gate.open("stopped", "last")
    assert (await reader.over()).ends == ["success"]
    assert_holds(agui_client, reader, await fleet.values("two", "t"))
    await one.ended()


@pytest.mark.services
async def test_inputs_that_are_queued_follow_their_run(fleet: Fleet, gate: Gates) -> None:
    """They keep their order."""
    fleet.settings = replace(fleet.settings, lease=LONG)
    one, other = await fleet.start(), await fleet.start()
    gate.hold("last")
    one.run("queued", "t", "hi", run_id="run-1")
    await gate.reached("last")
    said, queued = ["hi"], list[HttpReaderClient]()
    for number in range(2, 5):
        said.append(f"and on {number}")
        queued.append(one.run("queued", "t", *said, run_id=f"run-{number}"))
        await queued[-1].answered()
    one.send(signal.SIGTERM)
    for client in queued:
        assert (await client.over()).end == "shutdown"
    await gate.reached("last", times=2)
    await one.ended()
    watcher = other.watch("queued", "t")
    await watcher.answered()
    gate.open("last")
    await watcher.sees(partial(_has_ended, watcher, 3))
    begun = [(line["run"], line["node"]) for line in fleet.journal("t") if line["event"] == "over"]
    assert begun == [(f"run-{number}", node) for number in range(1, 5) for node in ("first", "last")]
    texts = [message.content for message in (await fleet.values("two", "t"))["messages"]]
    assert [text for text in texts if text in said] == said


@pytest.mark.services
async def test_a_process_that_is_started_again_continues_its_runs(fleet: Fleet, gate: Gates) -> None:
    process = await fleet.start()
    gate.hold("last")
    process.run("two", "t", "hi")
    await gate.reached("last")
    await process.kill()
    await process.start()
    await gate.reached("last", times=2)
    gate.open("last")
    assert (await process.connect("two", "t").over()).ends == ["success"]
    assert (await fleet.values("two", "t"))["done"] == ["first", "last"]


@pytest.mark.services
async def test_processes_of_two_versions_serve_one_thread(fleet: Fleet, gate: Gates) -> None:
    """What each does with a run of the other: it shows the checkpoint, queues behind the run, and stops it."""
    newer, older = await fleet.start(is_newer=True), await fleet.start()
    gate.hold("last")
    for times, (one, other) in enumerate([(newer, older), (older, newer)], 1):
        thread = f"t{times}"
        asks = one.run("two", thread, "hi")
        await gate.reached("last", times=2 * times - 1)
        read = await other.connect("two", thread).over()
        assert (read.ends, FIRST in str(read.events)) == (["unfinished"], True)
        assert (await other.run("two", thread, "hi", "and on", run_id="run-2").over()).status == 409
        waits = other.run("queued", thread, "hi", "and on", run_id="run-3")
        await waits.answered()
        gate.let_on("last")
        assert (await asks.over()).ends == ["success"]
        await gate.reached("last", times=2 * times)
        await one.stop("two", thread)
        assert (await waits.over()).ends == ["cancelled"]
        assert (await fleet.values("two", thread))["done"] == ["first", "last", "first"]
