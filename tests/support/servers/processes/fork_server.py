"""Runs Python modules, each in a process forked from one that has imported the packages: imports take longer than most
commands do.

`python -m tests.support.servers.processes.fork_server ADDRESS IMPORTED` listens on a Unix socket, until its stdin ends.
Each connection is one run: see `fork_client.py`. A run whose client goes away is killed.
"""

import atexit
import gc
import marshal
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

from tests.support.authorities import trust_nobody

IMPORTED = {
    "all": (
        "fixtures.gated",
        "langgraph.checkpoint.postgres.aio",
        "langgraph.checkpoint.sqlite.aio",
        "langgraph_agui.connect.cli.commands",
        "langgraph_agui.connect.cli.serving.reload",
        "langgraph_agui.connect.cli.serving.serve",
        "langgraph_agui.connect.cli.watch",
        "langgraph_agui.connect.serve",
        "psycopg_pool",
        "redis.asyncio",
        "uvicorn.lifespan.on",
        "uvicorn.loops.auto",
        "uvicorn.protocols.http.auto",
        "uvicorn.protocols.websockets.auto",
    ),
    "connect": ("langgraph_agui.connect",),
    "tests": (
        "acp",
        "ag_ui_validate",
        "fastapi",
        "fixtures.applications",
        "hypothesis.stateful",
        "mcp.server.fastmcp",
        "openapi_spec_validator",
        "opentelemetry.sdk.trace",
        "pytest_asyncio.plugin",
        "tests.support.clients.copilotkit",
        "tests.support.clients.editors.editor",
        "tests.support.servers.processes.several",
        "tests.support.streams.screens",
    ),
}
"""What runs find imported: nearly all, or only what needs no extra, for runs in which something is missing; and what
tests import, for the workers of xdist. What a run does at import in its own process alone must not be here."""


@dataclass(frozen=True)
class Request:
    """What one client asks for: a module and its arguments, its folder and environment, and stdin, stdout, stderr."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    files: list[int]


class Forks:
    """The runs, each with its client's connection."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._clients: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._ended, wakes = os.pipe()
        os.set_blocking(wakes, False)
        signal.set_wakeup_fd(wakes)
        signal.signal(signal.SIGCHLD, _passed)
        for source in (0, self._ended, listener):
            self._selector.register(source, selectors.EVENT_READ)

    def serve(self) -> Request | None:
        """Returns None when stdin ends, and in each forked process what is to be run there."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj == self._ended:
                    os.read(self._ended, 4096)
                    self._answer_ended()
                elif key.fileobj is self._listener:
                    client, _ = self._listener.accept()
                    request = _received(client)
                    if self._is_forked(request, client):
                        return request
                elif key.data in self._clients:
                    os.kill(key.data, signal.SIGKILL)
                    self._selector.unregister(key.fileobj)

    def _is_forked(self, request: Request, client: socket.socket) -> bool:
        child = os.fork()
        if child == 0:
            for each in (client, *self._clients.values()):
                each.close()
            self._selector.close()
            return True
        for file in request.files:
            os.close(file)
        self._clients[child] = client
        self._selector.register(client, selectors.EVENT_READ, child)
        client.sendall(f"{child}\n".encode())
        return False

    def _answer_ended(self) -> None:
        for child, code in _ended_children():
            client = self._clients.pop(child)
            if client.fileno() in self._selector.get_map():
                self._selector.unregister(client)
                client.sendall(f"{code}\n".encode())
            client.close()


def _passed(number: int, frame: FrameType | None) -> None:
    """A handler, so that the signal wakes the selector."""


def _ended_children() -> Iterator[tuple[int, int]]:
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if child == 0:
            return
        yield child, os.waitstatus_to_exitcode(status)


def _received(client: socket.socket) -> Request:
    data, files, _, _ = socket.recv_fds(client, 1 << 16, 3)
    size, _, data = data.partition(b"\n")
    while len(data) < int(size):
        data += client.recv(1 << 16)
    asked: dict[str, Any] = marshal.loads(data)
    return Request(asked["arguments"], asked["folder"], asked["environment"], files)


def run(request: Request) -> None:
    """Does what `python -m` does with these arguments."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the test itself ignores it
    for number, file in enumerate(request.files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", 1 if os.isatty(1) else -1, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.path[0] = request.folder
    sys.argv[1:] = request.arguments[1:]
    runpy.run_module(request.arguments[0], run_name="__main__", alter_sys=True)


def _end(code: object) -> NoReturn:
    """Ends a forked process with what `sys.exit` was given, as Python does it, but does not take down what was imported
    before: that takes longer than most runs do. What nothing holds any more is collected, so that it can complain."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # as multiprocessing does it
    atexit._run_exitfuncs()
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def main() -> None:
    """Serves, and runs in each forked process what was asked for: that process ends as the module does."""
    trust_nobody()
    for name in IMPORTED[sys.argv[2]]:
        import_module(name)
    gc.freeze()  # a collection in a forked process copies the pages of all that it looks at
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        print("ready", flush=True)
        request = Forks(listener).serve()
    if request is None:
        return
    code: object = 0
    try:
        run(request)
    except SystemExit as ended:
        code = ended.code
    _end(code)


if __name__ == "__main__":
    main()
