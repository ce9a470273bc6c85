"""What a messages snapshot does to the messages a client holds.

Here: the client's merge of a snapshot with what it has, for 1.0.0 and 0.0.59. Never here: any other event.

Rules:
- The client keeps its own order for ids it holds; ids new to it follow in the snapshot's order. An id that stands
  twice in the snapshot and is new stands twice afterwards.
- What the snapshot lacks is dropped, but activities and reasoning only if the snapshot is taken to tell all there are:
  if it tells any; of activities also as its metadata says (1.0.0).
- Where 0.0.59 keeps messages the snapshot may lack, it also keeps its own copy of those it has.
"""

from typing import Any

from .message_store import Entry, MessageStore

__all__ = ["ACTIVITY_HISTORY", "AUTHORITATIVE", "activities_told_whole", "messages_snapshot", "telling_of_activities"]

Event = dict[str, Any]

ACTIVITY_HISTORY = "@ag-ui/client"
"""The metadata key under which a messages snapshot says what it knows of activities."""
AUTHORITATIVE = "authoritativeActivityTypes"
"""The member of it that names the activity types told whole: a list, or null for all."""


def messages_snapshot(held: MessageStore, event: Event, old: bool) -> None:
    """MESSAGES_SNAPSHOT: merges what it tells into what is held."""
    told: list[dict[str, Any]] = event["messages"]
    fresh = {message["id"]: Entry(message, 0) for message in told}
    has_reasoning = any(message["role"] == "reasoning" for message in told)
    whole = activities_told_whole(event, old)

    def preserved(entry: Entry) -> bool:
        if entry.activity:
            return whole is not None and entry.message.get("activityType") not in whole
        return entry.message["role"] == "reasoning" and not has_reasoning

    order = []
    for entry in held.order:
        if old and preserved(entry):
            order.append(entry)
        elif entry.id in fresh:
            order.append(fresh[entry.id])
        elif preserved(entry):
            order.append(entry)
    known = {entry.id for entry in order}
    for message in told:
        if message["id"] not in known:
            entry = fresh[message["id"]]
            order.append(entry if entry.message is message else Entry(message, 0))
    held.reorder(order)


def telling_of_activities(
    snapshot: Event, version: str | None, *, known: bool, whole: tuple[str, ...] = (), drops: bool = False
) -> Event:
    """A messages snapshot that says, to a client that asks, of which activities it tells all there are.

    `known`: all activities of the client are, and the snapshot has those it is to keep; else only those of the types
    `whole` are. `drops`: the client holds some of those that the snapshot lacks. Left to itself a client concludes
    from the messages alone: all if there are any, none if there are none.
    """
    some = any(message["role"] == "activity" for message in snapshot["messages"])
    if version is None or (known == some and (some or not drops)):
        return snapshot
    types = None if known else list(whole)
    return {**snapshot, "metadata": {ACTIVITY_HISTORY: {AUTHORITATIVE: types}}}


def activities_told_whole(event: Event, old: bool) -> frozenset[str] | None:
    """The activity types of which a messages snapshot tells all there are; `None` is every type.

    Declared in its metadata (client 1.0.0); otherwise every type if it tells any activity, and none if not.
    """
    undeclared = None if any(message["role"] == "activity" for message in event["messages"]) else frozenset[str]()
    metadata = event.get("metadata", {})
    if old or ACTIVITY_HISTORY not in metadata:
        return undeclared
    declared = metadata[ACTIVITY_HISTORY]
    if not isinstance(declared, dict):
        return frozenset()
    if AUTHORITATIVE not in declared:
        return undeclared
    types = declared[AUTHORITATIVE]
    if types is None:
        return None
    return frozenset(types) if isinstance(types, list) and all(isinstance(t, str) for t in types) else frozenset()
