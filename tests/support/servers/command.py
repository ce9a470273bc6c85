"""The command `langgraph-agui`, run as somebody runs it: to its end, or served and stopped again. No tests here."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
from langgraph_agui.translator import ClientView

from tests.support.servers.server_process import ROOT, python_path
from tests.support.servers.serving import events_of

COMMAND = [sys.executable, "-m", "langgraph_agui.connect.cli"]
_ENVIRONMENT = {"PYTHONWARNINGS": "error", "PYTHONPATH": python_path()}


def command(
    *arguments: str, cwd: Path = ROOT, before: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command, run to its end. `before`: Python that is run in its process first."""
    start = COMMAND if before is None else [sys.executable, "-c", f"{before}\n{_MAIN}"]
    return subprocess.run(
        [*start, *arguments],
        cwd=cwd,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def commands(several: Sequence[Sequence[str]], cwd: Path) -> list["subprocess.CompletedProcess[str]"]:
    """Commands, each run to its end in a process of its own: see `forked_commands`."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.servers.forked_commands"],
        cwd=cwd,
        env=environment({}),
        input=json.dumps(several),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=True,
    )
    return [
        subprocess.CompletedProcess(list(each), **said)
        for each, said in zip(several, json.loads(ran.stdout), strict=True)
    ]


@dataclass(frozen=True)
class Serving:
    """A command that serves."""

    url: str
    said: Sequence[str]
    process: "subprocess.Popen[str]"

    def run(self, agent: str, text: str = "hi", thread_id: str = "t", run_id: str = "r", **more: Any) -> ClientView:
        """What a client holds after it has asked an agent for a run."""
        given = asking(text, thread_id, run_id, **more)
        answer = httpx.post(f"{self.url}/{agent}", json=given, timeout=30)
        assert answer.status_code == 200, answer.text
        view = ClientView(given["messages"], {})
        for event in events_of(answer.text):
            view.apply(event)
        return view


@contextmanager
def serving(*arguments: str, cwd: Path = ROOT, **variables: str) -> Iterator[Serving]:
    """The command `serve` on a free port, from the moment it has said where it is; stopped at the end of the block."""
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *arguments],
        cwd=cwd,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stderr is not None
        said = list(_until_threads(process.stderr))
        try:
            assert said, "it said nothing"
            assert said[-1].startswith("Threads"), "\n".join(said)
            place = next(line for line in said if "  http://" in line)
            yield Serving(place.split()[-1].rpartition("/")[0], said, process)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)


def asking(text: str, thread_id: str = "t", run_id: str = "r", **more: Any) -> dict[str, Any]:
    """The input of a run in which the user says this, on the wire."""
    message = {"id": f"asked-{run_id}", "role": "user", "content": text}
    rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}, **more}
    return {"threadId": thread_id, "runId": run_id, "messages": [message], **rest}


@contextmanager
def interruptible() -> Iterator[None]:
    """A command that is started in the block takes SIGINT. A shell starts what runs in its background with SIGINT
    ignored, tests as well, and a command inherits that."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if before is signal.SIG_IGN:
            signal.signal(signal.SIGINT, before)


def one_line(ran: "subprocess.CompletedProcess[str]") -> str:
    """The only thing that a command said that did not do what it was asked for."""
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    [line] = ran.stderr.splitlines()
    return line.removeprefix("langgraph-agui: ")


_MAIN = "from langgraph_agui.connect.cli import main; main()"


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """What a command finds, wherever it is run: our packages; and no warning is passed over."""
    return {**os.environ, **_ENVIRONMENT, **more}


def _until_threads(lines: IO[str]) -> Iterator[str]:
    for line in lines:
        yield line.rstrip("\n")
        if line.startswith("Threads"):
            return
