"""Implements the command `record`: writes a run of a graph or of a server to a file, with its parts and its events, or
to a page that plays its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

import orjson
from langgraph.types import Command
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import StreamPart

from ....translator import PLATFORM_STREAM_MODES, Cancelled, Ending, Failed, Lost
from ...local.run.runs import RUN_MODES
from ...local.run.structured_output import with_marker
from ...local.thread import LocalThread
from ...platform.backend import Platform, outcome
from ...platform.http import Received
from ...platform.join.replayed import ReplayFilter
from ...testing.recording import Write, record_stream
from ..errors import Failure, Misuse
from ..sources.checkpointers import open_threads
from ..sources.graphs import build, import_target, source_of
from ..sources.platforms import open_client
from ..sources.project import project_of, read_project
from ..sources.targets import is_url

_FROM_THE_START: Final = "0-0"
"""A last event id that makes a server send a run's stream from its first event."""
_Ended = tuple[Ending, dict[str, Any]]
"""How a run ended, and its last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """The arguments of the command `record`."""

    target: str | None
    config: Path | None
    assistant: str | None
    thread: str | None
    run: str | None
    message: str | None
    input: str | None
    resume: str | None
    output: Path | None
    """The file with parts and events."""
    html: Path | None
    """The page. At least one of the two files is written."""
    include: Sequence[str]
    """What the page contains beyond the conversation; see `serve.inspector.sent`."""
    sqlite: Path | None
    api_key: str | None

    def run_input(self) -> dict[str, Any]:
        """Returns the arguments `input` or `command` of `runs.create` for the run that the command starts, or an empty
        dictionary if it starts none. Raises `Misuse` for more than one of the options, and for invalid JSON."""
        texts = {"--message": self.message, "--input": self.input, "--resume": self.resume}
        match [(option, text) for option, text in texts.items() if text is not None]:
            case []:
                return {}
            case [("--message", text)]:
                return {"input": {"messages": [{"role": "user", "content": text}]}}
            case [(option, text)]:
                try:
                    value = orjson.loads(text)
                except orjson.JSONDecodeError as error:
                    raise Misuse(f"{option}: expected JSON: {error}") from error
                return {"input": value} if option == "--input" else {"command": {"resume": value}}
        raise Misuse("expected only one of --message, --input and --resume")


async def record_run(settings: RecordSettings) -> str:
    """Writes the recording, and returns a sentence that says how the run ended. Raises `Misuse` if the arguments
    contradict each other or the file exists, and `Failure` if the file can't be written."""
    run_input = settings.run_input()
    _check(settings, starts=bool(run_input))
    async with AsyncExitStack() as lifetime:
        record = _record_platform if is_url(settings.target) else _record_graph
        ending, last = await record(settings, run_input, lifetime)
    files = ", ".join(str(path) for path in (settings.output, settings.html) if path is not None)
    return f"{files}: the run {_describe(ending, last)}"


async def _record_graph(settings: RecordSettings, run_input: dict[str, Any], lifetime: AsyncExitStack) -> _Ended:
    project = read_project(settings.config) if settings.target is None else project_of([settings.target])
    target = project.only(settings.assistant)
    project.enter()
    variable = await asyncio.to_thread(import_target, project, target)
    threads = await lifetime.enter_async_context(open_threads(settings.sqlite))
    graph = await build(target, variable, threads, lifetime)
    thread_id, run_id = settings.thread or str(uuid4()), str(uuid4())
    source = source_of(target, graph)
    if not await LocalThread(source, thread_id).may_be_used():
        raise Failure(f"thread {thread_id!r} belongs to another agent")
    parts = graph.astream(
        Command(**run_input["command"]) if "command" in run_input else run_input["input"],
        with_marker({"configurable": {"thread_id": thread_id, "run_id": run_id}, "metadata": source.stamp}),
        stream_mode=RUN_MODES,
        subgraphs=True,
    )
    with _create_files(settings, target.name, thread_id) as write:
        return await record_stream(parts, write, thread_id=thread_id, run_id=run_id, options=await source.options())


async def _record_platform(settings: RecordSettings, run_input: dict[str, Any], lifetime: AsyncExitStack) -> _Ended:
    client = await lifetime.enter_async_context(open_client(str(settings.target), settings.api_key))
    thread_id = settings.thread or str((await client.threads.create())["thread_id"])
    if run_input:
        stream: Any = {"stream_mode": PLATFORM_STREAM_MODES, "stream_subgraphs": True, "stream_resumable": True}
        run = await client.runs.create(thread_id, settings.assistant or "", **run_input, **stream)
        run_id = str(run["run_id"])
    else:
        run_id = settings.run or await _active_run(client, thread_id)
        run = await client.runs.get(thread_id, run_id)
    options = await Platform(client, str(run["assistant_id"])).options()
    at_end = cast(Any, outcome(client, thread_id, run_id))
    parts = await _wait_for_first(client.runs.join_stream(thread_id, run_id, last_event_id=_FROM_THE_START))
    if parts is None:
        raise Failure(
            f"the server has no stream of run {run_id!r}: it keeps a stream only if stream_resumable=True was set"
        )
    with _create_files(settings, settings.assistant or str(run["assistant_id"]), thread_id) as write:
        once = _without_repetitions(parts)
        return await record_stream(once, write, thread_id=thread_id, run_id=run_id, options=options, at_end=at_end)


async def _without_repetitions(parts: AsyncIterator[Any]) -> AsyncIterator[StreamPart]:
    """Yields the parts of a run that was joined from its start. A server may send some parts twice; `ReplayFilter` says
    why."""
    replay, clock = ReplayFilter(), asyncio.get_running_loop().time
    replay.note_joined()
    async with aclosing(cast(Any, parts)):
        waits_since = clock()
        async for part in parts:
            for new in replay.take(Received(part.event, part.data, part.id), clock() - waits_since):
                yield StreamPart(new.event, new.data, new.id)
            waits_since = clock()


async def _wait_for_first(parts: AsyncIterator[Any]) -> AsyncIterator[Any] | None:
    """Waits for the first part, and returns an iterator over all parts, or None if there are no parts."""
    first = await anext(parts, None)

    async def all_parts() -> AsyncIterator[Any]:
        async with aclosing(cast(Any, parts)):
            yield first
            async for part in parts:
                yield part

    return None if first is None else all_parts()


async def _active_run(client: LangGraphClient, thread_id: str) -> str:
    for status in ("running", "pending"):
        if runs := await client.runs.list(thread_id, limit=1, status=cast(Any, status)):
            return str(runs[0]["run_id"])
    raise Failure(f"thread {thread_id!r} has no active run: name a run with --run, or start one with --message")


def _check(settings: RecordSettings, *, starts: bool) -> None:
    if settings.target is not None and settings.config is not None:
        raise Misuse("record: expected a graph or --config, not both")
    for option, path in (("--output", settings.output), ("--html", settings.html)):
        if path is not None and path.exists():
            raise Misuse(f"{option} {path}: the file already exists")
    if settings.include and settings.html is None:
        raise Misuse("--include chooses what is in the page that --html writes")
    if starts and settings.run is not None:
        raise Misuse("--run names a run that exists; --message, --input and --resume start one")
    if settings.resume is not None and settings.thread is None:
        raise Misuse("--resume answers an interrupt of a thread: name the thread with --thread")
    if not is_url(settings.target):
        if not starts:
            raise Misuse("record runs your own graph: expected --message, --input or --resume")
        if settings.assistant is not None and settings.target is not None:
            raise Misuse("--assistant is only for a server, or to choose a graph in langgraph.json")
    elif settings.sqlite is not None:
        raise Misuse("--sqlite is only for your own graphs; a server keeps its own threads")
    elif starts and settings.assistant is None:
        raise Misuse("name the server's assistant to run with --assistant")
    elif not starts and settings.thread is None:
        raise Misuse("expected --thread, to record a run that exists, or --message or --input, to start one")


@contextmanager
def _create_files(settings: RecordSettings, agent: str, thread_id: str) -> Iterator[Write]:
    """Creates the files, and yields a function that takes the lines of the recording. The page is written when the run
    has ended, or the command is stopped."""
    lines: list[bytes] = []
    writers: list[Write] = []
    with ExitStack() as lifetime:
        if settings.output is not None:
            writers.append(lifetime.enter_context(_create_file("--output", settings.output)))
        if settings.html is not None:
            write_page = lifetime.enter_context(_create_file("--html", settings.html))
            writers.append(lines.append)

        def write(line: bytes) -> None:
            for write_to in writers:
                write_to(line)

        try:
            yield write
        finally:
            if settings.html is not None:
                write_page(_page(lines, settings, agent, thread_id))


def _page(lines: Sequence[bytes], settings: RecordSettings, agent: str, thread_id: str) -> bytes:
    """Returns the page that plays the events among the lines of a recording."""
    from ...serve.inspector.sent import Kind, sent_file  # needs the extra `serve`

    events = [row for row in map(orjson.loads, lines) if "type" in row]
    chosen = cast("Sequence[Kind]", settings.include)
    return sent_file(events, title=settings.message or thread_id, agent=agent, chosen=chosen)


@contextmanager
def _create_file(option: str, path: Path) -> Iterator[Write]:
    """Creates a file, and yields a function that appends to it. The file is not buffered, so each line is kept even if
    the command is killed."""

    def write(content: bytes) -> None:
        try:
            file.write(content)
        except OSError as error:
            raise Failure(f"{option} {path}: {error.strerror}") from error

    try:
        file = path.open("xb", buffering=0)
    except OSError as error:
        raise Failure(f"{option} {path}: {error.strerror}") from error
    with file:
        yield write


def _describe(ending: Ending, last: dict[str, Any]) -> str:
    match ending:
        case Failed({"error": name, "message": message}):
            return f"failed with {name}: {message}"
        case Failed(error):
            return f"failed: {error}"
        case Cancelled():
            return "was cancelled"
        case Lost(reason):
            return f"can't be followed to its end: {reason}"
    return "waits for an answer" if "interrupts" in last.get("outcome", {}) else "ended"
