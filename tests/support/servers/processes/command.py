"""The command `langgraph-agui`, run as a user runs it: to its end, or served and stopped again. No tests here.

Its process is forked from one that has imported what it needs: see `forks.py`.
"""

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
from langgraph_agui.translator import ClientView

from tests.support.servers.processes.forks import environment, forked
from tests.support.servers.processes.server_process import ROOT
from tests.support.servers.serving import events_of


def command_line() -> list[str]:
    """The command, without arguments."""
    return forked("langgraph_agui.connect.cli")


def command(
    *arguments: str, cwd: Path = ROOT, before: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command, run to its end. `before`: Python that is run first, in a process that has imported
    nothing that needs an extra."""
    start = command_line() if before is None else [*forked(_RUN_SOURCE, "connect"), f"{before}\n{_MAIN}"]
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


@dataclass(frozen=True)
class Serving:
    """A command that serves."""

    url: str
    said: Sequence[str]
    process: "subprocess.Popen[str]"

    @property
    def token(self) -> str:
        """The token that it has printed in the fragment of the inspector's URL."""
        [page] = [word for line in self.said if line.startswith("Open ") for word in line.split() if "#token=" in word]
        return page.partition("#token=")[2]

    @property
    def bearer(self) -> dict[str, str]:
        """The headers of a client that has its token."""
        return {"Authorization": f"Bearer {self.token}"}

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
def serving(*arguments: str, by: str = "serve", cwd: Path = ROOT, **variables: str) -> Iterator[Serving]:
    """The command `serve`, or another one that serves, on a free port, from the moment it has said where it is; stopped
    at the end of the block."""
    with subprocess.Popen(
        [*command_line(), by, "--port", "0", *arguments],
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


def one_line(ran: "subprocess.CompletedProcess[str]") -> str:
    """The only thing that a command said that did not do what it was asked for."""
    assert ran.stdout == ""
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    [line] = ran.stderr.splitlines()
    return line.removeprefix("langgraph-agui: ")


_RUN_SOURCE = "tests.support.servers.processes.run_source"
_MAIN = "from langgraph_agui.connect.cli import main; main()"


def _until_threads(lines: IO[str]) -> Iterator[str]:
    for line in lines:
        yield line.rstrip("\n")
        if line.startswith("Threads"):
            return
