"""A plain value cut down to a number of bytes, saying where and how much: for what no further event could bring.

Lives here: what is left of a value that is too large, and the marks of what is gone. Never here: which values that is.

Rules: the kind stays (text text, a list a list, an object an object), since an event field has a type; small members of
an object or a list stay whole and the largest are cut, each to an equal share of what is left; of too many members the
first ones stay.
"""

from __future__ import annotations

from typing import Any

from orjson import dumps

_MARK = 64  # bytes that a mark may take
_LEAST = 128  # bytes below which a member is not worth keeping in part


def shortened(value: Any, room: int) -> Any:
    """`value`, a plain value, if its JSON takes at most `room` bytes; otherwise as much of it as does, marked.

    `room` is at least some hundred bytes. The value is not changed; the result may share parts with it.
    """
    if type(value) not in (str, list, dict) or len(dumps(value)) <= room:
        return value
    if type(value) is str:
        return _text(value, room)
    return _list(value, room) if type(value) is list else _object(value, room)


def _text(value: str, room: int) -> str:
    kept = value[: max(room - _MARK, 0)]
    while kept and len(dumps(kept)) > room - _MARK:
        kept = kept[: min(len(kept) - 1, len(kept) * (room - _MARK) // len(dumps(kept)))]
    return f"{kept}... <cut: {len(value) - len(kept)} characters>"


def _list(value: list[Any], room: int) -> list[Any]:
    sizes = [len(dumps(element)) + 1 for element in value]
    shares = _shares(sizes, room - _MARK)
    elements = [shortened(element, share) for element, share in zip(value, shares, strict=False)]
    gone = len(value) - len(shares)
    return [*elements, f"<cut: {gone} elements>"] if gone else elements


def _object(value: dict[str, Any], room: int) -> dict[str, Any]:
    names = [len(dumps(name)) + 2 for name in value]
    sizes = [taken + len(dumps(inner)) for taken, inner in zip(names, value.values(), strict=True)]
    shares = _shares(sizes, room - _MARK, names)
    members = zip(value.items(), names, shares, strict=False)
    result = {name: shortened(inner, share - taken) for (name, inner), taken, share in members}
    gone = len(value) - len(shares)
    if gone:
        result["<cut>"] = f"{gone} keys"
    return result


def _shares(sizes: list[int], room: int, fixed: list[int] | None = None) -> list[int]:
    """What each member may take, as far as there is room: its size, or an equal share of what smaller ones leave."""
    least = [min(size, _LEAST + (fixed[at] if fixed else 0)) for at, size in enumerate(sizes)]
    count = taken = 0
    while count < len(sizes) and taken + least[count] <= room:
        taken += least[count]
        count += 1
    shares = least[:count]
    spare = room - taken
    wanting = sorted((at for at in range(count) if sizes[at] > least[at]), key=lambda at: sizes[at] - least[at])
    for done, at in enumerate(wanting):
        more = min(sizes[at] - least[at], spare // (len(wanting) - done))
        shares[at] += more
        spare -= more
    return shares
