"""The commands, their options and their help. What each does is in the module or the folder of its name, imported when
it is called: help must not wait for it."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from enum import StrEnum
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ... import __version__
from .errors import Misuse, Refusal, brief

if TYPE_CHECKING:  # a server is imported by the commands that need it: --help and --version are at once
    from .serve import ServeSettings

_USAGE: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises for arguments that it can't take; it exports only some of the classes below this one."""

_SERVE = """Puts graphs behind AG-UI: CopilotKit's React client and any other AG-UI client talk to them.

TARGET is a graph (my_app:graph, ./agent.py:graph, name=./agent.py:graph; several may be given), or the URL of a
server (LangGraph Platform, langgraph dev, Aegra), all of whose assistants are served. Without one, the graphs of
./langgraph.json are.
"""
_SERVE_EXAMPLES = """\b
Examples:
  langgraph-agui serve
  langgraph-agui serve ./agent.py:graph --sqlite threads.db --origin http://localhost:5173
  langgraph-agui serve planner=my_app:plan writer=my_app:write --port 9000
  langgraph-agui serve https://my-deployment.langgraph.app
"""
_WATCH = """Prints a thread, and every run of it from then on, by any user or cron.

SOURCE is the URL of a server, or a graph (my_app:graph, ./agent.py:graph) whose threads are in a SQLite file or with
its own checkpointer. Ends with Ctrl-C.
"""
_WATCH_EXAMPLES = """\b
Examples:
  langgraph-agui watch http://localhost:2024 5d1b0a3e-...
  langgraph-agui watch http://localhost:2024 --assistant daily_report
  langgraph-agui watch ./agent.py:graph my-thread --sqlite threads.db --hide steps
  langgraph-agui watch http://localhost:2024 5d1b0a3e-... --json | jq .type
"""
_CHECK = """Checks an AG-UI server: whether its streams are valid, and whether a thread can be connected to, watched and
stopped as docs/connect.md says.

URL is where an AG-UI client posts its runs; or, with --agent or a single agent, the server's. The agent makes about a
dozen runs, on new threads of its own, each of which calls its model.
"""
_CHECK_EXAMPLES = """\b
Examples:
  langgraph-agui check http://127.0.0.1:8000
  langgraph-agui check http://127.0.0.1:8000 --agent planner
  langgraph-agui check http://127.0.0.1:8000/planner --message "Plan me a day in Lisbon." --rule dropped
  langgraph-agui check https://example.com/agent --header "Authorization: Bearer ..." --json
"""

_ACP = """Makes a graph an agent of an editor: Zed, JetBrains, Neovim, Emacs, by the Agent Client Protocol.

TARGET is a graph (my_app:graph, ./agent.py:graph), an AcpAgent, a function of a session that makes a graph, or the URL
of a server. Without one, the graph of ./langgraph.json is. The editor starts this command; it speaks on standard input
and output, and logs on standard error.
"""
_ACP_EXAMPLES = """\b
Examples:
  langgraph-agui acp my_app:graph
  langgraph-agui acp ./agent.py:graph --sqlite ~/.my-agent.db
  langgraph-agui acp https://my-deployment.langgraph.app --assistant agent
"""

_RECORD = """Writes a run to a file: LangGraph's parts, the events that they become, and the ids.

TARGET is a graph (my_app:graph, ./agent.py:graph), which is run here, or the URL of a server: a run that is started
there, or one that there is, of --thread. Without TARGET the graph of ./langgraph.json is run. The file has all that the
run streamed: read it before you pass it on.
"""
_RECORD_EXAMPLES = """\b
Examples:
  langgraph-agui record --message "Plan my day." --output fault.jsonl
  langgraph-agui record ./agent.py:graph --input '{"topic": "cats"}' --output tests/runs/cats.jsonl
  langgraph-agui record http://localhost:2024 --assistant agent --message hi
  langgraph-agui record http://localhost:2024 --thread 5d1b0a3e-... --run 1f0c...
"""
_REPLAY = """Serves a recording as if its run happened now, to any AG-UI client.

FILE is what `langgraph-agui record` has written. Every run that a client asks for is the recorded one; a client that
connects to the recorded thread sees it too. Ends with Ctrl-C.
"""
_REPLAY_EXAMPLES = """\b
Examples:
  langgraph-agui replay fault.jsonl
  langgraph-agui replay fault.jsonl --speed 4 --origin http://localhost:5173
  langgraph-agui replay fault.jsonl --instant --port 9000
"""

_Result = TypeVar("_Result")

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
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of what goes wrong.")]


@app.command(help=_SERVE, short_help="Put graphs behind AG-UI.", epilog=_SERVE_EXAMPLES)
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
    busy: Annotated[Busy, typer.Option(help="A second run on a thread.")] = Busy.reject,
    state: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL", help="A channel a client may write; may be repeated.")
    ] = None,
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
        float, typer.Option(metavar="SECONDS", min=0, help="Seconds that runs have to end after that, with --redis.")
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
    from .serve import ServeSettings, serve_until_stopped

    settings = ServeSettings(
        targets=targets or [],
        config=config,
        host=host,
        port=port,
        origins=origin or [],
        sqlite=sqlite,
        postgres=postgres,
        redis=redis,
        busy=busy.value,
        state=state or [],
        inspector=inspector,
        grace=grace,
        drain=drain,
        log_level=log_level.value,
        api_key=api_key,
        debug=debug,
    )
    if not reload:
        _run(serve_until_stopped(settings), debug)
        return
    from .reload import serve_reloading

    serve_reloading(settings, partial(_serve_again, settings))


def _serve_again(settings: ServeSettings, sockets: list[socket] | None) -> None:
    """What a server process of `serve --reload` does, which is given the socket."""
    from .serve import serve_on

    bound = (sockets or [])[0]
    sys.exit(_exit_code(lambda: _run(serve_on(settings, bound), settings.debug)))


@app.command(help=_WATCH, short_help="Print the runs of a thread, or of an assistant, live.", epilog=_WATCH_EXAMPLES)
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
    _run(watch_until_lost(settings), debug)


@app.command(help=_ACP, short_help="Make a graph an agent of an editor.", epilog=_ACP_EXAMPLES)
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
    _run(speak(settings), debug)


@app.command(help=_CHECK, short_help="Check an AG-UI server.", epilog=_CHECK_EXAMPLES)
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
    return _run(check_server(settings), debug)


@app.command(help=_RECORD, short_help="Write a run to a file.", epilog=_RECORD_EXAMPLES)
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
    typer.echo(_run(record_run(settings), debug))


@app.command(help=_REPLAY, short_help="Serve a recording.", epilog=_REPLAY_EXAMPLES)
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
    debug: Debug = False,
) -> None:
    """Serves until it is stopped."""
    from .recordings.replay import ReplaySettings, replay_until_stopped
    from .serve import ServeSettings

    if instant and speed is not None:
        raise Misuse("expected --speed or --instant, not both")
    serve = ServeSettings(host=host, port=port, origins=origin or [], log_level="error", debug=debug)
    settings = ReplaySettings(file=file, agent=agent, speed=None if instant else speed or 1.0, serve=serve)
    _run(replay_until_stopped(settings), debug)


def run() -> int:
    """Runs the command line, and returns its exit code. An error is one line on stderr."""
    return _exit_code(lambda: app(sys.argv[1:] or ["--help"], prog_name="langgraph-agui", standalone_mode=False))


def _exit_code(do: Callable[[], Any]) -> int:
    try:
        return int(do() or 0)
    except _USAGE as error:
        return _complain(_message(error), 2)
    except Refusal as refusal:
        return _complain(str(refusal), refusal.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(doing: Coroutine[Any, Any, _Result], debug: bool) -> _Result:
    try:
        return asyncio.run(doing)
    except (BrokenPipeError, ModuleNotFoundError):
        raise
    except Exception as error:
        if debug:
            traceback.print_exception(error)
        if isinstance(error, Refusal):
            raise
        raise Refusal(f"{brief(error)} (--debug shows where)") from error


def _message(error: Exception) -> str:
    """typer's message for arguments that it can't take; not all of it is in `str` of such an error."""
    message = getattr(error, "format_message", None)
    return str(error if message is None else message())


def _complain(message: str, exit_code: int) -> int:
    plain = "".join(letter for letter in " ".join(message.split()) if letter.isprintable())  # a server may have sent it
    print(f"langgraph-agui: {plain}", file=sys.stderr)
    return exit_code
