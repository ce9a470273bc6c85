"""Work on long conversations and large inputs in a thread, so that the event loop continues: `off_loop`. How large an
input is: `size_of`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar

from pydantic import BaseModel

_MANY: Final = 200
"""Messages from which on a conversation is long: less work than about 10 ms is not worth a thread."""
_VALUES: Final = 5
"""Values that count as one message: itself, and its fields."""

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


async def off_loop(call: Callable[_Given, _Made], size: int, *args: _Given.args, **given: _Given.kwargs) -> _Made:
    """The result of a pure call that works on `size` messages; it is made in a thread if they are many.

    A thread lets the event loop continue only between calls that hold the GIL, so none of them may work on the whole of
    a large input, as `model_validate` would.
    """
    return await asyncio.to_thread(call, *args, **given) if size > _MANY else call(*args, **given)


def size_of(given: Any) -> int:
    """The size of an input, or of any JSON, counted in messages: the number of values in it, divided by those of a
    message. It stops counting once they are many."""
    count = 0
    left = [given]
    while left and count <= _MANY * _VALUES:
        value = left.pop()
        if isinstance(value, BaseModel):
            inner = [*value.__dict__.values(), *(value.model_extra or {}).values()]
        elif isinstance(value, Mapping):
            inner = list(value.values())
        elif isinstance(value, list):
            inner = value
        else:
            continue
        count += len(inner)
        left += [each for each in inner[: _MANY * _VALUES] if isinstance(each, BaseModel | Mapping | list)]
    return count // _VALUES
