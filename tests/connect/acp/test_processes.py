"""The command as a process of its own: what its tools print and read, where its sessions are kept, and how it ends."""

import asyncio
import json
import os
import signal
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.clients.editors.editor import AnsweredError, TestEditor
from tests.support.servers.processes.forks import forked
from tests.support.servers.processes.server_process import python_path

TOOLS = '''
    import os, subprocess, sys, threading
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph_agui.connect.testing import ScriptedChatModel, tool_call

    print("imported")

    @tool
    def noise() -> str:
        """Prints in every way that there is."""
        print("printed")
        os.write(1, b"written")
        sys.__stdout__.write("written too")
        sys.__stdout__.flush()
        subprocess.run(["echo", "from a child"], check=True)
        return "done"

    @tool
    def reads() -> str:
        """Reads what there is to read, itself and in a child."""
        child = subprocess.run(["cat"], capture_output=True, check=True)
        try:
            return input("Your name? ")
        except EOFError:
            return f"nothing, and {len(child.stdout)} bytes in a child"

    @tool
    def sleeps() -> str:
        """Can't be stopped."""
        threading.Event().wait()
        return "never"
'''


def agent_in(folder: Path, turns: str) -> str:
    """The target of an agent with the tools and these turns of its model."""
    made = f"graph = create_agent(ScriptedChatModel(turns={turns}), [noise, reads, sleeps])"
    (folder / "agent.py").write_text(f"{textwrap.dedent(TOOLS)}\n{made}\n")
    return "./agent.py:graph"


SLEEPS = '[[tool_call("sleeps", {}, "call_1")]]'


@asynccontextmanager
async def process_of(folder: Path, *arguments: str) -> AsyncIterator[tuple[TestEditor, asyncio.subprocess.Process]]:
    """The command with these arguments, started in a folder; its editor leaves at the end."""
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *forked("langgraph_agui.connect.cli", "tests"),
            "acp",
            *arguments,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": python_path()},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            limit=2**26,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    editor = TestEditor(process.stdout, process.stdin.write)
    reading = asyncio.create_task(editor.run())  # each line is a message, or this raises
    try:
        await editor.initialize()
        yield editor, process
        process.stdin.close()
        async with asyncio.timeout(60):
            await process.wait()
        await reading
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def test_what_tools_print_and_read_is_not_the_protocols(tmp_path: Path) -> None:
    turns = '[[tool_call("noise", {}, "call_1")], [tool_call("reads", {}, "call_2")], "Done."]'
    async with process_of(tmp_path, agent_in(tmp_path, turns)) as (editor, process):
        session = await editor.new()
        async with asyncio.timeout(60):
            assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        calls = editor.view(session).calls
        assert calls["call_1"]["rawOutput"] == "done"
        assert calls["call_2"]["rawOutput"] == "nothing, and 0 bytes in a child"
    assert process.returncode == 0
    log = (tmp_path / "log").read_text()
    assert [text for text in ("imported", "printed", "written", "written too", "child") if text not in log] == []


@pytest.mark.services
@pytest.mark.parametrize("how", ["leaves", "SIGTERM", "SIGINT"])
async def test_a_process_ends_in_which_a_tool_can_not_be_stopped(tmp_path: Path, how: str) -> None:
    async with process_of(tmp_path, agent_in(tmp_path, SLEEPS)) as (editor, process):
        session = await editor.new()
        ending = editor.prompt(session, "go")
        async with asyncio.timeout(60):
            await editor.until(lambda: editor.view(session).calls.get("call_1", {}).get("status") == "in_progress")
        if how != "leaves":
            process.send_signal(signal.Signals[how])
            async with asyncio.timeout(60):
                await process.wait()
    assert process.returncode == 0
    ending.cancel()


@pytest.mark.services
async def test_a_line_that_is_too_long_answers_its_request(tmp_path: Path) -> None:
    async with process_of(tmp_path, agent_in(tmp_path, '["Hello."]')) as (editor, _):
        session = await editor.new()
        with pytest.raises(AnsweredError) as refused:
            await editor.prompt(session, "x" * 65 * 1024 * 1024)
        assert (refused.value.code, "67108864 bytes" in refused.value.message) == (-32600, True)
        assert await editor.prompt(session, "x" * 32 * 1024 * 1024) == {"stopReason": "end_turn"}


@pytest.mark.services
async def test_a_graph_of_a_project_has_its_sessions_in_a_database(tmp_path: Path, database: str) -> None:
    """That of `langgraph.json` which `--assistant` names; the next process lists and loads them."""
    target = agent_in(tmp_path, '["Hello."]')
    (tmp_path / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": {"a": target, "b": target}}))
    arguments = ("--assistant", "b", "--postgres", database)
    async with process_of(tmp_path, *arguments) as (editor, _):
        session = await editor.new()
        assert await editor.prompt(session, "Hi") == {"stopReason": "end_turn"}
    async with process_of(tmp_path, *arguments) as (editor, process):
        (listed,) = (await editor.request("session/list"))["sessions"]
        assert (listed["sessionId"], listed["title"]) == (session, "Hi")
        await editor.load(session)
        assert list(editor.view(session).texts.values()) == ["Hi", "Hello."]
    assert process.returncode == 0
