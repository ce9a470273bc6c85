"""Makes calls of the SDK: `sdk_call` makes one and converts its errors, `Contact` repeats it, and `at_once` makes
several at the same time. `RetryPolicy` says how often and how long to retry, and `Retries` is one use of a policy.

Rules:

1. An error after which the call may succeed the next time is a `ConnectionLost`, and is retried as the policy says: no
   connection, no answer in time, and the statuses 408, 429 and 5xx. Any other error is a `PlatformError`, which is
   final.
2. Half of each pause between attempts is fixed and half is random, so that the readers of a server that restarts do not
   all come back at the same moment.
3. A call that must not be repeated, because it starts a run, uses `sdk_call` alone.
4. A caller that has got nothing yet wants to know soon that the server is away. So all requests of an operation
   together, with their attempts, have `first_answer` seconds. The time of an answer that comes within a fifth of them
   does not count, because a server that answers is not away, even if an operation needs many requests. When the caller
   has a stream (`Contact.begin_stream`) and the server has answered once, a lost server is waited for as the policy
   says, since a server that restarts is back soon.
5. When a server that has answered is lost, and when it is back, `Report` is called once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import httpx

from ..errors import ConnectionLost, PlatformError, Report
from .http import READ_TIMEOUT, error_of_answer, reason_of

_Answer = TypeVar("_Answer")

_PROMPT: Final = 0.2
"""The share of `first_answer` within which an answer is prompt, so that its time does not count."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to retry when a server can't be reached. Raises `ValueError` for numbers that are out of
    range.

    With the defaults, a server that is away is given up after 5 seconds (`first_answer`) until a stream has begun, even
    if that takes many requests. Within a stream it is given up after 14 to 28 seconds of pauses and the time of 10
    attempts. An attempt takes 7 seconds if the connection is refused, because the SDK's client tries it six times, and
    30 seconds (`read_timeout`) if the server does not answer: 98 seconds in the first case, and 328 in the second, at
    most. `watch` never gives up a server that has answered once.
    """

    initial_delay: float = 0.25
    """The longest first pause, in seconds. The limit doubles with each further pause."""
    max_delay: float = 5.0
    """The longest pause, in seconds."""
    max_attempts: int = 10
    """How many attempts in a row may fail."""
    read_timeout: float = READ_TIMEOUT
    """Seconds within which a request must be answered, and after which an event stream without a byte is lost."""
    first_answer: float = 5.0
    """Seconds within which a server must answer all requests of an operation, with all attempts, before its stream has
    begun. The time of an answer that comes within a fifth of them does not count."""

    def __post_init__(self) -> None:
        if not (self.initial_delay >= 0 and self.max_delay >= 0 and self.max_attempts >= 1):
            raise ValueError(f"expected initial_delay >= 0, max_delay >= 0 and max_attempts >= 1, got {self}")
        if not (self.read_timeout > 0 and self.first_answer > 0):
            raise ValueError(f"expected read_timeout > 0 and first_answer > 0, got {self}")

    @property
    def endless(self) -> RetryPolicy:
        """The same policy without a limit on attempts."""
        return replace(self, max_attempts=sys.maxsize)


class Contact:
    """The contact with a server during one operation.

    - `policy`: how often and how long to retry.
    - `report`: see `Report`.
    - `label`: names the thread in log lines.
    """

    def __init__(self, policy: RetryPolicy, report: Report | None = None, label: str = "") -> None:
        self.policy = policy
        self._report = report
        self._label = label
        self._has_answered = self._has_stream = self._is_lost = False
        self._waited = 0.0
        """The seconds of `first_answer` that are used up."""
        self._waited_until = 0.0
        """When the last of them ended, by the loop's clock, so that requests at the same time count once."""

    def begin_stream(self) -> None:
        """Notes that the caller has a stream, so that a server that has answered is waited for."""
        self._has_stream, self._waited = True, 0.0

    @asynccontextmanager
    async def attempt(self, seconds: float | None = None, *, is_only: bool = False) -> AsyncIterator[None]:
        """Limits the time of one attempt, which is made in the block. When the block ends, the server has answered,
        even if with an error. `seconds`: the time for the attempt; None sets no limit on one that need not be soon.
        `is_only`: whether it can't be made again, and so has all of its time. Raises `ConnectionLost` when the time is
        over."""
        limits = [seconds] if is_only else [seconds, self._left()]
        limit = min((seconds for seconds in limits if seconds is not None), default=None)
        clock = asyncio.get_running_loop().time
        since = clock()
        try:
            async with asyncio.timeout(limit):
                yield
        except TimeoutError:
            self._count(since, clock())
            waited = limit if limit == seconds else self.policy.first_answer
            raise ConnectionLost(f"no answer came for {waited or 0:.3g} seconds") from None
        except ConnectionLost:
            self._count(since, clock())
            raise
        except PlatformError:
            self.answered()
            raise
        if clock() - since > _PROMPT * self.policy.first_answer:
            self._count(since, clock())
        self.answered()

    def answered(self) -> None:
        """Notes that the server has answered."""
        self._has_answered = True
        if self._is_lost:
            self._is_lost = False
            _log.info("The server answers again (%s).", self._label)
            if self._report is not None:
                self._report(None)

    async def retried(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Returns the answer of a call, which is repeated while the server can't be reached or does not answer. Raises
        `PlatformError`, and `ConnectionLost` when the policy allows no further attempt."""
        retries = Retries(self)
        while True:
            try:
                async with self.attempt(self.policy.read_timeout):
                    return await sdk_call(call())
            except ConnectionLost as lost:
                await retries.pause(lost)

    def lose(self, lost: ConnectionLost, pause: float) -> None:
        """Notes that the server could not be reached, before a pause. Raises `lost` if its answer has to come soon, and
        can't any more."""
        left = self._left()
        if left is not None:
            if pause >= left:
                raise lost
            self._waited += pause
        elif not self._is_lost:
            self._is_lost = True
            _log.warning("The connection to the server is lost, and is tried again: %s (%s).", lost, self._label)
            if self._report is not None:
                self._report(str(lost))

    def _left(self) -> float | None:
        """Returns the seconds that are left for an answer that has to come soon; None for any other."""
        if self._has_answered and self._has_stream:
            return None
        return max(self.policy.first_answer - self._waited, 0.0)

    def _count(self, since: float, until: float) -> None:
        """Counts the time for which a request has waited for its answer."""
        self._waited += until - max(since, self._waited_until)
        self._waited_until = until


class Retries:
    """Counts the attempts that a policy allows, and waits between them. `sleep`: None means `asyncio.sleep`."""

    def __init__(self, contact: Contact, sleep: Callable[[float], Awaitable[None]] | None = None) -> None:
        self._contact = contact
        self._policy = contact.policy
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
        pause = longest * random.uniform(0.5, 1)
        self._contact.lose(lost, pause)
        await self._sleep(pause)


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
