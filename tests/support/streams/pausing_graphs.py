"""Local graphs that go as far as a test lets them: nodes that say when they are reached, and wait.

Here: small graphs with a `Pause`. Never here: anything of ours that is tested.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from langgraph.types import interrupt
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, text

from fixtures.graphs.speech import said, speaker
from fixtures.scripts import end

Graph = Pregel[Any, Any, Any, Any]
Checkpointer = BaseCheckpointSaver[Any] | None

HELLO = {"messages": [{"role": "user", "content": "hello", "id": "user-1"}]}


def pausing(point: Pause, words: str = "one two three four") -> ScriptedChatModel:
    """A model that waits at the point when its first two words are out."""
    return ScriptedChatModel(turns=[[*text(words)[:2], point, *text(words)[2:], *end()]])


def speaking(point: Pause, checkpointer: Checkpointer = None, words: str = "one two three four") -> Graph:
    """A graph that says a few words, and waits after the second."""
    node = speaker(pausing(point, words))
    return StateGraph(MessagesState).add_node("speak", node).add_edge(START, "speak").compile(checkpointer)


def waiting(point: Pause, checkpointer: Checkpointer = None) -> Graph:
    """A graph that says something and keeps it, then waits in its second node, then speaks again."""

    async def wait(state: MessagesState) -> dict[str, Any]:
        await point()
        return {"messages": [AIMessage("It is done.", id="done-1")]}

    graph = StateGraph(MessagesState).add_node("first", speaker(said("At once."))).add_node("wait", wait)
    return graph.add_edge(START, "first").add_edge("first", "wait").compile(checkpointer)


def asking(point: Pause, checkpointer: Checkpointer) -> Graph:
    """A graph that asks, and waits when it has been answered; it fails if the answer is "fail"."""

    async def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt("Shall I?")
        await point()
        if answer == "fail":
            raise ValueError("not like this")
        return {"messages": [AIMessage(f"You said {answer}.", id="said-1")]}

    return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(checkpointer)


def quick(checkpointer: Checkpointer = None) -> Graph:
    """A graph that waits for nothing."""
    graph = StateGraph(MessagesState).add_node("speak", speaker(said("At once.")))
    return graph.add_edge(START, "speak").compile(checkpointer)


class _Topic(TypedDict):
    topic: str
    notes: Annotated[list[str], lambda before, more: before + more]


def without_messages(point: Pause) -> Graph:
    """A graph that has no messages, whose model speaks all the same; it waits in mid-sentence."""
    model = pausing(point)

    async def write(state: _Topic) -> Mapping[str, Any]:
        answer = await model.ainvoke(state["topic"])
        return {"notes": [answer.text]}

    return StateGraph(_Topic).add_node("write", write).add_edge(START, "write").compile()


def fast(count: int) -> Graph:
    """A graph that emits many things without waiting: custom events, all at once."""

    async def emit(state: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        for number in range(count):
            write({"name": "n", "value": number})
        return {"messages": [AIMessage("All said.", id="all-1")]}

    return StateGraph(MessagesState).add_node("emit", emit).add_edge(START, "emit").compile()


def on(thread_id: str, **more: Any) -> dict[str, Any]:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread_id, **more}}
