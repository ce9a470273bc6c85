"""The example of several processes, as its first lines start it: one command, two workers of uvicorn on one port."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from examples import databases
from examples.several_processes import main
from tests.support.servers.processes.server_process import ServerProcess, free_port
from tests.support.servers.serving import WITHIN, events_of, posted, told, until

READERS = 8
"""Each with a connection of its own: the kernel gives it to one of the workers."""
EXAMPLE = [sys.executable, "-m", "examples.several_processes"]


@pytest.fixture
def databases_in() -> Iterator[Path]:
    """A folder that PostgreSQL's user may enter."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []


@pytest.mark.services
async def test_each_worker_reads_and_stops_the_run(tmp_path: Path, databases_in: Path) -> None:
    """With databases that it starts itself, and ends."""
    port = free_port()
    environment = {"PORT": str(port), "PAUSE": "1", "TMPDIR": str(databases_in)}
    server = ServerProcess(EXAMPLE, tmp_path, environment, port, "/agents/health")
    await asyncio.to_thread(server.start)
    url = f"{server.url}/agents/counter"
    try:
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=WITHIN, trust_env=False, limits=limits) as client:

            async def read() -> list[str]:
                async with client.stream("POST", f"{url}/connect", json=posted("t")) as response:
                    await until(events := told(response), "TEXT_MESSAGE_START")
                    started.release()
                    return [event["type"] async for event in events]

            async with client.stream("POST", url, json=posted("t", "count")) as asked:
                await until(told(asked), "TEXT_MESSAGE_START")
                started = asyncio.Semaphore(0)
                readers = [asyncio.create_task(read()) for _ in range(READERS)]
                for _ in readers:
                    await started.acquire()
                assert (await client.post(url, json=posted("t", "again", run_id="run-2"))).status_code == 409
                assert (await client.post(f"{url}/stop", json={"threadId": "t"})).json() == {"stopped": True}
                for reader in readers:
                    assert (await reader)[-1] == "RUN_FINISHED"
            ended = events_of((await client.post(f"{url}/connect", json=posted("t"))).content)[-1]
            assert ended["outcome"]["type"] == "cancelled"
    finally:
        server.send(signal.SIGTERM)
        await asyncio.to_thread(server.wait, WITHIN)


@pytest.mark.parametrize(
    ("missing", "package"), [("AGUI_REDIS_URL", "redis-server"), ("AGUI_POSTGRES_URL", "postgresql")]
)
def test_a_package_that_is_missing_is_named(
    missing: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AGUI_REDIS_URL", "AGUI_POSTGRES_URL"):
        monkeypatch.setenv(name, "unused://")
    monkeypatch.delenv(missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(databases, "DEBIANS_POSTGRES", tmp_path)
    with pytest.raises(SystemExit, match=f"install the package {package} "):
        main()
