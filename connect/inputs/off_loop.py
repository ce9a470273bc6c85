"""Work on long conversations beside the event loop: `off_loop`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

_MANY: Final = 200
"""Messages from which on a conversation is long: less work than about 10 ms is not worth a thread."""

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")


async def off_loop(call: Callable[_Given, _Made], size: int, *args: _Given.args, **given: _Given.kwargs) -> _Made:
    """What a pure call gives that works on so many messages: in a thread, if there are many."""
    return await asyncio.to_thread(call, *args, **given) if size > _MANY else call(*args, **given)
