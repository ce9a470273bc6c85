"""A server in a process group of its own: started, waited for, stopped, killed, started again on the same port.

Only processes live here; which server is started, and with what, is in `platforms/dev_server.py` and
`platforms/aegra_server.py`.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[4]
_START_WITHIN = 180.0
_STOP_WITHIN = 10.0
_LOOK_EVERY = 0.1


def python_path() -> str:
    """Where a process that a test starts finds modules: this tree, and where this process finds the package itself."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


class ServerStartError(RuntimeError):
    """The server ended or stayed silent; the message holds the end of its log."""


class ServerProcess:
    """A command that serves `url` from `folder`; it finds our packages, and logs to a file in the folder.

    `ready` is the path that is answered with 200 as soon as it serves.
    """

    def __init__(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], port: int, ready: str
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = list(command)
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": python_path(), "PYTHONWARNINGS": "ignore", **environment}
        self._ready = ready
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and waits until it answers; raises ServerStartError if it does not in time."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_ready(self._process)
        except ServerStartError:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends it and whatever it started: they are one process group, which is ours alone."""
        self._end(signal.SIGINT, signal.SIGKILL)

    def kill(self) -> None:
        """Ends it at once, without a chance to say goodbye."""
        self._end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, to it alone."""
        if self._process is not None:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Waits for its end, and gives the status it ended with; raises TimeoutExpired."""
        if self._process is None:
            raise ServerStartError("it was never started")
        return self._process.wait(seconds)

    def wait_until_ready(self) -> None:
        """Waits until it answers, also when it has just been told to start again; raises ServerStartError."""
        if self._process is not None:
            self._wait_until_ready(self._process)

    def path(self, name: str) -> Path:
        """A file of its folder."""
        return self._folder / name

    @property
    def log(self) -> str:
        """The end of what it has logged."""
        return self._log.read_text(errors="replace")[-4000:]

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _end(self, *signals: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        for ending in signals:
            if process.poll() is None:
                os.killpg(process.pid, ending)
            if _ends_within(process, _STOP_WITHIN):
                return

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_WITHIN
        with httpx.Client(base_url=self.url, timeout=_LOOK_EVERY * 10) as client:
            while time.monotonic() < deadline:
                if self._answers(client):
                    return
                if _ends_within(process, _LOOK_EVERY):
                    break
        raise ServerStartError(self.log)

    def _answers(self, client: httpx.Client) -> bool:
        try:
            return client.get(self._ready).status_code == 200
        except httpx.TransportError:
            return False


def free_port() -> int:
    """A port nobody listens on, for a server that binds it later, and perhaps again.

    On Linux a socket that does not listen stays bound to it for as long as this process lives: nobody who asks for any
    port is given this one, while a server (they set SO_REUSEADDR) can bind it.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        if sys.platform == "linux":
            held.detach()
        return port


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
