"""A PostgreSQL of a test session's own, and databases of its tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg

from examples.databases import own_postgres
from tests.support.servers.processes.server_process import free_port


@contextmanager
def running_postgres() -> Iterator[str]:
    """The URL of an empty database of a server of our own, on a free port."""
    with own_postgres(free_port()) as url:
        yield url


@contextmanager
def new_database(server: str) -> Iterator[str]:
    """The URL of a new database of a server; it is dropped at the end of the block."""
    name = f"d{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
