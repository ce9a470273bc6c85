"""Makes the file of a run that a user sends to somebody: a page with its script, its style and the events, which needs
no server. The inspector's "Send this run" makes the same file.

`built/fields.json` says for each field of AG-UI whether it is always sent, or belongs to one or several of `KINDS`,
which are sent only if the user has chosen them. `clients/inspector/src/sent/choose.ts` describes that table. A value
that was not chosen is replaced by an empty value of its type, so that there are as many events as before, and all are
valid. A field that is not in the table is of the kind "other", and is removed with its name if that was not chosen. The
data of a `data:` URL in a text, such as an image that a model has written, are attachments.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, cast, get_args

import orjson

from . import SENT_PAGE, built_files

Kind = Literal["state", "tools", "attachments", "other"]
"""What a file may contain of a run in addition to its conversation: the state; arguments and results of tools, with
what people were asked; media; everything else."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_PLACE: Final = b"{{run}}"
"""The text in the page that the run replaces."""
_CONTINUES: Final = ("MESSAGE_CONTENT", "MESSAGE_CHUNK")
"""The ends of the types of events that continue a text."""


def sent_file(events: Sequence[Mapping[str, Any]], *, title: str, agent: str, chosen: Collection[Kind] = ()) -> bytes:
    """Returns the content of the file. The page opens at the end of the run.

    - `events`: events of AG-UI, as dictionaries with a `timestamp` in milliseconds.
    - `title`, `agent`: the names that the page shows for the run and for the agent.
    - `chosen`: what the file contains in addition to the conversation.

    Raises `KeyError` if the package was installed without the page's files.
    """
    run = {
        "title": title,
        "agent": agent,
        "left": left_out(events, chosen),
        "at": None,
        "panel": "state",
        "events": choose(events, chosen),
    }
    data = orjson.dumps(run).replace(b"<", b"\\u003c")
    for separator in ("\u2028", "\u2029"):
        data = data.replace(separator.encode(), f"\\u{ord(separator):04x}".encode())
    return built_files()[SENT_PAGE].content.replace(_PLACE, data, 1)


def left_out(events: Sequence[Mapping[str, Any]], chosen: Collection[Kind]) -> list[Kind]:
    """Returns the kinds that these events contain and that were not chosen."""

    def is_contained(kind: Kind) -> bool:
        return choose(events, [other for other in KINDS if other != kind]) != list(events)

    return [kind for kind in KINDS if kind not in chosen and is_contained(kind)]


def choose(events: Sequence[Mapping[str, Any]], chosen: Collection[Kind]) -> list[dict[str, Any]]:
    """Returns the events with only what is always sent and what was chosen."""
    if all(kind in chosen for kind in KINDS):
        return [dict(event) for event in events]
    pieces = events if "attachments" in chosen else _with_whole_data(events)
    return [_choose(event, "@event", chosen) for event in pieces]


def _with_whole_data(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the events with each `data:` URL that streams in several pieces of a text whole in the first of them."""
    pieces: dict[tuple[str, str], list[int]] = defaultdict(list)
    last: Any = None  # a chunk without an id continues the message of the one before
    for place, event in enumerate(events):
        family, _, rest = str(event["type"]).partition("_")
        if rest in _CONTINUES and isinstance(event.get("delta"), str):
            last = last if event.get("messageId") is None else event["messageId"]
            pieces[family, repr(last)].append(place)
    whole = list(events)
    for places in pieces.values():
        text = "".join(events[place]["delta"] for place in places)
        data = [match.span() for match in _data().finditer(text)]
        begin = end = 0
        for place in places:
            end += len(events[place]["delta"])
            while data and data[0][1] < end:
                data.pop(0)
            until = data[0][1] if data and data[0][0] < end else end
            whole[place] = {**events[place], "delta": text[begin:until]}
            begin = until
    return whole


@cache
def _data() -> re.Pattern[str]:
    return re.compile(_shapes()["$data"])


@cache
def _shapes() -> Mapping[str, Any]:
    """Returns the table: the shapes of values, by name."""
    text = files(__package__).joinpath("built", "fields.json").read_bytes()
    return cast("dict[str, Any]", orjson.loads(text))


def _choose(value: Any, shape: Any, chosen: Collection[Kind]) -> Any:
    """Returns a value of this shape with only what is always sent and what was chosen."""
    match shape:
        case "always" | "text" if isinstance(value, Mapping | list):
            return _empty(value)
        case "text" if isinstance(value, str) and "attachments" not in chosen:
            return _data().sub(lambda url: url[0].partition(",")[0] + ",", value)
        case "always" | "text":
            return value
        case str() if shape.startswith("@"):
            return _choose(value, _shapes()[shape[1:]], chosen)
        case str():
            return value if all(kind in chosen for kind in shape.split("+")) else _empty(value)
        case [of_item]:
            return [_choose(item, of_item, chosen) for item in value] if isinstance(value, list) else _empty(value)
        case {"$list": of_item, "$else": otherwise}:
            return _choose(value, [of_item] if isinstance(value, list) else otherwise, chosen)
    if not isinstance(value, Mapping):
        return _empty(value)
    fields = _fields(value, shape)
    return {
        name: _choose(item, fields[name], chosen) if name in fields else item
        for name, item in value.items()
        if name in fields or "other" in chosen
    }


def _fields(value: Mapping[str, Any], shape: Any) -> Mapping[str, Any]:
    """Returns the shapes of the fields of an object that has this shape, by name."""
    if isinstance(shape, str):
        return _fields(value, _shapes()[shape[1:]])
    if "$by" not in shape:
        return cast("dict[str, Any]", shape)
    which = value.get(shape["$by"])
    case = shape["$cases"].get(which) if isinstance(which, str) else None
    return {**shape.get("$all", {}), **_fields(value, shape.get("$else", {}) if case is None else case)}


def _empty(value: Any) -> Any:
    """Returns an empty value of the same type."""
    match value:
        case str():
            return ""
        case list():
            return []
        case Mapping():
            return {}
    return None
