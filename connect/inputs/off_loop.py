"""Moves work on long conversations and large inputs to a thread, so that the event loop continues: `off_loop`. Measures
the size of an input: `size_of`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar

from pydantic import BaseModel

_MANY: Final = 200
"""A conversation with more messages than this is long. Work of less than about 10 ms is not worth a thread."""
_VALUES: Final = 5
"""How many JSON values count as one message: the message itself and its fields."""
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
"""The types of values that contain no others. Most values are of one, so these are sorted out first: `isinstance` is
slow for `BaseModel` and `Mapping`."""

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


async def off_loop(
    call: Callable[_Params, _Result], size: int, *args: _Params.args, **kwargs: _Params.kwargs
) -> _Result:
    """Returns the result of a pure function that works on `size` messages. Runs it in a thread if they are many.

    A thread lets the event loop continue only between operations that hold the GIL. So the function must not process a
    large input in a single operation such as `model_validate`.
    """
    return await asyncio.to_thread(call, *args, **kwargs) if size > _MANY else call(*args, **kwargs)


def size_of(value: Any) -> int:
    """Returns the size of an input, or of any JSON, in messages: the number of values in it, divided by the number in
    one message. Stops counting when the size is large enough for a thread."""
    count = 0
    left = [value]
    while left and count <= _MANY * _VALUES:
        value = left.pop()
        if isinstance(value, list):
            inner = value
        elif isinstance(value, Mapping):
            inner = list(value.values())
        elif isinstance(value, BaseModel):
            inner = [*value.__dict__.values(), *(value.model_extra or {}).values()]
        else:
            continue
        count += len(inner)
        left += [item for item in inner[: _MANY * _VALUES] if type(item) not in _SCALARS]
    return count // _VALUES
