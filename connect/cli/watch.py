"""Implements the command `watch`: prints a thread, or the runs of an assistant, live to a terminal, to a pipe, or as
JSON. The thread is that of a graph, of a LangGraph server, or of a server of this package."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
from ag_ui.core import BaseEvent, RunErrorEvent

from ...translator import encode
from ..api import threads, watch
from ..backend import Source, backend_of
from ..errors import ConnectionLost, PlatformError
from ..local.backend import Local
from ..platform.backend import Platform
from .check.server import find_agent, header_of
from .errors import Failure, Misuse
from .sources.checkpointers import open_threads
from .sources.graphs import build, import_target
from .sources.platforms import open_client, serves_agui
from .sources.project import project_of
from .sources.served import watch_served
from .sources.targets import is_url
from .terminal.screen import Screen, console

_UNKNOWN: Final = (404, 422)
"""Status codes for an assistant that the server does not have: 404 for a name or an id, 422 for an invalid id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """The arguments of the command `watch`."""

    source: str
    thread: str | None
    assistant: str | None
    sqlite: Path | None
    api_key: str | None
    agent: str | None
    """The agent of the thread, on a server of this package."""
    headers: Sequence[str]
    """Headers for a server of this package, such as `Authorization: Bearer ...`."""
    as_json: bool
    hidden: Sequence[str] = ()
    """The kinds of lines that are left out; see `Screen`."""
    debug: bool = False
    """Whether the log is printed to stderr."""


async def watch_until_refused(settings: WatchSettings) -> None:
    """Prints every run until the source refuses to be watched, and then raises `Failure`. A server that is lost is
    tried again for as long as it takes. Raises `Misuse` for invalid arguments."""
    _check(settings)
    package = logging.getLogger(__name__.partition(".")[0])
    if settings.debug:
        logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
        package.setLevel(logging.DEBUG)
    else:  # the command itself prints why it ends. Without any handler, logging would print warnings to stderr as well
        package.addHandler(logging.NullHandler())
    printer = _printer(settings)
    last: BaseEvent | None = None
    try:
        async with _events(settings, printer) as events:
            async for last in events:
                printer.show(last)
    finally:
        printer.rest()
    why = f": {last.message}" if isinstance(last, RunErrorEvent) else ""
    raise Failure(f"{settings.source} can't be watched any longer{why}")


def _check(settings: WatchSettings) -> None:
    if (settings.thread is None) == (settings.assistant is None):
        raise Misuse("watch: expected either a thread or --assistant")
    if settings.hidden and settings.as_json:
        raise Misuse("--hide has no effect with --json, which prints every event")
    if settings.assistant is not None and not is_url(settings.source):
        raise Misuse("--assistant is only for a server; for your own graph, name a thread")
    if is_url(settings.source):
        if settings.sqlite is not None:
            raise Misuse("--sqlite is only for your own graphs; a server keeps its own threads")
    elif settings.sqlite is not None and not settings.sqlite.is_file():
        raise Misuse(f"--sqlite {settings.sqlite}: the file does not exist")


@asynccontextmanager
async def _events(settings: WatchSettings, printer: Screen | _JsonPrinter) -> AsyncIterator[AsyncIterator[BaseEvent]]:
    """Yields the events of the thread or of the assistant, wherever that is. The block prints them."""
    headers = dict(header_of(header) for header in settings.headers)
    if is_url(settings.source) and await serves_agui(settings.source, headers):
        async with _events_of_served(settings, headers, printer) as events:
            yield events
        return
    if settings.agent is not None or headers:
        raise Misuse("--agent and --header are for a server of langgraph-agui; for a LangGraph server use --api-key")
    async with _source(settings) as source:
        printer.wait(await _check_source(source, settings))
        if isinstance(source, Platform):
            source = source.reporting(printer.report_connection)
        if settings.thread is not None:
            watched = watch(source, settings.thread)
        else:
            watched = watch(source, assistant_id=settings.assistant or "")
        async with aclosing(watched):
            yield watched


@asynccontextmanager
async def _events_of_served(
    settings: WatchSettings, headers: dict[str, str], printer: Screen | _JsonPrinter
) -> AsyncIterator[AsyncIterator[BaseEvent]]:
    """Yields the events of the thread from a server of this package."""
    if settings.thread is None:
        raise Misuse(f"{settings.source} serves agents, not assistants: name a thread, and with --agent its agent")
    async with httpx.AsyncClient(headers=headers) as http:
        endpoint = await find_agent(http, settings.source, settings.agent)
        printer.wait(f"for runs of thread {settings.thread!r} of the agent {endpoint.agent!r}")
        async with aclosing(watch_served(http, endpoint, settings.thread, printer.report_connection)) as events:
            try:
                yield events
            except (PlatformError, ConnectionLost) as error:
                raise Failure(f"{settings.source} can't be watched: {error}") from error


@asynccontextmanager
async def _source(settings: WatchSettings) -> AsyncIterator[Source]:
    async with AsyncExitStack() as lifetime:
        if is_url(settings.source):
            client = await lifetime.enter_async_context(open_client(settings.source, settings.api_key))
            yield Platform(client, settings.assistant)
            return
        project = project_of([settings.source])
        (target,) = project.targets
        project.enter()
        variable = import_target(project, target)
        threads = await lifetime.enter_async_context(open_threads(settings.sqlite))
        graph = await build(target, variable, threads, lifetime)
        if settings.sqlite is None and graph.checkpointer is threads.checkpointer:
            raise Misuse(f"{settings.source} has no checkpointer: name the file with its threads with --sqlite")
        yield Local(graph)


async def _check_source(source: Source, settings: WatchSettings) -> str:
    """Returns what the command waits for, in words. Raises `Failure` if the server does not have the assistant."""
    if settings.thread is None:
        try:
            await backend_of(source).options()
        except PlatformError as error:
            if error.status not in _UNKNOWN:
                raise
            raise Failure(f"{settings.source} has no assistant {settings.assistant!r}") from error
        return f"for runs of the assistant {settings.assistant!r}"
    info = await threads(source).get(settings.thread)
    if info is None:
        return f"for the first run of thread {settings.thread!r}, which does not exist yet"
    return f"for runs of thread {settings.thread!r}, which is {info.status}"


def _printer(settings: WatchSettings) -> Screen | _JsonPrinter:
    if settings.as_json:
        return _JsonPrinter()
    place = settings.source if is_url(settings.source) else "the process that ran it"
    return Screen(console(), hidden=settings.hidden, details=f"the traceback is in the log of {place}")


class _JsonPrinter:
    """Prints each event as a line of JSON, and what happens to the connection to stderr."""

    def show(self, event: BaseEvent) -> None:
        """See `Screen`."""
        frame = encode(event)
        sys.stdout.buffer.write(frame.removeprefix(b"data: ").rstrip(b"\n") + b"\n")
        sys.stdout.buffer.flush()

    def wait(self, awaited: str) -> None:
        """Does nothing."""

    def rest(self) -> None:
        """Does nothing."""

    def report_connection(self, reason: str | None) -> None:
        """See `Screen`."""
        Screen(console(stderr=True)).report_connection(reason)
