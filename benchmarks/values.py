"""What one `values` part costs: freezing a channel, and the patch from what it was to what it is.

Each row is one change of one channel. `ratio` is the time of `diff` to that of `orjson.dumps` of the channel, the floor
for anything that looks at it at all; both are the fastest of some rounds, in turn, in one process. Nothing is shared
between before and after, as between two frozen channels.
"""

from __future__ import annotations

import copy
import gc
import random
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import jsonpatch
from langgraph_agui.translator.patch import diff
from langgraph_agui.translator.plain import freeze
from orjson import dumps

Case = tuple[str, Any, Any]
_ROUNDS = 7
_PATIENCE = 0.2  # seconds: a function that takes longer is measured once


def rows() -> list[dict[str, Any]]:
    """name, ratio, bytes of the patch, bytes of the value, ms; the same of jsonpatch, and the ratio of `freeze`."""
    return [_row(*case) for case in cases()]


def cases() -> Iterator[Case]:
    """Name, before and after of each change measured."""
    for count in (10, 100, 1000, 5000):
        yield f"messages {count} +1", _messages(count), _messages(count + 1)
    thousand = _messages(1000)
    yield "messages 1000, edit last", thousand, [*thousand[:-1], thousand[-1] | {"content": "edited"}]
    yield "messages 1000, drop first 100", thousand, thousand[100:]
    yield "messages 1000 -> summary + 10", thousand, [{"id": "summary", "content": "s" * 100}, *thousand[-10:]]
    for name, fan in (("10 KB", (10, 20)), ("1 MB", (20, 30, 33)), ("10 MB", (60, 60, 55))):
        yield f"nested {name}, one leaf", _nested(fan), _with_leaf(_nested(fan))
    files = {f"src/file_{at}.py": f"{at} " * 1000 for at in range(200)}
    yield "files 200 x 4 KB, +1", files, files | {"new.py": "print()" * 20}
    yield "files 200 x 4 KB, edit one", files, files | {"src/file_100.py": "x" * 4400}
    todos = [{"content": f"todo number {at}", "status": "pending"} for at in range(12)]
    yield "todos 12, one flipped", todos, [*todos[:5], todos[5] | {"status": "completed"}, *todos[6:]]
    agent = {"messages": thousand, "files": files, "todos": todos}
    yield "deepagent-like, +1 message", agent, agent | {"messages": _messages(1001)}
    yield from _worst()


def _worst() -> Iterator[Case]:
    some = [{"name": f"item {at}", "value": at} for at in range(4000)]
    numbers = list(range(4000))
    shuffled = numbers[:]
    random.Random(0).shuffle(shuffled)
    yield "head insert, 2000", some[:2000], [{"name": "new", "value": -1}, *some[:2000]]
    yield "replace all of 4000", some, [{"name": f"other {at}", "value": -at} for at in range(4000)]
    yield "shuffle 4000 ints", numbers, shuffled
    yield "shuffle 4000 dicts", some, [some[at] for at in shuffled]
    yield "delete every 2nd of 4000", some, some[::2]
    yield "edit every 10th of 4000", some, [one | {"value": 7} if at % 10 == 0 else one for at, one in enumerate(some)]
    mixed = [one for at, one in enumerate(some) if at % 50]
    yield "delete every 50th, insert 40", some, [*mixed[:999], *({"name": f"new {n}"} for n in range(40)), *mixed[999:]]
    yield "4000 equal, every 10th turned", [0] * 4000, [1 if at % 10 == 0 else 0 for at in range(4000)]
    chain: Any = 0
    for level in range(100):
        chain = {"next": chain, "here": f"{level} " * 3000}
    yield "chain of 100 x 10 KB, deepest", chain, _with_deepest(chain)


def _messages(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"message-{at}",
            "type": "human" if at % 2 else "ai",
            "content": f"{at}: " + "word " * 72,
            "metadata": {},
        }
        for at in range(count)
    ]


def _nested(fan: tuple[int, ...]) -> Any:
    if not fan:
        return {"name": "a leaf of the tree", "value": 12345}
    return {f"key_{at}": _nested(fan[1:]) for at in range(fan[0])}


def _with_leaf(tree: Any) -> Any:
    at = tree
    while "value" not in at:
        at = at[list(at)[len(at) // 2]]
    at["value"] = 54321
    return tree


def _with_deepest(chain: Any) -> Any:
    return {**chain, "next": _with_deepest(chain["next"])} if isinstance(chain, dict) else 1


def _row(name: str, before: Any, after: Any) -> dict[str, Any]:
    before, after = copy.deepcopy(before), copy.deepcopy(after)
    whole, ours, theirs, frozen = _fastest(
        lambda: dumps(after),
        lambda: diff(before, after),
        lambda: jsonpatch.make_patch(before, after),
        lambda: freeze(after),
    )
    return {
        "name": name,
        "ratio": ours / whole,
        "bytes": len(dumps(diff(before, after))),
        "value_bytes": len(dumps(after)),
        "ms": ours * 1e3,
        "jsonpatch_ratio": theirs / whole,
        "jsonpatch_bytes": len(dumps(list(jsonpatch.make_patch(before, after)))),
        "freeze_ratio": frozen / whole,
    }


def _fastest(*functions: Callable[[], Any]) -> list[float]:
    best = [float("inf")] * len(functions)
    gc.disable()
    try:
        for _ in range(_ROUNDS):
            for at, function in enumerate(functions):
                if _PATIENCE < best[at] < float("inf"):
                    continue
                start = perf_counter()
                function()
                best[at] = min(best[at], perf_counter() - start)
    finally:
        gc.enable()
    return best


if __name__ == "__main__":
    for row in rows():
        print(
            f"{row['name']:32} {row['ms']:8.3f} ms {row['ratio']:7.1f} x dumps"
            f" {row['bytes']:8} B of {row['value_bytes']:8}"
            f"   jsonpatch {row['jsonpatch_ratio']:8.1f} x {row['jsonpatch_bytes']:8} B"
            f"   freeze {row['freeze_ratio']:.1f} x"
        )
