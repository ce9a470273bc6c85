"""The errors that are raised: mistakes of the caller. A run's own errors become `RUN_ERROR` events."""

from __future__ import annotations


class TranslatorMisuseError(RuntimeError):
    """A method of `Translator` was called out of order: fed before the start, started twice, or fed after the end."""


class UnreadablePartError(TypeError):
    """A part does not have the shape of any LangGraph stream; the message says what was expected and what came.

    By the time `translate()` raises it, the events have ended in `RUN_ERROR`.
    """
