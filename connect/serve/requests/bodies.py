"""Limits the request bodies that an app reads at the same time: how many, how large in total, and for how long.

A body is read before its thread is known, and thus before `authorize` can be called. So this is what limits the memory
that any client can use. If there are too many bodies, or too many bytes in total, the one that has been read for the
longest time is refused. So clients that send quickly are served, no matter how many other clients send slowly.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from ..errors import CLOSE, RETRY_AFTER, Refusal
from ..limits import Limits

_log = logging.getLogger(__name__)


class Reading:
    """One body that is being read."""

    def __init__(self, bodies: Bodies, timeout: asyncio.Timeout) -> None:
        self._bodies = bodies
        self._timeout = timeout
        self.size = 0
        self.is_refused = False

    def add(self, size: int) -> None:
        """Counts bytes that were read. Raises `Refusal` if this body is refused to make room for others."""
        self.size += size
        self._bodies.make_room()
        if self.is_refused:
            raise _too_many()

    def refuse(self) -> None:
        """Stops reading this body, wherever it waits."""
        self.is_refused = True
        self._timeout.reschedule(asyncio.get_running_loop().time())


class Bodies:
    """The bodies that an app is reading."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._readings: dict[Reading, None] = {}
        """The bodies in the order in which reading began."""

    @property
    def size(self) -> int:
        """How many bytes of all bodies were read."""
        return sum(reading.size for reading in self._readings)

    @asynccontextmanager
    async def reading(self, request: str) -> AsyncIterator[Reading]:
        """Counts a body while it is read in the block. `request` is its method and path, for the log. Raises `Refusal`
        with 408 if reading takes too long, and with 503 if the body is refused to make room for others."""
        reading: Reading | None = None
        try:
            async with asyncio.timeout(self.limits.body_timeout) as timeout:
                reading = Reading(self, timeout)
                self._readings[reading] = None
                self.make_room()
                yield reading
        except TimeoutError:
            if reading is not None and reading.is_refused:
                raise _too_many() from None
            received = 0 if reading is None else reading.size
            _log.warning("The body of %r did not arrive in time: %d bytes were received.", request, received)
            message = f"The body did not arrive within {self.limits.body_timeout:g} seconds."
            raise Refusal(HTTPStatus.REQUEST_TIMEOUT, "body_timeout", message, CLOSE) from None
        finally:
            if reading is not None:
                self._readings.pop(reading, None)

    def make_room(self) -> None:
        """Refuses the oldest bodies until the others are within the limits. A single body is limited by `Limits.body`,
        not here."""
        while len(self._readings) > 1 and (
            len(self._readings) > self.limits.bodies or self.size > self.limits.bodies_size
        ):
            oldest = next(iter(self._readings))
            del self._readings[oldest]
            oldest.refuse()


def _too_many() -> Refusal:
    message = "Too many bodies are being read on this server. Retry later."
    headers = {"Retry-After": str(RETRY_AFTER), **CLOSE}
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too_many_bodies", message, headers)
