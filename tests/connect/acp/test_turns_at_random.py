"""Turns at random: prompts, cancels and answers at any moment, two sessions, loads, and editors that leave. Whatever
comes, every prompt is answered, no call stays open, a model gets a conversation, and a load displays what was live."""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.acp import AcpAgent
from langgraph_agui.connect.testing import ScriptedChatModel

from tests.support.clients.editors.agents import CALL, add
from tests.support.clients.editors.editor import TestEditor, editor_of
from tests.support.clients.editors.view import differences
from tests.support.random.examples import examples

REASONS = {"end_turn", "cancelled"}
ANSWERS: dict[str, Any] = {
    "approve": {"outcome": {"outcome": "selected", "optionId": "approve"}},
    "reject": {"outcome": {"outcome": "selected", "optionId": "reject"}},
    "cancelled": {"outcome": {"outcome": "cancelled"}},
    "error": {"code": -32603, "message": "no"},
    "never": None,
}


class Step(NamedTuple):
    """One prompt. `session`: which of two. `answer`: to the question about its call. `cancel`: after how many messages
    of the agent it is cancelled; None: not. `leaves`: after how many the editor leaves; None: it stays. `loads`:
    whether the session is loaded afterwards."""

    session: int
    answer: str
    cancel: int | None
    leaves: int | None
    loads: bool


SOME = st.none() | st.integers(0, 12)
STEPS = st.lists(
    st.builds(Step, st.integers(0, 1), st.sampled_from(sorted(ANSWERS)), SOME, st.none() | SOME, st.booleans()),
    min_size=1,
    max_size=5,
)


def checked_turn(messages: Sequence[BaseMessage]) -> int:
    """The next turn of the model: a call, then an answer. The messages are a conversation, or this raises."""
    waiting: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in waiting, messages
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting, messages
            waiting = {str(call["id"]) for call in message.tool_calls} if isinstance(message, AIMessage) else set()
    assert not waiting, messages
    return 1 if isinstance(messages[-1], ToolMessage) else 0


class Model(ScriptedChatModel):
    """A model whose calls have ids of their own, as providers give them."""

    def _chunk(self, step: Any, messages: Sequence[BaseMessage]) -> ChatGenerationChunk:
        chunk = super()._chunk(step, messages)
        for call in chunk.message.tool_call_chunks if isinstance(chunk.message, AIMessageChunk) else ():
            call["id"] = call["id"] and f"call_{uuid4().hex}"
        return chunk


def build(saver: InMemorySaver) -> AcpAgent:
    model = Model(turns=[CALL, "It is 3."], turn_of=checked_turn)
    middleware: list[Any] = [HumanInTheLoopMiddleware({"add": True})]
    return AcpAgent(create_agent(model, [add], middleware=middleware, checkpointer=saver), name="agent")


async def took(editor: TestEditor, session: str, step: Step) -> bool:
    """Takes one step; whether the editor has left."""
    editor.ask = lambda method, params: ANSWERS[step.answer]
    before, asked = len(editor.messages), len(editor.asked)
    ending = editor.prompt(session, "go")

    async def after(count: int) -> None:
        def is_there() -> bool:  # a question that is never answered is the last message
            waits = step.answer == "never" and len(editor.asked) > asked
            return ending.done() or waits or len(editor.messages) >= before + count

        await editor.until(is_there)

    if step.leaves is not None:
        await after(step.leaves)
        ending.cancel()
        return True
    if step.answer == "never":  # asked, and never answered: no more messages come
        await editor.until(lambda: ending.done() or len(editor.asked) > asked)
    elif step.cancel is not None:
        await after(step.cancel)
    if step.answer == "never" or step.cancel is not None:
        editor.notify("session/cancel", sessionId=session)
    result = await ending
    assert result["stopReason"] in REASONS
    assert not editor.view(session).open
    if step.loads:
        live = editor.view(session)
        await editor.load(session)
        assert differences(live, editor.view(session)) == []
    return False


@settings(max_examples=examples(20), deadline=None)
@given(STEPS)
async def test_whatever_an_editor_does_its_sessions_go_on(steps: list[Step]) -> None:
    saver = InMemorySaver()
    sessions: dict[int, str] = {}
    left = list(steps)
    async with asyncio.timeout(60):
        while left:
            async with editor_of(build(saver)) as editor:
                listed = {each["sessionId"] for each in (await editor.request("session/list"))["sessions"]}
                for number, session in list(sessions.items()):
                    if session in listed:
                        await editor.load(session)
                    else:  # it was left before its first checkpoint
                        del sessions[number]
                while left:
                    step = left.pop(0)
                    if step.session not in sessions:
                        sessions[step.session] = await editor.new()
                    if await took(editor, sessions[step.session], step):
                        break
        async with editor_of(build(saver)) as editor:
            editor.ask = lambda method, params: ANSWERS["approve"]
            for each in (await editor.request("session/list"))["sessions"]:
                await editor.load(each["sessionId"])
                assert await editor.prompt(each["sessionId"], "at last") == {"stopReason": "end_turn"}
                assert not editor.view(each["sessionId"]).open
