"""The graphs that are measured, on scripted models that stream one token a chunk, and captured streams of them."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from typing import Annotated, Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel, tool_call, usage
from langgraph_agui.translator import STREAM_MODES

ASKED = {"messages": [{"role": "user", "content": "Tell me something.", "id": "asked"}]}


class _Laden(MessagesState):
    load: dict[str, Any]


class _Counting(MessagesState):
    load: dict[str, Any]
    count: Annotated[int, operator.add]


@tool
def look_up(query: str) -> str:
    """Looks something up."""
    return f"What was found for {query}."


def said(tokens: int) -> list[AIMessageChunk]:
    """A turn of so many one-token chunks, and the chunk with the usage that a provider sends last."""
    return [AIMessageChunk(content=f"tok{at % 100} ") for at in range(tokens)] + usage(10, tokens)


def answering(tokens: int) -> Any:
    """One node that asks the model once, with a channel beside the conversation that is only carried along."""
    model = ScriptedChatModel(turns=[said(tokens)])

    async def answer(state: _Laden) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"][-1:])]}

    graph = StateGraph(_Laden).add_node("answer", answer).add_edge(START, "answer")
    return graph.compile(checkpointer=InMemorySaver())


def agent(tokens: int) -> Any:
    """`create_agent` with a tool, in two turns: half of the tokens, a call, its result, the other half."""
    half = tokens // 2
    first = said(half)[:-1] + tool_call("look_up", {"query": "the answer"}, "call-1", fragments=8) + usage(10, half)
    return create_agent(ScriptedChatModel(turns=[first, said(half)]), [look_up], checkpointer=InMemorySaver())


def counting(nodes: int) -> Any:
    """Nodes one after another, each of which changes one integer."""
    graph = StateGraph(_Counting)
    before = START
    for at in range(nodes):
        graph.add_node(f"node_{at}", lambda state: {"count": 1})
        graph.add_edge(before, f"node_{at}")
        before = f"node_{at}"
    return graph.compile(checkpointer=InMemorySaver())


def keeping(checkpointer: Any) -> Any:
    """A graph that does nothing but keep its conversation."""
    graph = StateGraph(MessagesState).add_node("keep", lambda state: {}).add_edge(START, "keep")
    return graph.compile(checkpointer=checkpointer)


def history(count: int) -> list[AnyMessage]:
    """A conversation of this many messages: questions, calls with their results, answers."""
    said: list[AnyMessage] = []
    for at in range(0, count, 4):
        asks = [{"name": "look_up", "args": {"query": f"number {at}"}, "id": f"call-{at}"}]
        said += [
            HumanMessage(f"{at}: " + "word " * 40, id=f"human-{at}"),
            AIMessage("", id=f"asks-{at}", tool_calls=asks, response_metadata={"model_name": "scripted-1"}),
            ToolMessage(f"found {at} " * 20, tool_call_id=f"call-{at}", id=f"tool-{at}"),
            AIMessage("word " * 60, id=f"answer-{at}", response_metadata={"model_name": "scripted-1"}),
        ]
    return said[:count]


def load(size: int) -> dict[str, Any]:
    """About `size` bytes of nested JSON."""
    return {f"key {at}": {"name": f"item {at}", "tags": ["a", "b"], "text": "x" * 900} for at in range(size // 960)}


def config() -> Any:
    """A thread nobody has used."""
    return {"configurable": {"thread_id": str(uuid4())}}


def bare(graph: Any, given: Any, where: Any) -> AsyncIterator[Any]:
    """The stream as it is asked for."""
    stream: AsyncIterator[Any] = graph.astream(given, where, stream_mode=STREAM_MODES, subgraphs=True)
    return stream


async def captured(graph: Any, given: Any = ASKED, before: Any = None) -> list[Any]:
    """All parts of one run, on a thread that holds `before`."""
    where = config()
    if before is not None:
        await graph.aupdate_state(where, before)
    return [part async for part in bare(graph, given, where)]


async def again(parts: list[Any]) -> AsyncIterator[Any]:
    """A captured stream once more."""
    for part in parts:
        yield part
