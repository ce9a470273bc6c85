"""The mode of a session, and its settings: where they are displayed, what follows them, and when."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.acp import AcpAgent, Mode, Session, Setting
from langgraph_agui.connect.acp.middleware import SessionTools
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call

from tests.support.clients.editors.agents import CALL, SELECTED, add
from tests.support.clients.editors.editor import AnsweredError, chosen, editor_of

MODES = (Mode(id="ask", name="Ask"), Mode(id="write", name="Write", description="Changes files"))


@tool
async def which(config: RunnableConfig) -> str:
    """Gives the mode that the graph has."""
    return str(config["configurable"]["agui_mode"])


async def test_modes_and_options_are_in_step_and_reach_the_graph() -> None:
    seen: list[Any] = []

    def build(session: Session) -> Any:
        seen.append((session.mode and session.mode.id, session.cwd))
        return create_agent(ScriptedChatModel(turns=["Hello."]), [add])

    async with editor_of(AcpAgent(build, name="agent", modes=MODES)) as editor:
        result = await editor.request("session/new", cwd="/work", mcpServers=[])
        session = result["sessionId"]
        assert result["modes"]["currentModeId"] == result["configOptions"][0]["currentValue"] == "ask"
        assert await editor.request("session/set_mode", sessionId=session, modeId="write") == {}
        await editor.until(lambda: bool(editor.updates(session)))
        assert editor.updates(session)[-1]["configOptions"][0]["currentValue"] == "write"
        result = await editor.request("session/set_config_option", sessionId=session, configId="mode", value="ask")
        assert result["configOptions"][0]["currentValue"] == "ask"
        await editor.request("session/set_mode", sessionId=session, modeId="write")
        await editor.prompt(session, "go")
        assert seen == [("ask", "/work"), ("write", "/work")]
        for method, more in (
            ("session/set_mode", {"modeId": "no"}),
            ("session/set_config_option", {"configId": "mode", "value": "no"}),
        ):
            with pytest.raises(AnsweredError) as refused:
                await editor.request(method, sessionId=session, **more)
            assert refused.value.code == -32602
        await editor.load(session)
        assert list(editor.view(session).texts.values()) == ["go", "Hello."]


async def test_a_mode_leaves_a_model_its_tools_and_extends_its_prompt() -> None:
    seen: list[Any] = []

    class Model(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:
            seen.append([tool.name for tool in tools])
            return self

    def turn_of(messages: Any) -> int:
        seen.append([message.text for message in messages if isinstance(message, SystemMessage)])
        return sum(message.type == "ai" for message in messages)

    modes = [
        Mode(id="talk", name="Talk", allowed_tools=frozenset(), system_prompt="Only talk."),
        Mode(id="work", name="Work"),
    ]
    model = Model(turns=[CALL, "It is 3."], turn_of=turn_of)
    graph = create_agent(model, [add], system_prompt="You add.", middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent", modes=modes)) as editor:
        session = await editor.new()
        await editor.prompt(session, "go")
        assert ["You add.\n\nOnly talk."] in seen
        assert ["add"] not in seen
        call = editor.view(session).calls["call_add"]
        assert (call["status"], call["rawOutput"]) == ("failed", "The tool add is not allowed in the mode Talk.")
        await editor.request("session/set_mode", sessionId=session, modeId="work")
        await editor.prompt(session, "again")
        assert ["You add."] in seen
        assert ["add"] in seen


async def test_a_mode_approves_calls_of_its_tools() -> None:
    modes = [Mode(id="ask", name="Ask"), Mode(id="go", name="Go", approved_tools=frozenset({"add"}))]
    model = ScriptedChatModel(turns=[CALL, "It is 3.", [tool_call("add", {"a": 1, "b": 2}, "call_2")], "Again."])
    graph = create_agent(model, [add], middleware=[HumanInTheLoopMiddleware({"add": True})])
    async with editor_of(AcpAgent(graph, name="agent", modes=modes)) as editor:
        editor.ask = chosen("reject")
        session = await editor.new()
        await editor.prompt(session, "go")
        assert (len(editor.asked), editor.view(session).calls["call_add"]["status"]) == (1, "failed")
        await editor.request("session/set_mode", sessionId=session, modeId="go")
        await editor.prompt(session, "go")
        assert (len(editor.asked), editor.view(session).calls["call_2"]["rawOutput"]) == (1, "3")


async def test_a_loaded_session_has_the_mode_of_its_last_prompt() -> None:
    saver = InMemorySaver()
    made: list[Any] = []

    def build(session: Session) -> Any:
        made.append(session.mode and session.mode.id)
        return create_agent(ScriptedChatModel(turns=["Hello."]), [], checkpointer=saver)

    async with editor_of(AcpAgent(build, name="agent", modes=MODES)) as editor:
        session = await editor.new()
        for mode in ("write", "ask", "write"):
            await editor.request("session/set_mode", sessionId=session, modeId=mode)
        await editor.prompt(session, "go")
        await editor.request("session/set_mode", sessionId=session, modeId="ask")  # no prompt has had it
    for method in ("session/load", "session/resume"):
        made.clear()
        async with editor_of(AcpAgent(build, name="agent", modes=MODES)) as editor:
            result = await editor.load(session, method=method)
            assert result["modes"]["currentModeId"] == result["configOptions"][0]["currentValue"] == "write"
            await editor.prompt(session, "again")
            assert made[-1] == "write"
    async with editor_of(AcpAgent(build, name="agent", modes=MODES[:1])) as editor:  # it has the mode no more
        assert (await editor.load(session))["modes"]["currentModeId"] == "ask"


async def test_a_mode_that_is_chosen_in_a_turn_is_applied_at_once_and_the_graph_has_one_for_the_turn() -> None:
    pause = Pause()

    calls = [tool_call("which", {}, "call_1"), tool_call("add", {"a": 1, "b": 2}, "call_2", index=1)]
    modes = [Mode(id="write", name="Write"), Mode(id="ask", name="Ask", allowed_tools=frozenset({"which"}))]
    model = ScriptedChatModel(turns=[["I begin. ", pause, *calls], "I may not."])
    graph = create_agent(model, [add, which], middleware=[SessionTools()])
    async with editor_of(AcpAgent(graph, name="agent", modes=modes)) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await pause.reached.wait()
        await editor.request("session/set_mode", sessionId=session, modeId="ask")
        pause.open.set()
        assert await ending == {"stopReason": "end_turn"}
        seen = [editor.view(session).calls[name]["rawOutput"] for name in ("call_1", "call_2")]
        assert seen == ["write", "The tool add is not allowed in the mode Ask."]


async def test_a_mode_that_is_chosen_at_a_question_answers_the_next_one() -> None:
    modes = [Mode(id="ask", name="Ask"), Mode(id="go", name="Go", approved_tools=frozenset({"add"}))]
    calls = [tool_call("add", {"a": 1, "b": 2}, "call_2"), tool_call("which", {}, "call_3", index=1)]
    model = ScriptedChatModel(turns=[CALL, calls, "It is 3."])
    graph = create_agent(model, [add, which], middleware=[HumanInTheLoopMiddleware({"add": True})])
    async with editor_of(AcpAgent(graph, name="agent", modes=modes)) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await editor.until(lambda: bool(editor.asked))
        await editor.request("session/set_config_option", sessionId=session, configId="mode", value="go")
        question = next(each for each in editor.messages if each.get("method") == "session/request_permission")
        editor.send({"jsonrpc": "2.0", "id": question["id"], "result": SELECTED})
        assert await ending == {"stopReason": "end_turn"}
        assert len(editor.asked) == 1
        results = [call["rawOutput"] for call in editor.view(session).calls.values()]
        assert results == ["3", "3", "ask"]  # the graph's own mode is that of the prompt


async def test_a_graph_that_can_not_be_made_for_a_mode_is_tried_again() -> None:
    """The prompt fails, and the next one is not run in the graph of the mode before."""

    def build(session: Session) -> Any:
        if session.mode is MODES[1]:
            raise ValueError("secret")
        return create_agent(ScriptedChatModel(turns=["Hello."]), [])

    async with editor_of(AcpAgent(build, name="agent", modes=MODES)) as editor:
        session = await editor.new()
        await editor.request("session/set_mode", sessionId=session, modeId="write")
        for _ in range(2):
            with pytest.raises(AnsweredError, match="ValueError"):
                await editor.prompt(session, "go")
        await editor.request("session/set_mode", sessionId=session, modeId="ask")
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}


SETTINGS = (
    Setting(id="model", name="Model", values={"small": "Small", "large": "Large"}, category="model"),
    Setting(id="tone", name="Tone", values={"dry": "Dry", "warm": "Warm"}, description="How it speaks"),
)


@tool
async def choices(config: RunnableConfig) -> str:
    """Gives what the graph finds."""
    return " ".join(config["configurable"][name] for name in ("model", "tone"))


async def test_settings_are_options_that_a_graph_finds_and_a_loaded_session_has() -> None:
    made: list[Any] = []
    calls = [[tool_call("choices", {}, "call_1")], "One.", [tool_call("choices", {}, "call_2")], "Two."]
    graph = create_agent(ScriptedChatModel(turns=calls), [choices], checkpointer=InMemorySaver())

    def build(session: Session) -> Any:
        made.append(dict(session.settings))
        return graph

    for source in (build, graph):
        served = AcpAgent(source, name="agent", settings=SETTINGS)
        async with editor_of(served) as editor:
            result = await editor.request("session/new", cwd="/work", mcpServers=[])
            session, options = result["sessionId"], result["configOptions"]
            assert "modes" not in result
            assert [(each["id"], each["currentValue"]) for each in options] == [("model", "small"), ("tone", "dry")]
            assert options[0]["options"] == [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
            assert (options[0]["category"], options[1]["description"]) == ("model", "How it speaks")
            await editor.prompt(session, "go")
            result = await editor.request(
                "session/set_config_option", sessionId=session, configId="model", value="large"
            )
            assert [each["currentValue"] for each in result["configOptions"]] == ["large", "dry"]
            await editor.prompt(session, "go")
            found = editor.view(session).calls
            assert [call["rawOutput"] for call in found.values()] == ["small dry", "large dry"]
            for name, value in (("model", "no"), ("no", "large"), ("mode", "ask"), ("model", True)):
                with pytest.raises(AnsweredError) as refused:
                    await editor.request("session/set_config_option", sessionId=session, configId=name, value=value)
                assert refused.value.code == -32602
        async with editor_of(served) as editor:
            result = await editor.load(session)
            assert [each["currentValue"] for each in result["configOptions"]] == ["large", "dry"]
    assert made[:2] == [{"model": "small", "tone": "dry"}, {"model": "large", "tone": "dry"}]


@pytest.mark.parametrize("given", [{"id": "mode"}, {"id": "thread_id"}, {"values": {}}])
def test_a_setting_that_can_not_be_meant_is_refused(given: dict[str, Any]) -> None:
    graph = create_agent(ScriptedChatModel(turns=["Hello."]), [])
    with pytest.raises(ValueError, match="settings: "):
        AcpAgent(graph, settings=[Setting(**{"id": "a", "name": "A", "values": {"b": "B"}, **given})])
