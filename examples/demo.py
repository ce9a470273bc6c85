"""Runs the agent beside this file and shows the AG-UI events it becomes: `python -m examples.demo [--json]`.

With `--json`, what a client would read: the frames of the event stream, as they are.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

from langgraph_agui.translator import STREAM_MODES, encode, translate, translate_sse

from .agent import QUESTION, day_planner
from .screen import Screen

THREAD, RUN = "lisbon", "run-1"


def parts(pause: float) -> AsyncIterator[Any]:
    """What LangGraph streams of a run."""
    question = {"role": "user", "content": QUESTION, "id": "question"}
    return day_planner(pause).astream({"messages": [question]}, stream_mode=STREAM_MODES, subgraphs=True)


async def show_wire(pause: float) -> None:
    """The run as frames."""
    async for frame in translate_sse(parts(pause), thread_id=THREAD, run_id=RUN):
        sys.stdout.buffer.write(frame)
        sys.stdout.buffer.flush()


async def show_events(pause: float) -> None:
    """The run as a person may read it, and one line about all of it."""
    screen = Screen(sys.stdout, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    events = size = 0
    began = time.perf_counter()
    async for event in translate(parts(pause), thread_id=THREAD, run_id=RUN):
        events += 1
        size += len(encode(event))
        screen.show(event)
    screen.close(f"{events} events, {size:,} bytes on the wire, {time.perf_counter() - began:.1f} s")


def main() -> None:
    """Reads the command line and runs the agent once."""
    asked = argparse.ArgumentParser(prog="python -m examples.demo", description="Shows a run as AG-UI events.")
    asked.add_argument("--json", action="store_true", help="print the frames of the event stream")
    asked.add_argument("--pause", type=float, default=0.025, metavar="SECONDS", help="between two tokens")
    choices = asked.parse_args()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough, as in `| head`, is no error
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run((show_wire if choices.json else show_events)(choices.pause))


if __name__ == "__main__":
    main()
