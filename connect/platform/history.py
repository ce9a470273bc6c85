"""Searches in the history of a platform's thread: for the checkpoint that a plan forks at, and for what summaries
replaced."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any, TypeVar

from ...translator import Options
from ..inputs.forking import Search
from ..replaced_messages import ReplacedMessages
from .thread import PlatformThread
from .thread_state import checkpoint_of

_Search = TypeVar("_Search", Search, ReplacedMessages)


async def searched(thread: PlatformThread, search: _Search) -> _Search:
    """The search, done. Raises as the thread's methods do."""
    if search.is_complete:
        return search
    async with aclosing(thread.history()) as states:
        async for state in states:
            search.feed(checkpoint_of(state))
            if search.is_complete:
                break
    return search


async def with_replaced(thread: PlatformThread, values: Any, options: Options) -> Any:
    """The thread's newest values with the messages that summaries replaced, where `options` keep them."""
    return (await searched(thread, ReplacedMessages(options, values))).values
