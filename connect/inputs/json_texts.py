"""The texts in an input that are parsed as JSON, and so can be nested themselves: `json_texts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ag_ui.core import AssistantMessage, RunAgentInput


def json_texts(given: RunAgentInput) -> Iterator[tuple[str, str]]:
    """Pairs of a field's path and its text: the arguments of calls, and the answer of an older client."""
    for index, message in enumerate(given.messages):
        for place, call in enumerate(message.tool_calls or () if isinstance(message, AssistantMessage) else ()):
            yield f"messages.{index}.toolCalls.{place}.function.arguments", call.function.arguments
    forwarded = given.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    answers = command if isinstance(command, Mapping) else {}
    for name in ("resume", "interruptEvent"):
        if isinstance(text := answers.get(name), str):
            yield f"forwardedProps.command.{name}", text
