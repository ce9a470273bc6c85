"""Makes calls of the SDK: `sdk_call` makes one and converts its errors, `retried` repeats it, and `at_once` makes
several at the same time. `RetryPolicy` says how often and how long to retry, and `Retries` is one use of a policy.

Rules:

1. An error after which the call may succeed the next time is a `ConnectionLost`, and is retried as the policy says: no
   connection, no answer in time, and the statuses 408, 429 and 5xx. Any other error is a `PlatformError`, which is
   final.
2. Half of each pause between attempts is fixed and half is random, so that the readers of a server that restarts do not
   all come back at the same moment.
3. A call that must not be repeated, because it starts a run, uses `sdk_call` alone.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx

from ..errors import ConnectionLost
from .http import READ_TIMEOUT, error_of_answer, reason_of

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to retry when a server can't be reached. Raises `ValueError` for numbers that are out of
    range.

    With the defaults, a server that is gone is given up after 14 to 28 seconds of pauses, and in addition the time of
    the attempts: the SDK's client tries a refused connection for more than seven seconds.
    """

    initial_delay: float = 0.25
    """The longest first pause, in seconds. The limit doubles with each further pause."""
    max_delay: float = 5.0
    """The longest pause, in seconds."""
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
    """Counts the attempts that a policy allows, and waits between them. `sleep`: None means `asyncio.sleep`."""

    def __init__(self, policy: RetryPolicy, sleep: Callable[[float], Awaitable[None]] | None = None) -> None:
        self._policy = policy
        self._sleep = sleep or asyncio.sleep
        self._failures = 0

    def progressed(self) -> None:
        """Starts to count again, because the server has answered."""
        self._failures = 0

    async def pause(self, lost: ConnectionLost) -> None:
        """Waits before the next attempt. Raises `lost` if the policy allows no further attempt."""
        longest = min(math.ldexp(self._policy.initial_delay, min(self._failures, 64)), self._policy.max_delay)
        self._failures += 1
        if self._failures >= self._policy.max_attempts:
            raise lost
        await self._sleep(longest * random.uniform(0.5, 1))


async def sdk_call(call: Awaitable[_Answer]) -> _Answer:
    """Returns the answer of one call of the SDK. Raises `PlatformError` and `ConnectionLost` in place of the SDK's
    errors.

    An empty answer is a `ConnectionLost`, because the SDK returns None for a redirect.
    """
    try:
        answer = await call
    except httpx.HTTPStatusError as error:  # since SDK 0.3, a subclass of it
        raise _refusal(error) from error
    except httpx.RequestError as error:
        raise ConnectionLost(reason_of(error)) from error
    except json.JSONDecodeError as error:
        raise ConnectionLost("the server's answer is not JSON") from error
    if answer is None:
        raise ConnectionLost("the server's answer was empty")
    return answer


async def retried(call: Callable[[], Awaitable[_Answer]], policy: RetryPolicy) -> _Answer:
    """Returns the answer of a call. Repeats the call while the server can't be reached, or does not answer within the
    policy's read timeout. Raises `PlatformError`, and `ConnectionLost` when the policy allows no further attempt."""
    retries = Retries(policy)
    while True:
        try:
            async with asyncio.timeout(policy.read_timeout):
                return await sdk_call(call())
        except TimeoutError:
            await retries.pause(ConnectionLost(f"no answer came for {policy.read_timeout:g} seconds"))
        except ConnectionLost as lost:
            await retries.pause(lost)


@asynccontextmanager
async def at_once() -> AsyncIterator[asyncio.TaskGroup]:
    """Makes calls at the same time. If one of them fails, cancels the others, and raises its error."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None


def _refusal(error: httpx.HTTPStatusError) -> Exception:
    response: httpx.Response | None = error.response
    if response is None:  # the SDK's exception for a failed connection
        return ConnectionLost(type(error).__name__)
    try:
        body = response.content
    except httpx.StreamError:  # the body was not read
        body = b""
    return error_of_answer(response.request, response.status_code, body)
