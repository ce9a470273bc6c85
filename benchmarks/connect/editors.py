"""An update of an editor, beside the AG-UI event that it is made of: what each costs for the same tokens. And a prompt,
beside the run that it starts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from uuid import uuid4

import orjson
from ag_ui.core import RunAgentInput
from langgraph_agui.connect import Local, run
from langgraph_agui.connect.acp import AcpAgent
from langgraph_agui.connect.acp.mapping.calls import absolute_in
from langgraph_agui.connect.acp.mapping.updates import Updates
from langgraph_agui.connect.acp.server import serve
from langgraph_agui.translator import Translator, encode

from ..graphs import answering
from ..rows import Row
from ..timing import timed, timed_by
from ..translator.growth import one_message

TOKENS = 20_000
_ROUNDS = 7
_PROMPTS = 20


def rows() -> Iterator[Row]:
    """What a token costs, and what a prompt does."""
    yield from _token()
    yield asyncio.run(_prompt())


def _token() -> Iterator[Row]:
    """CPU time of a token's update and its line, in microseconds, and as a ratio to that of its event and frame."""
    parts = one_message(TOKENS)[:-1]
    translator = Translator("t", "r")
    translator.start()
    events = [event for part in parts for event in translator.feed(part)]

    def translated() -> None:
        one = Translator("t", "r")
        one.start()
        for part in parts:
            for event in one.feed(part):
                encode(event)

    def updated() -> None:
        session = Updates(absolute_in("/work"))
        for event in events:
            for update in session.of(event):
                params = {"sessionId": "s", "update": update}
                orjson.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})

    event, update = timed([translated, updated], _ROUNDS)
    note = f"{update.least / TOKENS * 1e6:.1f} us beside {event.least / TOKENS * 1e6:.1f} us"
    yield Row(
        "editors", "a token's update and line, to its event and frame", update.least / event.least, "x", 1.5, note
    )


async def _prompt() -> Row:
    """CPU time of a prompt of one token, from its line to the line of its response, as a ratio to that of its run
    alone. Each is the first of a new thread."""
    graph = answering(1)
    local = Local(graph, agent="agent")
    editor = _Editor(AcpAgent(graph, name="agent"))
    await editor.start()
    sessions = [await editor.new() for _ in range(_PROMPTS * _ROUNDS)]

    async def runs() -> None:
        for _ in range(_PROMPTS):
            async for _event in run(local, _input()):
                pass

    async def prompts() -> None:
        for _ in range(_PROMPTS):
            await editor.prompt(sessions.pop())

    alone, prompt = await timed_by([runs, prompts], _ROUNDS)
    await editor.aclose()
    note = f"{prompt.least / _PROMPTS * 1e3:.2f} ms beside {alone.least / _PROMPTS * 1e3:.2f} ms"
    return Row("editors", "a prompt of one token, to its run alone", prompt.least / alone.least, "x", 1.5, note)


def _input() -> RunAgentInput:
    message = {"id": str(uuid4()), "role": "user", "content": "Hi"}
    given = {"threadId": str(uuid4()), "runId": str(uuid4()), "messages": [message], "state": {}}
    return RunAgentInput.model_validate({**given, "tools": [], "context": [], "forwardedProps": {}})


class _Editor:
    """The least of a client: it takes lines, and reads none but responses."""

    def __init__(self, agent: AcpAgent) -> None:
        self._agent = agent
        self._to_agent, self._to_editor = os.pipe(), os.pipe()
        self._reader = asyncio.StreamReader(limit=2**20)

    async def start(self) -> None:
        """Connects to the agent."""

        async def loaded() -> AcpAgent:
            return self._agent

        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), os.fdopen(self._to_editor[0], "rb")
        )
        pipes = self._to_agent[0], self._to_editor[1]
        self._serving = asyncio.create_task(serve(loaded, self._agent.name, pipes))
        await self._request("initialize", protocolVersion=1)

    async def new(self) -> str:
        """A new session."""
        return str((await self._request("session/new", cwd="/", mcpServers=[]))["sessionId"])

    async def prompt(self, session_id: str) -> None:
        """A prompt, to its end."""
        ended = await self._request("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Hi"}])
        assert ended == {"stopReason": "end_turn"}

    async def aclose(self) -> None:
        """Leaves."""
        with suppress(OSError):
            os.close(self._to_agent[1])
        await self._serving
        self._pipe.close()

    async def _request(self, method: str, **params: object) -> dict[str, object]:
        line = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        os.write(self._to_agent[1], line + b"\n")
        while True:
            message = orjson.loads(await self._reader.readline())
            if "method" not in message:
                return dict(message["result"])
