"""One random run, from its deployment to its report: `run`."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from examples.databases import OwnPostgres
from tests.chaos import oracle
from tests.chaos.faults import Deployment, Fault, faults_of
from tests.chaos.people import Page, Watcher
from tests.chaos.server import OnLost
from tests.support.servers.databases.run_databases import OF_PROCESSES
from tests.support.servers.processes.server_process import free_port

PROCESSES, THREADS = 3, 4
END_WITHIN = 120.0
"""Seconds for pages and readers to come to their end after the last fault, on however slow a machine."""
SLOWNESS = 5.0
"""Seconds that are granted to a slow machine, beside the lease and a half in which everything is served again."""
_LOOK_EVERY = 0.2

_Target = TypeVar("_Target")


@dataclass
class Report:
    """What a run came to. `wrong`: sentences about what did not hold."""

    summary: str
    wrong: list[str]


async def run(
    folder: Path,
    seconds: float,
    seed: int,
    lease: float,
    only: Sequence[str] | None = None,
    store: str = "redis",
    on_lost: OnLost = "error",
) -> Report:
    """Runs three processes and their people for so many seconds of faults, then lets everything come to its end.
    `store`: the name of the run database. `on_lost`: as for an `Intake`."""
    chance = random.Random(seed)
    with ExitStack() as databases:
        shared = databases.enter_context(OF_PROCESSES[store].running(folder))
        faults = faults_of(shared)
        if unknown := {*(only or ())} - faults.keys():
            raise ValueError(f"only: expected some of {', '.join(faults)}, got {', '.join(sorted(unknown))}")
        faults = {name: fault for name, fault in faults.items() if not only or name in only}
        postgres = databases.enter_context(OwnPostgres(free_port()))
        async with AsyncPostgresSaver.from_conn_string(postgres.url) as saver:
            await saver.setup()
        deployment = Deployment(folder, shared, postgres, lease, PROCESSES, on_lost)
        try:
            await asyncio.gather(*(server.start() for server in deployment.servers))
            return await _run(deployment, chance, seconds, faults)
        finally:
            await asyncio.gather(*(server.kill() for server in deployment.servers))


async def _run(deployment: Deployment, chance: random.Random, seconds: float, faults: Mapping[str, Fault]) -> Report:
    pages, watchers = _people(deployment, chance)
    is_over, happened = asyncio.Event(), Counter[str]()
    wrong: list[str] = []
    async with ended(watcher.watch for watcher in watchers):
        chats = [asyncio.create_task(page.chat(is_over, deployment.lease)) for page in pages]
        await faults_happen(deployment, chance, seconds, (1, deployment.lease * 1.5), faults, happened)
        healed = time.monotonic()
        is_over.set()
        _, late = await asyncio.wait(chats, timeout=END_WITHIN)
        wrong += [f"{page.name} got no answer in {END_WITHIN:g} s: {page.messages[-1]}" for page in pages if late]
        failing = max(page.last_failure for page in pages) - healed
        if failing > 1.5 * deployment.lease + SLOWNESS:
            wrong.append(
                f"posts failed for {failing:.1f} s after the last fault, with a lease of {deployment.lease:g} s"
            )
        for chat in late:
            chat.cancel()
        async with AsyncPostgresSaver.from_conn_string(deployment.postgres.url) as saver:
            values = await _values(saver, {page.thread_id for page in pages})
            wrong += await shown(watchers, values)
            with (deployment.journal.parent / "checkpoints").open("w") as file:
                for thread_id in values:
                    wrong += await oracle.late_writes(saver, thread_id)
                    file.writelines(f"{line}\n" for line in await oracle.history(saver, thread_id))
    texts = {
        thread_id: [str(message.id) for message in each["messages"] if message.type == "human"]
        for thread_id, each in values.items()
    }
    lines = oracle.forget_dead(deployment.lines(), deployment.ends())
    wrong += oracle.lost_and_doubled(pages, texts)
    if deployment.on_lost == "continue":
        wrong += oracle.unanswered(pages, values, lines)
    starved = oracle.starved(lines, deployment.lease / 2)
    wrong += oracle.overlaps(lines, [*deployment.frozen(), *starved])
    for server in deployment.servers:
        wrong += server.mistakes
    for person in (*pages, *watchers):
        wrong += person.mistakes
        await person.client.aclose()
    outcomes = Counter(outcome for page in pages for message in page.messages for outcome in message.outcomes)
    summary = (
        f"faults: {dict(happened)}\nposts: {dict(outcomes)}\n"
        f"messages: {sum(len(page.messages) for page in pages)}; connections of watchers: "
        f"{sum(watcher.connections for watcher in watchers)}\n"
        f"times that a process got no time from the machine for half a lease: {len(starved)}\n"
        f"posts failed for {max(failing, 0.0):.1f} s after the last fault"
    )
    return Report(summary, wrong)


def _people(deployment: Deployment, chance: random.Random) -> tuple[list[Page], list[Watcher]]:
    pages, watchers = [], []
    for number in range(THREADS):
        agent = "strict" if number % 2 else "queued"
        for tab in ("a", "b"):
            own = random.Random(chance.random())
            pages.append(Page(deployment.urls, agent, f"t{number}", own, f"page-{number}{tab}"))
            watchers.append(Watcher(deployment.urls, agent, f"t{number}", own, f"watcher-{number}{tab}"))
    return pages, watchers


async def faults_happen(
    target: _Target,
    chance: random.Random,
    seconds: float,
    between: tuple[float, float],
    faults: Mapping[str, Callable[[_Target, random.Random], Awaitable[None]]],
    happened: Counter[str],
) -> None:
    """Lets faults happen to `target` for so many seconds, one after the other. `between`: the seconds between two."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        await asyncio.sleep(chance.uniform(*between))
        name = chance.choice([*faults])
        happened[name] += 1
        print(f"{deadline - time.monotonic():6.1f} s left: {name}", flush=True)
        await faults[name](target, chance)


async def _values(saver: AsyncPostgresSaver, threads: set[str]) -> dict[str, Any]:
    values = {}
    for thread_id in sorted(threads):
        saved = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
        values[thread_id] = {"messages": []} if saved is None else saved.checkpoint["channel_values"]
    return values


async def shown(watchers: Sequence[Watcher], values: Mapping[str, Any]) -> list[str]:
    """Waits until each watcher shows its thread; what those show that do not."""
    deadline = time.monotonic() + END_WITHIN
    while True:
        wrong = [oracle.shown(watcher, values[watcher.thread_id]) for watcher in watchers]
        if not any(wrong) or time.monotonic() > deadline:
            return [sentence for sentence in wrong if sentence]
        await asyncio.sleep(_LOOK_EVERY)


@asynccontextmanager
async def ended(begun: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> AsyncIterator[None]:
    """Runs these functions in tasks of their own, which are cancelled at the end of the block. What one of them has
    raised is raised then."""
    tasks = [asyncio.create_task(each()) for each in begun]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
