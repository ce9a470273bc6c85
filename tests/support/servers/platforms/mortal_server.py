"""A LangGraph server that a test may kill, pause, end and start again on the same port: `MortalServer`."""

import asyncio
import signal
import subprocess
from contextlib import suppress

from tests.support.servers.processes.server_process import ServerProcess

_END_WITHIN = 60.0
"""Seconds after SIGINT: a server waits for its streams and runs."""


class MortalServer:
    """A server that keeps its data when it is killed."""

    def __init__(self, process: ServerProcess) -> None:
        self.url = process.url
        self._process = process

    async def kill(self) -> None:
        """SIGKILL: connections are torn, runs cut off."""
        await asyncio.to_thread(self._process.kill)

    async def start(self) -> None:
        """Starts it again, with what it had."""
        await asyncio.to_thread(self._process.start)

    async def end(self) -> None:
        """SIGINT, as Ctrl-C; and SIGKILL if it does not end."""
        self._process.send(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, _END_WITHIN)
        await asyncio.to_thread(self._process.kill)

    def pause(self) -> None:
        """SIGSTOP: its connections stay open, and nothing is answered."""
        self._process.send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._process.send(signal.SIGCONT)
