"""Converts the parts of a LangGraph stream to rows of a JSON lines file, and back. There are three kinds of rows:

============================  =================================================================================
`{"ns", "mode", "data"}`      a tuple of `astream`; without `ns` if it was streamed without `subgraphs`
`{"type", "ns", "data"}`      a dictionary of `version="v2"`
`{"event", "data", "id"}`     a `StreamPart` of the SDK
============================  =================================================================================

All chunks of a model call share the metadata of their `messages` parts. Therefore the metadata are written only once,
in a row of their own before the first of these parts, `{"metadata": {...}}`. The parts contain the number of that row,
counted from 0, instead of the metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import eq, is_
from typing import Any

from langgraph_sdk.schema import StreamPart


def row_of(part: Any) -> dict[str, Any]:
    """Returns the row for a part, whose values are not converted to JSON yet. Raises `TypeError` if it is not a
    part."""
    match part:
        case StreamPart(event, data, id):
            return {"event": event, "data": data} if id is None else {"event": event, "data": data, "id": id}
        case {"ns": ns}:
            return {**part, "ns": list(ns)}
        case {"event": _, "data": _}:
            return dict(part)
        case (ns, mode, data):
            return {"ns": list(ns), "mode": mode, "data": data}
        case (mode, data):
            return {"mode": mode, "data": data}
    raise TypeError(f"expected a part of a LangGraph stream, got {type(part).__name__}")


def part_of(row: Mapping[str, Any]) -> Any:
    """Returns the part in a row, with its values as JSON. Raises `KeyError` if it is not a row."""
    if "event" in row:
        return StreamPart(row["event"], row["data"], row.get("id"))
    if "type" in row:
        return {**row, "ns": tuple(row["ns"])}
    return (tuple(row["ns"]), row["mode"], row["data"]) if "ns" in row else (row["mode"], row["data"])


class SharedMetadata:
    """Moves the metadata of the parts of one stream to rows of their own, and back.

    `are_live` says that the rows contain the objects of the stream itself. In a stream of this process, all chunks of a
    call share one object. So metadata are compared by identity, and two calls with equal metadata remain distinct.
    """

    def __init__(self, *, are_live: bool = False) -> None:
        self._are_live = are_live
        self._known: list[Any] = []

    def move(self, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yields the rows to write for the next part: a row with its metadata if they are new, then its own row."""
        if _has_metadata(row):
            message, metadata = row["data"]
            same = is_ if self._are_live and "event" not in row else eq
            numbers = range(len(self._known) - 1, -1, -1)
            number = next((number for number in numbers if same(self._known[number], metadata)), None)
            if number is None:
                number = len(self._known)
                self._known.append(metadata)
                yield {"metadata": metadata}
            row = {**row, "data": [message, number]}
        yield row

    def restore(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the next row that was read with its metadata, or None for a row of metadata. Raises `LookupError` for
        an unknown number."""
        if "metadata" in row:
            self._known.append(row["metadata"])
            return None
        if not _has_metadata(row) or not isinstance(row["data"][1], int):
            return row
        message, number = row["data"]
        metadata = self._known[number]
        return {**row, "data": [message, dict(metadata) if "event" in row else metadata]}


def _has_metadata(row: Mapping[str, Any]) -> bool:
    kind = str(row.get("mode") or row.get("type") or row.get("event"))
    return kind.partition("|")[0] == "messages" and isinstance(row["data"], list | tuple) and len(row["data"]) == 2
