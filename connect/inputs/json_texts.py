"""Finds the texts in an input that are parsed as JSON, and may therefore be deeply nested: `json_texts`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ag_ui.core import AssistantMessage, RunAgentInput


def json_texts(run_input: RunAgentInput) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each field: the arguments of tool calls, and the answer of an older client."""
    for index, message in enumerate(run_input.messages):
        for position, call in enumerate(message.tool_calls or () if isinstance(message, AssistantMessage) else ()):
            yield f"messages.{index}.toolCalls.{position}.function.arguments", call.function.arguments
    forwarded = run_input.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    answers = command if isinstance(command, Mapping) else {}
    for name in ("resume", "interruptEvent"):
        if isinstance(text := answers.get(name), str):
            yield f"forwardedProps.command.{name}", text
