"""Validates a client's JSON as a `RunAgentInput`: `validated`. Which kinds of items are known, `unknown` decides.

pydantic holds the GIL for as long as it validates, in any thread: 300,000 tools stopped the event loop for a second. So
a large input is validated item by item, with a call for each, and only until a few items are wrong: a client is told of
three errors, even if 100,000 items are wrong.
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
"""The items of an input's lists."""
_PIECES: Final[Mapping[str, TypeAdapter[Any]]] = {
    "content": TypeAdapter(ContentPart),
    "toolCalls": TypeAdapter(ToolCall),
    "tool_calls": TypeAdapter(ToolCall),
}
"""The items of a message's lists."""
_FIELDS: Final[Mapping[str, str]] = {"content": "content", "toolCalls": "tool_calls", "tool_calls": "tool_calls"}
_INPUT: Final[TypeAdapter[Any]] = TypeAdapter(RunAgentInput)
_LARGE: Final = 100
"""Inputs of a larger size, by `size_of`, are validated item by item."""
_MOST: Final = 4
"""Errors after which no more are looked for."""

_Path = tuple[int | str, ...]


def validated(given: Any) -> RunAgentInput:
    """The input that this JSON describes. Raises `ValidationError`, with at most `_MOST` errors if it is large."""
    if not isinstance(given, Mapping) or size_of(given) <= _LARGE:
        return RunAgentInput.model_validate(given)
    errors: list[InitErrorDetails] = []
    lists = {name: items for name in _ITEMS if isinstance(items := given.get(name), list)}
    found = _one(_INPUT, {**given, **{name: [] for name in lists}}, (), errors)
    known = {name: _each(_ITEMS[name], items, (name,), errors) for name, items in lists.items()}
    if errors:
        raise ValidationError.from_exception_data(RunAgentInput.__name__, errors[:_MOST])
    return cast(RunAgentInput, found.model_copy(update=known))


def _each(adapter: TypeAdapter[Any], items: list[Any], at: _Path, errors: list[InitErrorDetails]) -> list[Any]:
    """The validated items of the list at this path. Errors are added to `errors`, until there are `_MOST`."""
    found: list[Any] = []
    for index, item in enumerate(items):
        if len(errors) >= _MOST:
            break
        lists = _lists(item) if adapter is _ITEMS["messages"] else {}
        valid = _one(adapter, {**item, **{name: [] for name in lists}} if lists else item, (*at, index), errors)
        found.append(_completed(valid, lists, (*at, index), errors) if lists and valid is not None else valid)
    return found


def _lists(message: Any) -> dict[str, list[Any]]:
    """The lists of a message, by their names in the JSON."""
    if not isinstance(message, dict):
        return {}
    return {name: pieces for name in _PIECES if isinstance(pieces := message.get(name), list)}


def _completed(message: BaseModel, lists: Mapping[str, list[Any]], at: _Path, errors: list[InitErrorDetails]) -> Any:
    """Puts the validated lists back into a message that is valid without them. A list that its role does not have stays
    as it is."""
    known: dict[str, Any] = {}
    for name, pieces in lists.items():
        field = _FIELDS[name]
        if field not in type(message).model_fields:
            known[name] = pieces
        elif field not in known:
            known[field] = _each(_PIECES[name], pieces, (*at, name), errors)
    return message.model_copy(update=known)


def _one(adapter: TypeAdapter[Any], item: Any, at: _Path, errors: list[InitErrorDetails]) -> Any:
    """The validated item at this path; None if it is invalid: then its errors are added to `errors`."""
    try:
        return adapter.validate_python(item)
    except ValidationError as error:
        for each in error.errors(include_url=False)[:_MOST]:
            place = (*at, *each["loc"])
            errors.append({"type": each["type"], "loc": place, "input": each["input"], "ctx": each.get("ctx", {})})
        return None
