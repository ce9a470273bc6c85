"""The connection of one reader, as far as an app can reach it: `Connection`, and `Stalls`, which watches it.

ASGI has no message that drops a connection, and none that says whether a reader has read what was sent. A server takes
a message as soon as its buffer has room, and closes a connection only after the reader has read everything. A reader
that does not read would keep the connection open forever. So the transport is used: uvicorn's `receive` is a method of
an object that has it. If the transport can't be reached (with another server, or behind Starlette's
`BaseHTTPMiddleware`), a stream that is not read still ends, but only the server can close its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from starlette.types import Receive

PIECE: Final = 65_536
"""Bytes of a body that are handed to the server at once."""
_LOOKS: Final = 8
"""How often a connection is checked within the timeout of its reader."""
_SOONEST: Final = 0.01
"""Seconds until the first check."""


class Connection:
    """The connection of the request with this `receive`. From its creation on, the server takes a message only after
    the kernel has taken the whole previous one."""

    def __init__(self, receive: Receive | None) -> None:
        self._receive = receive
        transport = getattr(getattr(receive, "__self__", None), "transport", None)
        self._transport: Any = transport if hasattr(transport, "set_write_buffer_limits") else None
        if self._transport is not None:
            self._transport.set_write_buffer_limits(0)

    @property
    def is_known(self) -> bool:
        """Whether the connection can be checked and dropped."""
        return self._transport is not None

    @property
    def unread(self) -> int:
        """How many bytes wait in this process to be sent, or 0 if that is not known."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def drop(self) -> None:
        """Drops the connection, and everything that its reader has not read."""
        if self._transport is not None:
            self._transport.abort()

    async def dropped(self) -> None:
        """Drops the connection of a request, and waits until the server has noticed."""
        if self._transport is not None and self._receive is not None:
            self._transport.abort()
            while (await self._receive())["type"] != "http.disconnect":
                pass

    async def drained(self, timeout: float) -> None:  # noqa: ASYNC109 - the reader's timeout, not that of the call
        """Waits until the reader has read everything that was sent. Drops the connection if the reader has read nothing
        for `timeout` seconds."""
        progress, pause = _Progress(self, timeout), _SOONEST
        while self.unread:
            await asyncio.sleep(min(pause, timeout / _LOOKS))
            pause *= 2
            if progress.has_stopped():
                self.drop()


class Stalls:
    """Checks a connection repeatedly until `close` is called. `at_stall` is called once, when bytes have waited and the
    reader has read nothing for `timeout` seconds."""

    def __init__(self, connection: Connection, timeout: float, at_stall: Callable[[], None]) -> None:
        self._progress = _Progress(connection, timeout)
        self._pause = timeout / _LOOKS
        self._at_stall = at_stall
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._pause, self._look)

    def close(self) -> None:
        """Stops checking."""
        self._timer.cancel()

    def _look(self) -> None:
        if self._progress.has_stopped():
            self._at_stall()
        else:
            self._timer = self._loop.call_later(self._pause, self._look)


class _Progress:
    """Determines whether the reader of a connection keeps reading."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        self._connection = connection
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._unread = 0
        self._since = self._loop.time()

    def has_stopped(self) -> bool:
        """Whether bytes have waited for `timeout` seconds, and the reader has read none of them."""
        before, self._unread = self._unread, self._connection.unread
        if not 0 < before <= self._unread:
            self._since = self._loop.time()
        return self._loop.time() - self._since >= self._timeout
