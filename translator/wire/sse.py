"""The two forms in which one event leaves: the bytes of an SSE frame (`encode`), or a model of `ag_ui.core`.

The client splits only on a blank line of LF, reads only `data:` lines, and takes no null for an absent field: models
are written by alias without those, wire dicts as they are, since they have none.
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
    """`data: {..}` and a blank line, the JSON compact, for a wire event (a dict) or an `ag_ui` model of one.

    Values that are not JSON are made JSON by `to_json`; nothing raises. A model of JSON values gives the bytes
    that `ag_ui.encoder.EventEncoder` gives.
    """
    try:
        return b"data: %b\n\n" % dumps(event)
    except TypeError:  # a model, or a dict of other values
        return b"data: %b\n\n" % json_bytes(_wire(event) if isinstance(event, BaseEvent) else event)


def _wire(event: BaseEvent) -> Mapping[str, Any]:
    try:
        return event.model_dump(by_alias=True, warnings=False)
    except Exception:  # a value inside that pydantic cannot walk, such as a cycle
        fields = type(event).model_fields
        return {fields[name].alias or name: value for name, value in event if name in fields and value is not None}


def to_model(event: Any) -> BaseEvent:
    """A wire event as a new `ag_ui.core` model, which shares no list and no dict with it. Raises pydantic's
    `ValidationError` for what is no event: an unknown type, or fields that its type does not take."""
    if type(event) is dict and not _CONTAINERS.isdisjoint(map(type, event.values())):
        event = _copied(event)
    return _MODELS.validate_python(event)


def _copied(value: Any) -> Any:
    """The same JSON in new lists and dicts: pydantic takes over those of a field without a type of its own."""
    if type(value) is dict:
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if type(value) is list else value
