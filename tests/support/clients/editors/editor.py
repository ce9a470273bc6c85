"""An editor: a client of the Agent Client Protocol that speaks JSON lines, checks every message that it gets, and
answers questions as a test says."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from acp.schema import (
    CreateFormSessionElicitationRequest,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestPermissionRequest,
    ResumeSessionResponse,
    SessionNotification,
    SetSessionConfigOptionResponse,
)
from langgraph_agui.connect.acp import AcpAgent
from langgraph_agui.connect.acp.server import serve

from tests.support.clients.editors.view import EditorView, Update, view_of

FORMS: Any = {"elicitation": {"form": {}}}
_RESULTS: Mapping[str, Any] = {
    "initialize": InitializeResponse,
    "session/new": NewSessionResponse,
    "session/load": LoadSessionResponse,
    "session/resume": ResumeSessionResponse,
    "session/list": ListSessionsResponse,
    "session/prompt": PromptResponse,
    "session/set_config_option": SetSessionConfigOptionResponse,
}
_REQUESTS: Mapping[str, Any] = {
    "session/request_permission": RequestPermissionRequest,
    "elicitation/create": CreateFormSessionElicitationRequest,
}
Ask = Callable[[str, dict[str, Any]], Any]
"""Answers a request of the agent: by its method and its parameters. None: never."""


class AnsweredError(Exception):
    """The agent answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


def chosen(option: str) -> Ask:
    """Chooses this option of every permission."""
    return lambda method, params: {"outcome": {"outcome": "selected", "optionId": option}}


def in_turn(*answers: Any) -> Ask:
    """Gives one answer after the other."""
    left = list(answers)
    return lambda method, params: left.pop(0)


class TestEditor:
    """One connection. `messages`: all that came, in their order. `asked`: the requests of the agent."""

    __test__ = False

    def __init__(self, reader: asyncio.StreamReader, write: Callable[[bytes], None]) -> None:
        self._reader, self._write = reader, write
        self._next = 0
        self._begun: dict[str, int] = {}
        self._pending: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._changed = asyncio.Condition()
        self.ask: Ask = lambda method, params: None
        self.messages: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.errors: list[dict[str, Any]] = []
        """Errors that answer no request."""

    @property
    def sent(self) -> int:
        """The id of its last request."""
        return self._next

    def send(self, message: Any) -> None:
        """A line: a message, or any bytes."""
        self._write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")

    def begin(self, method: str, **params: Any) -> asyncio.Future[Any]:
        """Sends a request; its result."""
        self._next += 1
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[self._next] = method, future
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return future

    async def request(self, method: str, **params: Any) -> Any:
        """The result of a request; raises `AnsweredError`."""
        return await self.begin(method, **params)

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def initialize(self, **capabilities: Any) -> Any:
        return await self.request("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def new(self, cwd: str = "/work", **more: Any) -> str:
        result = await self.request("session/new", **{"cwd": cwd, "mcpServers": [], **more})
        return str(result["sessionId"])

    def prompt(self, session_id: str, *texts: str | dict[str, Any]) -> asyncio.Future[Any]:
        """The result of a prompt."""
        blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in texts]
        return self.begin("session/prompt", sessionId=session_id, prompt=blocks)

    async def load(self, session_id: str, cwd: str = "/work", method: str = "session/load") -> Any:
        """Loads a session: it is displayed anew."""
        self._begun[session_id] = len(self.messages)
        return await self.request(method, sessionId=session_id, cwd=cwd, mcpServers=[])

    def updates(self, session_id: str, after: int = 0) -> list[Update]:
        """The updates of a session, of the messages from this number on."""
        params = [each["params"] for each in self.messages[after:] if each.get("method") == "session/update"]
        return [each["update"] for each in params if each["sessionId"] == session_id]

    def view(self, session_id: str) -> EditorView:
        """What is displayed of a session, since it was loaded last."""
        return view_of(self.updates(session_id, self._begun.get(session_id, 0)))

    async def until(self, is_there: Callable[[], bool]) -> None:
        """Returns when a message has made it true."""
        async with self._changed:
            await self._changed.wait_for(is_there)

    async def run(self) -> None:
        """Reads what comes, to its end. Raises `AssertionError` for a line that is no message."""
        try:
            while line := await self._reader.readline():
                assert line.startswith(b"{"), line
                message = json.loads(line)
                assert message["jsonrpc"] == "2.0", line
                self.messages.append(message)
                self._take(message)
                async with self._changed:
                    self._changed.notify_all()
        finally:
            for _, future in self._pending.values():
                future.cancel()

    def _take(self, message: dict[str, Any]) -> None:
        method, message_id = message.get("method"), message.get("id")
        if method == "session/update":
            SessionNotification.model_validate(message["params"])
        elif method is not None:
            params = message["params"]
            _REQUESTS[method].model_validate(params)
            self.asked.append((method, params))
            answer = self.ask(method, params)
            if answer is not None:
                self.send(
                    {
                        "jsonrpc": "2.0",
                        "id": message_id,
                        **({"result": answer} if "code" not in answer else {"error": answer}),
                    }
                )
        elif isinstance(message_id, int):
            asked, future = self._pending.pop(message_id)
            if future.done():  # the test waits for it no more
                return
            if "error" in message:
                future.set_exception(AnsweredError(message["error"]))
                future.exception()  # a test need not ask
                return
            if asked in _RESULTS:
                _RESULTS[asked].model_validate(message["result"])
            future.set_result(message["result"])
        else:
            self.errors.append(message["error"])


@asynccontextmanager
async def editor_of(
    agent: AcpAgent,
    *,
    starts: bool = True,
    loading: Callable[[], Awaitable[None]] | None = None,
    **capabilities: Any,
) -> AsyncIterator[TestEditor]:
    """An editor of an agent in this process, which leaves at the end of the block. `loading`: awaited before there is
    an agent."""
    to_agent, to_editor = os.pipe(), os.pipe()
    reader = asyncio.StreamReader(limit=2**26)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(to_editor[0], "rb")
    )

    async def loaded() -> AcpAgent:
        if loading is not None:
            await loading()
        return agent

    def write(line: bytes) -> None:
        while line:
            line = line[os.write(to_agent[1], line) :]

    editor = TestEditor(reader, write)
    serving = asyncio.create_task(serve(loaded, agent.name, (to_agent[0], to_editor[1])))
    reading = asyncio.create_task(editor.run())
    try:
        if starts:
            await editor.initialize(**capabilities)
        yield editor
    finally:
        with suppress(OSError):
            os.close(to_agent[1])
        await serving
        os.close(to_agent[0])
        os.close(to_editor[1])
        await reading
        transport.close()
