"""Recordings: the parts of a run and the events that they became, in one file of JSON lines; `Recording` reads one.

=====================  ================================================================================================
a line                 what it is
=====================  ================================================================================================
`{"recording": {}}`    the first line: the number of this format, the ids of thread and run, the visible channels,
                       and the versions of the libraries
`{"mode" | "event"}`   a part of LangGraph's stream, in the form of `part_rows`, which has rows of metadata too
`{"type"}`             an event that the parts before it became: an AG-UI event as it is
`{"ending": {}}`       how the run ended; a file without one stops in the middle of a run
=====================  ================================================================================================

Parts, events and the ending have their time as AG-UI's `timestamp`, milliseconds since 1970. A reader that wants events
alone skips lines without a `type`.
"""

from __future__ import annotations

import logging
from codecs import BOM_UTF8
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
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
from .part_rows import SharedMetadata, part_of, row_of

FORMAT: Final = 1
"""The number of this format. Files of another one are refused."""
_NO_RECORDING: Final = 'expected a recording of `langgraph-agui record`, which begins with a line {"recording": ...}'
_NO_CHANNELS: Final = "expected names of channels as the options"
_NO_ROW: Final = "expected a part, an event or an ending, with its timestamp"
_LIBRARIES: Final = ("langgraph-agui", "langgraph", "langgraph-sdk", "langchain-core", "langchain", "deepagents")

_log = logging.getLogger(__name__)

Write = Callable[[bytes], object]
"""Takes one line, with its end."""


class RecordedPart(NamedTuple):
    """A part of a recorded run. `at`: seconds since the first one. `data`: as `Translator.feed` takes it.

    Example:
        seconds, data = Recording.read("fault.jsonl").parts[-1]
    """

    at: float
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run, as `langgraph-agui record` has written it.

    - `thread_id`, `run_id`: those of the run.
    - `options`: the visible channels, and which of them is the conversation.
    - `parts`: what LangGraph streamed, with its times.
    - `events`: what the parts became when they were recorded, as wire dicts.
    - `ending`: how the run ended: `Lost` if the recording stops in the middle of it.
    - `libraries`: the versions of those that recorded it, by name.

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

    @classmethod
    def read(cls, file: str | Path) -> Recording:
        """The recording in a file. An incomplete last line is left out, and logged: the recorder was killed, or the
        disk was full. Raises `OSError` for a file that can't be read, and `ValueError`, which names the file and the
        line, for one that is no recording, or one of another format."""
        rows = _rows(Path(file))
        about = _about(*next(rows, ({}, str(file))))
        parts: list[RecordedPart] = []
        events: list[dict[str, Any]] = []
        ending: Ending = Lost("The recording stops here.")
        metadata, first = SharedMetadata(), None
        for row, where in rows:
            try:
                if "type" not in row:
                    restored = metadata.restored(row)
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
        """Translates the parts with this version of the package. Returns the events as wire dicts: those of `events`,
        as long as nothing has changed. A part that can't be read ends them with `RUN_ERROR`, as it ends a run.

        `options`: None is those of the recording. `view`: what the client has; None is unknown, as it was when the run
        was recorded.
        """
        translator = Translator(self.thread_id, self.run_id, options or self.options, view)
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
    """Writes the recording of a run, each line as soon as its part has come. Returns how the run ended, and its last
    event.

    `stream`: the parts of the run, to its end. `options`: how they are translated; the recording keeps which channels
    they show. `at_end`: asked how the run ended when the stream has stopped, as `translate` does it. What the stream
    or `at_end` raises, and a part that cannot be read, is the run's end.
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
                # At once: the graph may change what is in a part.
                for row in metadata.moved(row_of(part)):
                    write(_line(to_json(row if "metadata" in row else {**row, "timestamp": _now()})))
                _write_events(write, translator.feed(part))
        if at_end is not None:
            ending = await at_end()
    except Exception as error:
        ending = Failed(to_json(error))
    write(_line({"timestamp": _now(), "ending": _ending_row(ending)}))
    last = translator.finish(ending)
    _write_events(write, last)
    return ending, last[-1]


def _write_events(write: Write, events: list[dict[str, Any]]) -> None:
    for event in events:
        write(_line({**event, "timestamp": _now()}))


def _now() -> int:
    return round(time() * 1000)


def _line(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _libraries() -> dict[str, str]:
    found: dict[str, str] = {}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def _rows(file: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """The lines of a file as objects, each with its place for error messages; without an incomplete last one."""
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{file}, line {number}"
            try:
                row = orjson.loads(line.removeprefix(BOM_UTF8))  # of an editor on Windows
            except orjson.JSONDecodeError as error:
                if number > 1 and not line.endswith(b"\n"):
                    _log.warning("%s: The recording's last line is incomplete, and left out.", where)
                    return
                raise ValueError(f"{where}: {_NO_RECORDING if number == 1 else error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"{where}: {_NO_RECORDING if number == 1 else _NO_ROW}")
            yield row, where


def _read(row: Mapping[str, Any]) -> Any:
    """The part of a row. Chunks of a local graph are objects again: a translator reads those as chunks of a message,
    and a message that is JSON as a whole one."""
    part = part_of(row)
    match part:
        case (*_, "messages", [{"type": "AIMessageChunk"} as message, metadata]) if "mode" in row:
            with suppress(ValidationError, AttributeError, TypeError):  # a message of another version of LangChain
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
