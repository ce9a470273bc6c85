"""Makes messages snapshots after which a client has its messages in the right order. Also handles the activity types
for which a snapshot is complete.

`reducer.py` applies snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from ..convert.compare import by_id, common_length, same_order
from ..wire.events import Event

_NAMESPACE = "@ag-ui/client"
"""The metadata key under which a messages snapshot declares the complete activity types. Version 1.0.0 of the client
reads it (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts)."""
_TYPES = "authoritativeActivityTypes"
"""The key in `_NAMESPACE` metadata that declares the complete activity types. The value is a list, or null for all
types."""


def ordered_snapshots(order: list[str], messages: list[Event], make: Callable[[list[Event]], Event]) -> Iterator[Event]:
    """Yields the one or two snapshots after which a client has `messages` in the right order, as far as the order
    matters.

    `order`: the ids of the client's messages, in the client's order.
    `make`: makes a snapshot from a list of messages.

    A client keeps its own order for the ids that it already has. If that order is wrong, a first snapshot contains only
    the messages that are already in the right order. The client drops the other messages, and takes them from the
    second snapshot in the right order.
    """
    wanted = by_id(messages) if order else {}
    ids = list(wanted)
    if order != ids[: len(order)]:
        present, known = [item for item in order if item in wanted], set(order)
        if not same_order([*present, *(item for item in ids if item not in known)], wanted):
            yield make(messages[: common_length(present, ids)])
    yield make(messages)


def with_activity_types(
    snapshot: Event, version: str | None, *, known: bool, complete: tuple[str, ...] = (), drops: bool = False
) -> Event:
    """Declares, in the metadata of a messages snapshot, the activity types for which the snapshot is complete. If the
    client does not need this declaration, the snapshot is returned unchanged.

    `known`: whether all of the client's activities are known and the snapshot contains all activities that stay. If
    not, the snapshot is complete only for the types in `complete`.
    `drops`: whether the client has activities that must be removed because they are not in the snapshot.

    Without a declaration, the client looks at the messages. If a snapshot contains any activity, the client treats it
    as complete for all types. If it contains none, the client does not treat it as complete for any
    type.
    """
    has_any = "activity" in [message["role"] for message in snapshot["messages"]]
    if version is None or (known == has_any and (has_any or not drops)):
        return snapshot
    types = None if known else list(complete)
    return {**snapshot, "metadata": {_NAMESPACE: {_TYPES: types}}}


def complete_activity_types(snapshot: Event, *, is_legacy: bool) -> Collection[str] | None:
    """Returns the activity types for which a messages snapshot is complete, or `None` for all types."""
    declared = {} if is_legacy else snapshot.get("metadata", {}).get(_NAMESPACE, {})
    if isinstance(declared, dict) and _TYPES not in declared:
        return None if any(message["role"] == "activity" for message in snapshot["messages"]) else ()
    types = declared[_TYPES] if isinstance(declared, dict) else ()
    return types if types is None or isinstance(types, list) else ()


def staying(snapshot: Event, *, is_legacy: bool) -> Callable[[Event], bool]:
    """Returns a function that decides whether a client keeps a message that is missing from the snapshot. The client
    keeps reasoning if the snapshot contains no reasoning at all. It keeps an activity unless the snapshot is complete
    for the activity's type."""
    drops_reasoning = any(message["role"] == "reasoning" for message in snapshot["messages"])
    complete = complete_activity_types(snapshot, is_legacy=is_legacy)

    def stays(message: Event) -> bool:
        if message["role"] == "activity":
            return complete is not None and message.get("activityType") not in complete
        return message["role"] == "reasoning" and not drops_reasoning

    return stays
