"""Reads and writes recordings: the parts of a run, and the events they became, in one JSON lines file. `Recording`
reads one.

=====================  ================================================================================================
line                   content
=====================  ================================================================================================
`{"recording": {}}`    the first line: the number of this format, the ids of the thread and the run, the visible
                       channels, and the versions of the libraries
`{"mode" | "event"}`   a part of LangGraph's stream, as in `part_rows`, which also defines rows of metadata
`{"type"}`             an AG-UI event that the parts before it became
`{"ending": {}}`       how the run ended; a file without this line stops in the middle of a run
=====================  ================================================================================================

Parts, events and the ending have their time as AG-UI's `timestamp`, in milliseconds since 1970. To read only the
events, skip all lines without a `type`.

A file that contains only events, one in each line, is a recording too. The inspector saves such files, and `watch
--json` prints them. The last run in the file is replayed, and begins with the messages and the state that the runs
before it have left. Events without a timestamp are 50 ms apart.
"""

from __future__ import annotations

import logging
from codecs import BOM_UTF8
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from time import time
from typing import Any, Final, NamedTuple, cast

import orjson
from langchain_core.messages import AIMessageChunk
from pydantic import ValidationError

from ...translator import (
    Cancelled,
    ClientView,
    Ending,
    Failed,
    Finished,
    Lost,
    Options,
    Translator,
    UnreadablePartError,
    to_json,
)
from ..errors import log_context
from .event_player import EventPlayer, RecordedEvent
from .part_rows import SharedMetadata, part_of, row_of

FORMAT: Final = 1
"""The number of this format. Files of another format are refused."""
_NO_RECORDING: Final = 'expected a recording of `langgraph-agui record`, which begins with a line {"recording": ...}'
_NO_EVENT: Final = "expected an AG-UI event, as in the lines before"
_STOPS: Final = "The recording stops here."
_TERMINAL: Final = ("RUN_FINISHED", "RUN_ERROR")
_APART: Final = 50
"""Milliseconds between an event without a timestamp and the one before."""
_NO_CHANNELS: Final = "expected names of channels as the options"
_NO_ROW: Final = "expected a part, an event or an ending, with its timestamp"
_LIBRARIES: Final = ("langgraph-agui", "langgraph", "langgraph-sdk", "langchain-core", "langchain", "deepagents")

_log = logging.getLogger(__name__)

Write = Callable[[bytes], object]
"""Takes one line, including its end."""


class RecordedPart(NamedTuple):
    """A part of a recorded run. `at` is its time, in seconds since the first one, and `data` what `Translator.feed`
    takes.

    Example:
        seconds, data = Recording.read("fault.jsonl").parts[-1]
    """

    at: float
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run, as `langgraph-agui record` has written it.

    - `thread_id`, `run_id`: the ids of the run.
    - `options`: which channels are visible, and which of them is the conversation.
    - `parts`: what LangGraph streamed, with the time of each part. If the file contains only events, these are the
      events of its last run, as `RecordedEvent`s.
    - `events`: the events that the parts became when they were recorded, as dictionaries.
    - `ending`: how the run ended; `Lost` if the recording stops in the middle of it.
    - `libraries`: the versions of the libraries that recorded it, by name.

    Example:
        check_stream(Recording.read("fault.jsonl").events)
    """

    thread_id: str
    run_id: str
    options: Options
    parts: tuple[RecordedPart, ...]
    events: tuple[dict[str, Any], ...]
    ending: Ending
    libraries: Mapping[str, str]
    make_translator: Callable[..., Translator] = Translator
    """Makes the translator of the parts, with the arguments of `Translator`."""

    @classmethod
    def read(cls, file: str | Path) -> Recording:
        """Reads the recording in a file. An incomplete last line is left out and logged; it means that the recorder was
        killed or the disk was full. Raises `OSError` if the file can't be read, and `ValueError` with the file and the
        line if it is not a recording, or is one of another format."""
        rows = _rows(Path(file))
        first_row = next(rows, ({}, str(file)))
        if "type" in first_row[0]:
            return cls(**_fields_of_events(chain([first_row], rows)))
        about = _about(*first_row)
        parts: list[RecordedPart] = []
        events: list[dict[str, Any]] = []
        ending: Ending = Lost(_STOPS)
        metadata, first = SharedMetadata(), None
        for row, where in rows:
            try:
                if "type" not in row:
                    restored = metadata.restore(row)
                    if restored is None:
                        continue
                    row = restored
                at = row.pop("timestamp")
                first = at if first is None else first
                if "type" in row:
                    events.append(row)
                elif "ending" in row:
                    ending = _ending_of(row["ending"])
                else:
                    parts.append(RecordedPart((at - first) / 1000, _read(row)))
            except (LookupError, TypeError) as error:
                raise ValueError(f"{where}: {_NO_ROW}") from error
        return cls(parts=tuple(parts), events=tuple(events), ending=ending, **about)

    def translate(self, options: Options | None = None, *, view: ClientView | None = None) -> list[dict[str, Any]]:
        """Translates the parts with this version of the package, and returns the events as dictionaries. They equal
        `events` as long as the translation has not changed. A part that can't be read ends them with a `RUN_ERROR`, as
        it ends a run.

        By default, `options` are those of the recording. `view` is what the client has; by default that is unknown, as
        it was when the run was recorded.
        """
        translator = self.make_translator(self.thread_id, self.run_id, options or self.options, view)
        events, ending = [*translator.start()], self.ending
        try:
            for part in self.parts:
                events += translator.feed(part.data)
        except UnreadablePartError as error:
            label = log_context(None, self.thread_id, self.run_id)
            _log.error("A part of the recording can't be read (%s): %s", label, error)
            ending = Failed(to_json(error))
        return [*events, *translator.finish(ending)]


async def record_stream(
    stream: AsyncIterable[Any],
    write: Write,
    *,
    thread_id: str,
    run_id: str,
    options: Options,
    at_end: Callable[[], Awaitable[Ending]] | None = None,
) -> tuple[Ending, dict[str, Any]]:
    """Records a run with `write`, each line as soon as its part has arrived. Returns how the run ended, and its last
    event.

    `stream` yields the parts of the run to its end. `options` decide how they are translated; the recording contains
    which channels they show. `at_end` is called after the stream has stopped, and returns how the run ended, as in
    `translate`. An exception of `stream` or `at_end`, or a part that can't be read, is the end of the run.
    """
    visible = {"state_include": options.state_include, "messages_key": options.messages_key}
    about = {"format": FORMAT, "thread_id": thread_id, "run_id": run_id, "options": visible, "libraries": _libraries()}
    write(_line({"recording": to_json(about)}))
    translator = Translator(thread_id, run_id, Options(**cast(Any, visible)))
    _write_events(write, translator.start())
    ending: Ending = Finished()
    metadata = SharedMetadata(are_live=True)
    try:
        async with aclosing(cast(Any, stream)) as parts:
            async for part in parts:
                # Written at once, because the graph may later change the objects in a part.
                for row in metadata.move(row_of(part)):
                    write(_line(to_json(row if "metadata" in row else {**row, "timestamp": _timestamp()})))
                _write_events(write, translator.feed(part))
        if at_end is not None:
            ending = await at_end()
    except Exception as error:
        ending = Failed(to_json(error))
    write(_line({"timestamp": _timestamp(), "ending": _ending_row(ending)}))
    last = translator.finish(ending)
    _write_events(write, last)
    return ending, last[-1]


def _write_events(write: Write, events: list[dict[str, Any]]) -> None:
    for event in events:
        write(_line({**event, "timestamp": _timestamp()}))


def _timestamp() -> int:
    return round(time() * 1000)


def _line(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _libraries() -> dict[str, str]:
    versions: dict[str, str] = {}
    for library in _LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions


def _rows(file: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yields the lines of a file as objects, each with its location for error messages, without an incomplete last
    line."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{file}, line {number}"
            try:
                row = orjson.loads(line.removeprefix(BOM_UTF8))  # an editor on Windows may have added it
            except orjson.JSONDecodeError as error:
                if number > 1 and not line.endswith(b"\n"):
                    _log.warning("%s: The recording's last line is incomplete, and left out.", where)
                    return
                raise ValueError(f"{where}: {_NO_RECORDING if number == 1 else error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"{where}: {_NO_RECORDING if number == 1 else _NO_ROW}")
            yield row, where


def _read(row: Mapping[str, Any]) -> Any:
    """Returns the part in a row. Message chunks of a local graph are made objects again, because the translator takes a
    message that is JSON for a complete one."""
    part = part_of(row)
    match part:
        case (*_, "messages", [{"type": "AIMessageChunk"} as message, metadata]) if "mode" in row:
            with suppress(ValidationError, AttributeError, TypeError):  # a message of another LangChain version
                return (*part[:-1], (AIMessageChunk.model_validate(message), metadata))
    return part


def _about(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    match row.get("recording"):
        case {"format": form} if form != FORMAT:
            raise ValueError(f"{where}: expected a recording of format {FORMAT}, got {form!r}")
        case {
            "format": _,
            "thread_id": str(thread_id),
            "run_id": str(run_id),
            "options": {"state_include": list() | None as channels, "messages_key": str(messages_key)},
            "libraries": dict(libraries),
        }:
            try:
                options = Options(
                    state_include=None if channels is None else frozenset(channels), messages_key=messages_key
                )
            except (TypeError, ValueError) as error:
                raise ValueError(f"{where}: {_NO_CHANNELS}") from error
            return {"thread_id": thread_id, "run_id": run_id, "options": options, "libraries": libraries}
    raise ValueError(f"{where}: {_NO_RECORDING}")


def _fields_of_events(rows: Iterator[tuple[dict[str, Any], str]]) -> dict[str, Any]:
    """Returns the fields of a recording that contains only events."""
    events: list[dict[str, Any]] = []
    times: list[float] = []
    view, before_run = ClientView([], {}), ClientView([], {})
    begin = None
    for row, where in rows:
        if not isinstance(row.get("type"), str):
            raise ValueError(f"{where}: {_NO_EVENT}")
        at = row.pop("timestamp", None)
        times.append(at if isinstance(at, int | float) else times[-1] + _APART if times else 0)
        if row["type"] == "RUN_STARTED":
            if not (isinstance(row.get("threadId"), str) and isinstance(row.get("runId"), str)):
                raise ValueError(f"{where}: expected a RUN_STARTED with the ids of thread and run")
            begin, before_run = len(events), view.copy()
            before_run.apply(row)
        events.append(row)
        view.apply(row)
    if begin is None:
        raise ValueError(f"{where}: expected the events of a run, which begin with RUN_STARTED")
    started, *rest = events[begin:]
    end = next((index for index, event in enumerate(rest) if event["type"] in _TERMINAL), None)
    terminal = None if end is None else rest[end]
    snapshots = [
        {"type": "MESSAGES_SNAPSHOT", "messages": before_run.messages},
        {"type": "STATE_SNAPSHOT", "snapshot": before_run.state},
    ]
    parts = [RecordedPart(0.0, RecordedEvent(event)) for event in snapshots]
    for event, at in zip(rest[:end], times[begin + 1 :], strict=False):
        parts.append(RecordedPart(max((at - times[begin]) / 1000, parts[-1].at), RecordedEvent(event)))
    return {
        "thread_id": started["threadId"],
        "run_id": started["runId"],
        "options": Options(),
        "parts": tuple(parts),
        "events": tuple(events),
        "ending": _ending_after(terminal),
        "libraries": {},
        "make_translator": partial(EventPlayer, terminal=terminal),
    }


def _ending_after(terminal: Mapping[str, Any] | None) -> Ending:
    """Returns how a run with this terminal event ended; None for a run whose recording stops before."""
    match terminal:
        case None:
            return Lost(_STOPS)
        case {"type": "RUN_ERROR"}:
            return Failed({"error": str(terminal.get("code") or "Error"), "message": str(terminal.get("message"))})
        case {"outcome": {"type": "cancelled"}}:
            return Cancelled()
    return Finished()


def _ending_row(ending: Ending) -> dict[str, Any]:
    match ending:
        case Finished(interrupts, state, result, at_breakpoint):
            row = {"kind": "finished", "interrupts": interrupts, "state": state, "result": result}
            if at_breakpoint:
                row["at_breakpoint"] = True
        case Failed(error):
            row = {"kind": "failed", "error": error}
        case Cancelled():
            row = {"kind": "cancelled"}
        case Lost(reason):
            row = {"kind": "lost", "reason": str(reason)}
    return cast("dict[str, Any]", to_json(row))


def _ending_of(row: Mapping[str, Any]) -> Ending:
    match row:
        case {"kind": "finished", "interrupts": interrupts, "state": state, "result": result}:
            return Finished(interrupts, state, result, row.get("at_breakpoint") is True)
        case {"kind": "failed", "error": error}:
            return Failed(error)
        case {"kind": "cancelled"}:
            return Cancelled()
    return Lost(row["reason"])
