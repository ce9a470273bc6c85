"""What a translator keeps in memory beside its view, and beside the messages that the graph itself has.

By walking its objects after a run of many supersteps, each of which brings a message, and after a message of many
tokens.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Iterator
from types import FunctionType, ModuleType
from typing import Any

from langgraph_agui.translator import ClientView, Translator

from ..graphs import ASKED, history
from ..rows import Row
from .growth import one_message

MESSAGES, TOKENS = 3000, 5000
_CODE = (type, ModuleType, FunctionType)


def rows() -> Iterator[Row]:
    """Bytes by message, and by token."""
    messages = history(MESSAGES)
    parts: list[Any] = []
    for length in range(1, MESSAGES + 1):
        parts.append(((), "updates", {"node": {"messages": messages[length - 1 : length]}}))
        parts.append(((), "values", {"messages": messages[:length]}))
    yield Row("memory", f"by message, {MESSAGES:,} messages", _kept(parts, messages) / MESSAGES, "B", 300)
    few, many = (_kept(one_message(tokens)[:-1], ASKED) for tokens in (TOKENS, 2 * TOKENS))
    yield Row("memory", f"by token, {TOKENS:,} tokens", (many - few) / TOKENS, "B", 1)


def _kept(parts: list[Any], others: Any) -> int:
    """Bytes that a translator of the parts keeps, without its view and `others`."""
    run = Translator("t", "r", view=ClientView([], {}))
    run.start()
    for part in parts:
        run.feed(part)
    elsewhere = _reached([run.view, others], ())
    return sum(map(sys.getsizeof, _reached([run], elsewhere.keys()).values()))


def _reached(roots: list[Any], elsewhere: Collection[int]) -> dict[int, Any]:
    """The objects that can be reached, by identity, but for code and what is `elsewhere`."""
    reached: dict[int, Any] = {}
    rest = list(roots)
    while rest:
        item = rest.pop()
        if id(item) not in reached and id(item) not in elsewhere and not isinstance(item, _CODE):
            reached[id(item)] = item
            rest += gc.get_referents(item)
    return reached
