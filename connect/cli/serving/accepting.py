"""Defines `Accepting`, the listening socket of the command. When the process is about to run out of file descriptors,
it accepts a connection only to refuse it with 503. All other refusals are made in `connect.serve`.

Without this socket, asyncio would stop accepting connections for a second at a time, and they would wait unanswered.
Anything else that the process opens, such as a connection to a database, would fail too.
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
"""How many bytes of a request are read before it is refused."""


class Accepting(socket.socket):
    """A non-blocking listening socket for an event loop. It takes over the file descriptor of `bound`."""

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(bound.family, bound.type, bound.proto, fileno=bound.detach())
        limit = file_limit()
        self._most = None if limit is None else limit - reserved(limit) // 2
        self._few_files = FewFiles()
        self._spare = open(os.devnull)  # noqa: SIM115 - reserves a descriptor for a connection to refuse

    def accept(self) -> tuple[socket.socket, Any]:
        """Returns the next connection and its address. Raises `BlockingIOError` if no connection is waiting, or if it
        was refused."""
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
        """Closes the socket, and the file that reserves a descriptor."""
        self._spare.close()
        super().close()

    def _refuse(self, connection: socket.socket) -> None:
        self._few_files.warn()
        with connection, suppress(OSError):
            connection.setblocking(False)
            with suppress(BlockingIOError):
                connection.recv(_READ)  # unread bytes would make the kernel reset the connection, and drop the answer
            connection.send(_REFUSAL.encode())
