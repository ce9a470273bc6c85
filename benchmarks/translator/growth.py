"""What must not grow: the cost of a token with the history or the state around it; and nothing more than in proportion.

Replays, with the garbage collector off. A *slope* is what a token costs beyond the start and the end of a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph_agui.translator import Translator

from ..graphs import answering, captured, history, load
from ..rows import Row
from ..timing import timed

_FEW, _MANY = 500, 4500
_ROUNDS = 15
_AROUND: dict[str, dict[str, Any]] = {
    "nothing": {},
    "2,000 messages": {"messages": history(2000)},
    "1 MB of state": {"load": load(1_000_000)},
}


def rows() -> Iterator[Row]:
    """Slopes as ratios to that of an empty thread; times of twice as much as ratios to those of as much."""
    yield from _slopes()
    for name, once, twice in _doubled():
        as_much, double = timed([once, twice], 7, collect=False)
        note = f"{double.least * 1e3:.1f} ms"
        yield Row("growth", f"{name}: twice as much", double.least / as_much.least, "x", 2.8, note)


def _slopes() -> Iterator[Row]:
    streams = [
        asyncio.run(captured(answering(tokens), before=before))
        for before in _AROUND.values()
        for tokens in (_FEW, _MANY)
    ]
    times = timed([_replay(parts) for parts in streams], _ROUNDS, collect=False)
    slopes = [(many.least - few.least) / (_MANY - _FEW) for few, many in zip(times[::2], times[1::2], strict=True)]
    for name, slope in zip(list(_AROUND)[1:], slopes[1:], strict=True):
        yield Row("growth", f"a token, {name} around it", slope / slopes[0], "x", 1.3, f"{slope * 1e6:.2f} us")


def _doubled() -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    yield "one message of 20,000 tokens", _replay(one_message(10_000)), _replay(one_message(20_000))
    yield "arguments of 10,000 fragments", _replay(_arguments(5_000)), _replay(_arguments(10_000))
    yield "2,000 results of parallel calls", _replay(_results(1_000)), _replay(_results(2_000))
    yield "a list of 20,000 messages at once", _replay(_at_once(10_000)), _replay(_at_once(20_000))
    yield "2,000 tasks at a time", _replay(_fan_out(1_000)), _replay(_fan_out(2_000))


def _replay(parts: list[Any]) -> Callable[[], None]:
    def once() -> None:
        run = Translator("t", "r")
        run.start()
        for part in parts:
            run.feed(part)
        run.finish()

    return once


def _metadata(task: str = "answer:1") -> dict[str, Any]:
    return {"langgraph_node": task.split(":")[0], "langgraph_checkpoint_ns": task, "ls_provider": "p"}


def _chunk(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(id="lc_run--1", **fields)


def one_message(tokens: int) -> list[Any]:
    """The parts of one message that streams so many tokens."""
    metadata = _metadata()
    told = [((), "messages", (_chunk(content="token "), metadata)) for _ in range(tokens)]
    return [*told, ((), "values", {"messages": [AIMessage("token " * tokens, id="lc_run--1")]})]


def _arguments(fragments: int) -> list[Any]:
    metadata = _metadata()

    def fragment(args: str, **named: Any) -> Any:
        piece = {"name": None, "id": None, "index": 0, "args": args, "type": "tool_call_chunk", **named}
        return ((), "messages", (_chunk(content="", tool_call_chunks=[piece]), metadata))

    told = [fragment('{"a": "', name="write", id="call-1"), *(fragment("some text ") for _ in range(fragments))]
    call = {"name": "write", "args": {"a": "some text " * fragments}, "id": "call-1"}
    return [*told, fragment('"}'), ((), "values", {"messages": [AIMessage("", id="lc_run--1", tool_calls=[call])]})]


def _results(count: int) -> list[Any]:
    calls = [{"name": "look_up", "args": {}, "id": f"call-{at}"} for at in range(count)]
    asks = AIMessage("", id="asks", tool_calls=calls)
    answers = [ToolMessage("found", tool_call_id=f"call-{at}", id=f"tool-{at}") for at in range(count)]
    told = [((), "messages", (answer, _metadata(f"tools:{at}"))) for at, answer in enumerate(answers)]
    return [((), "values", {"messages": [asks]}), *told, ((), "values", {"messages": [asks, *answers]})]


def _at_once(count: int) -> list[Any]:
    messages = [HumanMessage(f"said {at}", id=f"human-{at}") for at in range(count)]
    return [((), "values", {"messages": messages[:1]}), ((), "values", {"messages": messages})]


def _fan_out(count: int) -> list[Any]:
    said = [AIMessageChunk(content="said", id=f"lc_run--{at}") for at in range(count)]
    told = [((), "messages", (chunk, _metadata(f"worker:{at}"))) for at, chunk in enumerate(said)]
    saved = [AIMessage("said", id=f"lc_run--{at}") for at in range(count)]
    updates = [((), "updates", {"worker": {"messages": [message]}}) for message in saved]
    return [*told, *updates, ((), "values", {"messages": saved})]
