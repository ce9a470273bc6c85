"""How often and how long a server that does not answer is asked again: `RetryPolicy`, and `Retries`, one use of it.

The pauses are `tenacity`'s. Half of each is fixed and half is random, so that the readers of a server that restarts do
not all come back at the same moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from tenacity import AsyncRetrying, RetryCallState, wait_exponential, wait_random_exponential

from ..errors import ConnectionLost

READ_TIMEOUT: Final = 30.0
"""Seconds without a byte after which a connection counts as lost: six heartbeats of a platform."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a server is asked again. Raises `ValueError` for numbers that are out of range.

    With the defaults, a server that is gone is given up after 16 to 33 seconds of pauses, and the time that the
    attempts take: the SDK's client tries a refused connection for more than seven seconds.
    """

    initial_delay: float = 0.25
    """Seconds of the first pause at most; each further pause is at most twice as long as the one before."""
    max_delay: float = 5.0
    """Seconds of any pause at most."""
    max_attempts: int = 10
    """How many attempts in a row may fail."""
    read_timeout: float = READ_TIMEOUT
    """Seconds within which a request must be answered, and after which an event stream without a byte is lost."""

    def __post_init__(self) -> None:
        if not (self.initial_delay >= 0 and self.max_delay >= 0 and self.max_attempts >= 1 and self.read_timeout > 0):
            raise ValueError(
                f"expected initial_delay >= 0, max_delay >= 0, max_attempts >= 1 and read_timeout > 0, got {self}"
            )


class Retries:
    """The attempts that a policy allows. `sleep`: how to wait; None is `asyncio.sleep`."""

    def __init__(self, policy: RetryPolicy, sleep: Callable[[float], Awaitable[None]] | None = None) -> None:
        self._max_attempts = policy.max_attempts
        self._sleep = sleep or asyncio.sleep
        half, most = policy.initial_delay / 2, policy.max_delay / 2
        self._wait = wait_exponential(multiplier=half, max=most) + wait_random_exponential(multiplier=half, max=most)
        self._state = RetryCallState(AsyncRetrying(), fn=None, args=(), kwargs={})

    def progressed(self) -> None:
        """The server answered: the failures before do not count any more."""
        self._state.attempt_number = 1

    async def pause(self, lost: ConnectionLost) -> None:
        """Waits before the next attempt; raises `lost` if there is to be none."""
        if self._state.attempt_number >= self._max_attempts:
            raise lost
        await self._sleep(self._wait(self._state))
        self._state.prepare_for_next_attempt()
