"""What one root `values` part costs in which a channel has changed, and what it puts on the wire.

Each case is one change of one channel. The times are ratios to that of `orjson.dumps` of the channel, the floor for
anything that looks at it at all: the whole part (the channel is frozen, compared, and the view patched), the patch
alone, and jsonpatch's. Nothing is shared between before and after, as between two values of a node that builds its
channel anew.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import jsonpatch
from langgraph_agui.translator import Translator, encode
from langgraph_agui.translator.jsonable.json_diff import diff
from orjson import dumps

from ..rows import Row
from ..timing import timed

Case = tuple[str, Any, Any]
_ROUNDS = 7
_BOUND = 20  # times dumps: what passes it looks at everything in Python
_WORST_BOUND = 150  # times dumps: what passes it is quadratic


def rows() -> Iterator[Row]:
    """By case: the time of the part and of the patch alone, and the bytes told."""
    for name, before, after in cases():
        yield from _measured(name, before, after, _BOUND)
    for name, before, after in worst_cases():
        yield from _measured(name, before, after, _WORST_BOUND)


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


def worst_cases() -> Iterator[Case]:
    """The same of lists turned over and of deep chains: what is quadratic for others."""
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


def _measured(name: str, before: Any, after: Any, bound: float) -> Iterator[Row]:
    before, after = copy.deepcopy(before), copy.deepcopy(after)
    parts, told = _parts(before, after)
    larger = max(before, after, key=lambda value: len(dumps(value)))
    variants = [parts, lambda: dumps(larger), lambda: diff(before, after), lambda: jsonpatch.make_patch(before, after)]
    rounds = 3 if len(dumps(after)) > 5e6 else _ROUNDS
    part, whole, ours, theirs = timed(variants, rounds)
    size = len(dumps(after))
    note = f"the patch alone {ours.least / whole.least:.1f} x, jsonpatch {theirs.least / whole.least:.0f} x"
    yield Row("values", name, part.least / whole.least / 2, "x dumps", bound, f"{part.least * 5e2:.3f} ms; {note}")
    theirs_told = len(dumps(list(jsonpatch.make_patch(before, after))))
    yield Row("values", f"{name}: told", told, "B", size + 100, f"of {size:,}; jsonpatch {theirs_told:,}")


def _parts(before: Any, after: Any) -> tuple[Callable[[], None], int]:
    """What feeds a change and takes it back, and the bytes the change puts on the wire."""
    run = Translator("t", "r")
    run.start()

    def fed(value: Any) -> list[Any]:
        run.feed(((), "updates", {"node": {"channel": value}}))
        return run.feed(((), "values", {"channel": value}))

    fed(before)
    told = sum(len(encode(event)) for event in fed(after))

    def there_and_back() -> None:
        fed(before)
        fed(after)

    return there_and_back, told
