"""The errors that are the caller's: they raise. A run's own errors are never here; they become `RUN_ERROR` events."""

from __future__ import annotations


class TranslatorMisuseError(RuntimeError):
    """The calls came in an order that has no meaning: fed before the start, started twice, or fed after the end."""


class UnreadablePartError(TypeError):
    """A part is of none of the shapes a LangGraph stream has; the message says what was expected and what came.

    The stream it came from has been ended in `RUN_ERROR` when this is raised by `translate()`.
    """
