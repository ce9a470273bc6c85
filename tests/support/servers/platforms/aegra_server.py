"""Starts a real Aegra server that serves the fixtures, with a PostgreSQL of its own, and stops both again.

It runs in an environment of its own (`make` builds it where Python 3.12 and PostgreSQL are at hand), since Aegra needs
a newer Python than we do.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from examples.databases import own_redis, postgres_binaries
from fixtures import SERVED
from fixtures.gated import GATED
from tests.support.servers.databases.postgres import running_postgres
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.processes.server_process import ROOT, ServerProcess, free_port

_AEGRA = Path(os.environ.get("AEGRA_VENV", ROOT / ".venv-aegra")) / "bin" / "aegra"


_RECOVERY = {
    "LEASE_DURATION_SECONDS": "20",
    "HEARTBEAT_INTERVAL_SECONDS": "5",
    "REAPER_INTERVAL_SECONDS": "2",
    "STUCK_PENDING_THRESHOLD_SECONDS": "5",
    "BG_JOB_MAX_RETRIES": "1000",
    "WORKER_DRAIN_TIMEOUT": "5",
}
"""A run that was cut off begins again after 20 seconds, however often. When it ends, the server waits for runs for 5
seconds."""


def has_aegra() -> bool:
    """Whether an Aegra server can be started here."""
    return _AEGRA.exists() and postgres_binaries() is not None


@contextmanager
def running_aegra_server() -> Iterator[str]:
    """The URL of a server with every fixture and gated graph, for as long as the block lasts."""
    with running_postgres() as database, tempfile.TemporaryDirectory() as name:
        modules: dict[str, Iterable[str]] = {"fixtures.served": SERVED, "fixtures.served_gated": GATED}
        server = _server(Path(name), database, modules, {})
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


@contextmanager
def mortal_aegra_server(module: str, graphs: Iterable[str]) -> Iterator[MortalServer]:
    """A server with these graphs of a module, started; whether it lives at the end of the block does not matter.

    It has a Redis too, because only then it executes a run again that was cut off."""
    with running_postgres() as database, own_redis() as redis, tempfile.TemporaryDirectory() as name:
        environment = {"REDIS_BROKER_ENABLED": "true", "REDIS_URL": redis, **_RECOVERY}
        process = _server(Path(name), database, {module: graphs}, environment)
        process.start()
        try:
            yield MortalServer(process)
        finally:
            process.kill()


def _server(
    folder: Path, database: str, graphs: Mapping[str, Iterable[str]], environment: Mapping[str, str]
) -> ServerProcess:
    """`graphs`: the names of the graphs, by their module."""
    # Aegra finds graphs by file only, and a file of a package cannot be loaded alone.
    (folder / "graphs.py").write_text("".join(f"from {module} import *\n" for module in graphs))
    config = folder / "aegra.json"
    names = [name for of_module in graphs.values() for name in of_module]
    config.write_text(json.dumps({"graphs": {name: f"./graphs.py:{name}" for name in names}}))
    port = free_port()
    settings = {
        "DATABASE_URL": database,
        "AUTH_TYPE": "noop",
        "AEGRA_CONFIG": str(config),
        "LANGSMITH_TRACING": "false",
        "CRON_POLL_INTERVAL_SECONDS": "1",
        "CRON_ALLOW_SECONDS_SCHEDULE": "true",
    }
    command = [str(_AEGRA), "serve", "--host", "127.0.0.1", "--port", str(port), "--config", str(config)]
    return ServerProcess(command, folder, {**settings, **environment}, port, "/info")
