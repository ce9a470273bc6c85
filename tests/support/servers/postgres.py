"""A PostgreSQL cluster of our own: made in a temporary directory, on a free port, gone at the end of the block.

The binaries are the machine's; nothing of the machine's own cluster is touched. PostgreSQL refuses to run as root:
where we are root, it runs as `nobody`.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from tests.support.servers.server_process import ServerStartError, free_port

_USER = "nobody"
_UNSAFE = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"


def postgres_binaries() -> Path | None:
    """The directory of `initdb` and `pg_ctl`: on PATH, or where Debian puts the newest; None where there is none."""
    on_path = shutil.which("initdb")
    if on_path and shutil.which("pg_ctl"):
        return Path(on_path).parent
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of an empty database. Raises `ServerStartError` where there are no binaries."""
    binaries = postgres_binaries()
    if binaries is None:
        raise ServerStartError("no PostgreSQL here: install it (`make postgres` does, as root on Debian)")
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
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


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """The URL of a new database of a server; it is dropped at the end of the block."""
    name = f"d{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _run(folder: Path, *command: str) -> None:
    # Its output goes to a file: a server that inherits a pipe would keep it open.
    with (folder / "output").open("ab") as output:
        done = subprocess.run(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, check=False, **_as_user())
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{(folder / 'output').read_text(errors='replace')}")


def _as_user() -> dict[str, Any]:
    """What makes a process one of another user's, where we are root."""
    if os.geteuid():
        return {}
    return {"user": _USER, "group": pwd.getpwnam(_USER).pw_gid, "extra_groups": []}
