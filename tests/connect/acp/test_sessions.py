"""Sessions of an editor: threads that are listed, loaded, resumed, closed and deleted."""

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph, add_messages
from langgraph_agui.connect import Local, Runs
from langgraph_agui.connect.acp import AcpAgent, Command, Mode, Session
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, tool_call
from langgraph_agui.translator import Options

from fixtures import FIXTURES
from tests.support.clients.editors.agents import CALL, add, agent
from tests.support.clients.editors.editor import AnsweredError, chosen, editor_of
from tests.support.clients.editors.view import differences


@tool
async def read_file(path: str) -> str:
    """Reads a file."""
    return "text"


async def test_a_loaded_session_displays_what_the_live_one_did() -> None:
    async with editor_of(agent(CALL, "It is 3.", "You are welcome.")) as editor:
        session = await editor.new()
        for text in ("What is 1 + 2?", "Thanks"):
            await editor.prompt(session, text)
        live = editor.view(session)
        await editor.load(session)
        after = editor.view(session)
        assert differences(live, after) == []
        users = [text for (kind, _), text in after.texts.items() if kind == "user_message"]
        assert users == ["What is 1 + 2?", "Thanks"]
        assert "result" in editor.messages[-1]  # all of it came before the response


async def test_a_resumed_session_emits_nothing_and_the_next_prompt_repeats_nothing() -> None:
    saver = InMemorySaver()
    turns = ["Hello.", "Again."]
    graph = create_agent(ScriptedChatModel(turns=turns), [add], checkpointer=saver)
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new()
        await editor.prompt(session, "Hi")
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        await editor.load(session, method="session/resume")
        assert editor.updates(session) == []
        await editor.prompt(session, "And?")
        assert list(editor.view(session).texts.values()) == ["Again."]


async def test_sessions_are_listed_the_newest_first_and_by_folder() -> None:
    async with editor_of(agent("Hello.")) as editor:
        assert await editor.request("session/list") == {"sessions": []}
        first, second, empty = await editor.new("/a"), await editor.new("/b"), await editor.new("/b")
        await editor.prompt(first, "First")
        await editor.prompt(second, "Second")
        listed = (await editor.request("session/list"))["sessions"]
        assert [(each["sessionId"], each["cwd"], each["title"]) for each in listed] == [
            (second, "/b", "Second"),
            (first, "/a", "First"),
        ]
        assert empty not in [each["sessionId"] for each in listed]
        assert [each["sessionId"] for each in (await editor.request("session/list", cwd="/a"))["sessions"]] == [first]
        with pytest.raises(AnsweredError) as refused:
            await editor.request("session/list", cursor="no")
        assert refused.value.code == -32602


async def test_closed_and_deleted_sessions() -> None:
    async with editor_of(agent("Hello.")) as editor:
        session = await editor.new()
        await editor.prompt(session, "Hi")
        assert await editor.request("session/close", sessionId=session) == {}
        with pytest.raises(AnsweredError) as unknown:
            await editor.prompt(session, "Hi")
        assert unknown.value.code == -32002
        await editor.load(session)
        for _ in range(2):
            assert await editor.request("session/delete", sessionId=session) == {}
        for method in ("session/load", "session/resume"):
            with pytest.raises(AnsweredError) as unknown:
                await editor.load(session, method=method)
            assert unknown.value.code == -32002


async def test_a_session_that_is_closed_while_it_runs_stops() -> None:
    pause = Pause()
    async with editor_of(agent(["Hello ", pause, "there."])) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await pause.reached.wait()
        await editor.request("session/close", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}
        assert pause.is_cancelled


async def test_a_session_that_waits_is_loaded_and_asked_with_the_next_prompt() -> None:
    saver = InMemorySaver()

    def build() -> AcpAgent:
        model = ScriptedChatModel(turns=[CALL, "It is 3.", "You are welcome."])
        middleware: list[Any] = [HumanInTheLoopMiddleware({"add": True})]
        return AcpAgent(create_agent(model, [add], middleware=middleware, checkpointer=saver), name="agent")

    async with editor_of(build()) as editor:
        session = await editor.new()
        editor.prompt(session, "go")
        await editor.until(lambda: bool(editor.asked))  # and the editor leaves
    async with editor_of(build()) as editor:
        editor.ask = chosen("approve")
        await editor.load(session)
        assert editor.asked == []
        assert editor.view(session).open == {"call_add"}
        await editor.prompt(session, "Thanks")
        assert [params["toolCall"]["toolCallId"] for _, params in editor.asked] == ["call_add"]
        view = editor.view(session)
        assert view.calls["call_add"]["status"] == "completed"
        assert list(view.texts.values())[-1] == "You are welcome."


async def test_a_question_of_the_chat_is_there_after_a_load_and_the_next_prompt_answers_it() -> None:
    saver = InMemorySaver()
    graph = FIXTURES["interrupt_in_tool"].build(saver)
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new()
        await editor.prompt(session, "go")
        question = editor.updates(session)[-1]
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        await editor.load(session)
        assert editor.updates(session)[-1] == question
        await editor.prompt(session, "yes")
        assert not editor.view(session).open


async def test_sessions_in_a_file_are_there_for_the_next_process(tmp_path: Path) -> None:
    async def one(session: str | None) -> str:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
            graph = create_agent(ScriptedChatModel(turns=["Hello.", "Again."]), [add])
            async with editor_of(AcpAgent(graph, name="agent", checkpointer=saver)) as editor:
                if session is None:
                    session = await editor.new()
                    await editor.prompt(session, "Hi")
                    return session
                (listed,) = (await editor.request("session/list"))["sessions"]
                assert listed["sessionId"] == session
                await editor.load(session)
                assert list(editor.view(session).texts.values()) == ["Hi", "Hello."]
                return session

    await one(await one(None))


async def test_a_followed_run_whose_display_raises_is_logged_and_its_session_can_be_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A function of the agent's owner raises while no prompt waits for the run."""

    def locate(path: str) -> str | None:
        raise LookupError(path)

    pause = Pause()
    model = ScriptedChatModel(turns=[["I read. ", pause, tool_call("read_file", {"path": "a"}, "call_1")], "Read."])
    graph = create_agent(model, [read_file], checkpointer=InMemorySaver())
    async with Runs() as runs:
        given: Any = {"messages": [{"role": "user", "content": "go"}]}
        await runs.start(graph, given, {"configurable": {"thread_id": "t"}}, agent="agent")
        await pause.reached.wait()
        served = AcpAgent(Local(graph, agent="agent", runs=runs), locate=locate)
        async with editor_of(served) as editor:
            await editor.load("t")
            pause.open.set()
            await editor.until(lambda: "call_1" in editor.view("t").calls)
            assert await editor.prompt("t", "And?") == {"stopReason": "end_turn"}
            assert await editor.request("session/close", sessionId="t") == {}
    (logged,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert logged.getMessage() == "Unexpected exception (agent 'agent', thread 't')."


async def test_commands_follow_the_session_and_are_answered_or_reach_the_graph() -> None:
    commands = [
        Command(name="help", description="Says what it can do", run=lambda session, rest: f"In {session.cwd}: {rest}"),
        Command(name="plan", description="Makes a plan", hint="of what"),
    ]
    graph = create_agent(ScriptedChatModel(turns=["A plan."]), [])
    async with editor_of(AcpAgent(graph, name="agent", commands=commands)) as editor:
        session = await editor.new()
        await editor.until(lambda: bool(editor.updates(session)))
        listed = editor.updates(session)[0]["availableCommands"]
        assert [(each["name"], each.get("input")) for each in listed] == [("help", None), ("plan", {"hint": "of what"})]
        assert await editor.prompt(session, "/help me") == {"stopReason": "end_turn"}
        assert list(editor.view(session).texts.values()) == ["In /work: me"]
        await editor.prompt(session, "/plan a trip")
        assert list(editor.view(session).texts.values())[-1] == "A plan."


async def test_an_agent_that_a_server_serves_too_has_the_same_threads() -> None:
    """Threads belong to the agent's name."""
    saver = InMemorySaver()
    graph = create_agent(ScriptedChatModel(turns=["Hello."]), [], checkpointer=saver)
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new()
        await editor.prompt(session, "Hi")
    from langgraph_agui.connect import threads

    assert await threads(Local(graph, agent="agent")).get(session)
    assert await threads(Local(graph, agent="other")).get(session) is None


@pytest.mark.parametrize("given", ["relative/folder", ""])
async def test_folders_are_absolute(given: str) -> None:
    async with editor_of(agent("Hello.")) as editor:
        with pytest.raises(AnsweredError) as refused:
            await editor.new(given)
        assert refused.value.code == -32602


async def test_an_agent_that_can_not_be_made_is_an_error_of_its_session() -> None:
    def broken(session: Session) -> Any:
        raise ValueError("secret")

    async with editor_of(AcpAgent(broken, name="agent")) as editor:
        for asked in (editor.new(), editor.request("session/list")):
            with pytest.raises(AnsweredError) as failed:
                await asked
            assert (failed.value.code, failed.value.data) == (-32603, {"error": "ValueError"})
            assert "secret" not in str(failed.value)


async def test_a_graph_that_takes_no_messages_is_an_error_of_its_session() -> None:
    """It would answer nothing to any prompt."""

    class Topic(TypedDict):
        topic: str

    class Talk(TypedDict):
        talk: Annotated[list[Any], add_messages]

    def built(schema: Any) -> Any:
        return StateGraph(schema).add_node("say", lambda state: {"talk": [AIMessage("Hello.")]}).set_entry_point("say")

    async with editor_of(AcpAgent(built(Topic).compile(), name="agent")) as editor:
        with pytest.raises(AnsweredError, match="can't take prompts: its input has no channel 'messages'") as failed:
            await editor.new()
        assert (failed.value.code, failed.value.data) == (-32603, {"error": "not_supported"})
    agent = AcpAgent(built(Talk).compile(), name="agent", options=Options(messages_key="talk"))
    async with editor_of(agent) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "Hi") == {"stopReason": "end_turn"}
        assert list(editor.view(session).texts.values()) == ["Hello."]


def test_what_describes_no_agent_is_refused() -> None:
    graph = create_agent(ScriptedChatModel(turns=["Hello."]), [])
    ask = Mode(id="ask", name="Ask")
    for given, expected in (
        ({"modes": [ask, ask]}, "modes: expected distinct names, got ask more than once"),
        ({"modes": iter([ask, ask])}, "modes: expected distinct names, got ask more than once"),
        ({"kinds": {"a": "nothing"}}, "kinds: expected one of"),
    ):
        with pytest.raises(ValueError, match=expected):
            AcpAgent(graph, **given)
    with pytest.raises(TypeError, match="expected a compiled graph"):
        AcpAgent("no graph")  # type: ignore[arg-type]
