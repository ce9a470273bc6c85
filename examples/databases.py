"""A Redis and a PostgreSQL of one's own: each in a temporary folder, gone at the end of the block. For examples,
benchmarks and tests; nothing of the machine's own servers is touched.

PostgreSQL refuses to run as root: where we are root, it runs as `nobody`. Both are in a session of their own: Ctrl-C
ends what uses them first.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

DEBIANS_POSTGRES = Path("/usr/lib/postgresql")
_USER = "nobody"
_UNSAFE = "-c fsync=off -c full_page_writes=off"


def redis_binary() -> str:
    """The path of `redis-server`. Raises `FileNotFoundError`, which names the package."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise FileNotFoundError("no redis-server on PATH: install the package redis-server (as root: make redis)")
    return binary


def postgres_binaries() -> Path | None:
    """The folder of `initdb` and `pg_ctl`: on PATH, or where Debian puts the newest; None where there is none."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("pg_ctl"):
        return Path(on_path).parent
    found = [path.parent for path in DEBIANS_POSTGRES.glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


@contextmanager
def own_redis() -> Iterator[str]:
    """The URL of an empty Redis without persistence, which is reached by its socket. Raises `FileNotFoundError` where
    there is no binary, and `RuntimeError` where it fails."""
    binary = redis_binary()
    with tempfile.TemporaryDirectory() as folder:
        address = Path(folder, "socket")
        command = [binary, "--port", "0", "--unixsocket", str(address), "--save", "", "--dir", folder]
        none = subprocess.DEVNULL
        with subprocess.Popen(command, stdin=none, stdout=none, start_new_session=True) as server:
            try:
                while not address.exists():
                    if server.poll() is not None:
                        raise RuntimeError(f"{binary} ended with the status {server.returncode}")
                    time.sleep(0.01)
                yield f"unix://{address}"
            finally:
                server.kill()


class OwnPostgres:
    """A PostgreSQL server in a folder of its own, at `url`, while the block lasts. It can be paused, and stopped and
    started again with its data. Raises `FileNotFoundError` if PostgreSQL is not installed, and `RuntimeError`, with the
    output, if one of its programs fails."""

    def __init__(self, port: int) -> None:
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        self._port = port
        self._temporary = tempfile.TemporaryDirectory()
        self._folder = Path(self._temporary.name)
        self._data = self._folder / "data"

    def __enter__(self) -> Self:
        try:
            if _as_user():
                shutil.chown(self._folder, _USER)
            self._run("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
            self.start()
        except BaseException:
            self._temporary.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.resume()
            self.stop()
        finally:
            self._temporary.cleanup()

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = f"-p {self._port} -k {self._folder} -c listen_addresses=127.0.0.1 {_UNSAFE}"
        self._run("pg_ctl", "-w", "-l", str(self._folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        """Ends it at once, with all its connections. Does nothing if it does not run."""
        if self._processes():
            self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def pause(self) -> None:
        """Stops its processes: the kernel accepts connections, and nothing answers."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets its processes run again."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        for process in self._processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def _processes(self) -> list[int]:
        """The server's main process, and those that it has started."""
        written = self._data / "postmaster.pid"
        if not written.exists():
            return []
        main = int(written.read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children")
        return [main, *map(int, children.read_text().split())] if children.exists() else [main]

    def _run(self, program: str, *arguments: str) -> None:
        binaries = postgres_binaries()
        if binaries is None:
            raise FileNotFoundError("no PostgreSQL here: install the package postgresql (as root: make postgres)")
        _run(self._folder, str(binaries / program), "-D", str(self._data), *arguments)


@contextmanager
def own_postgres(port: int) -> Iterator[str]:
    """The URL of an empty database of a server on this port. Raises as `OwnPostgres`."""
    with OwnPostgres(port) as server:
        yield server.url


def _run(folder: Path, *command: str) -> None:
    # Its output goes to a file: a server that inherits a pipe would keep it open.
    with (folder / "output").open("ab") as output:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=False,
            **_as_user(),
        )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{(folder / 'output').read_text(errors='replace')}")


def _as_user() -> dict[str, Any]:
    """What makes a process one of another user's, where we are root."""
    if os.geteuid():
        return {}
    return {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid, "extra_groups": []}
