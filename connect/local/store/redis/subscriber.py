"""`Subscriber`: the one Pub/Sub connection of a process. It passes each message to the takers of its channel, and does
not know what a message means.

Rules:

1. Messages may be lost while there is no connection, and while this process does not read. So each time a subscription
   begins, its takers are called with None, and have to read what they follow.
2. One task reads, and only this task connects again. A connection without messages is tested with a `PING`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from redis.asyncio.client import PubSub

from ..background import PAUSES, Background
from .commands import FAILURES, Commands

_TASK: Final = "redis subscriber"

Take = Callable[[bytes | None], None]
"""Takes a message; None says that some may have been lost."""

_log = logging.getLogger(__name__)


class _Channel:
    def __init__(self, *takers: Take) -> None:
        self.takers = [*takers]
        self.is_subscribed = asyncio.Event()


class Subscriber:
    """The channels of a process, each with its takers.

    - `own`: the channel of the process itself, with its taker.
    - `idle`: seconds without a message after which the connection is tested.
    - `wait`: seconds for which `subscribe` waits, at most.
    """

    def __init__(
        self, commands: Commands, background: Background, own: tuple[str, Take], *, idle: float, wait: float
    ) -> None:
        self._commands = commands
        self._background = background
        self._idle = idle
        self._wait = wait
        self._channels: dict[str, _Channel] = {own[0]: _Channel(own[1])}
        self._pubsub: PubSub | None = None

    def start(self) -> None:
        """Connects, unless it has already."""
        self._background.begin(_TASK, self._read)

    async def subscribe(self, name: str, take: Take) -> None:
        """Calls `take` with each message of a channel from now on; or, if Redis does not answer in time, from when it
        answers."""
        is_new = name not in self._channels
        channel = self._channels.setdefault(name, _Channel())
        channel.takers.append(take)
        self.start()
        if is_new and self._pubsub is not None:
            with suppress(*FAILURES):  # the task that reads gets the error too, and connects again
                async with asyncio.timeout(self._wait):
                    await self._pubsub.subscribe(name)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait):
                await channel.is_subscribed.wait()

    async def unsubscribe(self, name: str, take: Take) -> None:
        """Stops calling `take`."""
        channel = self._channels[name]
        channel.takers.remove(take)
        if channel.takers:
            return
        del self._channels[name]
        if self._pubsub is not None:
            with suppress(*FAILURES):
                await self._pubsub.unsubscribe(name)

    async def _read(self) -> None:
        tries = 0
        while True:
            try:
                async with aclosing(self._commands.pubsub()) as pubsub:
                    subscribed: set[str] = set()
                    while missing := self._channels.keys() - subscribed:  # channels may be added meanwhile
                        async with asyncio.timeout(self._wait):
                            await pubsub.subscribe(*missing)
                        subscribed |= missing
                    self._pubsub = pubsub
                    self._background.works(_TASK)
                    while True:
                        await self._receive(pubsub)
                        tries = 0
            except FAILURES as error:
                self._background.works(_TASK)  # the task works, although Redis does not
                if not tries:
                    _log.warning("The Pub/Sub connection to Redis was lost (%s: %s).", type(error).__name__, error)
            finally:
                self._pubsub = None
                for channel in self._channels.values():
                    channel.is_subscribed.clear()
            await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])
            tries += 1

    async def _receive(self, pubsub: PubSub) -> None:
        """Takes the next message. Raises one of `FAILURES` if there is none, and no answer to a `PING` either."""
        message = await pubsub.get_message(timeout=self._idle)
        if message is None:
            await pubsub.ping()
            message = await pubsub.get_message(timeout=self._idle)
            if message is None:
                raise ConnectionError("nothing comes")
        self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind not in ("message", "subscribe"):
            return
        name = message["channel"].decode()
        channel = self._channels.get(name)
        if channel is None:
            return
        if kind == "subscribe":
            channel.is_subscribed.set()
        for take in list(channel.takers):
            try:
                take(message["data"] if kind == "message" else None)
            except Exception:
                _log.exception("A message of Redis could not be taken (channel %r).", name)
