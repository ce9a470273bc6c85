"""How a platform's run ended, requested when its stream has stopped: `outcome`, an `at_end` of `translate`.

The stream of a platform stops in the same way after success, an interrupt, a cancellation and a rollback, so the run
and its thread are requested. What the answers mean is in `outcome.py`; `connect` does the same, with a stream of
its own that it joins again when the connection is lost.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from ...translator import Ending
from ..errors import ConnectionLost, PlatformError, checked_run_id, checked_thread_id, log_context
from .attach import outcome_of_error
from .outcome import ACTIVE
from .retry import Retries, RetryPolicy
from .source import platform_of, type_of
from .thread import PlatformThread

_log = logging.getLogger(__name__)


def outcome(
    client: Any, thread_id: str, run_id: str, *, retry: RetryPolicy | None = None
) -> Callable[[], Awaitable[Ending]]:
    """What `translate` takes as `at_end` for `client.runs.join_stream(thread_id, run_id)`.

    `client`: of `langgraph_sdk.get_client()`, or a `Platform`. `thread_id`, `run_id`: those of the platform.
    `retry`: how long a server is asked again that cannot be reached, or that has the run as active still.

    Gives an async function that returns how the run ended. `Finished`: with its interrupts and the thread's values;
    also for a run that went with its thread, as a stateless one does. `Cancelled`: also for a run that was rolled back;
    what it has emitted stays with the client until the next snapshot. `Failed`: with the run's error, or with that of a
    server that refuses to answer. `Lost`: the server cannot be reached, or the run is active still. The last two of
    these are logged.

    Raises at once: `TypeError` for another client, `ValueError` for an id that cannot be one.
    """
    source = platform_of(client)
    if source is None:
        raise TypeError(f"outcome: expected an asynchronous client of langgraph_sdk, got {type_of(client)}")
    thread = PlatformThread(source.client, checked_thread_id(thread_id), retry or RetryPolicy())
    checked = checked_run_id(run_id)

    async def at_end() -> Ending:
        try:
            await _until_ended(thread, checked)
            found = await thread.outcome(checked)
        except (ConnectionLost, PlatformError) as error:
            _log.warning("How the run ended is not known: %s (%s).", error, log_context(None, thread.id, checked))
            found = outcome_of_error(checked, error)
        return found.ending

    return at_end


async def _until_ended(thread: PlatformThread, run_id: str) -> None:
    """Returns when the run is not active: a server may end a stream a moment before its run. Raises `ConnectionLost`
    if the run stays active, and what the server's answers raise."""
    retry = Retries(thread.policy)
    while (run := await thread.run(run_id)) is not None and run.get("status") in ACTIVE:
        await retry.pause(ConnectionLost("the stream stopped while the run was active"))
