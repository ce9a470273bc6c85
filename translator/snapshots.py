"""Makes the `MESSAGES_SNAPSHOT` events of a run (`Snapshots`). It also tells the ledger which messages a snapshot makes
the client drop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .client.snapshot_rules import ordered_snapshots, with_activity_types
from .client.view import ClientView
from .convert.compare import by_id, merge
from .convert.plan import ACTIVITY
from .ledger import Ledger
from .options import Options
from .wire import events
from .wire.events import Event


class Snapshots:
    """Makes the messages snapshots of one run."""

    def __init__(self, view: ClientView, options: Options, ledger: Ledger) -> None:
        self._view = view
        self._ledger = ledger
        self._complete = ("media",) if options.plan is None else ("media", ACTIVITY)
        """The activity types whose activities are all stored. A snapshot contains all of them, so it can replace the
        client's activities of these types."""

    def of(self, messages: list[Event]) -> Iterator[Event]:
        """Yields the one or two snapshots after which the client has these messages, in this order. If no snapshot can
        remove a message from the client, the ledger records that the message is kept."""
        stored = {message["id"] for message in messages}
        yield from ordered_snapshots(self._view.order, messages, self._one)
        self._ledger.keep(message_id for message_id in self._view.order if message_id not in stored)

    def with_waiting(self, waiting: Sequence[Event]) -> Iterator[Event]:
        """Yields the snapshots after which the client has the messages of a waiting run that no checkpoint contains.
        Each of them follows the same stored message as it did in the run. If the client has all of them, nothing is
        yielded. `waiting`: as in `Finished.waiting_messages`."""
        view = self._view
        missing = {message["id"]: message for message in waiting if "role" in message and not view.has(message["id"])}
        if missing:
            order = [message["id"] for message in waiting]
            if not any(map(view.has, order)):
                order = view.order + order
            yield from self.of(merge(by_id(view.messages), order, missing.get))

    def without(self, message_id: str) -> Iterator[Event]:
        """Yields the snapshot that makes the client drop one message, so that another message can be emitted under the
        same id. If the client's messages are unknown, nothing is yielded."""
        if self._view.knows_messages:
            yield self._one([message for message in self._view.messages if message["id"] != message_id])

    def _one(self, messages: list[Event]) -> Event:
        """Returns a snapshot of these messages, and tells the ledger which messages it drops or replaces. If the client
        needs such a declaration and can read it, the snapshot declares that it contains all activities of certain
        types. These are the types in `_complete`, or all types if all of the client's activities are known."""
        view, present = self._view, self._view.messages
        stays = by_id(messages) if present else {}
        replaced = [message for message in present if stays.get(message["id"]) is not message]
        for message in replaced:
            self._ledger.dropped(message, stays.get(message["id"]))
        dropped = (message for message in replaced if message["id"] not in stays)
        drops = any(message.get("activityType") in self._complete for message in dropped)
        snapshot, known = events.messages_snapshot(messages), view.knows_activities
        return with_activity_types(snapshot, view.version, known=known, complete=self._complete, drops=drops)
