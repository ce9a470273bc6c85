"""`ScriptedChatModel`: a chat model that streams what a test has written, through LangChain's own streaming path.

Which turn it answers with is read from its input (how many answers that has), never from hidden state, so that a graph
can be run again and again, and by several runs at once. Between chunks it yields to the event loop: nodes that run in
parallel interleave. How turns are written is in `scripts.py`.
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
    """The usual choice of a turn: as many turns are over as the input has AI messages."""
    return sum(isinstance(message, AIMessage) for message in messages)


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers with the turns it is given: for agents and nodes under test, without a provider.

    Text, reasoning, tool calls, usage and errors are streamed chunk by chunk. Tools and output schemas may be bound;
    they change nothing, because the turns have the calls already. `disable_streaming=True` makes it a model that
    answers whole.

    Example:
        model = ScriptedChatModel(turns=[["Let me see. ", tool_call("add", {"a": 1, "b": 2})], "It is 3."])
        agent = create_agent(model, [add])
    """

    turns: Sequence[Any] = Field(repr=False)  # a callback is given the repr of each model
    """The answers, in order (each a `Turn`, see `scripts.py`); the last one is repeated when there are no more."""
    turn_of: Callable[[Sequence[BaseMessage]], int] = by_answers
    """Which turn answers these messages, counted from 0: by default as many as they have AI messages."""
    delay: float = 0
    """Seconds before each chunk, for demonstrations: tests wait for a `Pause`."""
    model: str = "scripted-1"
    """The name of the model, as it is in the metadata of its calls."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> ScriptedChatModel:
        """Itself: the turns have their calls already."""
        return self

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        """The steps of the turn that answers these messages."""
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
                raise RuntimeError("a pause works only where the model is called by ainvoke or astream")
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
        """A copy of a chunk, since LangChain puts ids into the objects it is given; or the exception of the turn."""
        if isinstance(step, Exception):
            raise step
        chunk = step.model_copy(deep=True)
        for call in chunk.tool_call_chunks:
            if call["id"] == "":
                call["id"] = f"call_{self.turn_of(messages) + 1}_{call['index'] or 0}"
        return ChatGenerationChunk(message=chunk)
