"""What happens to a deployment: `Deployment`, its processes and databases, and `faults_of` one, each by its name."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from examples.databases import OwnPostgres
from tests.chaos.server import OnLost, Settings
from tests.support.servers.databases.run_databases import Fault as DatabaseFault
from tests.support.servers.databases.run_databases import SharedRuns
from tests.support.servers.processes.clock import clock
from tests.support.servers.processes.server_process import ServerProcess, ServerStartError, free_port

_END_WITHIN = 30.0
"""Seconds for a process to end after SIGTERM: its grace and drain are 4 s, the rest is for a slow machine."""
SKEWS = (-0.4, 0.0, 0.4)
"""By how many seconds the clock of a process that is started again may be ahead."""


class Server:
    """One process, which is started again on its port. `frozen`: when it was, from and to, by the monotonic clock.
    `ends`: when its processes ended. `mistakes`:
    sentences about what they did wrong."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder
        self.url = f"http://127.0.0.1:{settings.port}"
        self.pid = 0
        self.ends: dict[int, float] = {}
        self.mistakes: list[str] = []
        self.frozen: list[tuple[int, float, float]] = []
        self.started = 0.0
        self._process: ServerProcess | None = None
        self.is_changing = asyncio.Lock()

    async def start(self, ahead: float = 0.0) -> None:
        """Starts it, with its clock ahead by so many seconds. Databases that are away make it try again."""
        command = [sys.executable, "-m", "tests.chaos.server", self._settings.argument]
        while True:
            process = ServerProcess(command, self._folder, clock(ahead), self._settings.port, "/pid")
            try:
                await asyncio.to_thread(process.start)
                break
            except ServerStartError:
                await asyncio.sleep(0.5)
        self._process, self.started = process, time.monotonic()
        async with httpx.AsyncClient(trust_env=False) as client:
            self.pid = (await client.get(f"{self.url}/pid")).json()

    async def kill(self) -> None:
        """Ends it at once."""
        assert self._process is not None
        await asyncio.to_thread(self._process.kill)
        self.ends[self.pid] = time.monotonic()

    async def end(self) -> None:
        """Ends it by SIGTERM; one that does not end in time is killed, and noted."""
        assert self._process is not None
        self._process.send(signal.SIGTERM)
        try:
            await asyncio.to_thread(self._process.wait, _END_WITHIN)
        except subprocess.TimeoutExpired:
            self.mistakes.append(f"the process {self.pid} did not end within {_END_WITHIN:g} s of SIGTERM")
            await self.kill()
        self.ends[self.pid] = time.monotonic()

    async def freeze(self, seconds: float) -> None:
        """Stops it for so long."""
        pid, begun = self.pid, time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
            self.frozen.append((pid, begun, time.monotonic()))


class Deployment:
    """The processes and their databases. `shared`: what the processes share their runs by. `on_lost`: as for an
    `Intake`."""

    def __init__(
        self, folder: Path, shared: SharedRuns, postgres: OwnPostgres, lease: float, count: int, on_lost: OnLost
    ) -> None:
        self.postgres, self.lease, self.on_lost = postgres, lease, on_lost
        self.journal = folder / "journal"
        self.journal.touch()
        self.servers: list[Server] = []
        for number in range(count):
            at = folder / f"server-{number}"
            at.mkdir()
            settings = Settings(
                free_port(), shared.name, shared.address, postgres.url, str(self.journal), lease, on_lost
            )
            self.servers.append(Server(settings, at))

    @property
    def urls(self) -> list[str]:
        return [server.url for server in self.servers]

    def frozen(self) -> list[tuple[int, float, float]]:
        """When which process was frozen."""
        return [each for server in self.servers for each in server.frozen]

    def ends(self) -> dict[int, float]:
        """When which process ended."""
        return {pid: at for server in self.servers for pid, at in server.ends.items()}

    def is_settled(self) -> bool:
        """Whether no process has started within a lease: the run database may lose its data."""
        return all(time.monotonic() - server.started > self.lease * 1.2 for server in self.servers)

    def lines(self) -> list[dict[str, object]]:
        """The journal."""
        return [json.loads(line) for line in self.journal.read_bytes().splitlines()]


Fault = Callable[[Deployment, random.Random], Awaitable[None]]


async def _restarted(deployment: Deployment, chance: random.Random, server: Server, *, by_signal: bool) -> None:
    async with server.is_changing:
        if by_signal:
            await server.end()
        else:
            await server.kill()
        await asyncio.sleep(chance.uniform(0, deployment.lease))
        await server.start(chance.choice(SKEWS))


async def kill_a_process(deployment: Deployment, chance: random.Random) -> None:
    """kill -9, and a start some time later, with another clock."""
    await _restarted(deployment, chance, chance.choice(deployment.servers), by_signal=False)


async def deploy(deployment: Deployment, chance: random.Random) -> None:
    """SIGTERM and a new start, one process after the other."""
    for server in deployment.servers:
        await _restarted(deployment, chance, server, by_signal=True)


async def freeze_a_process(deployment: Deployment, chance: random.Random) -> None:
    """SIGSTOP, also for longer than a lease."""
    server = chance.choice(deployment.servers)
    async with server.is_changing:
        await server.freeze(deployment.lease * chance.uniform(0.3, 2.5))


async def restart_postgres(deployment: Deployment, chance: random.Random) -> None:
    """PostgreSQL is stopped at once, and started again."""
    await asyncio.to_thread(deployment.postgres.stop)
    await asyncio.sleep(chance.uniform(0, deployment.lease))
    await asyncio.to_thread(deployment.postgres.start)


async def pause_postgres(deployment: Deployment, chance: random.Random) -> None:
    """PostgreSQL answers nothing for a while."""
    deployment.postgres.pause()
    try:
        await asyncio.sleep(deployment.lease * chance.uniform(0.1, 1.5))
    finally:
        deployment.postgres.resume()


FAULTS: dict[str, Fault] = {
    fault.__name__: fault for fault in (kill_a_process, deploy, freeze_a_process, restart_postgres, pause_postgres)
}
"""What may happen to every deployment."""


def faults_of(database: SharedRuns) -> dict[str, Fault]:
    """What may happen to a deployment whose processes share this run database."""
    outages, losses = database.faults()

    def of_database(fault: DatabaseFault, *, loses_data: bool) -> Fault:
        async def happen(deployment: Deployment, chance: random.Random) -> None:
            if loses_data and not deployment.is_settled():
                return
            await fault(deployment.lease, chance)
            if loses_data:  # no process starts meanwhile
                await asyncio.sleep(deployment.lease * 1.6)

        return happen

    own = {fault.__name__: of_database(fault, loses_data=fault in losses) for fault in (*outages, *losses)}
    return FAULTS | own
