"""Messages snapshots: in which order a client has the messages afterwards, and for which activities they are complete.

What else a client does with a snapshot is in `reducer`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from ..convert.compare import by_id, common_length, same_order
from ..wire.events import Event

_NAMESPACE = "@ag-ui/client"
"""The metadata key under which a messages snapshot says which activities it has. 1.0.0 reads it
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts)."""
_TYPES = "authoritativeActivityTypes"
"""Its member with the complete activity types: a list, or null for all types."""


def ordered_snapshots(order: list[str], messages: list[Event], make: Callable[[list[Event]], Event]) -> Iterator[Event]:
    """The one or two snapshots after which a client has `messages` in the right order, as far as order counts.

    `order`: the ids of the client's messages, in its order.
    `make`: makes a snapshot of some messages.

    A client keeps its own order for the ids that it has. Where that is wrong, a snapshot of the messages that are in
    order already comes first: the client drops the others, and then gets them in the order of the second snapshot.
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
    """A messages snapshot that says for which activity types it is complete, if the client reads that.

    `known`: all activities of the client are known, and the snapshot has all that stay. Otherwise it is complete only
    for the types `complete`.
    `drops`: the client has activities that are not in the snapshot and have to go.

    Without a declaration a client concludes from the messages: all types are complete if there is any activity, and
    none if there is none.
    """
    has_any = "activity" in [message["role"] for message in snapshot["messages"]]
    if version is None or (known == has_any and (has_any or not drops)):
        return snapshot
    types = None if known else list(complete)
    return {**snapshot, "metadata": {_NAMESPACE: {_TYPES: types}}}


def complete_activity_types(snapshot: Event, *, is_legacy: bool) -> Collection[str] | None:
    """The activity types for which a messages snapshot is complete; `None`: every type."""
    declared = {} if is_legacy else snapshot.get("metadata", {}).get(_NAMESPACE, {})
    if isinstance(declared, dict) and _TYPES not in declared:
        return None if any(message["role"] == "activity" for message in snapshot["messages"]) else ()
    types = declared[_TYPES] if isinstance(declared, dict) else ()
    return types if types is None or isinstance(types, list) else ()


def staying(snapshot: Event, *, is_legacy: bool) -> Callable[[Event], bool]:
    """A function that says whether a client keeps a message that is not in a messages snapshot: reasoning if the
    snapshot has none, an activity unless the snapshot is complete for its type."""
    drops_reasoning = any(message["role"] == "reasoning" for message in snapshot["messages"])
    complete = complete_activity_types(snapshot, is_legacy=is_legacy)

    def stays(message: Event) -> bool:
        if message["role"] == "activity":
            return complete is not None and message.get("activityType") not in complete
        return message["role"] == "reasoning" and not drops_reasoning

    return stays
