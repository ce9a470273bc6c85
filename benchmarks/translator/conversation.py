"""What a root `values` part costs that brings one more message to a conversation of many.

Against `orjson.dumps` of the same messages as JSON, which is the least that anything costs that looks at all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from langgraph_agui.translator import Translator
from orjson import dumps

from ..graphs import history
from ..rows import Row
from ..timing import timed

_ROUNDS = 15


def rows() -> Iterator[Row]:
    """The time of the part as a ratio, and the bytes of what it tells."""
    for count in (10, 100, 1000, 5000):
        for form in ("objects", "JSON"):
            yield from _appended(count, form)
    yield _steps()


def _appended(count: int, form: str) -> Iterator[Row]:
    def formed() -> list[Any]:
        messages = history(count + _ROUNDS + 1)
        return messages if form == "objects" else [message.model_dump(mode="json") for message in messages]

    kept = formed()
    run = Translator("t", "r")
    run.start()
    length = count
    told: list[Any] = run.feed(((), "values", {"messages": kept[:length]}))

    def fed(messages: list[Any]) -> None:
        told.extend(run.feed(((), "values", {"messages": messages})))

    as_json = [message.model_dump(mode="json") for message in history(count)]
    ours = []
    for _ in range(_ROUNDS):
        length += 1
        fresh = (kept if form == "objects" else formed())[:length]
        run.feed(((), "updates", {"node": {"messages": kept[length - 1]}}))
        told = []
        ours += timed([_once(fed, fresh)], 1)
    (whole,) = timed([lambda: dumps(as_json)], 25)
    least = min(timing.least for timing in ours)
    name = f"1 message to {count:,} ({form})"
    bound = None if count < 1000 else 6.0
    yield Row("conversation", name, least / whole.least, "x dumps", bound, f"{least * 1e3:.3f} ms")
    yield Row("conversation", f"{name}: told", len(dumps(told)), "B", 2000)


def _once(function: Callable[[Any], None], argument: Any) -> Callable[[], None]:
    return lambda: function(argument)


def _steps() -> Row:
    """A thousand steps, each of which brings a message: the time of a step at the end."""
    kept = history(1000)

    def run_all() -> None:
        run = Translator("t", "r")
        run.start()
        for length in range(1, 1001):
            run.feed(((), "updates", {"node": {"messages": kept[length - 1]}}))
            run.feed(((), "values", {"messages": kept[:length]}))

    (spent,) = timed([run_all], 3)
    return Row("conversation", "1,000 steps, each brings a message", spent.least * 1e3, "ms")
