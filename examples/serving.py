"""The agent, served by the command `langgraph-agui serve`: for a person until Ctrl-C, or for one run that is checked.

The command is started as a user would start it. No events are made and no page is built here.
"""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import httpx

from .agent import QUESTION

_SERVE = [sys.executable, "-m", "langgraph_agui.connect.cli", "serve", "planner=examples.agent:graph"]
_COMMAND = [*_SERVE, "--port", "0", "--origin", "http://localhost:5173"]


def serve() -> None:
    """Becomes the command, and so ends when that is stopped. For a terminal."""
    sys.stdout.flush()
    os.execv(sys.executable, _COMMAND)


def serve_one_run() -> bool:
    """Serves, prints what the command prints, requests a run as a client would, and stops; whether all went well."""
    with subprocess.Popen(_COMMAND, stderr=subprocess.PIPE, encoding="utf-8") as process:
        events: list[dict[str, Any]] = []
        for line in process.stderr or ():
            print(line, end="")
            if line.startswith("Threads"):  # the last line that it prints at its start
                break
            if line.startswith("planner "):
                url = line.split()[-1]
        else:
            return False
        try:
            events = _requested(url)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()  # it prints that it stops
    ended = events[-1]["type"] if events else "nothing"
    print(f"A client requested a run: {len(events)} events, the last is {ended}. The server was stopped.")
    return ended == "RUN_FINISHED" and process.returncode == 0


def _requested(url: str) -> list[dict[str, Any]]:
    """The events of a run, as the server emits them."""
    question = {"id": "question", "role": "user", "content": QUESTION}
    ids = {"threadId": "lisbon", "runId": "run-1"}
    rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    answer = httpx.post(url, json={**ids, **rest, "messages": [question]}, timeout=60)
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: ")]
