"""Validates a client's JSON as a `RunAgentInput`: `validate_input`. `unknown` decides which kinds of items are known.

pydantic holds the GIL while it validates, in any thread: 300,000 tools stopped the event loop for a second. So a large
input is validated with one call for each item, and validation stops after a few errors: a client is told of three
errors even if 100,000 items are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from ag_ui.core import Context, Message, ResumeEntry, RunAgentInput, Tool, ToolCall
from ag_ui.core.types import ContentPart
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from .off_loop import size_of

_ITEMS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "messages": TypeAdapter(Message),
    "tools": TypeAdapter(Tool),
    "context": TypeAdapter(Context),
    "resume": TypeAdapter(ResumeEntry),
}
"""Validators for the items of an input's lists."""
_PIECES: Final[Mapping[str, TypeAdapter[Any]]] = {
    "content": TypeAdapter(ContentPart),
    "toolCalls": TypeAdapter(ToolCall),
    "tool_calls": TypeAdapter(ToolCall),
}
"""Validators for the items of a message's lists."""
_FIELDS: Final[Mapping[str, str]] = {"content": "content", "toolCalls": "tool_calls", "tool_calls": "tool_calls"}
_INPUT: Final[TypeAdapter[Any]] = TypeAdapter(RunAgentInput)
_LARGE: Final = 100
"""Inputs that are larger than this, by `size_of`, are validated item by item."""
_MOST: Final = 4
"""After this many errors, validation stops."""

_Path = tuple[int | str, ...]


def validate_input(data: Any) -> RunAgentInput:
    """Returns the input in this JSON. Raises `ValidationError`, which has at most `_MOST` errors if the input is
    large."""
    if not isinstance(data, Mapping) or size_of(data) <= _LARGE:
        return RunAgentInput.model_validate(data)
    errors: list[InitErrorDetails] = []
    lists = {name: items for name in _ITEMS if isinstance(items := data.get(name), list)}
    run_input = _validate(_INPUT, {**data, **{name: [] for name in lists}}, (), errors)
    fields = {name: _validate_items(_ITEMS[name], items, (name,), errors) for name, items in lists.items()}
    if errors:
        raise ValidationError.from_exception_data(RunAgentInput.__name__, errors[:_MOST])
    return cast(RunAgentInput, run_input.model_copy(update=fields))


def _validate_items(
    adapter: TypeAdapter[Any], items: list[Any], at: _Path, errors: list[InitErrorDetails]
) -> list[Any]:
    """Returns the validated items of the list at a path. Adds errors to `errors`, and stops when there are `_MOST`."""
    valid_items: list[Any] = []
    for index, item in enumerate(items):
        if len(errors) >= _MOST:
            break
        lists = _lists(item) if adapter is _ITEMS["messages"] else {}
        path = (*at, index)
        valid = _validate(adapter, {**item, **{name: [] for name in lists}} if lists else item, path, errors)
        valid_items.append(_with_lists(valid, lists, path, errors) if lists and valid is not None else valid)
    return valid_items


def _lists(message: Any) -> dict[str, list[Any]]:
    """Returns the lists of a message by their names in the JSON."""
    if not isinstance(message, dict):
        return {}
    return {name: pieces for name in _PIECES if isinstance(pieces := message.get(name), list)}


def _with_lists(message: BaseModel, lists: Mapping[str, list[Any]], at: _Path, errors: list[InitErrorDetails]) -> Any:
    """Puts the validated lists back into a message that was validated without them. A list that its role does not
    define is not validated."""
    fields: dict[str, Any] = {}
    for name, pieces in lists.items():
        field = _FIELDS[name]
        if field not in type(message).model_fields:
            fields[name] = pieces
        elif field not in fields:
            fields[field] = _validate_items(_PIECES[name], pieces, (*at, name), errors)
    return message.model_copy(update=fields)


def _validate(adapter: TypeAdapter[Any], item: Any, at: _Path, errors: list[InitErrorDetails]) -> Any:
    """Returns the validated item at a path. If it is invalid, returns None and adds its errors to `errors`."""
    try:
        return adapter.validate_python(item)
    except ValidationError as error:
        for detail in error.errors(include_url=False)[:_MOST]:
            context = detail.get("ctx", {})
            path = (*at, *detail["loc"])
            errors.append({"type": detail["type"], "loc": path, "input": detail["input"], "ctx": context})
        return None
