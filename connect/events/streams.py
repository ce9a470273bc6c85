"""Batches as callers get them: models, or the bytes of a `Wire` with heartbeats. Never which events, or when.

`label` gives the agent, the thread and the run as log lines name them (see `log_context`).
Closing one of these streams closes what it reads from at once. Nothing raises out of them: an unexpected exception
is logged, and ends the stream in `RUN_ERROR`, unless its last event ended a run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Protocol, TypeVar

from ag_ui.core import Event

from ..errors import unexpected
from .encoded import Batch, EncodedEvent, to_batch
from .timed_iterator import TimedIterator, TimedOut

_Form = TypeVar("_Form")

_ENDS = frozenset({"RUN_FINISHED", "RUN_ERROR"})

_log = logging.getLogger(__name__)


class Wire(Protocol):
    """Makes bytes of the batches of one stream, for one reader; it may remember what it made before."""

    media_type: str
    """The `Content-Type` of the stream."""
    heartbeat: bytes
    """What is sent where nothing happens; clients skip it."""

    def encode(self, batch: Batch) -> bytes:
        """The bytes of the next batch; b"" if the client must not get any of its events."""


class Sse:
    """Server-sent events without ids. `version`: the protocol version of the client; None: it declares none."""

    media_type = "text/event-stream; charset=utf-8"
    heartbeat = b": heartbeat\n\n"

    def __init__(self, version: str | None) -> None:
        self._version = version

    def encode(self, batch: Batch) -> bytes:
        """The frames of a batch."""
        return b"".join([event.frame(self._version) for event in batch])


class SseWithIds(Sse):
    """Server-sent events with the ids after which a client can continue. `has_id`: it may have an id from before.

    An event of a run of this process has its offset as its id. Events after which a client can't continue (of those
    that bring it up to date all but the last, and all events of a platform) have an empty id, which clears the id that
    the client has: if it comes back then, it is brought up to date, and gets nothing twice.
    """

    def __init__(self, version: str | None, *, has_id: bool) -> None:
        super().__init__(version)
        self._has_id = has_id

    def encode(self, batch: Batch) -> bytes:
        """The frames of a batch."""
        return b"".join([self._frame(event) for event in batch])

    def _frame(self, event: EncodedEvent) -> bytes:
        frame = event.frame(self._version)
        if not frame:
            return frame
        if event.run:
            self._has_id = True
            return b"id: %d-%d\n%b" % (event.run, event.at, frame)
        had_id, self._has_id = self._has_id, False
        return b"id:\n" + frame if had_id else frame


class JsonLines:
    """An event as a line of JSON; an empty line is a heartbeat. `version`: as for `Sse`."""

    media_type = "application/x-ndjson"
    heartbeat = b"\n"

    def __init__(self, version: str | None) -> None:
        self._version = version

    def encode(self, batch: Batch) -> bytes:
        """The lines of a batch."""
        return b"".join([event.frame(self._version)[len(b"data: ") : -1] for event in batch])


def models(batches: AsyncIterator[Batch], version: str | None, label: Callable[[], str]) -> AsyncGenerator[Event, None]:
    """Each event as a model, for a client of this protocol version (None: it declares none)."""

    def made(batch: Batch) -> list[Event]:
        return [model for event in batch if (model := event.model(version)) is not None]

    return _formed(batches, made, None, [], label)


def frames(
    batches: AsyncIterator[Batch], wire: Wire, heartbeat: float | None, label: Callable[[], str]
) -> AsyncGenerator[bytes, None]:
    """Each batch as the bytes of this wire; its heartbeat after `heartbeat` seconds without a batch (None: never)."""

    def made(batch: Batch) -> list[bytes]:
        encoded = wire.encode(batch)
        return [encoded] if encoded else []

    return _formed(batches, made, heartbeat, [wire.heartbeat], label)


async def _formed(
    batches: AsyncIterator[Batch],
    form: Callable[[Batch], list[_Form]],
    heartbeat: float | None,
    silence: list[_Form],
    label: Callable[[], str],
) -> AsyncGenerator[_Form, None]:
    """What each batch is handed out as; `silence` after `heartbeat` seconds without one."""
    ahead = TimedIterator(batches)
    has_ended = False
    try:
        while True:
            batch = await ahead.next(heartbeat)
            if isinstance(batch, TimedOut):
                forms = silence
            else:
                forms = form(batch)
                has_ended = batch[-1].event["type"] in _ENDS if batch else has_ended
            for made in forms:
                yield made
    except StopAsyncIteration:
        pass
    except Exception:
        _log.exception("A stream was ended by an unexpected exception (%s).", label())
        if not has_ended:
            for made in form(to_batch([unexpected()])):
                yield made
    finally:
        await _close(ahead, label)


async def _close(ahead: TimedIterator[list[EncodedEvent]], label: Callable[[], str]) -> None:
    try:
        await ahead.aclose()
    except Exception:
        _log.exception("Failed to close the source of a stream (%s).", label())
