"""The real AG-UI clients, driven from Python: `AguiClient` and what one answers.

Here: the process that runs `tests/client/drive.mjs`, its jobs and answers. Never here: tests, or anything of ours that
is tested.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

CLIENT = Path(__file__).parent.parent.parent / "client"
VERSIONS: tuple[str, ...] = ("1.0.0", "0.0.59")
"""The client versions that every stream is played to."""
WITHOUT_SUBAGENTS = "0.0.58"
"""The last client version that does not know subagents."""


def node() -> str:
    """The Node binary: the one `NODE` names, or the one on PATH."""
    found = os.environ.get("NODE") or shutil.which("node")
    if found is None:
        raise RuntimeError("the tests need Node: put it on PATH or name it in NODE")
    return found


def install() -> None:
    """Installs what the clients need, if nothing is."""
    if not (CLIENT / "node_modules").is_dir():
        npm = Path(node()).with_name("npm")
        command = [str(npm) if npm.exists() else "npm", "ci", "--no-audit", "--no-fund", "--prefix", str(CLIENT)]
        subprocess.run(command, check=True, capture_output=True)


def protocol(version: str) -> str | None:
    """The protocol version a client of this version declares; the older one declares none."""
    return "1.0" if version == "1.0.0" else None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client said and held after a stream."""

    error: str | None
    warnings: list[str]
    messages: list[dict[str, Any]]
    state: Any
    pending_interrupts: list[dict[str, Any]]
    result: Any
    trace: list[dict[str, Any]]
    """What it held (messages, state) after each event, or after so many as `after` names; only if asked for. What did
    not change between two entries is the same object in both."""

    @property
    def accepted(self) -> bool:
        """Whether the client took the whole stream without a word."""
        return self.error is None and not self.warnings


class AguiClient:
    """A Node process that plays streams to the real clients, one after the other."""

    def __init__(self) -> None:
        install()
        self._process = subprocess.Popen(
            [node(), str(CLIENT / "drive.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def __enter__(self) -> "AguiClient":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()

    def play(
        self,
        events: Iterable[Mapping[str, Any]] | None = None,
        *,
        frames: str | bytes | None = None,
        version: str = "1.0.0",
        mode: Literal["run", "connect"] = "run",
        messages: Sequence[Mapping[str, Any]] = (),
        state: Any = None,
        trace: bool = False,
        after: Sequence[int] | None = None,
        split: int | None = None,
        resume: Sequence[Mapping[str, Any]] | None = None,
    ) -> Answer:
        """Plays one response to a client that holds `messages` and `state` (`{}` if not given).

        The response is `events` (wire dicts, framed here) or `frames` (SSE as it stands); `split` is how many bytes
        the client reads at once. `after` asks for a trace with one entry for each of these counts of events, sorted.
        """
        job: dict[str, Any] = {"version": version, "mode": mode, "messages": list(messages), "trace": trace}
        job["state"] = {} if state is None else state
        if frames is None:
            job["events"] = list(events or ())
        else:
            job["frames"] = frames.decode() if isinstance(frames, bytes) else frames
        if after is not None:
            job["after"] = list(after)
        if split is not None:
            job["split"] = split
        if resume is not None:
            job["resume"] = list(resume)
        answer = self._ask(job)
        return Answer(
            error=answer["error"],
            warnings=answer["warnings"],
            messages=answer["messages"],
            state=answer["state"],
            pending_interrupts=answer["pendingInterrupts"],
            result=answer["result"],
            trace=answer.get("trace", []) if after is None else _restored(answer["trace"]),
        )

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client process ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _restored(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a trace that names unchanged messages by their place in the entry before."""
    restored: list[dict[str, Any]] = []
    messages: list[Any] = []
    state: Any = None
    for entry in entries:
        messages = [messages[item] if isinstance(item, int) else item for item in entry["messages"]]
        state = entry.get("state", state)
        restored.append({"messages": messages, "state": state})
    return restored
