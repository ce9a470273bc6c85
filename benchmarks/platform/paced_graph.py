"""The graph that `langgraph dev` serves for the benchmark: a model that says a token every 20 ms. It imports nothing of
this package, because an older server runs in an environment that does not have it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph

TOKENS = 60
PACE = 0.02


class PacedModel(BaseChatModel):
    """Says `tok0 tok1 ...`, one token at a time."""

    @property
    def _llm_type(self) -> str:
        return "paced"

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        text = "".join(f"tok{place} " for place in range(TOKENS))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for place in range(TOKENS):
            await asyncio.sleep(PACE)
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"tok{place} "))


async def _answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await PacedModel().ainvoke(state["messages"][-1:])]}


graph = StateGraph(MessagesState).add_node("answer", _answer).add_edge(START, "answer").compile()
