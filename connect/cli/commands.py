"""The commands, their options and their help. What they do is in `serve`, `reload`, `watch` and `check`, imported when
they are called: help must not wait for them."""

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
from .errors import Refusal, brief

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
