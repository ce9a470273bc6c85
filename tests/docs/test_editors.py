"""The page on editors: its settings start the command, its Python makes agents; and the example for an editor."""

import json
from pathlib import Path
from typing import Any

import pytest
from langgraph_agui.connect.testing import ScriptedChatModel

from examples.editor import agent as example
from tests.support.clients.editors.agents import CALL, add
from tests.support.clients.editors.editor import TestEditor, chosen, editor_of
from tests.support.documents import block, blocks


@pytest.mark.parametrize("title", ["settings.json", "acp.json"])
def test_settings_of_editors_are_the_command(title: str) -> None:
    (settings,) = (json.loads(each.code) for each in blocks("json") if each.title == title)
    server = settings["agent_servers"]["my agent"]
    assert server["command"].endswith("/langgraph-agui")
    assert server["args"][:2] == ["acp", "/path/to/agent.py:graph"]


async def test_an_agent_of_your_own() -> None:
    folders: list[str] = []

    def tools_for(cwd: str) -> list[Any]:
        folders.append(cwd)
        return [add]

    served = block("editor_agent").editor_agent(ScriptedChatModel(turns=[CALL, "It is 3."]), tools_for)
    async with editor_of(served) as editor:
        session = await editor.new("/work")
        assert await editor.prompt(session, "/where") == {"stopReason": "end_turn"}
        assert await editor.prompt(session, "What is 1 + 2?") == {"stopReason": "end_turn"}
        assert list(editor.view(session).texts.values()) == ["/work", "Let me see. ", "It is 3."]
    assert folders == ["/work"]


async def test_an_agent_that_is_compiled_once() -> None:
    graph = block("compiled_for_editors").compiled_for_editors(ScriptedChatModel(turns=[CALL, "It is 3."]), [add])
    state = await graph.ainvoke({"messages": [("user", "go")]})
    assert state["messages"][-1].text == "It is 3."


async def worked(editor: TestEditor, folder: Path) -> str:
    session = await editor.new(str(folder))
    assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
    return session


async def test_the_example_plans_reads_asks_and_writes(tmp_path: Path) -> None:
    async with editor_of(example.agent) as editor:
        editor.ask = chosen("approve")
        session = await worked(editor, tmp_path)
        view = editor.view(session)
        assert [entry["status"] for entry in view.plan] == ["completed", "completed"]
        written = view.calls["write_1"]
        assert written["title"] == f"Edit {example.NOTES}"
        assert written["locations"] == [{"path": str(tmp_path / example.NOTES)}]
        assert written["content"][0]["newText"] == "Water the plants.\n"
        assert (tmp_path / example.NOTES).read_text() == "Water the plants.\n"
        assert [params["toolCall"]["toolCallId"] for _, params in editor.asked] == ["write_1"]
        editor.ask = chosen("reject")
        second = await editor.new(str(tmp_path))
        await editor.prompt(second, "go")
        assert editor.view(second).calls["read_1"]["rawOutput"] == "Water the plants.\n"
        assert editor.view(second).calls["write_1"]["status"] == "failed"
