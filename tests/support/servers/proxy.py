"""A way to a server that a test can cut: a TCP proxy. Never here: tests, or anything of ours.

async with proxied(dev_server) as way:
    client = get_client(url=way.url)
    way.cut()        # connections are reset; new ones are let through
    way.close()      # and no new ones, until
    way.open()
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from tests.support.servers.accepting import stop_accepting


class Way:
    """The proxy."""

    def __init__(self, host: str, port: int) -> None:
        self.url = ""
        self.refused = asyncio.Event()
        """Set when somebody came while the way is closed."""
        self._to = host, port
        self._is_open = True
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def cut(self) -> None:
        """Resets every connection."""
        for writer in self._writers:
            writer.transport.abort()

    def close(self) -> None:
        """Resets every connection, and those that come."""
        self.refused.clear()
        self._is_open = False
        self.cut()

    def open(self) -> None:
        """Lets connections through again."""
        self._is_open = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not (self._is_open and await self._pass_on(reader, writer)):
                self.refused.set()
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def stop(self) -> None:
        """Ends every connection."""
        self._is_open = False
        self.cut()
        await asyncio.gather(*self._tasks)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Returns when the connection has ended; False if the way was closed before it was through, or the server is
        away."""
        try:
            there, back = await asyncio.open_connection(*self._to)
        except ConnectionError:
            return False
        if not self._is_open:
            back.transport.abort()
            return False
        both = {writer, back}
        self._writers |= both
        ways = [asyncio.ensure_future(_copied(reader, back)), asyncio.ensure_future(_copied(there, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            back.transport.abort()
            self._writers -= both
        return True


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def proxied(url: str) -> AsyncIterator[Way]:
    """A way to the server at this URL, for as long as the block lasts."""
    to = urlsplit(url)
    way = Way(str(to.hostname), int(to.port or 80))
    server = await asyncio.start_server(way.serve, "127.0.0.1", 0)
    way.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield way
    finally:
        await stop_accepting(server)
        server.close()
        await way.stop()
        await server.wait_closed()
