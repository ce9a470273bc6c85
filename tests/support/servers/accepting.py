"""How a server of this event loop closes without losing a connection that it is just accepting.

asyncio accepts a connection in one turn of the loop, and makes its transport in a later one. On Python 3.11 a server
that is closed in between leaves a transport that nothing can close.
"""

import asyncio

_TURNS = 5
"""Turns of the event loop from the moment a connection is accepted to the one in which its protocol knows of it."""


async def stop_accepting(*servers: asyncio.Server) -> None:
    """Call it before a server is closed: no more connections come, and those that came are the server's."""
    loop = asyncio.get_running_loop()
    for server in servers:
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
