"""The command `serve`: from its arguments to a server that runs until a signal stops it. Never what it answers:
that is `connect.serve`."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

import uvicorn

from ....translator import Options
from ...backend import Backend, Source, backend_of
from ...errors import StoreUnavailableError
from ...inputs import Intake
from ...local.channels import input_channels_of
from ...local.store.run_store import RunStore
from ...local.store.sqlite import SqliteRunStore
from ...serve import Agent, agui_app
from ...serve.requests.langgraph_auth import LangGraphAuth
from ...serve.requests.token import token_of
from ..errors import Failure, Misuse, brief
from ..sources.auth import auth_of
from ..sources.checkpointers import kept_threads, not_installed
from ..sources.graphs import imported, served_source
from ..sources.platforms import input_channels, platform_agents, reached
from ..sources.project import Project, project_of, read_project
from ..sources.targets import is_url
from ..terminal.screen import console
from .accepting import Accepting
from .welcome import address, host_warning, is_own, welcome

MESSAGES: Final = Options().messages_key
"""The channel of the conversation, which is no state."""
_IGNORED: Final[Mapping[str, str]] = {
    "checkpointer": "threads are kept where --sqlite or --postgres says, and for ever",
    "encryption": "threads are kept as they are",
    "http": "its app, its middleware and its CORS are not served (a page's origin is let in with --origin)",
    "store": "stores have no index here, and keep what they have for ever",
}
"""What `serve` does instead, by keys of a project's file. Any other key is for LangGraph's own server."""

_DEFAULT: Final = ("mirror", "step")
"""The options `history` and `unsaved` where nothing is said of them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """What is to be served, and how: the arguments of the command."""

    targets: Sequence[str] = ()
    config: Path | None = None
    host: str
    port: int
    origins: Sequence[str]
    token: str | None = field(default=None, repr=False)
    """What lists, changes and deletions of threads need. None: AGUI_TOKEN of the environment, or else `new_token`."""
    new_token: str = field(default_factory=token_urlsafe, repr=False)
    """A token that is made with the settings. They go to each process of `--reload`, so it is the same after a
    change."""
    sqlite: Path | None = None
    postgres: str | None = None
    redis: str | None = None
    workers: int = 1
    is_quiet: bool = False
    """Whether another process of the same command prints what there is to print."""
    busy: Literal["reject", "queue", "cancel"] = "reject"
    state: Sequence[str] = ()
    show: Sequence[str] = ()
    """Channels that are visible next to those of the output schema."""
    hide: Sequence[str] = ()
    """Nodes and tags whose model calls are not emitted while they stream."""
    history: Literal["mirror", "keep"] = "mirror"
    unsaved: Literal["step", "run", "keep"] = "step"
    inspector: bool | None = None
    """Whether `GET /` is the inspector. None: on a host of this machine alone."""
    grace: float = 5.0
    drain: float = 20.0
    log_level: str = "warning"
    api_key: str | None = None
    debug: bool
    """Whether clients get the texts of errors, and the log has our debug lines."""


class _Found(NamedTuple):
    """A graph that is to be served. `channels`: what its input can write; None if that is not known."""

    name: str
    source: Source
    description: str
    channels: frozenset[str] | None


async def serve_until_stopped(settings: ServeSettings) -> None:
    """Serves until a signal comes. Raises `Misuse` and `Failure` for what can't be served, before the first request."""
    platform_url(settings)
    with listening(settings.host, settings.port) as bound:
        await serve_on(settings, bound)


async def serve_on(
    settings: ServeSettings, bound: socket.socket, has_started: Callable[[], None] | None = None
) -> None:
    """As `serve_until_stopped`, on a socket that is bound. `has_started`: called when it serves."""
    server_url = platform_url(settings)
    set_logging(settings)
    auth = None
    async with AsyncExitStack() as lifetime:
        if server_url is None:
            named = project(settings)
            _log_ignored(named)
            named.enter()
            auth = await auth_of(named)
            found = await _own_agents(settings, named, lifetime)
        else:
            found = await _platform_agents(settings, server_url, lifetime)
        agents = await _agents(settings, found)
        store = await _run_store(settings)
        thread_id = "my-thread" if server_url is None else str(uuid4())  # LangGraph's own server takes UUIDs alone
        await serve_agents(
            settings,
            bound,
            agents,
            store=store,
            threads=_threads(settings, server_url),
            thread_id=thread_id,
            auth=auth,
            has_started=has_started,
        )


async def serve_agents(
    settings: ServeSettings,
    bound: socket.socket,
    agents: Mapping[str, Agent],
    *,
    store: RunStore | None = None,
    threads: str,
    thread_id: str,
    opens: str = "/",
    auth: LangGraphAuth | None = None,
    has_started: Callable[[], None] | None = None,
) -> None:
    """Serves these agents until a signal comes.

    `threads`: what becomes of threads, in a sentence. `thread_id`: one that the agents take, for the lines of a
    page. `opens`: what the inspector shows, as the end of its URL. `auth`: says who the users are and what each may
    do; None: the token decides, as without `authorize` of `agui_app`. `has_started`: called when it serves.
    """
    os.environ.pop("WEB_CONCURRENCY", None)  # for uvicorn's own supervisor; here --workers says it
    if auth is not None and settings.token is not None:
        raise Misuse("--token: expected none: the project's auth alone says who may list and change threads")
    token = token_to_print(settings) if auth is None else None
    inspects = is_own(settings.host) if settings.inspector is None else settings.inspector
    app = agui_app(
        agents,
        authenticate=None if auth is None else auth.authenticate,
        authorize=None if auth is None else auth.authorize,
        token=token,
        origins=settings.origins,
        hosts=_hosts(settings),
        store=store,
        grace=settings.grace,
        drain=settings.drain,
        inspector=inspects,
        websocket=True,
    )
    url = address(settings.host, bound.getsockname()[1])
    lines = welcome(
        url,
        list(agents),
        origins=settings.origins,
        threads=threads,
        thread_id=thread_id,
        token=token,
        has_auth=auth is not None,
        inspector=f"{url}{opens}" if inspects else None,
    )
    output = [*filter(None, [host_warning(settings.host) if auth is None else None]), *lines]

    seconds = f"{settings.grace:g} seconds"
    drain = "" if store is None else f", then runs have {settings.drain:g}"
    stopping = f"Stopping: open streams have {seconds} to end{drain}. Ctrl-C again ends them at once."

    def started() -> None:
        if not settings.is_quiet:
            _print_lines(output)
        if has_started is not None:
            has_started()

    server = _Server(_config(app, settings), started, lambda: _print_lines([] if settings.is_quiet else [stopping]))
    await server.serve([Accepting(bound)])


def set_logging(settings: ServeSettings) -> None:
    """Sends the log to stderr, at the level of the settings."""
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn.error").addFilter(_is_no_refused_socket)
    logging.getLogger("uvicorn.error").addFilter(_is_no_credential)
    if settings.debug:
        logging.getLogger(__name__.partition(".")[0]).setLevel(logging.DEBUG)


def _is_no_refused_socket(record: logging.LogRecord) -> bool:
    """False for the error that uvicorn 0.54 logs of each WebSocket that is refused with an HTTP response
    (https://github.com/Kludex/uvicorn/pull/3138). The app logs the refusal itself, as that of any request."""
    return record.msg != "ASGI callable returned without completing handshake."


def _is_no_credential(record: logging.LogRecord) -> bool:
    """False for the DEBUG lines in which `websockets` logs headers of a handshake with the client's credentials."""
    if record.msg != "< %s: %s" or not isinstance(record.args, tuple):
        return True
    return str(record.args[0]).lower() not in ("authorization", "cookie", "proxy-authorization")


def token_to_print(settings: ServeSettings) -> str | None:
    """The token of `--token`, or a new one; None: that of the environment, which is never printed. To be called after
    the project has set its variables. Raises `Misuse` for a token that no header can carry."""
    try:
        return settings.new_token if token_of(settings.token) is None else settings.token
    except ValueError as error:
        raise Misuse(str(error) if settings.token is None else f"--{error}") from None


def project(settings: ServeSettings) -> Project:
    """The graphs of this process that are to be served, and their folders. Nothing is imported."""
    if settings.targets and settings.config is not None:
        raise Misuse("serve: expected graphs, or --config, not both")
    if settings.sqlite is not None and settings.postgres is not None:
        raise Misuse("serve: expected --sqlite or --postgres, not both")
    return project_of(settings.targets) if settings.targets else read_project(settings.config)


def platform_url(settings: ServeSettings) -> str | None:
    """The URL of the server whose agents are served; None: they are graphs of this process."""
    urls = [each for each in settings.targets if is_url(each)]
    if not urls:
        return None
    if len(settings.targets) > 1:
        raise Misuse("serve: expected graphs, or the URL of one server")
    if settings.config is not None:
        raise Misuse("serve: expected the URL of a server, or --config, not both")
    options = (("--sqlite", settings.sqlite), ("--postgres", settings.postgres), ("--redis", settings.redis))
    for option, given in options:
        if given is not None:
            raise Misuse(f"{option} is for graphs of your own; a server keeps its threads and runs itself")
    return urls[0]


def _log_ignored(named: Project) -> None:
    """Logs each key of the project's file that is not used."""
    for key in named.ignored:
        _log.warning("%s: %r is not used: %s.", named.file, key, _IGNORED.get(key, "it is for LangGraph's own server"))


async def _own_agents(settings: ServeSettings, named: Project, lifetime: AsyncExitStack) -> list[_Found]:
    # In a thread, where a module may start an event loop of its own.
    variables = [(each, await asyncio.to_thread(imported, named, each)) for each in named.targets]
    threads = await lifetime.enter_async_context(kept_threads(settings.sqlite, settings.postgres))
    found = []
    for target, variable in variables:
        source = await served_source(target, variable, threads)
        graph = source.template
        channels = None if graph is None else input_channels_of(graph, MESSAGES).names
        is_ours = graph is None or graph.checkpointer is threads.checkpointer
        if settings.redis is not None and is_ours and not threads.are_shared:
            raise Misuse("--redis is for several processes, which need the same threads: add --postgres URL")
        found.append(_Found(target.name, source, target.description, channels))
    return found


async def _run_store(settings: ServeSettings) -> RunStore | None:
    """The run store of several processes; None: this process is the only one. Raises `Failure` for one that can't be
    reached, and where its package is not installed."""
    if settings.redis is None:
        return None if settings.workers == 1 or settings.sqlite is None else await _store_in_file(settings.sqlite)
    try:
        from ...local.store.redis import RedisRunStore
    except ModuleNotFoundError as missing:
        raise not_installed("--redis", missing, "'langgraph-agui[redis]'") from missing
    try:
        store = RedisRunStore(settings.redis)
        await store.ping()
    except (ValueError, StoreUnavailableError) as error:
        raise Failure(f"the Redis of --redis can't be used: {brief(error)}") from error
    return store


async def _store_in_file(threads: Path) -> RunStore:
    """The run store of several processes next to the file that has their threads."""
    store = SqliteRunStore(threads.with_name(f"{threads.name}-runs"))
    try:
        await store.ping()
    except StoreUnavailableError as error:
        raise Failure(f"the file of --sqlite can't be used: {brief(error.__cause__ or error)}") from error
    return store


async def _platform_agents(settings: ServeSettings, url: str, lifetime: AsyncExitStack) -> list[_Found]:
    client = await lifetime.enter_async_context(reached(url, settings.api_key))
    found = []
    for name, (source, description) in (await platform_agents(client)).items():
        channels = await input_channels(source, MESSAGES) if settings.state else None
        found.append(_Found(name, source, description, channels))
    return found


async def _agents(settings: ServeSettings, found: Sequence[_Found]) -> dict[str, Agent]:
    """The agents as they are served. A client writes those of the named channels that its agent has."""
    wanted = frozenset(settings.state)
    written = {each.name: wanted if each.channels is None else wanted & each.channels - {MESSAGES} for each in found}
    for name in sorted(wanted - frozenset().union(*written.values())):
        raise Misuse(f"--state {name}: no agent has such a channel for clients to write")
    _check_shown(settings, found)
    return {
        each.name: _Agent(
            source=each.source,
            description=each.description or None,
            intake=Intake(state=written[each.name], busy=settings.busy),
            options=await _options(settings, each.source),
            settings=settings,
        )
        for each in found
    }


@dataclass(frozen=True)
class _Agent(Agent):
    """An agent as the settings say. Where its first graph could not be made at the start, its options are known when
    there is one."""

    settings: ServeSettings | None = None

    async def options_for(self, source: Backend, version: str | None) -> Options:
        """See `Agent`."""
        options = await super().options_for(source, version)
        if self.settings is None or self.options is not None or not _says_how(self.settings):
            return options
        return _shown(self.settings, options)


def _says_how(settings: ServeSettings) -> bool:
    """Whether the settings say anything of how an agent is shown."""
    is_default = (settings.history, settings.unsaved) == _DEFAULT
    return bool(settings.debug or settings.show or settings.hide) or not is_default


async def _options(settings: ServeSettings, source: Source) -> Options | None:
    """How an agent is shown, where the settings say anything of it, and its graph is known."""
    backend = backend_of(source)
    if not _says_how(settings) or (backend.is_local and backend.template is None):
        return None
    return _shown(settings, await backend.options())


def _shown(settings: ServeSettings, options: Options) -> Options:
    shown = options.state_include
    return replace(
        options,
        state_include=None if shown is None else shown.union(settings.show),
        visibility=dict.fromkeys(settings.hide, "hide") or None,
        history=settings.history,
        unsaved=settings.unsaved,
        error_detail="message" if settings.debug else "code",
    )


def _check_shown(settings: ServeSettings, found: Sequence[_Found]) -> None:
    """Raises `Misuse` for a channel of `--show` that no graph has. Those of a server's graphs are not known."""
    graphs = [backend_of(each.source).template for each in found]
    if any(graph is None for graph in graphs):
        return
    known = {name for graph in graphs if graph is not None for name in graph.channels}
    for name in sorted({*settings.show} - known):
        raise Misuse(f"--show {name}: no agent has such a channel")


def _threads(settings: ServeSettings, server_url: str | None) -> str:
    if server_url is not None:
        return f"Threads are those of {server_url}."
    if settings.sqlite is not None:
        return f"Threads are kept in {settings.sqlite}" + (" and runs next to it." if settings.workers > 1 else ".")
    if settings.postgres is not None:
        return "Threads are kept in PostgreSQL" + (", runs in Redis." if settings.redis is not None else ".")
    return "Threads are in memory and die with this process; keep them with --sqlite FILE or --postgres URL."


def _hosts(settings: ServeSettings) -> Sequence[str]:
    """The names under which a server of this machine alone is reached: its own, and those of the pages that are let
    in, which may come from behind the same proxy. Any other server has names that are not known here."""
    if not is_own(settings.host) or "*" in settings.origins:
        return ()
    named = (urlsplit(origin).hostname for origin in settings.origins)
    return ("localhost", "127.0.0.1", "::1", settings.host, *filter(None, named))


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """The socket, bound before any graph is imported: whether the port is free is known at once."""
    try:
        family, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise Misuse(f"--host {host}: {brief(error)}") from error
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(where)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise Failure(f"port {port} is in use: take another with --port, or any with --port 0") from error
            raise Failure(f"{host}:{port} can't be listened on: {brief(error)}") from error
        yield bound


def _config(app: Any, settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level=settings.log_level,
        log_config=None,
        access_log=settings.log_level in ("info", "debug"),
        lifespan="on",
        ws="websockets-sansio",
        timeout_graceful_shutdown=int(settings.grace) + 1,
    )


class _Server(uvicorn.Server):
    """Reports its start and its stop. When a signal stops it, `serve` returns as any call does. The app itself ends its
    streams at the signal."""

    def __init__(self, config: uvicorn.Config, has_started: Callable[[], None], stops: Callable[[], None]) -> None:
        super().__init__(config)
        self._has_started = has_started
        self._stops = stops

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # a full collection of all that was imported would stop the event loop for 0.1 s
            self._has_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stops()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals stop the server; the server's own way would raise them again when it is over, and what was
        entered for the graphs would not be left."""
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _print_lines(lines: Sequence[str]) -> None:
    out = console(stderr=True)
    for line in lines:
        out.print(line)
