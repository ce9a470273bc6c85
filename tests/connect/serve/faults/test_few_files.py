"""A process that may open few files, and more clients than that: it still serves, says so in a line, and recovers."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from langgraph_agui.connect.serve import Limits, agui_app

from tests.support.servers.processes.server_process import ServerProcess, free_port
from tests.support.servers.serving import WITHIN
from tests.support.streams.pausing_graphs import quick

FILES, PLACES = 256, 192
"""Files of the process, and the readers that it has then."""
LINES = 20
AGENT = """
from tests.support.streams.pausing_graphs import quick

graph = quick()
"""
COMMANDS = {
    "serve": ("langgraph_agui.connect.cli", "serve", "chat=./agent.py:graph", "--no-inspector"),
    "uvicorn": ("uvicorn", "tests.support.servers.large_thread:app", "--loop", "asyncio", "--no-access-log"),
}


@contextmanager
def limited(folder: Path, name: str) -> Iterator[ServerProcess]:
    """A server of so few files."""
    (folder / "agent.py").write_text(AGENT)
    port = free_port()
    server = [sys.executable, "-m", *COMMANDS[name], "--port", str(port)]
    command = ["sh", "-c", f'ulimit -n {FILES}; exec "$@"', "sh", *server]
    process = ServerProcess(command, folder, {}, port, "/health")
    process.start()
    try:
        yield process
    finally:
        process.kill()


class Clients:
    """Clients of a server, each with a connection of its own."""

    def __init__(self, process: ServerProcess) -> None:
        self._port = int(process.url.rpartition(":")[2])
        self._open = ExitStack()

    def connect(self, asked: str = "") -> socket.socket:
        """A connection, on which this is sent."""
        connection = self._open.enter_context(socket.create_connection(("127.0.0.1", self._port), WITHIN))
        connection.sendall(asked.encode())
        return connection

    def watch(self, place: int) -> bytes:
        """The head of the answer to one that watches, and stays."""
        head, connection = b"", self.connect(f"GET /watch/nobody-{place} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while b"\r\n\r\n" not in head and (more := connection.recv(4_096)):
            head += more
        return head

    def leave(self) -> None:
        """All leave."""
        self._open.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_more_clients_than_files(tmp_path: Path, name: str) -> None:
    with limited(tmp_path, name) as process:
        clients = Clients(process)
        heads = [clients.watch(place) for place in range(FILES)]
        assert all(head.startswith(b"HTTP/1.1 200") for head in heads[:PLACES])
        for head in heads[PLACES:]:
            assert head.startswith(b"HTTP/1.1 503")
            assert b"retry-after: " in head.lower()
            assert b"connection: close" in head.lower()
        with httpx.Client(base_url=process.url, timeout=WITHIN, trust_env=False) as client:
            assert client.get("/health").status_code == 200
        if name == "serve":  # it has its socket itself
            for _ in range(FILES):
                clients.connect()  # and sends nothing
            assert clients.watch(FILES).startswith(b"HTTP/1.1 503")
            assert process.log.count("No more connections can be accepted: this process may open 256 files") == 1
        clients.leave()
        process.wait_until_ready()
        assert clients.watch(0).startswith(b"HTTP/1.1 200")
        clients.leave()
        assert len(process.path("server.log").read_text().splitlines()) < LINES


def test_more_readers_than_files_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    agui_app({"chat": quick()}, limits=Limits(readers=1_000_000_000))
    assert "Limits.readers is 1000000000, and this process may open" in caplog.text
