"""How long a platform that does not answer is waited for, and when it is given up. Never what is tried.

The pauses are `tenacity`'s: half of each is fixed, half is random, so that readers whose server restarts do not all
come back at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, wait_exponential, wait_random_exponential

from .http import STALL, Cut


@dataclass(frozen=True, slots=True)
class Policy:
    """`first`: seconds of the first pause at most; each further one is twice as long. `most`: seconds of any pause at
    most. `tries`: how many in a row may fail. `stall`: seconds in which a question must be answered, and after which an
    event stream without a byte counts as lost. Raises `ValueError` for what is no such number.

    As it stands, a platform that is gone is given up after 16 to 33 seconds of pauses, and what each try takes: the
    SDK's client tries a refused connection for more than seven seconds.
    """

    first: float = 0.25
    most: float = 5.0
    tries: int = 10
    stall: float = STALL

    def __post_init__(self) -> None:
        if not (self.first >= 0 and self.most >= 0 and self.tries >= 1 and self.stall > 0):
            raise ValueError(f"expected first >= 0, most >= 0, tries >= 1 and stall > 0, got {self}")


class Patience:
    """What of it is left to one who tries. `sleep`: how to wait, None for `asyncio.sleep`."""

    def __init__(self, policy: Policy, sleep: Callable[[float], Awaitable[None]] | None = None) -> None:
        self._tries = policy.tries
        self._sleep = sleep or asyncio.sleep
        half, most = policy.first / 2, policy.most / 2
        self._wait = wait_exponential(multiplier=half, max=most) + wait_random_exponential(multiplier=half, max=most)
        self._state = RetryCallState(AsyncRetrying(), fn=None, args=(), kwargs={})

    def progressed(self) -> None:
        """Something came: what failed before counts no more."""
        self._state.attempt_number = 1

    async def pause(self, cut: Cut) -> None:
        """Waits before the next try; raises `cut` if there is to be none."""
        if self._state.attempt_number >= self._tries:
            raise cut
        await self._sleep(self._wait(self._state))
        self._state.prepare_for_next_attempt()
