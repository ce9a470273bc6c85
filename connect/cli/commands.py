"""The commands and their options. What each does is in the module or the folder of its name (`serve` in `serving`),
imported when it is called: help must not wait for it. How the command ends is in `exits`."""

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

if TYPE_CHECKING:  # a server is imported by the commands that need it: --help and --version are at once
    from .serving.serve import ServeSettings

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="LangGraph graphs for AG-UI clients. `langgraph-agui COMMAND --help` has examples.",
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
    """The options of the command itself."""


class Busy(StrEnum):
    """What happens to a run on a thread that has one."""

    reject = "reject"
    queue = "queue"
    cancel = "cancel"


class History(StrEnum):
    """What happens to messages that the graph removes."""

    mirror = "mirror"
    keep = "keep"


class Unsaved(StrEnum):
    """How long text stays that no node saved as a message."""

    step = "step"
    run = "run"
    keep = "keep"


class Hidden(StrEnum):
    """What `watch` can leave out."""

    steps = "steps"
    state = "state"
    reasoning = "reasoning"
    tools = "tools"
    custom = "custom"


class Level(StrEnum):
    """How much is logged."""

    error = "error"
    warning = "warning"
    info = "info"
    debug = "debug"


ApiKey = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="Of the server. Without it LANGGRAPH_API_KEY or LANGSMITH_API_KEY is taken."),
]
AppToken = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="What lists, changes and deletions of threads need. Without it AGUI_TOKEN is used, or one is made and "
        "printed.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of what goes wrong.")]


@app.command(help=help_texts.SERVE, short_help="Put graphs behind AG-UI.", epilog=help_texts.SERVE_EXAMPLES)
def serve(
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET", show_default=False)] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="In place of ./langgraph.json.")] = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")] = 8000,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="A page's origin that is let in; may be repeated. On 127.0.0.1 the server answers to its own names "
            "and to these hosts'.",
        ),
    ] = None,
    token: AppToken = None,
    sqlite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep threads in this file, not in memory.")
    ] = None,
    postgres: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="AGUI_POSTGRES_URL", help="Keep threads in this database, not in memory."),
    ] = None,
    redis: Annotated[
        str | None,
        typer.Option(metavar="URL", envvar="AGUI_REDIS_URL", help="Share runs with all processes of this Redis."),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="So many processes: with --sqlite, or --postgres and --redis.",
        ),
    ] = 1,
    busy: Annotated[Busy, typer.Option(help="A second run on a thread.")] = Busy.reject,
    state: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL", help="A channel a client may write; may be repeated.")
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL",
            help="A state channel that clients see although it is not in the output schema; may be repeated.",
        ),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NODE", help="A node, or a tag, whose models clients do not see while they speak; may be repeated."
        ),
    ] = None,
    history: Annotated[
        History, typer.Option(help="Whether messages that the graph removes leave the conversation.")
    ] = History.mirror,
    unsaved: Annotated[
        Unsaved, typer.Option(help="How long clients see what a model says and no node saves as a message.")
    ] = Unsaved.step,
    inspector: Annotated[
        bool | None,
        typer.Option(
            "--inspector/--no-inspector",
            help="Show the threads on a page at /. On by itself on 127.0.0.1.",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Seconds that streams have to end when the server stops.")
    ] = 5.0,
    drain: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0, help="Seconds that runs have after that, with --redis or --workers."),
    ] = 20.0,
    api_key: ApiKey = None,
    log_level: Annotated[
        Level, typer.Option(metavar="LEVEL", help="What is logged, on stderr: error, warning, info or debug.")
    ] = Level.warning,
    reload: Annotated[
        bool, typer.Option("--reload", help="Start again when a Python file of the project changes.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show clients the texts of errors; log in detail, with tracebacks.")
    ] = False,
) -> None:
    """Serves until it is stopped."""
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
        state=state or [],
        show=show or [],
        hide=hide or [],
        history=history.value,
        unsaved=unsaved.value,
        inspector=inspector,
        grace=grace,
        drain=drain,
        log_level=log_level.value,
        api_key=api_key,
        debug=debug,
    )
    if reload and workers > 1:
        raise Misuse("--reload is for one process: expected no --workers")
    if workers > 1:
        from .serving.workers import serve_by_workers

        raise typer.Exit(serve_by_workers(settings, _serve_as_worker))
    if not reload:
        run_to_end(serve_until_stopped(settings), debug)
        return
    from .serving.reload import serve_reloading

    serve_reloading(settings, partial(_serve_again, settings))


def _serve_as_worker(settings: ServeSettings, bound: socket, has_started: Callable[[], None]) -> None:
    """What a server process of `serve --workers` does."""
    from .serving.serve import serve_on

    sys.exit(exit_code(lambda: run_to_end(serve_on(settings, bound, has_started), settings.debug)))


def _serve_again(settings: ServeSettings, sockets: list[socket] | None) -> None:
    """What a server process of `serve --reload` does, which is given the socket."""
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
        typer.Option(metavar="NAME", help="In place of a thread: all runs of this assistant (its id, or its graph)."),
    ] = None,
    sqlite: Annotated[Path | None, typer.Option(metavar="FILE", help="The file that has the graph's threads.")] = None,
    api_key: ApiKey = None,
    hide: Annotated[list[Hidden] | None, typer.Option(help="What is left out; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the events as JSON, one per line.")] = False,
    debug: Debug = False,
) -> None:
    """Watches until it is stopped."""
    from .watch import WatchSettings, watch_until_lost

    settings = WatchSettings(
        source=source,
        thread=thread,
        assistant=assistant,
        sqlite=sqlite,
        api_key=api_key,
        as_json=json,
        hidden=[each.value for each in hide or ()],
    )
    run_to_end(watch_until_lost(settings), debug)


@app.command(help=help_texts.ACP, short_help="Make a graph an agent of an editor.", epilog=help_texts.ACP_EXAMPLES)
def acp(
    target: Annotated[str | None, typer.Argument(metavar="TARGET", show_default=False)] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="In place of ./langgraph.json.")] = None,
    assistant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of the server's assistants, or of the file's graphs.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What the editor calls the agent.")] = None,
    sqlite: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep sessions in this file, not in memory.")
    ] = None,
    postgres: Annotated[
        str | None, typer.Option(metavar="URL", help="Keep sessions in this PostgreSQL database.")
    ] = None,
    api_key: ApiKey = None,
    log_level: Annotated[
        Level, typer.Option(metavar="LEVEL", help="What is logged, on stderr: error, warning, info or debug.")
    ] = Level.warning,
    debug: Debug = False,
) -> None:
    """Answers an editor until it leaves."""
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
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="An agent of the server at URL.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="HEADER", help="Sent with each request; may be repeated.")
    ] = None,
    message: Annotated[
        str, typer.Option(metavar="TEXT", help="What the agent is asked. Its answer should take a few seconds.")
    ] = "Hello! Please introduce yourself in a few sentences.",
    drops: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="At how many places of a run its connection is lost.")
    ] = 4,
    rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Only the rule run and this one; may be repeated.")
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="How long a rule may take.")] = 120.0,
    json: Annotated[bool, typer.Option("--json", help="Print the results as one line of JSON.")] = False,
    debug: Debug = False,
) -> int:
    """Exits with 1 if the server breaks a rule."""
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
    )
    return run_to_end(check_server(settings), debug)


@app.command(help=help_texts.RECORD, short_help="Write a run to a file.", epilog=help_texts.RECORD_EXAMPLES)
def record(
    target: Annotated[str | None, typer.Argument(metavar="TARGET", show_default=False)] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The file, which is made.")] = Path("recording.jsonl"),
    message: Annotated[str | None, typer.Option(metavar="TEXT", help="Run it with this message of a user.")] = None,
    input: Annotated[str | None, typer.Option(metavar="JSON", help="Run it with this input.")] = None,  # noqa: A002
    resume: Annotated[str | None, typer.Option(metavar="JSON", help="Answer the interrupt of a thread.")] = None,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="The thread: a new one.")] = None,
    run: Annotated[str | None, typer.Option(metavar="ID", help="A run of a server's thread: its active one.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="In place of ./langgraph.json.")] = None,
    assistant: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of the server's assistants, or of the file's graphs.")
    ] = None,
    sqlite: Annotated[Path | None, typer.Option(metavar="FILE", help="The file that has the graph's threads.")] = None,
    api_key: ApiKey = None,
    debug: Debug = False,
) -> None:
    """Records one run, to its end."""
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
        output=output,
        sqlite=sqlite,
        api_key=api_key,
    )
    typer.echo(run_to_end(record_run(settings), debug))


@app.command(help=help_texts.REPLAY, short_help="Serve a recording.", epilog=help_texts.REPLAY_EXAMPLES)
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    speed: Annotated[
        float | None, typer.Option(metavar="NUMBER", min=0.01, help="How many times faster than it was: 1.")
    ] = None,
    instant: Annotated[bool, typer.Option("--instant", help="Without pauses.")] = False,
    agent: Annotated[str, typer.Option(metavar="NAME", help="The agent's name that your page asks for.")] = "replay",
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="0: any that is free.")] = 8000,
    origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="A page's origin that is let in; may be repeated.")
    ] = None,
    token: AppToken = None,
    debug: Debug = False,
) -> None:
    """Serves until it is stopped."""
    from .recordings.replay import ReplaySettings, replay_until_stopped
    from .serving.serve import ServeSettings

    if instant and speed is not None:
        raise Misuse("expected --speed or --instant, not both")
    serve = ServeSettings(host=host, port=port, origins=origin or [], token=token, log_level="error", debug=debug)
    settings = ReplaySettings(file=file, agent=agent, speed=None if instant else speed or 1.0, serve=serve)
    run_to_end(replay_until_stopped(settings), debug)


def run() -> int:
    """Runs the command line, and returns its exit code; see `exits`."""
    return exit_code(lambda: app(sys.argv[1:] or ["--help"], prog_name="langgraph-agui", standalone_mode=False))
