"""How long one body of 4 MB stops the event loop of a server, however odd it is: the CPU time between two turns of the
loop, from the request's first byte until its run has ended, of a graph that keeps nothing of what was sent.

The ratio is to reading 4 MB of empty lists in one piece, which is what such a body cost when it was only parsed.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from time import process_time
from typing import Any, TypedDict

import orjson
from langgraph.graph import START, StateGraph
from langgraph_agui.connect.serve import Limits, agui_app

from ..rows import Row

_SIZE = 4_000_000
_ROUNDS = 3
_BOUND = 0.5  # reached is about 0.2
_CHUNK = 64 * 1024
_TOOL = {"name": "f", "description": "", "parameters": {}}
_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
_USER: dict[str, Any] = {"id": "u", "role": "user"}


class _Heard(TypedDict):
    heard: int


def rows() -> Iterator[Row]:
    """The longest stop of any body, as a ratio and in milliseconds."""
    piece = b"[" + b",".join([b"[]"] * (_SIZE // 3)) + b"]"
    gc.collect()
    gc.freeze()  # as `serve` does: what was imported is no body's cost
    try:
        begin = process_time()
        orjson.loads(piece)
        alone = process_time() - begin
        stops = asyncio.run(_stops())
    finally:
        gc.unfreeze()
    name, longest = max(stops.items(), key=lambda each: each[1])
    note = f"{longest * 1e3:.0f} ms of {alone * 1e3:.0f}: {name}"
    yield Row("serving", "longest stop of the loop by a body of 4 MB", longest / alone, "x parsing it", _BOUND, note)


async def _stops() -> dict[str, float]:
    graph = StateGraph(_Heard).add_node("hear", lambda state: {"heard": 1}).add_edge(START, "hear").compile()
    app = agui_app({"chat": graph})
    stops: dict[str, float] = {}
    async with app.router.lifespan_context(app):
        for name, body in _bodies():
            for path in ("/chat", "/chat/connect"):
                times = [await _longest(lambda body=body, path=path: _post(app, path, body)) for _ in range(_ROUNDS)]  # type: ignore[misc]
                stops[f"{name}, {path}"] = min(times)
    return stops


async def _longest(work: Callable[[], Awaitable[None]]) -> float:
    """The longest CPU time between two turns of the loop."""
    gc.collect()
    turns: list[float] = []
    is_over = False

    async def turn() -> None:
        while not is_over:
            turns.append(process_time())
            await asyncio.sleep(0)

    turning = asyncio.create_task(turn())
    await asyncio.sleep(0)
    await work()
    is_over = True
    await turning
    return max(after - before for before, after in pairwise(turns))


def _bodies() -> Iterator[tuple[str, bytes]]:
    """Bodies of 4 MB, each with as much of one thing as a body may have, and with far more."""
    values = Limits().values
    things: dict[str, Callable[[int], dict[str, Any]]] = {
        "lists": lambda count: {"state": {"a": [[]] * count}},
        "objects": lambda count: {"state": {"a": [{"a": 1}] * count}},
        "members": lambda count: {"state": {f"k{each}": each for each in range(count)}},
        "parts": lambda count: {"messages": [{**_USER, "content": [{"type": "text", "text": ""}] * count}]},
        "no parts": lambda count: {"messages": [{**_USER, "content": [{}] * count}]},
        "calls": lambda count: {"messages": [{"id": "a", "role": "assistant", "toolCalls": [_CALL] * count}]},
        "messages": lambda count: {"messages": [{**_USER, "content": ""}] * min(count, Limits().messages)},
        "tools": lambda count: {"tools": [_TOOL] * count},
        "answers": lambda count: {"resume": [{"interruptId": "i", "status": "resolved"}] * count},
        "unknown fields": lambda count: {f"k{each}": each for each in range(count)},
        "props": lambda count: {"forwardedProps": {f"k{each}": [] for each in range(count)}},
    }
    for name, make in things.items():
        for most in (values * 0.99, values * 10):
            yield name, _padded(make, int(most))
    yield "one text", _body({"messages": [{**_USER, "content": "x" * (_SIZE - 1_000)}]})
    source = {"type": "data", "mimeType": "image/png", "value": "A" * (_SIZE - 1_000)}
    yield "an attachment", _body({"messages": [{**_USER, "content": [{"type": "image", "source": source}]}]})


def _padded(make: Callable[[int], dict[str, Any]], values: int) -> bytes:
    """A body with so many values, or as many as go into 4 MB, and a text that makes it as large."""
    few, more = _body(make(100)), _body(make(200))
    of_one = (_values(more) - _values(few)) / 100
    count = int(min((values - 100) / of_one, (_SIZE - 1_000) / ((len(more) - len(few)) / 100 + 5)))
    whole = _body(make(count))
    return whole[:-1] + b',"padding":"' + b"x" * max(0, _SIZE - len(whole)) + b'"}'


def _values(body: bytes) -> int:
    return sum(body.count(mark) for mark in (b",", b"[", b"{"))


def _body(given: dict[str, Any]) -> bytes:
    whole = {"threadId": "t", "runId": "r", "messages": [], "protocolVersion": "1.0", **given}
    return json.dumps(whole, separators=(",", ":")).encode()


async def _post(app: Any, path: str, body: bytes) -> None:
    """Posts a body to an app, in pieces."""
    pieces = [body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK)]

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        if not pieces:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: dict[str, Any]) -> None:
        pass

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"host", b"x")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await app(scope, receive, send)
