"""Calls of the SDK that answer something: their errors sorted (`sdk_call`), retried (`retried`), at once (`at_once`).

Rules:

1. Whatever may succeed the next time is a `ConnectionLost`, and is retried as the policy says: no connection, no answer
   in time, 408, 429, 5xx. All else that the server answers is a `PlatformError`, which is final.
2. A call that must not be repeated (it starts a run) is an `sdk_call` alone.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import httpx

from ..errors import ConnectionLost
from .http import error_of_answer, reason_of
from .retry import Retries, RetryPolicy

_Answer = TypeVar("_Answer")


async def sdk_call(call: Awaitable[_Answer]) -> _Answer:
    """The answer of one call of the SDK. Raises `PlatformError` and `ConnectionLost` in place of the SDK's errors.

    An empty answer is a `ConnectionLost`: the SDK takes a redirect for one.
    """
    try:
        answer = await call
    except httpx.HTTPStatusError as error:  # of httpx up to SDK 0.3, since then of a class below it
        raise _refusal(error) from error
    except httpx.RequestError as error:
        raise ConnectionLost(reason_of(error)) from error
    except json.JSONDecodeError as error:
        raise ConnectionLost("the server's answer is no JSON") from error
    if answer is None:
        raise ConnectionLost("the server's answer was empty")
    return answer


async def retried(call: Callable[[], Awaitable[_Answer]], policy: RetryPolicy) -> _Answer:
    """The answer of a call, made again while the server can't be reached or does not answer within the policy's read
    timeout. Raises `PlatformError`, and `ConnectionLost` when the policy allows no further attempt."""
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
    """Calls that are made at the same time. When one fails the others are cancelled, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None


def _refusal(error: httpx.HTTPStatusError) -> Exception:
    response: httpx.Response | None = error.response
    if response is None:  # the SDK's class for a connection that failed
        return ConnectionLost(type(error).__name__)
    try:
        body = response.content
    except httpx.StreamError:  # it was not read
        body = b""
    return error_of_answer(response.request, response.status_code, body)
