"""The command `watch`: a thread, or an assistant's runs, printed live on a terminal, into a pipe, or as JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ag_ui.core import BaseEvent, RunErrorEvent

from ...translator import encode
from ..api import threads, watch
from ..backend import Source, backend_of
from ..errors import PlatformError
from ..local.backend import Local
from ..platform.backend import Platform
from ..platform.calls import RetryPolicy
from .errors import Failure, Misuse
from .sources.checkpointers import kept_threads
from .sources.graphs import built, imported
from .sources.platforms import reached
from .sources.project import project_of
from .sources.targets import is_url
from .terminal.screen import Screen, console

_RETRY: Final = RetryPolicy(initial_delay=1.0, max_attempts=3)
"""A person is watching: a server that is gone is given up sooner than by a program."""


_UNKNOWN: Final = (404, 422)
"""What a server answers to the name of an assistant that it does not have, or to an id that is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """What is to be watched: the arguments of the command."""

    source: str
    thread: str | None
    assistant: str | None
    sqlite: Path | None
    api_key: str | None
    as_json: bool
    hidden: Sequence[str] = ()
    """What is left out; see `Screen`."""


async def watch_until_lost(settings: WatchSettings) -> None:
    """Prints every run, until the source is gone: then `Failure`. Raises `Misuse` for what can't be watched."""
    _check(settings)
    # The command prints itself why it ends; without a handler warnings would go to stderr too.
    logging.getLogger(__name__.partition(".")[0]).addHandler(logging.NullHandler())
    show, wait, rest = _printers(settings)
    last: BaseEvent | None = None
    try:
        async with _source(settings) as source:
            wait(await _awaited(source, settings))
            if settings.thread is not None:
                events = watch(source, settings.thread, retry=_RETRY)
            else:
                events = watch(source, assistant_id=settings.assistant or "", retry=_RETRY)
            async with aclosing(events):
                async for last in events:
                    show(last)
    finally:
        rest()
    why = f": {last.message}" if isinstance(last, RunErrorEvent) else ""
    raise Failure(f"{settings.source} can't be watched any more{why}")


def _check(settings: WatchSettings) -> None:
    if (settings.thread is None) == (settings.assistant is None):
        raise Misuse("watch: expected a thread, or --assistant in its place")
    if settings.hidden and settings.as_json:
        raise Misuse("--hide is for a person; with --json every event is printed")
    if settings.assistant is not None and not is_url(settings.source):
        raise Misuse("--assistant is for a server; of a graph of your own watch a thread")
    if is_url(settings.source):
        if settings.sqlite is not None:
            raise Misuse("--sqlite is for a graph of your own; a server keeps its threads itself")
    elif settings.sqlite is not None and not settings.sqlite.is_file():
        raise Misuse(f"--sqlite {settings.sqlite}: there is no such file")


@asynccontextmanager
async def _source(settings: WatchSettings) -> AsyncIterator[Source]:
    async with AsyncExitStack() as lifetime:
        if is_url(settings.source):
            client = await lifetime.enter_async_context(reached(settings.source, settings.api_key))
            yield Platform(client, settings.assistant)
            return
        project = project_of([settings.source])
        (target,) = project.targets
        project.enter()
        found = imported(project, target)
        threads = await lifetime.enter_async_context(kept_threads(settings.sqlite))
        graph = await built(target, found, threads, lifetime)
        if settings.sqlite is None and graph.checkpointer is threads.checkpointer:
            raise Misuse(f"{settings.source} has no checkpointer: name the file that has its threads with --sqlite")
        yield Local(graph)


async def _awaited(source: Source, settings: WatchSettings) -> str:
    """What is waited for. Raises `Failure` for an assistant that the server does not have."""
    if settings.thread is None:
        try:
            await backend_of(source).options()
        except PlatformError as error:
            if error.status not in _UNKNOWN:
                raise
            raise Failure(f"{settings.source} has no assistant {settings.assistant!r}") from error
        return f"for runs of the assistant {settings.assistant!r}"
    info = await threads(source, retry=_RETRY).get(settings.thread)
    if info is None:
        return f"for the first run of thread {settings.thread!r}, which is unknown so far"
    return f"for runs of thread {settings.thread!r}, which is {info.status}"


def _printers(settings: WatchSettings) -> tuple[Callable[[BaseEvent], None], Callable[[str], None], Callable[[], None]]:
    """What is called with each event, with what is waited for, and in the end."""
    if not settings.as_json:
        place = settings.source if is_url(settings.source) else "the process that ran it"
        screen = Screen(console(), hidden=settings.hidden, details=f"the traceback is in the log of {place}")
        return screen.show, screen.wait, screen.rest
    return _write_json, lambda _: None, lambda: None


def _write_json(event: BaseEvent) -> None:
    frame = encode(event)
    sys.stdout.buffer.write(frame.removeprefix(b"data: ").rstrip(b"\n") + b"\n")
    sys.stdout.buffer.flush()
