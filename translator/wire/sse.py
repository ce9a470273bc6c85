"""The two forms in which an event leaves: an SSE frame (`encode`), and a model of `ag_ui.core` (`to_model`).

The parser of `@ag-ui/client` splits frames only at a blank line that ends with LF, and reads only `data:` lines; its
schemas refuse null in an optional field. So frames have LF, and models are written by alias without the fields that
have no value. Wire dicts have no such fields, and are written as they are.
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
    """The SSE frame of a wire event (a dict) or of its `ag_ui` model: `data: {..}` and a blank line.

    Values that are not JSON go through `to_json`, so that nothing raises. For a model of JSON values the bytes are
    those of `ag_ui.encoder.EventEncoder`.
    """
    try:
        return b"data: %b\n\n" % dumps(event)
    except TypeError:  # a model, or a dict of other values
        return b"data: %b\n\n" % json_bytes(_wire(event) if isinstance(event, BaseEvent) else event)


def _wire(event: BaseEvent) -> Mapping[str, Any]:
    try:
        return event.model_dump(by_alias=True, warnings=False)
    except Exception:  # pydantic cannot walk a value inside, such as a cycle
        fields = type(event).model_fields
        return {fields[name].alias or name: value for name, value in event if name in fields and value is not None}


def to_model(event: Any) -> BaseEvent:
    """A wire event as a new `ag_ui.core` model, which shares no list or dict with it.

    Raises pydantic's `ValidationError` for what is not an event: an unknown type, or fields that it does not allow.
    """
    if type(event) is dict and not _CONTAINERS.isdisjoint(map(type, event.values())):
        event = _copied(event)
    return _MODELS.validate_python(event)


def _copied(value: Any) -> Any:
    """The same JSON in new lists and dicts: pydantic keeps those of a field typed `Any` in the model."""
    if type(value) is dict:
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value
