"""Converts events to the two forms in which they are sent: SSE frames (`encode`) and `ag_ui.core` models (`to_model`).

Frames use LF, because the parser of `@ag-ui/client` splits frames only at blank lines that end with LF. They contain
only `data:` lines, because the parser reads no others. Models are written by alias and without the fields that have no
value, because the client's schemas refuse null in an optional field. Wire dicts contain no such fields, and are written
unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ag_ui.core import BaseEvent
from ag_ui.core import Event as EventModel
from orjson import dumps
from pydantic import TypeAdapter

from ..jsonable.to_json import json_bytes

_CONTAINERS: Final = frozenset((dict, list))
_MODELS: Final = TypeAdapter[BaseEvent](EventModel)


def encode(event: Mapping[str, Any] | BaseEvent) -> bytes:
    """Returns the SSE frame for a wire event (a dict) or its `ag_ui` model: `data: {...}` followed by a blank line.

    Values that are not JSON are converted by `to_json`, so this function never raises an exception. For a model that
    contains only JSON values, the result has the same bytes as that of `ag_ui.encoder.EventEncoder`.
    """
    try:
        return b"data: %b\n\n" % dumps(event)
    except TypeError:  # a model, or a dict with values that are not JSON
        return b"data: %b\n\n" % json_bytes(_wire(event) if isinstance(event, BaseEvent) else event)


def _wire(event: BaseEvent) -> Mapping[str, Any]:
    try:
        return event.model_dump(by_alias=True, warnings=False)
    except Exception:  # pydantic cannot convert the model, for example because it contains a cycle
        fields = type(event).model_fields
        return {fields[name].alias or name: value for name, value in event if name in fields and value is not None}


def to_model(event: Any) -> BaseEvent:
    """Converts a wire event to a new `ag_ui.core` model. The model shares no list or dict with the event.

    Raises pydantic's `ValidationError` if the type is unknown, or if the type does not allow the fields.
    """
    if type(event) is dict and not _CONTAINERS.isdisjoint(map(type, event.values())):
        event = _copied(event)
    return _MODELS.validate_python(event)


def _copied(value: Any) -> Any:
    """Copies JSON into new lists and dicts. The copy is needed because pydantic keeps the original list or dict in a
    field with the type `Any`."""
    if type(value) is dict:
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value
