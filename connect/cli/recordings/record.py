"""The command `record`: a run of a graph or of a server, written to a file with its parts and its events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, contextmanager
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
from ..sources.checkpointers import kept_threads
from ..sources.graphs import built, imported, source_of
from ..sources.platforms import reached
from ..sources.project import project_of, read_project
from ..sources.targets import is_url

_FROM_THE_START: Final = "0-0"
"""The id of the event before the first one of a run."""
_Ended = tuple[Ending, dict[str, Any]]
"""How a run ended, and its last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSettings:
    """What is to be recorded: the arguments of the command."""

    target: str | None
    config: Path | None
    assistant: str | None
    thread: str | None
    run: str | None
    message: str | None
    input: str | None
    resume: str | None
    output: Path
    sqlite: Path | None
    api_key: str | None

    @property
    def is_platform(self) -> bool:
        """Whether the run is one of a server."""
        return self.target is not None and is_url(self.target)

    def given(self) -> dict[str, Any]:
        """What the command starts a run with, as `runs.create` takes it: an `input` or a `command`. Empty: it starts
        none. Raises `Misuse` for more than one, and for invalid JSON."""
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
        raise Misuse("expected one of --message, --input and --resume")


async def record_run(settings: RecordSettings) -> str:
    """Writes the recording, and returns a line that says how the run ended. Raises `Misuse` for arguments
    that contradict each other and a file that exists, and `Failure` for a file that can't be written."""
    given = settings.given()
    _check(settings, starts=bool(given))
    async with AsyncExitStack() as lifetime:
        record = _record_platform if settings.is_platform else _record_graph
        ending, last = await record(settings, given, lifetime)
    return f"{settings.output}: the run {_in_words(ending, last)}"


async def _record_graph(settings: RecordSettings, given: dict[str, Any], lifetime: AsyncExitStack) -> _Ended:
    project = read_project(settings.config) if settings.target is None else project_of([settings.target])
    target = project.only(settings.assistant)
    project.enter()
    found = await asyncio.to_thread(imported, project, target)
    threads = await lifetime.enter_async_context(kept_threads(settings.sqlite))
    graph = await built(target, found, threads, lifetime)
    thread_id, run_id = settings.thread or str(uuid4()), str(uuid4())
    source = source_of(target, graph)
    if not await LocalThread(source, thread_id).may_be_used():
        raise Failure(f"thread {thread_id!r} is another agent's")
    parts = graph.astream(
        Command(**given["command"]) if "command" in given else given["input"],
        with_marker({"configurable": {"thread_id": thread_id, "run_id": run_id}, "metadata": source.stamp}),
        stream_mode=RUN_MODES,
        subgraphs=True,
    )
    with _created(settings.output) as write:
        return await record_stream(parts, write, thread_id=thread_id, run_id=run_id, options=await source.options())


async def _record_platform(settings: RecordSettings, given: dict[str, Any], lifetime: AsyncExitStack) -> _Ended:
    client = await lifetime.enter_async_context(reached(str(settings.target), settings.api_key))
    thread_id = settings.thread or str((await client.threads.create())["thread_id"])
    if given:
        streamed: Any = {"stream_mode": PLATFORM_STREAM_MODES, "stream_subgraphs": True, "stream_resumable": True}
        run = await client.runs.create(thread_id, settings.assistant or "", **given, **streamed)
        run_id = str(run["run_id"])
    else:
        run_id = settings.run or await _active(client, thread_id)
        run = await client.runs.get(thread_id, run_id)
    options = await Platform(client, str(run["assistant_id"])).options()
    at_end = cast(Any, outcome(client, thread_id, run_id))
    parts = await _begun(client.runs.join_stream(thread_id, run_id, last_event_id=_FROM_THE_START))
    if parts is None:
        raise Failure(f"the server has no stream of run {run_id!r}: it keeps that of a run with stream_resumable=True")
    with _created(settings.output) as write:
        once = _each_once(parts)
        return await record_stream(once, write, thread_id=thread_id, run_id=run_id, options=options, at_end=at_end)


async def _each_once(parts: AsyncIterator[Any]) -> AsyncIterator[StreamPart]:
    """The parts of a run that was joined from its start. A server may send some twice: see `ReplayFilter`."""
    replay, clock = ReplayFilter(), asyncio.get_running_loop().time
    replay.connected()
    async with aclosing(cast(Any, parts)):
        waits_since = clock()
        async for part in parts:
            for new in replay.take(Received(part.event, part.data, part.id), clock() - waits_since):
                yield StreamPart(new.event, new.data, new.id)
            waits_since = clock()


async def _begun(parts: AsyncIterator[Any]) -> AsyncIterator[Any] | None:
    """The same parts, once the first one has come; None if there are none."""
    first = await anext(parts, None)

    async def all_of_them() -> AsyncIterator[Any]:
        async with aclosing(cast(Any, parts)):
            yield first
            async for part in parts:
                yield part

    return None if first is None else all_of_them()


async def _active(client: LangGraphClient, thread_id: str) -> str:
    for status in ("running", "pending"):
        if runs := await client.runs.list(thread_id, limit=1, status=cast(Any, status)):
            return str(runs[0]["run_id"])
    raise Failure(f"thread {thread_id!r} has no active run: name a run with --run, or start one with --message")


def _check(settings: RecordSettings, *, starts: bool) -> None:
    if settings.target is not None and settings.config is not None:
        raise Misuse("record: expected a graph, or --config, not both")
    if settings.output.exists():
        raise Misuse(f"--output {settings.output}: the file is there already")
    if starts and settings.run is not None:
        raise Misuse("--run names a run that exists; --message, --input and --resume start one")
    if settings.resume is not None and settings.thread is None:
        raise Misuse("--resume is the answer to a thread: name it with --thread")
    if not settings.is_platform:
        if not starts:
            raise Misuse("a graph of your own is run to be recorded: give it --message, --input or --resume")
        if settings.assistant is not None and settings.target is not None:
            raise Misuse("--assistant is for a server, or for one graph of langgraph.json")
    elif settings.sqlite is not None:
        raise Misuse("--sqlite is for a graph of your own; a server keeps its threads itself")
    elif starts and settings.assistant is None:
        raise Misuse("name what is to run on the server with --assistant")
    elif not starts and settings.thread is None:
        raise Misuse("expected --thread, or --message or --input, which start a run")


@contextmanager
def _created(path: Path) -> Iterator[Write]:
    """Opens a new file, and gives what writes to it. A line is in the file at once, even if the command is killed."""

    def write(line: bytes) -> None:
        try:
            file.write(line)
        except OSError as error:
            raise Failure(f"--output {path}: {error.strerror}") from error

    try:
        file = path.open("xb", buffering=0)
    except OSError as error:
        raise Failure(f"--output {path}: {error.strerror}") from error
    with file:
        yield write


def _in_words(ending: Ending, last: dict[str, Any]) -> str:
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
