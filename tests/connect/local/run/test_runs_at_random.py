"""Whatever a user does, in whatever order: the thread's conversation stays one that models take, and the client holds
what the thread holds. A user says things, loses the end of what there is, edits, asks again, answers, cancels, and has
a second tab."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any, TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send, interrupt

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.clients.chatting import Chat
from tests.support.random.examples import examples
from tests.support.streams.chats import ON, Graph

Act = tuple[str, int]

SAYINGS = ("hello", "call look", "call look ask", "call ask ask", "call paint", "call paint look", "call break look")
ACTS: st.SearchStrategy[list[Act]] = st.lists(
    st.tuples(
        st.sampled_from(("say", "say", "say", "lose", "edit", "again", "answer", "cancel", "result", "run", "other")),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=12,
)


class Call(TypedDict):
    """What a task is sent to do."""

    id: str
    name: str


def acting() -> Graph:
    """Makes the calls that the user names, each in a task of its own: `look` has a result, `ask` asks first, `break`
    raises, `paint` is the front end's. Refuses a conversation as models do."""
    numbers = itertools.count(1)

    def answer(state: MessagesState) -> dict[str, Any]:
        messages = state["messages"]
        refuse_what_models_refuse(messages)
        last = messages[-1] if messages else None
        if last is None or last.type != "human" or not str(last.content).startswith("call "):
            return {"messages": [AIMessage(f"heard {'' if last is None else last.content}")]}
        names = str(last.content).split()[1:]
        calls = [{"name": name, "args": {}, "id": f"{name}-{next(numbers)}"} for name in names]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    def act(state: Call) -> dict[str, Any]:
        if state["name"] == "break":
            raise ValueError("broken")
        result = interrupt("really?") if state["name"] == "ask" else "seen"
        return {"messages": [ToolMessage(str(result), tool_call_id=state["id"])]}

    def then(state: MessagesState) -> Any:
        last: Any = state["messages"][-1]
        return [Send("act", call) for call in last.tool_calls if call["name"] != "paint"] or END

    def after(state: MessagesState) -> str:
        return END if open_calls(state["messages"]) else "answer"

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    graph.add_node("act", act)
    graph.add_conditional_edges("answer", then, ["act", END]).add_conditional_edges("act", after, ["answer", END])
    return graph.compile(InMemorySaver())


def open_calls(messages: Sequence[Any]) -> list[str]:
    """The calls of the last message that makes any, that no result follows."""
    answered = {message.tool_call_id for message in messages if message.type == "tool"}
    return [
        call["id"] for message in messages for call in getattr(message, "tool_calls", ()) if call["id"] not in answered
    ]


def refuse_what_models_refuse(messages: Sequence[Any]) -> None:
    """Raises for a call without its result right after it, for a result without a call, and for what is there twice."""
    waiting: list[str] = []
    for message in messages:
        if message.type == "tool":
            waiting.remove(message.tool_call_id)
        elif waiting:
            raise AssertionError(f"{waiting} have no result before {message!r}")
        waiting += [call["id"] for call in getattr(message, "tool_calls", ())]
    if waiting:
        raise AssertionError(f"{waiting} have no result")
    ids = [message.id for message in messages]
    if len(ids) != len(set(ids)):
        raise AssertionError(f"an id is there twice: {ids}")


def without_order(messages: Sequence[tuple[str, str]]) -> list[str]:
    """The ids of messages; those of results that stand together, in no order of theirs."""
    together = itertools.groupby(messages, lambda message: message[1] == "tool")
    return [each for is_tool, group in together for each, _ in (sorted(group) if is_tool else group)]


class User:
    """Somebody with two tabs, on one thread."""

    def __init__(self, client: AguiClient, version: str) -> None:
        self.graph = acting()
        self.tabs = [Chat(client, self.graph, version=version) for _ in range(2)]
        self._numbers = itertools.count(1)

    async def does(self, act: Act) -> None:
        """One thing, in the first tab; the other one comes to the front with `other`."""
        kind, number = act
        chat = self.tabs[0]
        if kind == "other":
            self.tabs.reverse()
            return
        if kind == "lose":
            chat.messages = chat.messages[: max(0, len(chat.messages) - number % 4)]
            return
        given: dict[str, Any] = {"runId": f"run-{next(self._numbers)}"}
        asked = [message for message in chat.messages if message["role"] == "user"]
        if kind == "say":
            events = await chat.says(SAYINGS[number % len(SAYINGS)], f"user-{next(self._numbers)}", **given)
        elif kind in ("edit", "again") and asked:
            message = asked[number % len(asked)]
            chat.messages = chat.messages[: chat.messages.index(message) + 1]
            if kind == "edit":
                message["content"] = SAYINGS[(number + 1) % len(SAYINGS)]
            events = await chat.runs(**given)
        elif kind in ("answer", "cancel"):
            events = await chat.answers(*[... if kind == "cancel" else "yes"] * (1 + number % 2), **given)
        elif kind == "result" and (open_ := self._open_calls(chat)):
            result = {"id": f"result-{next(self._numbers)}", "role": "tool", "toolCallId": open_[-1], "content": "done"}
            chat.messages.append(result)
            events = await chat.runs(**given)
        elif kind == "run":
            events = await chat.runs(**given)
        else:
            return
        errors = [event["message"] for event in events if event["type"] == "RUN_ERROR"]
        assert errors in ([], ["broken"])
        await self.look(chat, failed=bool(errors))

    def _open_calls(self, chat: Chat) -> list[str]:
        answered = {message.get("toolCallId") for message in chat.messages}
        calls = [call["id"] for message in chat.messages for call in message.get("toolCalls") or ()]
        return [call_id for call_id in calls if call_id.startswith("paint") and call_id not in answered]

    async def look(self, chat: Chat, failed: bool) -> None:
        """What must hold after each run. One that failed, or waits, has told what it could."""
        state = await self.graph.aget_state(ON)
        held = state.values.get("messages", [])
        last = next((place for place in reversed(range(len(held))) if held[place].type == "ai"), 0)
        refuse_what_models_refuse(held[:last])
        ids = without_order([(message.id, message.type) for message in held])
        shown = [message for message in chat.messages if message.get("activityType") != "run_error"]
        mine = without_order([(message["id"], message["role"]) for message in shown])
        assert len(mine) == len(set(mine))
        assert len(ids) == len(set(ids))
        if not chat.interrupts and not failed:
            assert mine == ids, (mine, ids)
            return
        known = [each for each in mine if each in ids]
        assert known == [each for each in ids if each in known], (mine, ids)


@settings(max_examples=examples(60), deadline=None)
@given(acts=ACTS, version=st.sampled_from(VERSIONS))
def test_whatever_a_user_does_the_conversation_stays_whole(
    agui_client: AguiClient, acts: list[Act], version: str
) -> None:
    async def does() -> None:
        user = User(agui_client, version)
        for act in acts:
            await user.does(act)

    asyncio.run(does())
