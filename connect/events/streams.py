"""Batches as callers get them: models, or frames with heartbeats (`Sse`, `SseWithIds`, `JsonLines`). Never which
events, or when.

`label` gives the agent, the thread and the run as log lines name them (see `log_context`).
Closing one of these streams closes what it reads from at once. Nothing raises out of them: an unexpected exception
is logged, and ends the stream in `RUN_ERROR`, unless its last event ended a run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Protocol, TypeVar

from ag_ui.core import Event

from ...translator import error_event
from ..errors import INTERNAL
from .encoded import Batch, EncodedEvent
from .timed_iterator import TimedIterator, TimedOut

_Form = TypeVar("_Form")

_ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})

_log = logging.getLogger(__name__)


class Wire(Protocol):
    """What the events of one stream look like as bytes."""

    media_type: str
    """The `Content-Type` of the stream."""
    heartbeat: bytes
    """What is sent where nothing happens; clients skip it."""

    def frame(self, event: EncodedEvent, version: str | None) -> bytes:
        """The next event, for a client of this protocol version; b"" if the client must not get it."""


class Sse:
    """Server-sent events without ids."""

    media_type = "text/event-stream; charset=utf-8"
    heartbeat = b": heartbeat\n\n"

    def frame(self, event: EncodedEvent, version: str | None) -> bytes:
        """The frame of an event."""
        return event.frame(version)


class SseWithIds(Sse):
    """Server-sent events with the ids after which a client can continue. `has_id`: it may have an id from before.

    An event of a run of this process has its offset as its id. Events after which a client can't continue (of those
    that bring it up to date all but the last, and all events of a platform) have an empty id, which clears the id that
    the client has: if it comes back then, it is brought up to date, and gets nothing twice.
    """

    def __init__(self, *, has_id: bool) -> None:
        self._has_id = has_id

    def frame(self, event: EncodedEvent, version: str | None) -> bytes:
        """The frame of the next event."""
        frame = event.frame(version)
        if not frame:
            return frame
        if event.run:
            self._has_id = True
            return b"id: %d-%d\n%b" % (event.run, event.at, frame)
        had_id, self._has_id = self._has_id, False
        return b"id:\n" + frame if had_id else frame


class JsonLines:
    """An event as a line of JSON; an empty line is a heartbeat."""

    media_type = "application/x-ndjson"
    heartbeat = b"\n"

    def frame(self, event: EncodedEvent, version: str | None) -> bytes:
        """The line of an event."""
        return event.frame(version)[len(b"data: ") : -1]


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
    batches: AsyncIterator[Batch],
    version: str | None,
    heartbeat: float | None,
    label: Callable[[], str],
    wire: Wire | None = None,
) -> AsyncGenerator[bytes, None]:
    """Each batch as the frames of its events, joined; the wire's heartbeat after `heartbeat` seconds without a batch
    (None: never). `wire`: None is server-sent events without ids."""
    on = wire or Sse()
    async with aclosing(_formed(batches, lambda event: on.frame(event, version), heartbeat, label)) as formed:
        async for forms in formed:
            yield b"".join(forms) or on.heartbeat


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
