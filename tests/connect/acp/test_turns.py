"""Prompts of an editor: what comes of them, in which order, and how they end."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake
from langgraph_agui.connect.acp import AcpAgent
from langgraph_agui.connect.testing import Pause, ScriptedChatModel
from langgraph_agui.translator import Options

from fixtures import FIXTURES
from tests.support.clients.editors.agents import CALL, SELECTED, agent, reviewed
from tests.support.clients.editors.editor import FORMS, AnsweredError, chosen, editor_of, in_turn
from tests.support.sweeps import SWEEP

pytestmark = pytest.mark.early


CANCELLED = {"outcome": {"outcome": "cancelled"}}
WITHOUT_SESSION = ["no_messages_channel", "output_schema"]
"""The fixtures that take no prompts."""


def fixture(name: str, **how: Any) -> AcpAgent:
    return AcpAgent(FIXTURES[name].build(InMemorySaver()), name="agent", **how)


async def test_a_prompt_streams_and_ends() -> None:
    async with editor_of(agent(CALL, "It is 3.")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "What is 1 + 2?") == {"stopReason": "end_turn"}
        view = editor.view(session)
        assert list(view.texts.values()) == ["Let me see. ", "It is 3."]
        assert not [key for key in view.texts if key[0] == "user_message"]  # the editor has its prompt
        assert view.calls["call_add"]["status"] == "completed"
        assert len([each for each in editor.updates(session) if each["sessionUpdate"] == "agent_message_chunk"]) > 4
        assert editor.messages[-1]["result"] == {"stopReason": "end_turn"}  # updates come before the response
        assert {"sessionUpdate": "session_info_update", "title": "What is 1 + 2?"} in editor.updates(session)


async def test_permission_is_asked_about_the_announced_call() -> None:
    async with editor_of(reviewed()) as editor:
        editor.ask = chosen("approve")
        session = await editor.new()
        assert (await editor.prompt(session, "go"))["stopReason"] == "end_turn"
        ((method, params),) = editor.asked
        assert method == "session/request_permission"
        assert params["toolCall"]["toolCallId"] == "call_add"
        assert params["toolCall"]["rawInput"] == {"a": 1, "b": 2}
        view = editor.view(session)
        assert list(view.calls) == ["call_add"]
        assert list(view.texts.values()) == ["Let me see. ", "It is 3."]


async def test_a_rejected_call_has_failed_and_the_turn_goes_to_its_end() -> None:
    async with editor_of(reviewed()) as editor:
        editor.ask = chosen("reject")
        session = await editor.new()
        assert (await editor.prompt(session, "go"))["stopReason"] == "end_turn"  # no refusal
        call = editor.view(session).calls["call_add"]
        assert call["status"] == "failed"
        assert "rejected" in call["rawOutput"]


@pytest.mark.parametrize("answer", [{"code": -32603, "message": "no"}, {}, {"outcome": {"outcome": "selected"}}])
async def test_an_answer_that_is_none_approves_nothing(answer: Any) -> None:
    async with editor_of(reviewed()) as editor:
        editor.ask = in_turn(answer)
        session = await editor.new()
        assert (await editor.prompt(session, "go"))["stopReason"] == "end_turn"
        assert editor.view(session).calls["call_add"]["status"] == "failed"


async def test_a_question_that_is_cancelled_ends_the_turn_and_its_call() -> None:
    async with editor_of(reviewed()) as editor:
        editor.ask = in_turn(CANCELLED)
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "cancelled"}
        assert not editor.view(session).open
        assert await editor.prompt(session, "And now?") == {"stopReason": "end_turn"}
        assert len(editor.asked) == 1


async def test_cancel_while_a_permission_is_never_answered() -> None:
    async with editor_of(reviewed()) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await editor.until(lambda: bool(editor.asked))
        editor.notify("session/cancel", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}
        assert not editor.view(session).open
        assert await editor.prompt(session, "And now?") == {"stopReason": "end_turn"}


async def test_cancel_is_at_once_and_the_session_takes_another_prompt() -> None:
    pause = Pause()
    async with editor_of(agent([*CALL, pause], "Never mind.")) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        await pause.reached.wait()
        editor.notify("session/cancel", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}
        assert pause.is_cancelled
        assert not editor.view(session).open
        pause.open.set()
        assert await editor.prompt(session, "again") == {"stopReason": "end_turn"}


async def test_a_cancel_right_behind_its_prompt_cancels_it() -> None:
    pause = Pause()  # the turn ends before the cancel is read where the thread that reads has no turn
    async with editor_of(agent(["Hello ", pause, "there."])) as editor:
        session = await editor.new()
        ending = editor.prompt(session, "go")
        editor.notify("session/cancel", sessionId=session)
        assert await ending == {"stopReason": "cancelled"}
        editor.notify("session/cancel", sessionId=session)  # of an idle session: nothing
        editor.notify("session/cancel", sessionId="unknown")
        pause.open.set()
        assert await editor.prompt(session, "again") == {"stopReason": "end_turn"}


async def test_a_cancelled_request_is_its_turn() -> None:
    """`$/cancel_request`, which names the request and no session: any other is not cancelled."""
    first = Pause()
    async with editor_of(agent(["Hello ", first], "Hello there.")) as editor:
        one = await editor.new()
        ending = editor.prompt(one, "go")
        await first.reached.wait()
        number = editor.sent
        for request in (number + 1, str(number), None, [number], {"id": number}):
            editor.notify("$/cancel_request", requestId=request)
        editor.send({"jsonrpc": "2.0", "method": "$/cancel_request"})
        assert (await editor.request("session/list"))["sessions"]
        assert not ending.done()
        editor.notify("$/cancel_request", requestId=number)
        assert await ending == {"stopReason": "cancelled"}
        assert first.is_cancelled
        first.open.set()
        assert await editor.prompt(one, "again") == {"stopReason": "end_turn"}


async def test_a_second_prompt_is_refused_and_other_sessions_are_their_own() -> None:
    pause = Pause()
    async with editor_of(agent(["Hello ", pause, "there."])) as editor:
        first, second = await editor.new(), await editor.new()
        ending, other = editor.prompt(first, "go"), editor.prompt(second, "go")
        await pause.reached.wait()
        with pytest.raises(AnsweredError) as refused:
            await editor.prompt(first, "again")
        assert refused.value.code == -32600
        editor.notify("session/cancel", sessionId=first)
        assert await ending == {"stopReason": "cancelled"}
        pause.open.set()
        assert await other == {"stopReason": "end_turn"}
        assert list(editor.view(second).texts.values()) == ["Hello there."]


async def test_a_question_is_a_form() -> None:
    async with editor_of(fixture("interrupt_in_node"), **FORMS) as editor:
        editor.ask = in_turn({"action": "accept", "content": {"answer": "left"}})
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        ((method, params),) = editor.asked
        assert method == "elicitation/create"
        assert params["message"] == "Which way?"
        assert params["requestedSchema"]["properties"]["answer"]["enum"] == ["left", "right"]
        assert "left" in "".join(editor.view(session).texts.values())


async def test_without_forms_a_question_is_asked_in_the_chat_and_the_next_prompt_is_its_answer() -> None:
    async with editor_of(fixture("interrupt_in_tool")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert editor.view(session).open  # the call waits with its question
        before = len(editor.messages)
        assert await editor.prompt(session, "yes, do it") == {"stopReason": "end_turn"}
        assert not editor.view(session).open
        assert "yes, do it" in str(editor.updates(session, before))
        await editor.load(session)
        users = [key for key in editor.view(session).texts if key[0] == "user_message"]
        assert len(users) == 1  # the answer is no message


async def test_several_interrupts_are_asked_and_resumed_together() -> None:
    async with editor_of(fixture("interrupts_in_parallel_subgraphs"), **FORMS) as editor:
        editor.ask = lambda method, params: {"action": "accept", "content": {"answer": params["message"]}}
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert [params["message"] for _, params in editor.asked] == ["left?", "right?"]
        spoken = " ".join(editor.view(session).texts.values())
        assert "left heard left?." in spoken
        assert "right heard right?." in spoken


async def test_a_breakpoint_asks_whether_to_continue() -> None:
    async with editor_of(fixture("breakpoint_before")) as editor:
        editor.ask = chosen("continue")
        session = await editor.new()
        assert await editor.prompt(session, "go") == {"stopReason": "end_turn"}
        assert [option["optionId"] for option in editor.asked[0][1]["options"]] == ["continue", "stop"]
        assert not editor.view(session).open


ENDINGS = [("finish_length", "max_tokens"), ("finish_content_filter", "refusal")]


@pytest.mark.parametrize(("name", "reason"), ENDINGS)
async def test_stop_reasons_are_those_of_the_model(name: str, reason: str) -> None:
    async with editor_of(fixture(name)) as editor:
        assert await editor.prompt(await editor.new(), "go") == {"stopReason": reason}


async def test_the_limit_of_steps_is_a_stop_reason() -> None:
    async with editor_of(fixture("recursion_limit", intake=Intake(config={"recursion_limit": 3}))) as editor:
        assert await editor.prompt(await editor.new(), "go") == {"stopReason": "max_turn_requests"}


async def test_what_a_model_refused_is_not_in_the_next_prompt() -> None:
    seen: list[list[str]] = []

    def turn_of(messages: Any) -> int:
        seen.append([message.text for message in messages if message.type == "human"])
        return len(seen) - 1

    refusal = AIMessageChunk(content="No.", response_metadata={"finish_reason": "content_filter"})
    graph = create_agent(ScriptedChatModel(turns=["Hi.", [refusal], "Yes."], turn_of=turn_of), [])
    async with editor_of(AcpAgent(graph, name="agent")) as editor:
        session = await editor.new()
        assert (await editor.prompt(session, "Hello"))["stopReason"] == "end_turn"
        assert (await editor.prompt(session, "Something bad"))["stopReason"] == "refusal"
        assert (await editor.prompt(session, "Something good"))["stopReason"] == "end_turn"
    assert seen[-1] == ["Hello", "Something good"]


async def test_an_error_reveals_its_class_alone() -> None:
    async with editor_of(fixture("node_raises")) as editor:
        session = await editor.new()
        with pytest.raises(AnsweredError) as failed:
            await editor.prompt(session, "go")
        assert (failed.value.code, failed.value.data) == (-32603, {"error": "LookupError"})
        assert failed.value.message == "The run failed: LookupError"
        assert not editor.view(session).open


async def test_images_links_and_resources_reach_the_graph_and_come_back() -> None:
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    link = {"type": "resource_link", "name": "a.py", "uri": "file:///work/a.py"}
    file = {"type": "resource", "resource": {"uri": "zed://b", "text": "x = 1", "mimeType": "text/plain"}}
    async with editor_of(agent("I see.")) as editor:
        session = await editor.new()
        assert await editor.prompt(session, "Look", image, link, file) == {"stopReason": "end_turn"}
        await editor.load(session)
        view = editor.view(session)
        (media,) = (each for key, each in view.media.items() if key[0] == "user_message")
        assert [each["type"] for each in media] == ["image", "resource_link", "resource"]
        assert media[0] == image


@pytest.mark.parametrize("of", [4, pytest.param(1, marks=SWEEP)])
async def test_a_turn_of_each_fixture_is_answered(of: int) -> None:
    """One prompt to each graph, or to one of four: no turn hangs, and no call of it stays open. A graph that takes no
    prompts has no session. Composed fixtures have parts that are fixtures too."""
    refused = []
    for number, (name, each) in enumerate(FIXTURES.items()):
        if not each.checkpointed or each.composed or (number % of and name not in WITHOUT_SESSION):
            continue
        options = Options(messages_key=each.messages_key or "messages")
        served = fixture(name, intake=Intake(config=each.config), options=options)
        async with editor_of(served, **FORMS) as editor:
            editor.ask = lambda method, params: SELECTED if method.endswith("permission") else {"action": "decline"}
            session, code = "", None
            try:
                async with asyncio.timeout(20):
                    session = await editor.new()
                    await editor.prompt(session, "go")
            except AnsweredError as error:
                code = error.code
            assert code in (None, -32603), name
            assert not editor.view(session).open, name
            refused += [] if session else [name]
    assert refused == WITHOUT_SESSION
