"""The graph of the random run: `build`, and `chaos` for a LangGraph server.

It has three steps: a model streams what it thinks, some work is done, a model streams an answer. The text of the
message says how: `words 20` is the length, `block 6` blocks the event loop for so many seconds in the second step. Each
step writes a line to the journal when it begins and when it ends: who runs what, and when. A LangGraph server has none.
"""

import json
import os
import re
import select
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel, text
from langgraph_agui.connect.testing.scripts import Script

STEPS = ("think", "work", "answer")
_NUMBERS = re.compile(r"(words|block) (\d+)")


class _Model(ScriptedChatModel):
    """A model that streams as many words as it is asked for."""

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        return list(text(" ".join(f"w{number}" for number in range(_asked(messages).get("words", 10)))))


def _asked(messages: Sequence[BaseMessage]) -> dict[str, int]:
    last = next(message for message in reversed(messages) if message.type == "human")
    return {name: int(number) for name, number in _NUMBERS.findall(str(last.content))}


def build(saver: Any, journal: str = os.devnull) -> Any:
    """The graph."""
    model = _Model(turns=["-"], delay=0.02)

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def work(state: MessagesState) -> dict[str, Any]:
        if seconds := _asked(state["messages"]).get("block"):
            select.select([], [], [], seconds)  # blocks the event loop; time.sleep fails where the clock is shifted
        return {}

    graph = StateGraph(MessagesState)
    before = START
    for name, step in zip(STEPS, (speak, work, speak), strict=True):
        graph.add_node(name, _journaled(name, step, journal)).add_edge(before, name)
        before = name
    return graph.compile(checkpointer=saver)


def _journaled(name: str, step: Callable[[MessagesState], Awaitable[dict[str, Any]]], journal: str) -> Any:
    async def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        ids = config["configurable"]
        who = {"thread": ids["thread_id"], "run": ids.get("run_id"), "step": name, "pid": os.getpid()}
        write_to(journal, {**who, "is": "begun"})
        try:
            return await step(state)
        finally:
            write_to(journal, {**who, "is": "over"})

    return node


def write_to(journal: str, line: dict[str, Any]) -> None:
    with open(journal, "ab", buffering=0) as file:
        file.write(json.dumps({**line, "at": time.monotonic()}).encode() + b"\n")


chaos = build(None)
