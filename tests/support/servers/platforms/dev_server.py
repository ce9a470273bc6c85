"""Starts real `langgraph dev` servers that serve the fixtures, and stops them again.

On a free port, in a directory of its own; nothing is left behind. `running_dev_server` is one in memory;
`mortal_dev_server` is one that a test may kill and start again; `running_project` serves somebody else's folder.
A server is forked from a process that has imported the packages (see `processes/forks.py`), but one that is killed is
a process of its own: it has to be gone at once, with its port.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from fixtures import SERVED
from fixtures.gated import GATED
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.processes.forks import forked
from tests.support.servers.processes.server_process import ServerProcess, ServerStartError, free_port
from tests.support.servers.serving import WITHIN

__all__ = ["GRAPHS", "ServerStartError", "mortal_dev_server", "running_dev_server", "running_project"]

GRAPHS = {name: f"fixtures.served:{name}" for name in SERVED} | {
    name: f"fixtures.served_gated:{name}" for name in GATED
}
"""Every graph a server can have, and where it is found."""


@contextmanager
def running_dev_server(names: Iterable[str]) -> Iterator[str]:
    """The URL of a server with these graphs, for as long as the block lasts.

    Raises ServerStartError when `/ok` is not answered in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        graphs = {name: GRAPHS[name] for name in names}
        server = _dev_server(graphs, Path(folder), {"LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true"})
        server.start()
        try:
            yield server.url
        finally:
            server.stop()


class _MortalDevServer(MortalServer):
    """A dev server that keeps its data in files."""

    async def kill(self) -> None:
        """See `MortalServer`. What was on the server a moment before is in its files."""
        async with httpx.AsyncClient(base_url=self.url, timeout=WITHIN) as client:
            (await client.post("/flush")).raise_for_status()
        await super().kill()


@contextmanager
def mortal_dev_server(
    graphs: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
) -> Iterator[MortalServer]:
    """A server, started; whether it lives at the end of the block does not matter.

    `graphs`: where each is found, by its name; by default the gated graphs.
    """
    graphs = graphs or {name: GRAPHS[name] for name in GATED}
    with tempfile.TemporaryDirectory() as folder:
        more = {"http": {"app": "tests.support.servers.platforms.flushing:app"}}
        process = _dev_server(graphs, Path(folder), environment or {}, [sys.executable, "-m", _COMMAND], more)
        process.start()
        try:
            yield _MortalDevServer(process)
        finally:
            process.kill()


@contextmanager
def running_project(folder: Path, *, may_block: bool = True) -> Iterator[str]:
    """The URL of a server of a project as it stands in this folder, with its `langgraph.json`.

    `may_block`: False raises in whatever blocks the server's event loop, as the server does by itself.
    """
    server = _project_server(folder, {"LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true"}, (), may_block=may_block)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


_COMMAND = "tests.support.servers.platforms.dev_command"


def _dev_server(
    graphs: Mapping[str, str],
    folder: Path,
    environment: Mapping[str, str],
    command: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> ServerProcess:
    project = {"dependencies": ["."], "graphs": dict(graphs), **(more or {})}
    (folder / "langgraph.json").write_text(json.dumps(project))
    return _project_server(folder, environment, command)


def _project_server(
    folder: Path, environment: Mapping[str, str], command: Sequence[str], *, may_block: bool = True
) -> ServerProcess:
    port, config = free_port(), folder / "langgraph.json"
    command = [*(command or forked(_COMMAND)), "dev", "--config", str(config), "--port", str(port)]
    options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", "20", *(["--allow-blocking"] if may_block else [])]
    quiet = {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "CRON_SCHEDULER_SLEEP_TIME": "1"}
    return ServerProcess([*command, *options], folder, {**quiet, **environment}, port, "/ok")
