"""Graphs to chat with: what they say tells what they were given. Never here: tests, or anything of ours."""

import operator
from typing import Annotated, Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.pregel import Pregel
from langgraph.types import interrupt

Graph = Pregel[Any, Any, Any, Any]
Checkpointer = BaseCheckpointSaver[Any] | None


ON: Any = {"configurable": {"thread_id": "t"}}
"""The config of the thread that tests talk on."""


async def said(graph: Graph) -> list[str]:
    """What the thread holds of the conversation."""
    return [str(message.content) for message in (await graph.aget_state(ON)).values["messages"]]


class Notes(MessagesState):
    """A conversation, and what turns leave beside it."""

    turns: Annotated[list[str], operator.add]
    mood: str


def _heard(state: Any) -> list[str]:
    return [str(message.content) for message in state["messages"] if message.type == "human"]


def _compiled(node: Any, checkpointer: Checkpointer, state: Any = Notes, **how: Any) -> Graph:
    return StateGraph(state).add_node("answer", node).add_edge(START, "answer").compile(checkpointer, **how)


def counting(checkpointer: Checkpointer = None) -> Graph:
    """Says how many questions it has heard, and the last one; `turns` has one entry for each answer."""

    def answer(state: Notes, config: RunnableConfig) -> dict[str, Any]:
        heard = _heard(state)
        tone = config["configurable"].get("tone", "")
        return {"messages": [AIMessage(f"{len(heard)}: {heard[-1] if heard else ''}{tone}")], "turns": [heard[-1]]}

    return _compiled(answer, checkpointer or InMemorySaver())


def rewriting(checkpointer: Checkpointer = None) -> Graph:
    """Answers, and hides what the user said."""

    def answer(state: Notes) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [HumanMessage("[hidden]", id=last.id), AIMessage(f"heard {last.content}")]}

    return _compiled(answer, checkpointer or InMemorySaver())


def forgetting(checkpointer: Checkpointer = None) -> Graph:
    """Answers, and removes all that was said before the question."""

    def answer(state: Notes) -> dict[str, Any]:
        *old, last = state["messages"]
        return {
            "messages": [
                *(RemoveMessage(str(each.id)) for each in old),
                AIMessage(f"{len(old)} forgotten, {last.content}"),
            ]
        }

    return _compiled(answer, checkpointer or InMemorySaver())


def failing_once(checkpointer: Checkpointer = None) -> Graph:
    """Raises the first time it is run, and answers from then on."""
    tries: list[int] = []

    def answer(state: Notes) -> dict[str, Any]:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return {"messages": [AIMessage(f"try {len(tries)}: {_heard(state)}")]}

    return _compiled(answer, checkpointer or InMemorySaver())


def asking(*questions: str, checkpointer: Checkpointer = None) -> Graph:
    """Asks each question in a node of its own, all at once, and says what the answers were."""
    graph = StateGraph(MessagesState)

    def asks(question: str) -> Any:
        def node(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(f"{question} {interrupt(question)}", id=f"{question}-{len(_heard(state))}")]}

        return node

    for question in questions:
        graph.add_node(question, asks(question)).add_edge(START, question)
    return graph.compile(checkpointer or InMemorySaver())


def asking_then_failing_once(checkpointer: Checkpointer = None) -> Graph:
    """Asks, and raises the first time it is answered."""
    tries: list[int] = []

    def answer(state: Notes) -> dict[str, Any]:
        answered = interrupt("really?")
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not yet")
        return {"messages": [AIMessage(f"try {len(tries)}: {answered}")]}

    return _compiled(answer, checkpointer or InMemorySaver())


def calling(checkpointer: Checkpointer = None, *names: str) -> Graph:
    """Calls tools that a front end has (`names`, or `paint`), and says what their results were. The last message must
    not leave a call open, as models have it."""

    def answer(state: MessagesState) -> dict[str, Any]:
        _refuse_open_calls(state["messages"])
        last = state["messages"][-1]
        if last.type == "tool":
            results = [str(each.content) for each in state["messages"] if each.type == "tool"]
            return {"messages": [AIMessage(f"done: {', '.join(results)}")]}
        if last.content != "paint it":
            return {"messages": [AIMessage(f"heard {last.content}")]}
        calls = [{"name": name, "args": {"color": "red"}, "id": f"call-{name}"} for name in names or ("paint",)]
        return {"messages": [AIMessage("", tool_calls=calls)]}

    return _compiled(answer, checkpointer or InMemorySaver(), MessagesState)


def paying_in_the_end(checkpointer: Checkpointer = None) -> Graph:
    """Calls a tool of its own, which fails once, and says what its result was."""
    tries: list[None] = []

    def balance() -> str:
        """What there is."""
        tries.append(None)
        if len(tries) == 1:
            raise ConnectionError("the bank is away")
        return "nothing"

    def answer(state: MessagesState) -> dict[str, Any]:
        last = state["messages"][-1]
        if last.type == "tool":
            return {"messages": [AIMessage(f"There is {last.content}")]}
        return {"messages": [AIMessage("", tool_calls=[{"name": "balance", "args": {}, "id": "call-balance"}])]}

    builder = StateGraph(MessagesState).add_node("answer", answer).add_node("tools", ToolNode([balance]))
    builder.add_edge(START, "answer").add_conditional_edges("answer", tools_condition).add_edge("tools", "answer")
    return builder.compile(checkpointer=checkpointer or InMemorySaver())


def _refuse_open_calls(messages: list[Any]) -> None:
    """Raises as providers do: results stand right after the message that makes the calls, one for each."""
    for place, message in enumerate(messages):
        calls = [call["id"] for call in getattr(message, "tool_calls", ())]
        after = [getattr(each, "tool_call_id", None) for each in messages[place + 1 : place + 1 + len(calls)]]
        if sorted(calls) != sorted(filter(None, after)):
            raise ValueError(f"calls {calls} are followed by {after}")


def stopping(checkpointer: Checkpointer = None) -> Graph:
    """Stops before its answer, at a static breakpoint."""

    def answer(state: Notes) -> dict[str, Any]:
        return {"messages": [AIMessage(f"at last: {_heard(state)[-1]}")]}

    return _compiled(answer, checkpointer or InMemorySaver(), interrupt_before=["answer"])
