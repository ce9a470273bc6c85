"""A Redis server of our own: on a free port, without persistence, gone at the end of the block.

It may be killed (its data are gone then), started again on the same port, and paused: then the kernel accepts
connections and nothing answers.
"""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.databases import redis_binary
from tests.support.servers.processes.server_process import ServerStartError, free_port

_START_WITHIN = 30.0
_LOOK_EVERY = 0.01
_SETTINGS = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction")


class RedisServer:
    """One server, at `url`, and at `unix_url`."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.unix_url = f"unix://{folder}/socket"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, empty, and waits until it answers. Raises `ServerStartError`, with what it has logged, and
        `FileNotFoundError` where there is no binary."""
        command = [redis_binary(), *_SETTINGS, "--port", str(self.port), "--dir", str(self._folder)]
        command += ["--unixsocket", str(self._folder / "socket")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _START_WITHIN
        while not self._answers():
            if time.monotonic() > deadline or self._has_ended(_LOOK_EVERY):
                self.kill()
                raise ServerStartError(self._log.read_text(errors="replace"))

    def kill(self) -> None:
        """Ends it at once, with its data and its connections."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """Stops its process: it is silent, and its connections stay."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on, and answers what it was sent meanwhile."""
        self._send(signal.SIGCONT)

    @property
    def _log(self) -> Path:
        return self._folder / "redis.log"

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _has_ended(self, seconds: float) -> bool:
        assert self._process is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as probe:
                probe.sendall(b"PING\r\n")
                return probe.recv(64).startswith(b"+PONG")
        except OSError:
            return False


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """A server that is empty, for as long as the block lasts."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.kill()
