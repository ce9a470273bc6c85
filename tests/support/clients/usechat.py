"""The Vercel AI SDK, driven from Python: `UiClient`.

Here: the process that runs `tests/usechat/drive.mjs`, its jobs and answers. Never here: tests, or anything of ours that
is tested.
"""

import asyncio
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.clients.agui_client import node

FOLDER = Path(__file__).parent.parent.parent / "usechat"
UIMessage = dict[str, Any]


class UiClient:
    """A Node process that plays UI message streams to the SDK, one after the other."""

    def __init__(self) -> None:
        if not (FOLDER / "node_modules").is_dir():
            npm = Path(node()).with_name("npm")
            command = [str(npm) if npm.exists() else "npm", "ci", "--no-audit", "--no-fund", "--prefix", str(FOLDER)]
            subprocess.run(command, check=True, capture_output=True)
        self._process = subprocess.Popen(
            [node(), str(FOLDER / "drive.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def __enter__(self) -> "UiClient":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()

    def read(self, frames: bytes, message: UIMessage | None = None) -> dict[str, Any]:
        """Reads a stream with `readUIMessageStream`, from this message on: its last `message`, and `error`."""
        return self._ask({"how": "read", "frames": frames.decode(), "message": message})

    def chat(self, frames: bytes, messages: Sequence[UIMessage], say: str | None = None) -> dict[str, Any]:
        """Plays a stream to a `Chat` that has these messages, and sends a message with the id `say`, or resumes: its
        `messages`, `status` and `error`."""
        return self._ask({"how": "chat", "frames": frames.decode(), "messages": list(messages), "say": say})

    async def live(
        self,
        url: str,
        thread: str,
        steps: Sequence[tuple[str, Any]],
        *,
        messages: Sequence[UIMessage] = (),
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Does these steps with a `Chat` at a running server. It sends answers on its own when all are there. Its
        `messages`, `status`, `error`, and how many `requests` it has sent."""
        page = {"url": url, "thread": thread, "steps": list(steps), "messages": list(messages), "body": body or {}}
        return await asyncio.to_thread(self._ask, {"how": "live", **page})

    def _ask(self, job: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the client process ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer
