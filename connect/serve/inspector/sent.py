"""Writes the file of a run that is sent to somebody: a page with its script, its style and the events, which needs no
server. The inspector's "Send this run" writes the same file.

`built/fields.json` says of every field of AG-UI whether it is always sent, or belongs to one of `KINDS`, which are sent
if they were chosen; `clients/inspector/src/sent/choose.ts` describes it. A value that was not chosen is replaced by an
empty one of its type, so that the events are still valid, in the same number. A field that is not in the table is
removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, cast, get_args

import orjson

from . import SENT_PAGE, built_files

Kind = Literal["state", "tools", "attachments", "other"]
"""What may be sent of a run, beyond its conversation: the state, arguments and results of tools with what was asked of
people, media, and everything else."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_PLACE: Final = b"{{run}}"
"""Where the events are in the page."""
_Choice = Collection[str]


def sent_file(events: Sequence[Mapping[str, Any]], *, title: str, agent: str, chosen: Collection[Kind] = ()) -> bytes:
    """Returns the file, which opens at the run's end.

    `events` are those of AG-UI, as dictionaries with a `timestamp` in milliseconds. `title` and `agent` are shown as
    names. `chosen` is what the file contains beyond the conversation. Raises `KeyError` if the package was installed
    without the page's files.
    """
    run = {
        "title": title,
        "agent": agent,
        "left": left_out(events, chosen),
        "at": None,
        "panel": "state",
        "events": [choose(event, chosen) for event in events],
    }
    data = orjson.dumps(run).replace(b"<", b"\\u003c")
    for separator in ("\u2028", "\u2029"):
        data = data.replace(separator.encode(), f"\\u{ord(separator):04x}".encode())
    return built_files()[SENT_PAGE].content.replace(_PLACE, data, 1)


def left_out(events: Sequence[Mapping[str, Any]], chosen: Collection[Kind]) -> list[Kind]:
    """Returns what these events have that was not chosen."""

    def is_in_them(kind: Kind) -> bool:
        others = [each for each in KINDS if each != kind]
        return any(choose(event, others) != event for event in events)

    return [kind for kind in KINDS if kind not in chosen and is_in_them(kind)]


def choose(event: Mapping[str, Any], chosen: _Choice) -> dict[str, Any]:
    """Returns the event with what is always sent, and with what was chosen."""
    if all(kind in chosen for kind in KINDS):
        return dict(event)
    return cast("dict[str, Any]", _kept(event, "@event", chosen))


@cache
def _shapes() -> Mapping[str, Any]:
    text = files(__package__).joinpath("built", "fields.json").read_bytes()
    return cast("dict[str, Any]", orjson.loads(text))


def _kept(value: Any, shape: Any, chosen: _Choice) -> Any:
    match shape:
        case "always":
            return _empty(value) if isinstance(value, Mapping | list) else value
        case str() if shape.startswith("@"):
            return _kept(value, _shapes()[shape[1:]], chosen)
        case str():
            return value if all(kind in chosen for kind in shape.split("+")) else _empty(value)
        case [each]:
            return [_kept(item, each, chosen) for item in value] if isinstance(value, list) else _empty(value)
        case {"$list": each, "$else": otherwise}:
            return _kept(value, [each] if isinstance(value, list) else otherwise, chosen)
    if not isinstance(value, Mapping):
        return _empty(value)
    fields = _fields(value, shape)
    return {
        name: _kept(item, fields[name], chosen) if name in fields else item
        for name, item in value.items()
        if name in fields or "other" in chosen
    }


def _fields(value: Mapping[str, Any], shape: Any) -> Mapping[str, Any]:
    """Returns the shapes of the fields of this value."""
    if isinstance(shape, str):
        return _fields(value, _shapes()[shape[1:]])
    if "$by" not in shape:
        return cast("dict[str, Any]", shape)
    which = value.get(shape["$by"])
    case = shape["$cases"].get(which) if isinstance(which, str) else None
    return {**shape.get("$all", {}), **_fields(value, shape.get("$else", {}) if case is None else case)}


def _empty(value: Any) -> Any:
    match value:
        case str():
            return ""
        case list():
            return []
        case Mapping():
            return {}
    return None
