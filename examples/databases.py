"""A Redis and a PostgreSQL of one's own: each in a temporary folder, gone at the end of the block. For examples,
benchmarks and tests; nothing of the machine's own servers is touched.

PostgreSQL refuses to run as root: where we are root, it runs as `nobody`. Both are in a session of their own: Ctrl-C
ends what uses them first.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEBIANS_POSTGRES = Path("/usr/lib/postgresql")
_USER = "nobody"
_UNSAFE = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"


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


@contextmanager
def own_postgres(port: int) -> Iterator[str]:
    """The URL of an empty database of a server on this port. Raises `FileNotFoundError` where there are no binaries,
    and `RuntimeError`, with what they have written, where they fail."""
    binaries = postgres_binaries()
    if binaries is None:
        raise FileNotFoundError("no PostgreSQL here: install the package postgresql (as root: make postgres)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if _as_user():
            shutil.chown(folder, _USER)
        data = str(folder / "data")
        control = [str(binaries / "pg_ctl"), "-D", data, "-w"]
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 {_UNSAFE}"
        _run(folder, str(binaries / "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync")
        try:
            _run(folder, *control, "-l", str(folder / "log"), "-o", options, "start")
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            _run(folder, *control, "-m", "immediate", "stop")


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
