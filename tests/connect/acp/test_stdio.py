"""Lines of an editor that are no messages, messages that are too large, and an editor that leaves."""

import asyncio
import json
import logging
import os
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph_agui.connect.acp import AcpAgent, stdio
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call

from tests.support.clients.editors.agents import agent, reviewed
from tests.support.clients.editors.editor import AnsweredError, editor_of

BAD = [
    (b"no json", -32700),
    (b'{"a": \xff}', -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "meth', -32700),
    (b"[1]", -32600),
    (b"17", -32600),
    (b"null", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "initialize"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
    (b'{"jsonrpc": "2.0", "id": {"a": 1}, "result": {}}', -32600),
]


async def test_lines_that_are_no_messages_are_answered_and_survived() -> None:
    async with editor_of(agent("Hello.")) as editor:
        for line, _ in BAD:
            editor.send(line)
        editor.send(b"")
        editor.send(b'{"jsonrpc": "2.0", "id": "nobody", "error": "no object"}')
        editor.notify("unknown/notification")
        editor.notify("$/cancel_request", requestId=1)
        session = await editor.new()
        assert await editor.prompt(session, "Hi") == {"stopReason": "end_turn"}
        assert [error["code"] for error in editor.errors] == [code for _, code in BAD]


async def test_unknown_methods_and_wrong_parameters_have_their_codes() -> None:
    async with editor_of(agent("Hello.")) as editor:
        session = await editor.new()
        wrong: list[tuple[str, dict[str, Any], int]] = [
            ("no/method", {}, -32601),
            ("_own/method", {}, -32601),
            ("session/fork", {"sessionId": session, "cwd": "/", "mcpServers": []}, -32601),
            ("authenticate", {"methodId": "x"}, -32601),
            ("session/new", {}, -32602),
            ("session/new", {"cwd": 5, "mcpServers": []}, -32602),
            ("session/prompt", {"sessionId": session}, -32602),
            ("session/prompt", {"sessionId": session, "prompt": []}, -32602),
            ("session/prompt", {"sessionId": session, "prompt": [{"type": "unknown"}]}, -32602),
            ("session/prompt", {"sessionId": "unknown", "prompt": [{"type": "text", "text": "x"}]}, -32002),
            ("session/load", {"sessionId": "a\u0000b", "cwd": "/", "mcpServers": []}, -32602),
        ]
        for method, params, code in wrong:
            with pytest.raises(AnsweredError) as refused:
                await editor.request(method, **params)
            assert refused.value.code == code, method
        assert await editor.prompt(session, "Hi") == {"stopReason": "end_turn"}


async def test_a_malformed_cancel_is_ignored_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async with editor_of(agent("Hello.")) as editor:
        session = await editor.new()
        for params in (b"", b', "params": {}', b', "params": {"sessionId": 7}', b', "params": [1]', b', "params": "x"'):
            editor.send(b'{"jsonrpc": "2.0", "method": "session/cancel"' + params + b"}")
        assert await editor.prompt(session, "Hi") == {"stopReason": "end_turn"}
        assert editor.errors == []
    lines = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert len(lines) == 5
    for record in lines:
        assert record.exc_info is None
        assert record.getMessage().startswith("The notification 'session/cancel' is ignored: ")


async def test_meta_replaces_no_parameters() -> None:
    async with editor_of(agent("Hello.")) as editor:
        one, other = await editor.new(), await editor.new()
        meta = {"session_id": other, "prompt": []}
        blocks = [{"type": "text", "text": "Hi", "_meta": {"text": "no"}}]
        result = await editor.request("session/prompt", sessionId=one, prompt=blocks, _meta=meta)
        assert result == {"stopReason": "end_turn"}
        assert editor.updates(other) == []


async def test_a_line_that_is_too_long_is_refused_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST_LINE", 100_000)
    async with editor_of(agent("Hello.")) as editor:
        await asyncio.to_thread(editor.send, json.dumps({"jsonrpc": "2.0", "method": "x" * 1_000_000}).encode())
        await editor.initialize()
        assert [error["code"] for error in editor.errors] == [-32600]  # it has no id


LONG: list[tuple[bytes, Any]] = [
    (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":8,', 7),
    (b'{ "method": "x", "jsonrpc": "2.0", "id": "a-b", "params": {', "a-b"),
    (b'{"params":{"id":8,"', None),
    (rb'{"jsonrpc":"2.0","method":"\",\"id\":3,","id":8,', None),
    (b'{"id":{"id":3,', None),
    (b"\xff", None),
]


async def test_a_request_that_is_too_long_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its id stands in front; of another nothing is known."""
    monkeypatch.setattr(stdio, "LONGEST_LINE", 100_000)
    for line, request_id in LONG:
        lines, written = stdio_of(line + b"x" * 300_000 + b"\n")
        assert await lines.receive() is None
        await lines.close()
        message = json.loads(os.read(written, 2**20))
        assert (message["id"], message["error"]["code"]) == (request_id, -32600)
        os.close(written)


async def test_a_message_that_is_too_large_is_not_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It would end the connection of a client on the TypeScript SDK."""
    monkeypatch.setattr(stdio, "LARGEST_SENT", 10_000)
    large = [tool_call("add", {"a": 1, "b": 2, "note": "x" * 20_000}, "call_add")]
    async with editor_of(reviewed(large, "Done.")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert not editor.asked  # so it is not approved
        assert editor.view(session).calls["call_add"]["status"] == "failed"
        assert list(editor.view(session).texts.values()) == ["Done."]
    assert len([each for each in caplog.messages if "at most 10000 are sent" in each]) == 2


def stdio_of(given: bytes) -> tuple[stdio.Stdio, int]:
    """Lines that are read, and where is written what answers them."""
    reads, written = os.pipe(), os.pipe()

    def write() -> None:
        with os.fdopen(reads[1], "wb") as pipe:
            pipe.write(given)

    threading.Thread(target=write).start()
    return stdio.Stdio(reads[0], written[1]), written[0]


async def test_an_editor_that_leaves_stops_its_runs(caplog: pytest.LogCaptureFixture) -> None:
    """Which is no fault: nothing is logged, also at a question that is not answered."""
    pause = Pause()
    async with editor_of(agent(["Hello ", pause, "there."])) as editor:
        editor.prompt(await editor.new(), "go")
        await pause.reached.wait()
    assert pause.is_cancelled
    async with editor_of(reviewed()) as editor:
        editor.prompt(await editor.new(), "go")
        await editor.until(lambda: bool(editor.asked))
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_an_editor_that_reads_no_more_misses_no_response() -> None:
    reads, writes = os.pipe(), os.pipe()
    lines = stdio.Stdio(reads[0], writes[1])
    os.close(writes[0])

    async def sends() -> None:
        while True:
            await lines.send({"jsonrpc": "2.0", "method": "x", "params": "x" * 1_000_000})

    with pytest.raises(ConnectionError):
        await sends()
    await lines.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    await lines.close()
    os.close(reads[1])
    os.close(writes[1])


async def test_an_editor_that_does_not_read_holds_up_no_other_work() -> None:
    """What is sent waits, and the event loop does not."""
    reads, writes = os.pipe()
    to_agent = os.pipe()
    lines = stdio.Stdio(to_agent[0], writes)
    message = {"jsonrpc": "2.0", "method": "x", "params": "x" * 1_000_000}
    sending = [asyncio.create_task(lines.send(message)) for _ in range(20)]
    await asyncio.sleep(0)
    assert {task.done() for task in sending} == {True, False}
    got = await asyncio.to_thread(_read, reads, 20 * (len(json.dumps(message, separators=(",", ":"))) + 1))
    await asyncio.gather(*sending)
    await lines.close()
    assert got.count(b"\n") == 20
    for each in (reads, writes, *to_agent):
        os.close(each)


def _read(reads: int, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += os.read(reads, 2**20)
    return found


async def test_a_lone_surrogate_is_sent() -> None:
    @tool
    async def odd() -> str:
        """Gives odd text."""
        return "\ud800"

    graph = create_agent(ScriptedChatModel(turns=[[tool_call("odd", {}, "c")], "Done."]), [odd])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert editor.view(session).calls["c"]["status"] == "completed"
