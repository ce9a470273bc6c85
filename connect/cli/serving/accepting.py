"""The listening socket of the command: `Accepting`. When the process has almost no file left to open, a connection is
accepted only to be refused, with 503. All else is refused by `connect.serve`.

Without it, asyncio would stop accepting for a second at a time and connections would wait unanswered; and whatever else
the process has to open, such as a connection to a database, would fail too.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Any

from ...serve.errors import RETRY_AFTER
from ...serve.files import EXHAUSTED, FewFiles, file_limit, reserved

_REFUSAL = (
    f"HTTP/1.1 503 Service Unavailable\r\nRetry-After: {RETRY_AFTER}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_READ = 65_536
"""Bytes of a request that are read before it is refused."""


class Accepting(socket.socket):
    """A listening socket in place of `bound`, which it takes over. For an event loop: it never blocks."""

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        limit = file_limit()
        self._most = None if limit is None else limit - reserved(limit) // 2
        self._few_files = FewFiles()
        self._spare = open(os.devnull)  # noqa: SIM115 - its descriptor is for a connection that is refused

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection, and its address. Raises `BlockingIOError` if there is none, or if it was refused."""
        try:
            connection, address = super().accept()
        except OSError as error:
            if error.errno not in EXHAUSTED:
                raise
            self._spare.close()
            try:
                self._refuse(super().accept()[0])
            finally:
                self._spare = open(os.devnull)  # noqa: SIM115
            raise BlockingIOError from None
        if self._most is not None and connection.fileno() >= self._most:  # a new descriptor is the lowest free one
            self._refuse(connection)
            raise BlockingIOError
        return connection, address

    def close(self) -> None:
        """Closes it, and the file that it keeps for refusals."""
        self._spare.close()
        super().close()

    def _refuse(self, connection: socket.socket) -> None:
        self._few_files.warn()
        with connection, suppress(OSError):
            connection.setblocking(False)
            with suppress(BlockingIOError):
                connection.recv(_READ)  # unread bytes would make the kernel reset the connection, and drop the answer
            connection.send(_REFUSAL.encode())
