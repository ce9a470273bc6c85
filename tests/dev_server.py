"""Starts a real `langgraph dev` server that serves the fixtures, and stops it again.

In memory, on a free port, in a directory of its own; nothing is left behind.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import httpx

_ROOT = Path(__file__).resolve().parent.parent
_START_WITHIN = 60.0
_STOP_WITHIN = 10.0
_LOOK_EVERY = 0.1


class ServerStartError(RuntimeError):
    """The server ended or stayed silent; the message holds the end of its log."""


@contextmanager
def running_dev_server(names: Iterable[str]) -> Iterator[str]:
    """The URL of a server with these fixtures as its graphs, for as long as the block lasts.

    Raises ServerStartError when `/ok` is not answered within a minute.
    """
    port = _free_port()
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "server.log").open("w+b") as log:
        graphs = {name: f"fixtures.served:{name}" for name in names}
        config = Path(folder) / "langgraph.json"
        config.write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
        process = _start(config, port, log)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, url, log)
            yield url
        finally:
            _stop(process)


def _start(config: Path, port: int, log: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--config", str(config), "--port", str(port)]
    environment = {
        **os.environ,
        "PYTHONPATH": str(_ROOT),
        "PYTHONWARNINGS": "ignore",
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
    }
    return subprocess.Popen(
        [*command, "--no-browser", "--no-reload", "--allow-blocking", "--n-jobs-per-worker", "20"],
        cwd=config.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: IO[bytes]) -> None:
    deadline = time.monotonic() + _START_WITHIN
    with httpx.Client(base_url=url, timeout=_LOOK_EVERY * 10) as client:
        while time.monotonic() < deadline:
            if _answers(client):
                return
            if _ends_within(process, _LOOK_EVERY):
                break
    log.seek(0)
    raise ServerStartError(log.read().decode(errors="replace")[-4000:])


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/ok").status_code == 200
    except httpx.TransportError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the server and whatever it started: they are one process group, which is ours alone."""
    for ending in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, ending)
        if _ends_within(process, _STOP_WITHIN):
            return


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
