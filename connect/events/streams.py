"""Turns batches into the form that callers get: models, or the bytes of a `Wire` with heartbeats. Never decides which
events are sent, or when.

`label` returns the agent, the thread and the run as log lines name them (see `log_context`).
Closing one of these streams closes its source at once. No exception leaves them: an unexpected one is logged, and the
stream ends with `RUN_ERROR`, unless its last event ended a run.
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
    """Encodes the batches of one stream as bytes, for one reader. It may remember the batches before."""

    media_type: str
    """The `Content-Type` of the stream."""
    heartbeat: bytes
    """The bytes that are sent while there are no events. Clients skip them."""

    def encode(self, batch: Batch) -> bytes:
        """Returns the bytes of the next batch; b"" if the client must not get any of its events."""


class Sse:
    """Server-sent events without ids. `version`: the protocol version that the client declares, or None."""

    media_type = "text/event-stream; charset=utf-8"
    heartbeat = b": heartbeat\n\n"

    def __init__(self, version: str | None) -> None:
        self._version = version

    def encode(self, batch: Batch) -> bytes:
        """The frames of a batch."""
        return b"".join([event.frame(self._version) for event in batch])


class SseWithIds(Sse):
    """Server-sent events with the ids after which a client can continue. `has_id`: the client may already have an id.

    The id of an event of a local run is its offset. Some events have an empty id, because a client can't continue after
    them: all events of a platform, and those that bring a client up to date, except for the last. An empty id clears
    the id that the client has. If the client comes back then, it is brought up to date, and gets nothing twice.
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
    """Each event as a line of JSON; an empty line is a heartbeat. `version`: as for `Sse`."""

    media_type = "application/x-ndjson"
    heartbeat = b"\n"

    def __init__(self, version: str | None) -> None:
        self._version = version

    def encode(self, batch: Batch) -> bytes:
        """Returns the lines of a batch."""
        return b"".join([event.frame(self._version)[len(b"data: ") : -1] for event in batch])


def models(batches: AsyncIterator[Batch], version: str | None, label: Callable[[], str]) -> AsyncGenerator[Event, None]:
    """Yields each event as a model, for a client that declares this protocol version, or none (None)."""

    def to_models(batch: Batch) -> list[Event]:
        return [model for event in batch if (model := event.model(version)) is not None]

    return _convert(batches, to_models, None, [], label)


def frames(
    batches: AsyncIterator[Batch], wire: Wire, heartbeat: float | None, label: Callable[[], str]
) -> AsyncGenerator[bytes, None]:
    """Yields the bytes of each batch, and the wire's heartbeat after `heartbeat` seconds without a batch (None:
    never)."""

    def to_bytes(batch: Batch) -> list[bytes]:
        encoded = wire.encode(batch)
        return [encoded] if encoded else []

    return _convert(batches, to_bytes, heartbeat, [wire.heartbeat], label)


async def _convert(
    batches: AsyncIterator[Batch],
    form: Callable[[Batch], list[_Form]],
    heartbeat: float | None,
    silence: list[_Form],
    label: Callable[[], str],
) -> AsyncGenerator[_Form, None]:
    """Yields the forms of each batch, and `silence` after `heartbeat` seconds without a batch."""
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
