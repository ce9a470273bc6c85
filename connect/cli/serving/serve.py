"""Implements the command `serve`: makes a server from the arguments, and runs it until a signal arrives. How requests
are answered is decided in `connect.serve`."""

from __future__ import annotations

import asyncio
import errno
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
from ...inputs.channels import InputChannels
from ...inputs.intake import WITHOUT_MESSAGES
from ...local.channels import input_channels_of
from ...local.store.memory_store import MemoryRunStore
from ...local.store.retention import Retention
from ...local.store.run_store import RunStore
from ...local.store.sqlite import SqliteRunStore
from ...serve import Agent, agui_app
from ...serve.requests.langgraph_auth import LangGraphAuth
from ...serve.requests.token import token_of
from ..errors import Failure, Misuse, brief
from ..sources.auth import auth_of
from ..sources.checkpointers import Threads, not_installed, open_threads
from ..sources.graphs import import_target, served_source
from ..sources.platforms import input_channels, open_client, platform_agents
from ..sources.project import Project, project_of, read_project
from ..sources.targets import is_url
from ..terminal.screen import console
from .accepting import Accepting
from .collector import set_up_collector
from .logs import LogFormat, print_log_lines, set_up_logs
from .prometheus import metrics_address, serving_metrics
from .welcome import address, host_warning, is_own, welcome

MESSAGES: Final = Options().messages_key
"""The channel of the conversation, which does not belong to the state."""
_IGNORED: Final[Mapping[str, str]] = {
    "checkpointer": "--sqlite or --postgres chooses where threads are kept, and threads never expire",
    "encryption": "threads are not encrypted",
    "http": "its app, middleware and CORS settings have no effect here; allow the origin of a page with --origin",
    "store": "the store has no index here, and its items never expire",
}
"""Reasons why keys of a project's file are not used, and what `serve` does instead. Any other key that is not used is
only for LangGraph's own server."""

_DEFAULT: Final = ("mirror", "step")
"""The defaults of the options `history` and `unsaved`."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """The arguments of the command `serve`."""

    targets: Sequence[str] = ()
    config: Path | None = None
    host: str
    port: int
    origins: Sequence[str]
    token: str | None = field(default=None, repr=False)
    """The token for listing, changing and deleting threads. If None, it is AGUI_TOKEN, or else `new_token`."""
    new_token: str = field(default_factory=token_urlsafe, repr=False)
    """A new token. It is made with the settings, which are passed to each server process, so `--reload` keeps it."""
    sqlite: Path | None = None
    postgres: str | None = None
    redis: str | None = None
    workers: int = 1
    is_quiet: bool = False
    """Whether this process prints nothing, because another process of the same command does."""
    busy: Literal["reject", "queue", "cancel"] = "reject"
    on_lost: Literal["error", "continue"] = "error"
    keep_runs: int = 0
    """How many finished runs are kept with their events."""
    state: Sequence[str] = ()
    context: Sequence[str] = ()
    """Fields of the graphs' runtime context that clients may set."""
    show: Sequence[str] = ()
    """Channels that clients see in addition to those of the output schema."""
    hide: Sequence[str] = ()
    """Nodes and tags whose model calls are not streamed."""
    history: Literal["mirror", "keep"] = "mirror"
    unsaved: Literal["step", "run", "keep"] = "step"
    inspector: bool | None = None
    """Whether `GET /` shows the inspector. None means only on a loopback host."""
    grace: float = 5.0
    drain: float = 20.0
    log_level: str = "warning"
    log_format: LogFormat = "text"
    metrics: str | None = None
    """Where Prometheus is answered: PORT or HOST:PORT; None: nowhere."""
    api_key: str | None = None
    debug: bool
    """Whether clients receive error messages, and the log contains debug messages of this package."""


class _Loaded(NamedTuple):
    """An agent to serve. `channels`: those in which its graph takes its input, or None if they are not known."""

    name: str
    source: Source
    description: str
    channels: InputChannels | None

    @property
    def names(self) -> frozenset[str] | None:
        """The channels that its input can write, or None if they are not known."""
        return None if self.channels is None else self.channels.names


async def serve_until_stopped(settings: ServeSettings) -> None:
    """Serves until a signal arrives. If something can't be served, raises `Misuse` or `Failure` before the first
    request."""
    platform_url(settings)
    with listen(settings.host, settings.port) as bound:
        await serve_on(settings, bound)


async def serve_on(
    settings: ServeSettings, bound: socket.socket, has_started: Callable[[], None] | None = None
) -> None:
    """Does the same as `serve_until_stopped` on a socket that is bound already. Calls `has_started` once it serves."""
    server_url = platform_url(settings)
    set_logging(settings)
    auth = None
    threads: Threads | None
    address = None if settings.metrics is None else metrics_address(settings.metrics)
    async with AsyncExitStack() as lifetime:
        metrics_url = lifetime.enter_context(serving_metrics(address))  # before a run store is made
        if server_url is None:
            graphs = project(settings)
            _log_ignored(graphs)
            graphs.enter()
            auth = await auth_of(graphs)
            loaded, threads = await _own_agents(settings, graphs, lifetime)
        else:
            threads = None
            loaded = await _platform_agents(settings, server_url, lifetime)
        agents = await _agents(settings, loaded)
        store = None if threads is None else await _run_store(settings, threads)
        thread_id = "my-thread" if server_url is None else str(uuid4())  # LangGraph's own server accepts only UUIDs
        await serve_agents(
            settings,
            bound,
            agents,
            store=store,
            threads=_threads(settings, server_url),
            thread_id=thread_id,
            auth=auth,
            has_started=has_started,
            metrics_url=metrics_url,
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
    metrics_url: str | None = None,
) -> None:
    """Serves agents until a signal arrives.

    Args:
        settings: The arguments of the command.
        bound: A bound socket.
        agents: The agents by name.
        store: The run store; None if a server has the runs.
        threads: A sentence that says where threads are kept, to print at the start.
        thread_id: A thread id that the agents accept, for the example of a page.
        opens: The end of the inspector's URL, which decides what it shows first.
        auth: Decides who the users are and what they may do. If None, the token decides, as in `agui_app` without
            `authorize`.
        has_started: Called once the server accepts requests.
        metrics_url: Where Prometheus is answered, to print at the start.
    """
    os.environ.pop("WEB_CONCURRENCY", None)  # would start uvicorn's own workers; only --workers does that here
    if auth is not None and settings.token is not None:
        raise Misuse("--token can't be combined with the project's auth, which alone decides who may change threads")
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
        metrics=metrics_url,
    )
    output = [*filter(None, [host_warning(settings.host) if auth is None else None]), *lines]

    seconds = f"{settings.grace:g} seconds"
    say = print_log_lines if settings.log_format == "json" else _print_lines
    drain = "" if store is None or not store.is_shared else f", then runs have {settings.drain:g}"
    stopping = f"Stopping: open streams have {seconds} to end{drain}. Press Ctrl-C again to end them at once."

    def announce() -> None:
        if not settings.is_quiet:
            say(output)
        if has_started is not None:
            has_started()

    server = _Server(_config(app, settings), announce, lambda: say([] if settings.is_quiet else [stopping]))
    await server.serve([Accepting(bound)])


def set_logging(settings: ServeSettings) -> None:
    """Logs to stderr, at the level and in the format in the settings."""
    set_up_logs(settings.log_level, settings.log_format)
    logging.getLogger("uvicorn.error").addFilter(_is_no_refused_socket)
    logging.getLogger("uvicorn.error").addFilter(_is_no_credential)
    if settings.debug:
        logging.getLogger(__name__.partition(".")[0]).setLevel(logging.DEBUG)


def _is_no_refused_socket(record: logging.LogRecord) -> bool:
    """Returns False for an error that uvicorn 0.54 logs for each WebSocket that is refused with an HTTP response
    (https://github.com/Kludex/uvicorn/pull/3138). The app logs each refusal itself, as for any request."""
    return record.msg != "ASGI callable returned without completing handshake."


def _is_no_credential(record: logging.LogRecord) -> bool:
    """Returns False for the DEBUG lines of `websockets` that contain a client's credentials in its handshake."""
    if record.msg != "< %s: %s" or not isinstance(record.args, tuple):
        return True
    return str(record.args[0]).lower() not in ("authorization", "cookie", "proxy-authorization")


def token_to_print(settings: ServeSettings) -> str | None:
    """Returns the token of `--token`, or a new one. Returns None if the environment has a token, which is never
    printed. The environment of the project must be set before. Raises `Misuse` for a token that a header can't
    contain."""
    try:
        return settings.new_token if token_of(settings.token) is None else settings.token
    except ValueError as error:
        raise Misuse(str(error) if settings.token is None else f"--{error}") from None


def project(settings: ServeSettings) -> Project:
    """Returns the graphs of this process that are served, and their folders, without importing anything."""
    if settings.targets and settings.config is not None:
        raise Misuse("serve: expected graphs or --config, not both")
    if settings.sqlite is not None and settings.postgres is not None:
        raise Misuse("serve: expected --sqlite or --postgres, not both")
    return project_of(settings.targets) if settings.targets else read_project(settings.config)


def platform_url(settings: ServeSettings) -> str | None:
    """Returns the URL of the server whose assistants are served, or None if graphs of this process are served."""
    urls = [target for target in settings.targets if is_url(target)]
    if not urls:
        return None
    if len(settings.targets) > 1:
        raise Misuse("serve: expected either graphs or the URL of one server")
    if settings.config is not None:
        raise Misuse("serve: expected the URL of a server or --config, not both")
    options = (("--sqlite", settings.sqlite), ("--postgres", settings.postgres), ("--redis", settings.redis))
    for option, value in options:
        if value is not None:
            raise Misuse(f"{option} is only for your own graphs; a server keeps its own threads and runs")
    if settings.on_lost == "continue":
        raise Misuse("--on-lost continue is only for your own graphs; a server decides what it does with its runs")
    return urls[0]


def _log_ignored(graphs: Project) -> None:
    """Logs a warning for each key of the project's file that is not used."""
    for key in graphs.ignored:
        reason = _IGNORED.get(key, "it is only for LangGraph's own server")
        _log.warning("%s: %r is not used: %s.", graphs.file, key, reason)


async def _own_agents(
    settings: ServeSettings, graphs: Project, lifetime: AsyncExitStack
) -> tuple[list[_Loaded], Threads]:
    """Returns the agents, and where the threads of graphs are that have no checkpointer of their own."""
    # Imported in a thread, because a module may start an event loop of its own.
    variables = [(target, await asyncio.to_thread(import_target, graphs, target)) for target in graphs.targets]
    threads = await lifetime.enter_async_context(open_threads(settings.sqlite, settings.postgres))
    agents = []
    for target, variable in variables:
        source = await served_source(target, variable, threads)
        graph = source.template
        channels = None if graph is None else input_channels_of(graph, MESSAGES)
        is_ours = graph is None or graph.checkpointer is threads.checkpointer
        if settings.redis is not None and is_ours and not threads.are_shared:
            raise Misuse("--redis is for several processes, which must share their threads too: add --postgres URL")
        agents.append(_Loaded(target.name, source, target.description, channels))
    return agents, threads


async def _run_store(settings: ServeSettings, threads: Threads) -> RunStore:
    """Returns the run store: one that several processes share, or a process with the one that replaces it; or else one
    in memory. Raises `Failure` if the store can't be reached, or its package is not installed."""
    retention = Retention(runs=settings.keep_runs) if settings.keep_runs else None
    if settings.redis is None:
        file = None if settings.sqlite is None else settings.sqlite.with_name(f"{settings.sqlite.name}-runs")
        if file is not None and (settings.workers > 1 or settings.on_lost == "continue"):
            return await _store_in_file(file, retention)
        if file is None or retention is None:
            return MemoryRunStore(retention=retention)
        from ...local.store.sqlite.finished import MemoryRunStoreWithFile  # imports sqlite3, which takes a while

        return MemoryRunStoreWithFile(file, threads.checkpointer, retention)
    try:
        from ...local.store.redis import RedisRunStore
    except ModuleNotFoundError as missing:
        raise not_installed("--redis", missing, "'langgraph-agui[redis]'") from missing
    try:
        store = RedisRunStore(settings.redis, retention=retention)
        await store.ping()
    except (ValueError, StoreUnavailableError) as error:
        raise Failure(f"the Redis of --redis can't be used: {brief(error)}") from error
    return store


async def _store_in_file(file: Path, retention: Retention | None) -> RunStore:
    """Returns the run store that several processes share, in a file next to the one that contains their threads."""
    store = SqliteRunStore(file, retention=retention)
    try:
        await store.ping()
    except StoreUnavailableError as error:
        raise Failure(f"the file of --sqlite can't be used: {brief(error.__cause__ or error)}") from error
    return store


async def _platform_agents(settings: ServeSettings, url: str, lifetime: AsyncExitStack) -> list[_Loaded]:
    client = await lifetime.enter_async_context(open_client(url, settings.api_key))
    agents = []
    for name, (source, description) in (await platform_agents(client)).items():
        channels = await input_channels(source, MESSAGES) if settings.state or settings.context else None
        agents.append(_Loaded(name, source, description, channels))
    return agents


async def _agents(settings: ServeSettings, loaded: Sequence[_Loaded]) -> dict[str, Agent]:
    """Returns the agents with their settings. Clients may write those channels of `--state` that an agent has. If it
    has none of them and takes no messages, they may write its whole input, because it could not be run otherwise."""
    state = frozenset(settings.state)
    writable = {agent.name: state if agent.names is None else state & agent.names - {MESSAGES} for agent in loaded}
    for name in sorted(state - frozenset().union(*writable.values())):
        raise Misuse(f"--state {name}: no agent has an input channel of this name")
    fields = _context_fields(settings, loaded)
    _check_shown(settings, loaded)
    return {
        agent.name: _Agent(
            source=agent.source,
            description=agent.description or None,
            intake=Intake(
                state=writable[agent.name] or WITHOUT_MESSAGES,
                context_fields=fields[agent.name],
                busy=settings.busy,
                on_lost=settings.on_lost,
            ),
            options=await _options(settings, agent.source),
            settings=settings,
        )
        for agent in loaded
    }


def _context_fields(settings: ServeSettings, loaded: Sequence[_Loaded]) -> dict[str, frozenset[str]]:
    """Returns those fields of `--context` that each agent has, by the name of the agent. Raises `Misuse` for a field
    that no agent has."""
    named = frozenset(settings.context)
    fields = {
        agent.name: named if agent.names is None or agent.channels is None else named & agent.channels.context
        for agent in loaded
    }
    for name in sorted(named - frozenset().union(*fields.values())):
        raise Misuse(f"--context {name}: no agent has a field of this name in its context")
    return fields


@dataclass(frozen=True)
class _Agent(Agent):
    """An agent with the options in the settings. If its first graph could not be made at the start, the options are
    determined when the agent is used."""

    settings: ServeSettings | None = None

    async def options_for(self, source: Backend, version: str | None) -> Options:
        """See `Agent`."""
        options = await super().options_for(source, version)
        if self.settings is None or self.options is not None or not _has_options(self.settings):
            return options
        return _with_settings(self.settings, options)


def _has_options(settings: ServeSettings) -> bool:
    """Whether the settings differ from the default options of an agent."""
    is_default = (settings.history, settings.unsaved) == _DEFAULT
    return bool(settings.debug or settings.show or settings.hide) or not is_default


async def _options(settings: ServeSettings, source: Source) -> Options | None:
    """Returns the options of an agent, or None if they are the default or its graph is not known yet."""
    backend = backend_of(source)
    if not _has_options(settings) or (backend.is_local and backend.template is None):
        return None
    return _with_settings(settings, await backend.options())


def _with_settings(settings: ServeSettings, options: Options) -> Options:
    channels = options.state_include
    return replace(
        options,
        state_include=None if channels is None else channels.union(settings.show),
        visibility=dict.fromkeys(settings.hide, "hide") or None,
        history=settings.history,
        unsaved=settings.unsaved,
        error_detail="message" if settings.debug else "code",
    )


def _check_shown(settings: ServeSettings, loaded: Sequence[_Loaded]) -> None:
    """Raises `Misuse` for a channel of `--show` that no graph has. The channels of a server's graphs are not known, so
    they are not checked."""
    graphs = [backend_of(agent.source).template for agent in loaded]
    if any(graph is None for graph in graphs):
        return
    channels = {name for graph in graphs if graph is not None for name in graph.channels}
    for name in sorted({*settings.show} - channels):
        raise Misuse(f"--show {name}: no agent has a channel of this name")


def _threads(settings: ServeSettings, server_url: str | None) -> str:
    if server_url is not None:
        return f"Threads are kept by {server_url}."
    if settings.sqlite is not None:
        return f"Threads are kept in {settings.sqlite}" + (
            " and runs next to it." if settings.workers > 1 or settings.on_lost == "continue" else "."
        )
    if settings.postgres is not None:
        return "Threads are kept in PostgreSQL" + (", runs in Redis." if settings.redis is not None else ".")
    return "Threads are kept in memory and are lost when this process ends; use --sqlite FILE or --postgres URL."


def _hosts(settings: ServeSettings) -> Sequence[str]:
    """Returns the host names by which a loopback server may be reached: its own, and those of the allowed origins,
    whose pages may be served by the same proxy. The names of any other server are not known here."""
    if not is_own(settings.host) or "*" in settings.origins:
        return ()
    hosts = (urlsplit(origin).hostname for origin in settings.origins)
    return ("localhost", "127.0.0.1", "::1", settings.host, *filter(None, hosts))


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Binds a socket, and closes it at the end of the block. This is done before any graph is imported, so that a port
    in use is reported at once. Raises `Misuse` for an unknown host, and `Failure` if it can't be bound."""
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
                advice = "choose another with --port, or a free one with --port 0"
                raise Failure(f"port {port} is in use: {advice}") from error
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
    """Reports when it starts and stops. After a signal, `serve` returns normally, and the app itself ends its
    streams."""

    def __init__(self, config: uvicorn.Config, has_started: Callable[[], None], stops: Callable[[], None]) -> None:
        super().__init__(config)
        self._has_started = has_started
        self._stops = stops

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            set_up_collector()
            self._has_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stops()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stops the server at SIGINT and SIGTERM. uvicorn's own method raises the signals again after the server has
        stopped, so the context managers of the graphs would not be left."""
        signals = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


def _print_lines(lines: Sequence[str]) -> None:
    out = console(stderr=True)
    for line in lines:
        out.print(line)
