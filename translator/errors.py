"""The exceptions that this package raises. They report mistakes by the caller; errors of the run itself become
`RUN_ERROR` events."""

from __future__ import annotations


class TranslatorMisuseError(RuntimeError):
    """A method of `Translator` was called out of order: `feed` before the start or after the end, or `start` twice."""


class UnreadablePartError(TypeError):
    """A part does not have the shape of any LangGraph stream. The message says what was expected and what was received.

    `translate()` raises this exception only after it has yielded `RUN_ERROR` as the last event.
    """
