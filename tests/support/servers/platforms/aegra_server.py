"""Starts a real Aegra server that serves the gated graphs, with a PostgreSQL of its own, and stops both again.

It runs in an environment of its own (`make` builds it where Python 3.12 and PostgreSQL are at hand), since Aegra needs
a newer Python than we do.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.databases import postgres_binaries
from fixtures.gated import GATED
from tests.support.servers.databases.postgres import running_postgres
from tests.support.servers.processes.server_process import ROOT, ServerProcess, free_port

_AEGRA = Path(os.environ.get("AEGRA_VENV", ROOT / ".venv-aegra")) / "bin" / "aegra"


def has_aegra() -> bool:
    """Whether an Aegra server can be started here."""
    return _AEGRA.exists() and postgres_binaries() is not None


@contextmanager
def running_aegra_server() -> Iterator[str]:
    """The URL of a server with the gated graphs, for as long as the block lasts."""
    with running_postgres() as database, tempfile.TemporaryDirectory() as name:
        server = _server(Path(name), database)
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


def _server(folder: Path, database: str) -> ServerProcess:
    # Aegra finds graphs by file only, and a file of a package cannot be loaded alone.
    (folder / "graphs.py").write_text("from fixtures.served_gated import *\n")
    config = folder / "aegra.json"
    config.write_text(json.dumps({"graphs": {name: f"./graphs.py:{name}" for name in GATED}}))
    port = free_port()
    environment = {
        "DATABASE_URL": database,
        "AUTH_TYPE": "noop",
        "AEGRA_CONFIG": str(config),
        "LANGSMITH_TRACING": "false",
        "CRON_POLL_INTERVAL_SECONDS": "1",
        "CRON_ALLOW_SECONDS_SCHEDULE": "true",
    }
    command = [str(_AEGRA), "serve", "--host", "127.0.0.1", "--port", str(port), "--config", str(config)]
    return ServerProcess(command, folder, environment, port, "/info")
