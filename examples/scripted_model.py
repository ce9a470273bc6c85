"""A chat model that plays a script, at the pace of a model: `ScriptedChatModel`, and how a turn of it is written.

It streams through LangChain's own streaming path, so that LangGraph sees what it would see of a provider. Which turn
is played is read off the conversation, never remembered. No agent and no printing here.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult

Turn = list[AIMessageChunk]
"""One answer of the model, token by token."""


def thinks(content: str) -> Turn:
    """Reasoning, as a content block."""
    blocks = [{"type": "reasoning", "reasoning": word, "index": 0} for word in _words(content)]
    return [AIMessageChunk(content=[block]) for block in blocks]


def says(content: str) -> Turn:
    """Text."""
    return [AIMessageChunk(content=token) for token in _words(content)]


def calls(id: str, tool: str, index: int = 0, /, **arguments: Any) -> Turn:  # noqa: A002 - the name of the wire field
    """A tool call: its name, then its arguments piece by piece. Parallel calls differ in `index`."""
    named = tool_call_chunk(id=id, name=tool, args="", index=index)
    pieces = re.findall(r".{1,6}", json.dumps(arguments, ensure_ascii=False))
    rest = [tool_call_chunk(id=None, name=None, args=piece, index=index) for piece in pieces]
    return [AIMessageChunk(content="", tool_call_chunks=[chunk]) for chunk in (named, *rest)]


def counts(spent: int, said: int) -> Turn:
    """What a provider sends last: the tokens it counted."""
    used = UsageMetadata(input_tokens=spent, output_tokens=said, total_tokens=spent + said)
    return [AIMessageChunk(content="", usage_metadata=used, response_metadata={"model_name": "scripted"})]


class ScriptedChatModel(BaseChatModel):
    """Answers the n-th time with the n-th turn, n being the number of its answers in the conversation; and when there
    are no more, with the last."""

    turns: list[Any]
    """The turns (`list[AIMessageChunk]`)."""
    pause: float = 0.025
    """Seconds between two tokens."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "ScriptedChatModel":
        """Itself: the script knows what it calls."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("this model is asked asynchronously")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        said = sum(isinstance(message, AIMessage) for message in messages)
        for chunk in self.turns[min(said, len(self.turns) - 1)]:
            await asyncio.sleep(self.pause)
            yield ChatGenerationChunk(message=chunk.model_copy(deep=True))


def _words(content: str) -> list[str]:
    return re.findall(r"\S+\s*", content)
