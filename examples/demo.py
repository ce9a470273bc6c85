"""Runs the agent beside this file and shows the AG-UI events it becomes: `python -m examples.demo [--json]`.

Its reader goes away in mid-sentence and comes back; then it is compared with one that watched from the start. In the
end the agent is served: until Ctrl-C on a terminal, or with `--serve`; else for one run.
With `--json`, what a client would read that stays: the frames of the event stream, as they are, and nothing more.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Callable

from ag_ui.core import BaseEvent, TextMessageContentEvent
from langgraph_agui.connect import start
from langgraph_agui.connect.cli.terminal.screen import Screen, console
from langgraph_agui.translator import STREAM_MODES, ClientView, encode, translate_sse

from .agent import QUESTION, day_planner
from .reading import is_equal, read
from .serving import serve, serve_one_run

THREAD, RUN = "lisbon", "run-1"
ASKED = {"messages": [{"role": "user", "content": QUESTION, "id": "question"}]}


async def show_wire(pause: float) -> None:
    """The run as frames."""
    parts = day_planner(pause).astream(ASKED, stream_mode=STREAM_MODES, subgraphs=True)
    async for frame in translate_sse(parts, thread_id=THREAD, run_id=RUN):
        sys.stdout.buffer.write(frame)
        sys.stdout.buffer.flush()


async def show_events(pause: float) -> bool:
    """The run as a person may read it, and a few lines about all of it; whether both readers have the same."""
    out = console()
    events: list[BaseEvent] = []

    def show_on(screen: Screen) -> Callable[[BaseEvent], None]:
        def show(event: BaseEvent) -> None:
            events.append(event)
            screen.show(event)

        return show

    began = time.perf_counter()
    graph = day_planner(pause)
    await start(graph, ASKED, {"configurable": {"thread_id": THREAD}}, run_id=RUN)
    async with asyncio.TaskGroup() as readers:
        watching = readers.create_task(read(graph, THREAD))
        screen = Screen(out)
        await read(graph, THREAD, show_on(screen), until=in_mid_sentence)
        screen.say("The reader is gone, in mid-sentence. The run continues, and the reader comes back with nothing:")
        await asyncio.sleep(20 * pause)
        screen = Screen(out)  # it has nothing of what the first one displayed
        came_back = await read(graph, THREAD, show_on(screen))
    watched = watching.result()
    took, size = time.perf_counter() - began, sum(len(encode(event)) for event in events)
    screen.say(verdict(watched, came_back))
    screen.say(f"{len(events)} events, {size:,} bytes on the wire, {took:.1f} s")
    return is_equal(watched, came_back)


def in_mid_sentence(event: BaseEvent) -> bool:
    """Whether this is in the middle of the last answer: here the reader leaves."""
    return isinstance(event, TextMessageContentEvent) and event.delta.startswith("Tram")


def verdict(watched: ClientView, came_back: ClientView) -> str:
    """A line about the two views."""
    if is_equal(watched, came_back):
        both = f"{len(watched.messages)} messages, the state, the run's end"
        return f"Both views are equal, of who watched from the start and of who came back: {both}."
    return "The views of who watched from the start and of who came back DIFFER."


def main() -> None:
    """Reads the command line, runs the agent, and serves it; exits with 1 if readers differ, or it can't be served."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description="Shows a run as AG-UI events.")
    parser.add_argument("--json", action="store_true", help="print the frames of the event stream")
    parser.add_argument("--pause", type=float, default=0.025, metavar="SECONDS", help="between two tokens")
    parser.add_argument("--serve", action="store_true", help="serve the agent until Ctrl-C, also without a terminal")
    choices = parser.parse_args()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough, as in `| head`, is no error
    with contextlib.suppress(KeyboardInterrupt):
        if choices.json:
            asyncio.run(show_wire(choices.pause))
            return
        is_right = asyncio.run(show_events(choices.pause))
        print("\nThe same agent, served:\n", flush=True)
        if is_right and (choices.serve or (sys.stdin.isatty() and sys.stdout.isatty())):
            serve()
        sys.exit(0 if serve_one_run() and is_right else 1)


if __name__ == "__main__":
    main()
