"""Finds the messages that summaries have replaced in a thread's history, for readers with `Options(history="keep")`. No
I/O: `local` and `platform` read the checkpoints.

A summary (LangChain's `SummarizationMiddleware` marks it) takes the place of the beginning of a conversation. So in
older checkpoints, the replaced messages come before the first message that newer checkpoints have. Checkpoints are read
until one has no summary, but at most `MOST` of them. Of a longer history, only the newest messages are found.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final

from ..translator import Options, message_ids
from .inputs.forking import run_search
from .run_outcome import RunOutcome
from .thread_info import Checkpoint

MOST: Final = 256
"""How many checkpoints are read at most."""


async def with_replaced(values: Any, options: Options, checkpoints: AsyncGenerator[Checkpoint, None]) -> Any:
    """Returns a thread's newest values, with the messages that summaries have replaced if `options` keep them.
    `checkpoints`: those of the thread, the newest first. Raises what they raise."""
    return (await run_search(ReplacedMessages(options, values), checkpoints)).values


async def outcome_with_replaced(
    outcome: RunOutcome, options: Options, checkpoints: AsyncGenerator[Checkpoint, None]
) -> RunOutcome:
    """Returns the outcome with the values of `with_replaced`."""
    return replace(outcome, values=await with_replaced(outcome.values, options, checkpoints))


class ReplacedMessages:
    """A search for replaced messages. Feed it the thread's checkpoints, the newest first, until it `is_complete`."""

    def __init__(self, options: Options, values: Any) -> None:
        """`values`: the thread's newest."""
        self._key = options.messages_key
        self._values = values
        messages = values.get(self._key) if isinstance(values, Mapping) else None
        self._found: list[Any] = []
        self._newer: Checkpoint | None = None
        self._fed = 0
        self.is_complete = options.history != "keep" or not _has_summary(messages)
        """Whether older checkpoints can't add anything."""
        self._known = set() if self.is_complete else set(message_ids(messages or ()))

    def feed(self, checkpoint: Checkpoint) -> None:
        """Takes the next older checkpoint, of any branch."""
        self._fed += 1
        if self._newer is None or checkpoint.id == self._newer.parent_id:
            self._newer = checkpoint
            messages = checkpoint.values.get(self._key) or ()
            by_id = dict(zip(message_ids(messages), messages, strict=True))
            before = list(takewhile(lambda message_id: message_id not in self._known, by_id))
            self._known.update(before)
            self._found[:0] = [by_id[message_id] for message_id in before]
            self.is_complete = not _has_summary(messages) or checkpoint.parent_id is None
        self.is_complete = self.is_complete or self._fed == MOST

    @property
    def values(self) -> Any:
        """The thread's newest values, with the messages that were found in front of its own."""
        return {**self._values, self._key: [*self._found, *self._values[self._key]]} if self._found else self._values


def _has_summary(messages: Any) -> bool:
    return isinstance(messages, Sequence) and any(map(_is_summary, messages))


def _is_summary(message: Any) -> bool:
    kwargs = (
        message.get("additional_kwargs") if isinstance(message, Mapping) else getattr(message, "additional_kwargs", 0)
    )
    return isinstance(kwargs, Mapping) and kwargs.get("lc_source") == "summarization"
