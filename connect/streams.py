"""Batches as callers get them: models, or SSE frames with heartbeats. Never which events, or when.

`label` gives the agent, the thread and the run as log lines name them (see `log_context`).
Closing one of these streams closes what it reads from at once. Nothing raises out of them: an unexpected exception
is logged, and ends the stream in `RUN_ERROR`, unless its last event ended a run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Final, TypeVar

from ag_ui.core import Event

from ..translator import error_event
from .encoded import Batch, EncodedEvent
from .errors import INTERNAL
from .timed_iterator import TimedIterator, TimedOut

_Form = TypeVar("_Form")

COMMENT: Final = b": heartbeat\n\n"
"""What is sent while there is no event."""
_ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})

_log = logging.getLogger(__name__)


async def models(
    batches: AsyncIterator[Batch], version: str | None, label: Callable[[], str]
) -> AsyncGenerator[Event, None]:
    """Each event as a model, for a client of this protocol version (None: it declares none)."""
    lists: AsyncGenerator[list[Event], None] = _formed(batches, lambda event: event.model(version), None, label)
    async with aclosing(lists):
        async for found in lists:
            for model in found:
                yield model


async def frames(
    batches: AsyncIterator[Batch], version: str | None, heartbeat: float | None, label: Callable[[], str]
) -> AsyncGenerator[bytes, None]:
    """Each batch as the SSE frames of its events, joined; an SSE comment after `heartbeat` seconds without a batch
    (None: never)."""
    async with aclosing(_formed(batches, lambda event: event.frame(version), heartbeat, label)) as formed:
        async for forms in formed:
            yield b"".join(forms) or COMMENT


async def _formed(
    batches: AsyncIterator[Batch],
    form: Callable[[EncodedEvent], _Form | None],
    heartbeat: float | None,
    label: Callable[[], str],
) -> AsyncGenerator[list[_Form], None]:
    """Each batch in the form it is handed out in; an empty one after `heartbeat` seconds without one."""
    ahead = TimedIterator(batches)
    has_ended = False
    try:
        while True:
            batch = await ahead.next(heartbeat)
            if isinstance(batch, TimedOut):
                yield []
            elif batch:
                forms = [made for event in batch if (made := form(event))]
                has_ended = batch[-1].event["type"] in _ENDS
                if forms:
                    yield forms
    except StopAsyncIteration:
        pass
    except Exception:
        _log.exception("A stream was ended by an unexpected exception (%s).", label())
        if not has_ended:
            failed = form(EncodedEvent(error_event(None, "none", code=INTERNAL)))
            yield [failed] if failed else []
    finally:
        await _close(ahead, label)


async def _close(ahead: TimedIterator[list[EncodedEvent]], label: Callable[[], str]) -> None:
    try:
        await ahead.aclose()
    except Exception:
        _log.exception("Failed to close the source of a stream (%s).", label())
