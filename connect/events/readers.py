"""The view of one reader of a thread, its position (`Offset`), and the events that bring it up to another view. No I/O.

A reader begins with the view of its client, or with an unknown one. Either it catches up with another view and
continues with that (`join`), or a translator emits events to it directly, and applies them to its own view (`view`).

With `first_state="snapshot"`, the first state event of a run that a reader gets is a snapshot, wherever it joins the
run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from ...translator import ClientView, Options, same_json

Event = dict[str, Any]

_OFFSET: Final = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


@dataclass(frozen=True, order=True, slots=True)
class Offset:
    """A position in the events of a thread, in the order in which they were emitted; as text `<run>-<event>`.

    - `run`: the number of the run, which rises with each claim of the thread.
    - `event`: how many events of the run are before the position.
    """

    run: int
    event: int

    def __str__(self) -> str:
        return f"{self.run}-{self.event}"

    @classmethod
    def parse(cls, text: str) -> Offset:
        """Returns the offset that `str` wrote as this text. Raises `ValueError` for any other text."""
        match = _OFFSET.fullmatch(text)
        if match is None:
            raise ValueError(f"offset: expected two numbers as in '7-42', got {text[:64]!r}")
        return cls(int(match[1]), int(match[2]))


class Reader:
    """One reader, on a new stream. `view`: what its client is known to have, or None; it is never changed. `offset`:
    the client has all events of a local run up to this position."""

    def __init__(self, options: Options, view: ClientView | None = None, offset: Offset | None = None) -> None:
        self.view = ClientView(version=options.protocol_version) if view is None else _without_run(view)
        """The reader's present view, to which every event is applied that is emitted to it."""
        self.offset = offset
        """Where the reader is, after the last batch that it got of a run of this process."""
        self._options = options

    def catch_up(self, view: ClientView) -> list[Event]:
        """The events that bring the reader to `view`, and leave its own view as it is."""
        return catch_up_events(view, self.view, self._options)

    def join(self, view: ClientView) -> list[Event]:
        """The events that bring the reader to `view`, which is the reader's own from here on."""
        events = self.catch_up(view)
        self.view = view
        return events


def offset_of(last_event_id: str | None) -> Offset | None:
    """Returns the offset that a client names by the last id it got. Returns None for an id that this package has not
    made: then the client is caught up."""
    try:
        return None if last_event_id is None else Offset.parse(last_event_id)
    except ValueError:
        return None


def catch_up_events(view: ClientView, reader: ClientView, options: Options) -> list[Event]:
    """Returns `view.catch_up(reader)`, with a state snapshot if otherwise the reader's first state event of the run
    would be a delta, now or later.

    A reader that has the same state does not need a snapshot if the run is over, or has not emitted one yet, because
    then the first state event of the run is a snapshot.
    """
    has_snapshot = reader.live and reader.run_id == view.run_id and reader.run_has_snapshot
    if options.first_state == "delta" or not reader.knows_state or has_snapshot:
        return view.catch_up(reader)
    is_last = view.terminal is not None or not view.run_has_snapshot
    if is_last and same_json(reader.base, view.base):
        return view.catch_up(reader)
    unknown = reader.copy()
    unknown.knows_state = False
    return view.catch_up(unknown)


def for_version(options: Options, version: str | None) -> Options:
    """Returns the options of a reader whose client declares this protocol version."""
    return options if options.protocol_version == version else replace(options, protocol_version=version)


def direct_options(options: Options) -> Options:
    """Returns the options of a reader that gets this stream itself, not through a server that folds the state of a
    run."""
    return replace(options, first_state="delta")


def _without_run(view: ClientView) -> ClientView:
    """Returns the messages and the state of a client's view, without the run of its former stream, because no run has
    begun on a new stream."""
    return ClientView(
        view.messages if view.knows_messages else None, view.base if view.knows_state else None, view.version
    )
