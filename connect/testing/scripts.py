"""Helps to write the turns of a `ScriptedChatModel`: text, reasoning, tool calls and usage as lists of chunks; `Pause`.

A turn is a string, or a list. The items of a list are strings, results of these functions, `AIMessageChunk`s,
exceptions, which are raised at that point, and pauses. The model that streams turns is in `model.py`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

Chunks = list[AIMessageChunk]
Step = AIMessageChunk | Exception | Callable[[], Awaitable[object]]
"""One step of a turn: a chunk, an exception to raise, or a function to call and await, such as a `Pause`."""
Script = Sequence[Step]
"""The steps of a turn, in order."""
Turn = str | Step | Iterable["Turn"]
"""The answer of a model."""


class Pause:
    """A point at which a run waits until the test lets it continue: in a turn, or as `await pause()` in a node or a
    tool.

    `await pause.reached.wait()` returns when the run is at this point. `pause.open.set()` lets it continue, and all
    later runs pass without waiting. `is_cancelled` is True after a run was cancelled here.

    Example:
        pause = Pause()
        graph = create_agent(ScriptedChatModel(turns=[["Hello ", pause, "world."]]))
        task = asyncio.create_task(record(graph, "Hi!"))
        await pause.reached.wait()  # the client has "Hello "
        pause.open.set()
        events = await task
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.is_cancelled = False

    async def __call__(self) -> None:
        """Waits until the pause is open."""
        self.reached.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise


def tokens(content: str) -> list[str]:
    """Returns the words of a text, each with the white space after it."""
    return re.findall(r"\S+\s*|\s+", content)


def text(content: str) -> Chunks:
    """Returns text, one chunk for each word. A turn may contain a string instead.

    Example:
        assert [chunk.content for chunk in text("Hello there.")] == ["Hello ", "there."]
    """
    return [AIMessageChunk(content=token) for token in tokens(content)]


def reasoning(content: str) -> Chunks:
    """Returns reasoning as content blocks, one chunk for each word.

    Example:
        model = ScriptedChatModel(turns=[[reasoning("They greet me. "), "Hello there."]])
    """
    return [AIMessageChunk(content=[{"type": "reasoning", "reasoning": word, "index": 0}]) for word in tokens(content)]


def tool_call(
    name: str,
    args: dict[str, Any] | str,
    id: str | None = "",  # noqa: A002 - the name of the field in LangChain
    *,
    index: int | None = 0,
    fragments: int = 3,
    naming: Literal["alone", "with_args"] = "alone",
) -> Chunks:
    """Returns a tool call: a chunk with its name and id, then its arguments in `fragments` chunks.

    `args` are the arguments, or their JSON, which may be invalid. `id`: with "", the call gets an id when it is
    streamed; with None, it has none. `index` must differ between calls of a turn that stream at once.
    `naming="with_args"` puts the first fragment into the chunk with the name, so with `fragments=1` the call is a
    single chunk.

    Example:
        model = ScriptedChatModel(turns=[["Let me see. ", tool_call("add", {"a": 1, "b": 2})], "It is 3."])
    """
    json_text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    size = -(-len(json_text) // fragments) or 1
    parts = [json_text[start : start + size] for start in range(0, len(json_text), size)] or [""]
    first = parts.pop(0) if naming == "with_args" else ""
    chunks = [tool_call_chunk(name=name, args=first, id=id, index=index)]
    chunks += [tool_call_chunk(name=None, args=part, id=None, index=index) for part in parts]
    return [AIMessageChunk(content="", tool_call_chunks=[chunk]) for chunk in chunks]


def usage(
    input_tokens: int = 10, output_tokens: int = 5, *, model: str | None = "scripted-1", **details: Any
) -> Chunks:
    """Returns the chunk that a provider sends last, with no content, the number of tokens, and the name of its model.

    `details` are further fields of LangChain's `UsageMetadata`, such as `input_token_details={"cache_read": 5}`.

    Example:
        model = ScriptedChatModel(turns=[["Hello there.", usage(20, 3)]])
    """
    total = input_tokens + output_tokens
    counts: Any = {"input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": total, **details}
    metadata = {"model_name": model} if model else {}
    return [AIMessageChunk(content="", usage_metadata=counts, response_metadata=metadata)]


def steps(turn: Turn) -> Iterator[Step]:
    """Yields the steps of a turn in order. Raises `TypeError` for a value that can't be part of a turn."""
    if isinstance(turn, str):
        yield from text(turn)
    elif isinstance(turn, AIMessageChunk | Exception) or callable(turn):
        yield turn
    elif isinstance(turn, Iterable):
        for part in turn:
            yield from steps(part)
    else:
        raise TypeError(f"expected a string, a chunk, an exception or a list of those, got {type(turn).__name__}")
