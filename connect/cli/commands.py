"""Defines the commands and their options. Each command is implemented in the module or folder of the same name (`serve`
in `serving`), which is imported only when the command is called, so that `--help` is fast. `exits` decides how the
process ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated

import typer

from ... import __version__
from . import help_texts
from .errors import Misuse
from .exits import exit_code, run_to_end

if TYPE_CHECKING:  # only the commands that serve import a server, so that --help and --version are fast
    from .serving.serve import ServeSettings

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Connects LangGraph graphs to AG-UI clients. `langgraph-agui COMMAND --help` describes a command, with "
    "examples.",
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"langgraph-agui {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Accepts the options of `langgraph-agui` itself."""


class Busy(StrEnum):
    """What happens when a client starts a run on a thread that is busy."""

    reject = "reject"
    queue = "queue"
    cancel = "cancel"


class OnLost(StrEnum):
    """What happens to a run when the process that runs it is lost."""

    error = "error"
    continue_ = "continue"


class History(StrEnum):
    """What happens to messages in the conversation when the graph removes them."""

    mirror = "mirror"
    keep = "keep"


class Unsaved(StrEnum):
    """How long clients see the text of a model that no node saves as a message."""

    step = "step"
    run = "run"
    keep = "keep"


class Included(StrEnum):
    """What the page of a run can contain beyond the conversation. These are the kinds of `serve.inspector.sent`, which
    needs the extra `serve`."""

    state = "state"
    tools = "tools"
    attachments = "attachments"
    other = "other"


class Hidden(StrEnum):
    """The kinds of lines that `watch` can leave out."""

    steps = "steps"
    state = "state"
    reasoning = "reasoning"
    tools = "tools"
    custom = "custom"


class Level(StrEnum):
    """The lowest level of messages that are logged."""

    error = "error"
    warning = "warning"
    info = "info"
    debug = "debug"


class LogFormat(StrEnum):
    """How the log is written."""

    text = "text"
    json = "json"


ApiKey = Annotated[
    str | None,
    typer.Option(
        metavar="KEY", help="API key for the LangGraph server. Default: LANGGRAPH_API_KEY or LANGSMITH_API_KEY."
    ),
]
AppToken = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="Token that clients need to list, change and delete threads. Default: AGUI_TOKEN, or a new token, which "
        "is printed.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")]


@app.command(help=help_texts.SERVE, short_help="Serve graphs over AG-UI.", epilog=help_texts.SERVE_EXAMPLES)
def serve(
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET", show_default=False)] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read this file instead of ./langgraph.json.")
    ] = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port to listen on; 0 picks a free port.")
    ] = 8000,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="Allow pages of this origin; may be repeated. A server on 127.0.0.1 also answers requests for the "
            "host name in this origin.",
        ),
    ] = None,
    token: AppToken = None,
    sqlite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep threads in this SQLite file instead of in memory.")
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="AGUI_POSTGRES_URL",
            help="Keep threads in this PostgreSQL database instead of in memory.",
        ),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="AGUI_REDIS_URL", help="Share runs with all processes that use this Redis server."
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Number of server processes. More than one requires --sqlite, or --postgres with --redis.",
        ),
    ] = 1,
    busy: Annotated[
        Busy, typer.Option(help="What to do when a client starts a run on a thread that is busy.")
    ] = Busy.reject,
    on_lost: Annotated[
        OnLost,
        typer.Option(
            help="What to do with a run when the server process that runs it is killed or replaced: end it with an "
            "error, or continue it in another one. Requires --sqlite, or --postgres with --redis."
        ),
    ] = OnLost.error,
    keep_runs: Annotated[
        int,
        typer.Option(
            metavar="RUNS",
            min=0,
            help="How many finished runs are kept with their events, for the inspector: for a week, in at most 64 MB. "
            "0 keeps none.",
        ),
    ] = 1_000,
    state: Annotated[
        list[str] | None,
        typer.Option(metavar="CHANNEL", help="Let clients write this state channel; may be repeated."),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD", help="Let clients set this field of the graphs' runtime context; may be repeated."
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL",
            help="Show clients this state channel although the graph's output schema lacks it; may be repeated.",
        ),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE",
            help="Do not stream what models say in this node or under this tag; may be repeated.",
        ),
    ] = None,
    history: Annotated[
        History, typer.Option(help="Whether clients also drop a message that the graph removes (mirror) or keep it.")
    ] = History.mirror,
    unsaved: Annotated[
        Unsaved, typer.Option(help="How long clients keep the text of a model that no node saves as a message.")
    ] = Unsaved.step,
    inspector: Annotated[
        bool | None,
        typer.Option(
            "--inspector/--no-inspector",
            help="Serve the inspector, a page that shows the threads, at /. Default: only on 127.0.0.1.",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long streams may take to end when the server stops.")
    ] = 5.0,
    drain: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="How long runs may continue after --grace, with --redis or --workers."
        ),
    ] = 20.0,
    api_key: ApiKey = None,
    log_level: Annotated[
        Level, typer.Option(metavar="LEVEL", help="Lowest level to log to stderr: error, warning, info or debug.")
    ] = Level.warning,
    log_format: Annotated[
        LogFormat, typer.Option(help="How to log: text, or json, one object a line with the time.")
    ] = LogFormat.text,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="Answer Prometheus at this address. Default: nowhere."),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Restart when a Python file of the project changes.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Send error messages to clients, and log debug messages and tracebacks.")
    ] = False,
) -> None:
    """Serves graphs until a signal stops the process."""
    from .serving.serve import ServeSettings, serve_until_stopped

    settings = ServeSettings(
        targets=targets or [],
        config=config,
        host=host,
        port=port,
        origins=origin or [],
        token=token,
        sqlite=sqlite,
        postgres=postgres,
        redis=redis,
        workers=workers,
        busy=busy.value,
        on_lost=on_lost.value,
        keep_runs=keep_runs,
        state=state or [],
        context=context or [],
        show=show or [],
        hide=hide or [],
        history=history.value,
        unsaved=unsaved.value,
        inspector=inspector,
        grace=grace,
        drain=drain,
        log_level=log_level.value,
        log_format=log_format.value,
        metrics=metrics,
        api_key=api_key,
        debug=debug,
    )
    if reload and workers > 1:
        raise Misuse("--reload works with one process only; remove --workers")
    if workers > 1:
        from .serving.workers import serve_by_workers

        raise typer.Exit(serve_by_workers(settings, _serve_as_worker))
    if not reload:
        run_to_end(serve_until_stopped(settings), debug)
        return
    from .serving.reload import serve_reloading

    serve_reloading(settings, partial(_serve_again, settings))


def _serve_as_worker(settings: ServeSettings, bound: socket, has_started: Callable[[], None]) -> None:
    """Runs in each server process of `serve --workers`."""
    from .serving.serve import serve_on

    sys.exit(exit_code(lambda: run_to_end(serve_on(settings, bound, has_started), settings.debug)))


def _serve_again(settings: ServeSettings, sockets: list[socket] | None) -> None:
    """Runs in each server process of `serve --reload`, which receives the socket from its parent."""
    from .serving.serve import serve_on

    bound = (sockets or [])[0]
    sys.exit(exit_code(lambda: run_to_end(serve_on(settings, bound), settings.debug)))


@app.command(
    help=help_texts.WATCH,
    short_help="Print the runs of a thread, or of an assistant, live.",
    epilog=help_texts.WATCH_EXAMPLES,
)
def watch(
    source: Annotated[str, typer.Argument(metavar="SOURCE", show_default=False)],
    thread: Annotated[str | None, typer.Argument(metavar="THREAD", show_default=False)] = None,
    assistant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Watch all runs of this assistant (its id, or the name of its graph) instead of a thread.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Agent of the thread, if a server of langgraph-agui has several."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="HEADER", help="Send this header to a server of langgraph-agui; may be repeated."),
    ] = None,
    sqlite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="SQLite file that contains the graph's threads.")
    ] = None,
    api_key: ApiKey = None,
    hide: Annotated[list[Hidden] | None, typer.Option(help="Leave out lines of this kind; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print each event as one line of JSON.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Log debug messages to stderr, and print the traceback of an error.")
    ] = False,
) -> None:
    """Watches a thread or an assistant until a signal stops the process."""
    from .watch import WatchSettings, watch_until_refused

    settings = WatchSettings(
        source=source,
        thread=thread,
        assistant=assistant,
        sqlite=sqlite,
        api_key=api_key,
        agent=agent,
        headers=header or [],
        as_json=json,
        hidden=[kind.value for kind in hide or ()],
        debug=debug,
    )
    run_to_end(watch_until_refused(settings), debug)


@app.command(help=help_texts.ACP, short_help="Connect a graph to an editor.", epilog=help_texts.ACP_EXAMPLES)
def acp(
    target: Annotated[str | None, typer.Argument(metavar="TARGET", show_default=False)] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read this file instead of ./langgraph.json.")
    ] = None,
    assistant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Assistant of the server, or graph of langgraph.json, to use.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the agent in the editor.")] = None,
    sqlite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep sessions in this SQLite file instead of in memory.")
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Keep sessions in this PostgreSQL database instead of in memory."),
    ] = None,
    api_key: ApiKey = None,
    log_level: Annotated[
        Level, typer.Option(metavar="LEVEL", help="Lowest level to log to stderr: error, warning, info or debug.")
    ] = Level.warning,
    debug: Debug = False,
) -> None:
    """Answers an editor until the editor closes the connection."""
    from .acp import AcpSettings, speak

    settings = AcpSettings(
        target=target,
        config=config,
        assistant=assistant,
        name=name,
        sqlite=sqlite,
        postgres=postgres,
        api_key=api_key,
        log_level=log_level.value,
    )
    run_to_end(speak(settings), debug)


@app.command(help=help_texts.CHECK, short_help="Check an AG-UI server.", epilog=help_texts.CHECK_EXAMPLES)
def check(
    url: Annotated[str, typer.Argument(metavar="URL", show_default=False)],
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent to check, of the server at URL.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="HEADER", help="Send this header with each request; may be repeated.")
    ] = None,
    message: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Message to send to the agent. Its answer should take a few seconds."),
    ] = "Hello! Please introduce yourself in a few sentences.",
    drops: Annotated[
        int,
        typer.Option(metavar="NUMBER", min=1, help="Number of points in a run at which the connection is dropped."),
    ] = 4,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="Check only this rule, and `run`, on which the others depend; may be repeated."
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How long checking one rule may take.")
    ] = 120.0,
    report: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write a report: .html for readers, .xml (JUnit) or .json; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print all results as one line of JSON.")] = False,
    debug: Debug = False,
) -> int:
    """Checks the server. Exits with 1 if it breaks a rule."""
    from .check.command import CheckSettings, check_server

    settings = CheckSettings(
        url=url,
        agent=agent,
        headers=header or [],
        message=message,
        drops=drops,
        rules=rule or [],
        timeout=timeout,
        as_json=json,
        reports=report or [],
    )
    return run_to_end(check_server(settings), debug)


@app.command(help=help_texts.RECORD, short_help="Record a run to a file.", epilog=help_texts.RECORD_EXAMPLES)
def record(
    target: Annotated[str | None, typer.Argument(metavar="TARGET", show_default=False)] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to create. It must not exist yet. Default: recording.jsonl, or no such file with --html.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Page to create, which plays the run in a browser without a server. It must not exist yet.",
        ),
    ] = None,
    include: Annotated[
        list[Included] | None,
        typer.Option(help="What the page of --html contains beyond the conversation; may be repeated."),
    ] = None,
    message: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Start the run with this message from the user.")
    ] = None,
    input: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="JSON", help="Start the run with this input.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="JSON", help="Start the run with this answer to the interrupt of --thread.")
    ] = None,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="Thread to use. Default: a new thread.")] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Record this run of --thread, on a server. Default: the active run."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read this file instead of ./langgraph.json.")
    ] = None,
    assistant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Assistant of the server, or graph of langgraph.json, to use.")
    ] = None,
    sqlite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="SQLite file that contains the graph's threads.")
    ] = None,
    api_key: ApiKey = None,
    debug: Debug = False,
) -> None:
    """Records one run until it ends."""
    from .recordings.record import RecordSettings, record_run

    settings = RecordSettings(
        target=target,
        config=config,
        assistant=assistant,
        thread=thread,
        run=run,
        message=message,
        input=input,
        resume=resume,
        output=Path("recording.jsonl") if output is None and html is None else output,
        html=html,
        include=[kind.value for kind in include or ()],
        sqlite=sqlite,
        api_key=api_key,
    )
    typer.echo(run_to_end(record_run(settings), debug))


@app.command(help=help_texts.REPLAY, short_help="Serve a recording.", epilog=help_texts.REPLAY_EXAMPLES)
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    speed: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", min=0.01, help="How many times faster than the original run. Default: 1."),
    ] = None,
    instant: Annotated[bool, typer.Option("--instant", help="Send all events at once, without pauses.")] = False,
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the agent; use the one that your page requests.")
    ] = "replay",
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port to listen on; 0 picks a free port.")
    ] = 8000,
    origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Allow pages of this origin; may be repeated.")
    ] = None,
    token: AppToken = None,
    debug: Debug = False,
) -> None:
    """Serves a recording until a signal stops the process."""
    from .recordings.replay import ReplaySettings, replay_until_stopped
    from .serving.serve import ServeSettings

    if instant and speed is not None:
        raise Misuse("expected --speed or --instant, not both")
    serve = ServeSettings(host=host, port=port, origins=origin or [], token=token, log_level="error", debug=debug)
    settings = ReplaySettings(file=file, agent=agent, speed=None if instant else speed or 1.0, serve=serve)
    run_to_end(replay_until_stopped(settings), debug)


def run() -> int:
    """Runs the command line and returns the exit code, which `exits` describes."""
    return exit_code(lambda: app(sys.argv[1:] or ["--help"], prog_name="langgraph-agui", standalone_mode=False))
