"""Defines `ScriptedChatModel`, a chat model that streams what a test has written, through LangChain's own streaming
code.

The turn that it answers with depends only on its input, by default on how many answers the input contains. There is no
hidden state, so a graph can be run repeatedly, and by several runs at once. The model yields to the event loop between
chunks, so that nodes which run in parallel interleave. `scripts.py` defines how turns are written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field

from .scripts import Script, steps


def by_answers(messages: Sequence[BaseMessage]) -> int:
    """Returns the index of the turn by default: the number of AI messages in the input."""
    return sum(isinstance(message, AIMessage) for message in messages)


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers with the given turns, to test agents and nodes without a provider.

    Text, reasoning, tool calls, usage and errors are streamed chunk by chunk. Binding tools or an output schema has no
    effect, because the turns already contain the calls. With `disable_streaming=True`, the model returns complete
    answers.

    Example:
        model = ScriptedChatModel(turns=[["Let me see. ", tool_call("add", {"a": 1, "b": 2})], "It is 3."])
        agent = create_agent(model, [add])
    """

    turns: Sequence[Any] = Field(repr=False)  # LangChain passes the repr of each model to callbacks
    """The answers in order (each a `Turn`, see `scripts.py`). The last one is repeated if more are requested."""
    turn_of: Callable[[Sequence[BaseMessage]], int] = by_answers
    """Returns the index, from 0, of the turn that answers these messages. By default, their number of AI messages."""
    delay: float = 0
    """How many seconds to wait before each chunk, for demonstrations. In tests, use a `Pause` instead."""
    model: str = "scripted-1"
    """The model's name, which appears in the metadata of its calls."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:
        """Returns the model itself, because the turns already contain the calls."""
        return self

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        """Returns the steps of the turn that answers these messages."""
        return list(steps(self.turns[min(self.turn_of(messages), len(self.turns) - 1)]))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for step in self.script(messages):
            if callable(step):
                raise RuntimeError("a pause works only if the model is called by ainvoke or astream")
            yield self._chunk(step, messages)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for step in self.script(messages):
            await asyncio.sleep(self.delay)
            if callable(step):
                await step()
            else:
                yield self._chunk(step, messages)

    def _chunk(self, step: AIMessageChunk | Exception, messages: Sequence[BaseMessage]) -> ChatGenerationChunk:
        """Returns a copy of a chunk, because LangChain modifies the objects it receives, or raises the turn's
        exception."""
        if isinstance(step, Exception):
            raise step
        chunk = step.model_copy(deep=True)
        for call in chunk.tool_call_chunks:
            if call["id"] == "":
                call["id"] = f"call_{self.turn_of(messages) + 1}_{call['index'] or 0}"
        return ChatGenerationChunk(message=chunk)
