"""The errors that raise: mistakes of the caller. A run's own errors are events, `RUN_ERROR`."""

from __future__ import annotations


class TranslatorMisuseError(RuntimeError):
    """A method of `Translator` was called out of order: fed before the start, started twice, or fed after the end."""


class UnreadablePartError(TypeError):
    """A part has none of the shapes of a LangGraph stream; the message says what was expected, and what came.

    When `translate()` raises it, the stream's events have ended in `RUN_ERROR`.
    """
