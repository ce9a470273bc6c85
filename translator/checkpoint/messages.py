"""The messages channel: what the checkpoint has, what the client has, and the cheapest events that reconcile the two.

Only `values` are complete: what streamed may be missing from them, and they have what never streamed. Rules

1. The client is to have the visible messages of the root graph's messages channel, in their order. Results of one
   assistant message, reasoning and activities may stand in any order.
2. Beside them it keeps what a subagent emitted (a run that resumes the subagent continues from there), activities that
   nodes made, and, while a superstep has not ended, what streams. All else is removed: messages that were not stored,
   and, unless `history="keep"`, what the graph removed.
3. New messages at the end are emitted as events. Any other change, and what is missing when the stream begins, is a
   snapshot.
4. A client keeps its own order for ids it has. Where that is known to end wrong, a snapshot of what is in order so far
   comes first.
5. What a snapshot cannot make the client drop (old reasoning and activities, by the client's own rule) is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..client.snapshots import with_activity_types
from ..client.view import ClientView
from ..convert.compare import by_id, common_length, count_calls, is_same_message, merge, same_order
from ..convert.to_events import as_events
from ..ledger import Ledger, Overlap
from ..losses import Losses
from ..options import Options
from ..wire import events
from ..wire.events import Event
from .message_cache import MessageCache, keys_of


class _Reconciled:
    """The messages with which a superstep ended, the same in checkpoint and client. They are the head of both, which is
    not compared again."""

    __slots__ = ("call_counts", "order", "stored", "wanted")

    def __init__(self) -> None:
        self.stored = 0
        """How many stored messages."""
        self.order: list[str] = []
        """The ids at the client, with those that it keeps beside the stored ones."""
        self.wanted: dict[str, Event] = {}
        self.call_counts: Counter[str] = Counter()
        """By id of a tool call: how many messages have one."""


class Messages:
    """The messages of the root graph, as stored and as the client has them."""

    def __init__(self, view: ClientView, options: Options, ledger: Ledger, losses: Losses) -> None:
        self._view = view
        self._options = options
        self._ledger = ledger
        self._stored = MessageCache(options, losses)
        self._last: Any = None
        """The channel's value when it was last read."""
        self._is_written = False
        self._head = _Reconciled()
        self._equal: dict[str, Event] = {}
        """Behind the head: messages of which the client is known to have what the checkpoint has."""
        self._from_checkpoint: set[str] = set()
        """Ids that the client got from a checkpoint read beside the stream; no values of the stream came since."""

    def written(self, names: Collection[str]) -> None:
        """Nodes wrote these channels."""
        self._is_written = self._is_written or self._options.messages_key in names

    def would_remove(self, messages: Any, pending: Collection[str] = ()) -> bool:
        """Whether the client is known to have messages that are missing here, beside `pending` ones."""
        if not self._view.knows_messages or not isinstance(messages, list | tuple):
            return False
        self._stored.read(messages)
        wanted = {message["id"] for stored in self._stored.all for message in stored.messages}
        beside = wanted.union(pending)
        return any(item not in beside and not self._is_kept(item, ()) for item in self._view.order)

    def is_ahead(self, messages: Sequence[Any]) -> bool:
        """Whether these continue the known messages: they have the last of them, and new ones behind it."""
        known, keys = self._stored.keys, keys_of(messages)
        behind = _behind(known[-1], keys) if known else keys
        return not self._stored.past.union(known).issuperset(behind)

    def is_behind(self, messages: Sequence[Any]) -> bool:
        """Whether the known messages continue these."""
        known, keys = self._stored.keys, keys_of(messages)
        return bool(_behind(keys[-1], known) if keys else known)

    def on_values(
        self, messages: Any, *, is_first: bool, is_partial: bool, waiting: Sequence[Event] = ()
    ) -> Iterator[Event]:
        """The events of the messages channel of root `values`.

        `is_first`: the stream begins with these values. `is_partial`: their superstep has not ended, so that what the
        client has may still be stored, and nothing is removed. `waiting`: messages of subgraphs that wait; they count
        as stored behind these. A channel that no node wrote and that is the same object is not compared.
        """
        self._from_checkpoint = set()
        pending = self._ledger.pending()
        if self._is_written or is_first or messages is not self._last:
            self._last, self._is_written = messages, False
            if self._stored.read(messages) < self._head.stored:
                self._compare_all()
        elif not pending and not waiting:
            return
        yield from self._reconcile(pending, is_first=is_first, is_partial=is_partial, waiting=waiting)

    def on_checkpoint(self, messages: Sequence[Any]) -> dict[str, Event]:
        """Reads messages of a checkpoint that was read beside the stream; what they are for the client, by id."""
        if self._stored.read(messages) < self._head.stored:
            self._compare_all()
        self._last, self._is_written = messages, True  # whatever the stream brings next is compared
        return by_id(message for stored in self._stored.all for message in stored.messages)

    def reconcile_checkpoint(
        self, wanted: Mapping[str, Event], pending: Collection[str], overlap: Overlap, *, is_first: bool
    ) -> Iterator[Event]:
        """The events of what `on_checkpoint` has read, in the middle of a superstep.

        `pending`: the ids that had been emitted and not reconciled before. What came this way the last time, and did
        not stream, is removed if it is not in these messages: a message without an id gets a new one with each reading
        of a superstep that has not ended.
        """
        known = set(self._view.order)
        left = self._from_checkpoint.intersection(known).difference(wanted, pending)
        left = {item for item in left if not self._is_kept(item, ())}
        self._from_checkpoint = {item for item in wanted if item in self._from_checkpoint or item not in known}
        overlap = Overlap(overlap.continued, overlap.renamed | left)
        yield from self._reconcile(pending, is_first=is_first, is_partial=True, overlap=overlap)

    def at_end(self, waiting: Sequence[Event]) -> Iterator[Event]:
        """The events of a run's end: what is still pending is not in the checkpoint. `waiting`: as for `on_values`."""
        if self._stored.known:
            yield from self._reconcile(self._ledger.pending(), is_first=False, is_partial=False, waiting=waiting)

    def remove(self, message_id: str) -> Iterator[Event]:
        """The event that makes the client drop one message, so that it can be emitted anew; none if it cannot be made
        to."""
        if self._view.knows_messages:
            self._changed({message_id})
            rest = [self._view.message(item) for item in self._view.order if item != message_id]
            yield self._snapshot_event([item for item in rest if item is not None])

    def _reconcile(
        self,
        pending: Collection[str],
        *,
        is_first: bool,
        is_partial: bool,
        overlap: Overlap | None = None,
        waiting: Sequence[Event] = (),
    ) -> Iterator[Event]:
        view = self._view
        self._changed(self._ledger.take_changed())
        order = view.order
        head = self._checked_head(order)
        stored = [message for item in self._stored.all[head.stored :] for message in item.messages]
        wanted = by_id(message for message in (*stored, *waiting) if message["id"] not in head.wanted)
        tail = order[len(head.order) :]
        extras = [message_id for message_id in tail if message_id not in wanted]
        continued, surplus = overlap or ((), set())
        if not is_partial:
            surplus = {item for item in extras if not self._is_kept(item, pending)}
        wanted |= {item: message for item in continued if item in wanted and (message := view.message(item))}
        late = [item for item in extras if item in pending and item not in surplus] if overlap is not None else []
        missing = [message for message_id, message in wanted.items() if not view.has(message_id)]
        present = [message_id for message_id in tail if message_id in wanted]
        if len(present) + len(missing) < len(wanted):  # what the client kept in the head is stored now
            self._compare_all()
            yield from self._reconcile(
                pending, is_first=is_first, is_partial=is_partial, overlap=overlap, waiting=waiting
            )
            return
        is_unknown = not view.knows_messages and bool(wanted)
        whole = is_unknown or bool(surplus) or bool(missing and (is_first or late)) or self._differs(wanted)
        if whole or not same_order(present + [message["id"] for message in missing], wanted):
            rest = [item for item in order if item not in surplus and item not in late]
            streaming = [message for item in late if (message := view.message(item))]
            yield from self._snapshot(merge({**head.wanted, **wanted}, rest, view) + streaming)
        elif missing:
            appended = self._appended(missing, wanted)
            yield from appended
            if not appended or not self._is_in_order(wanted):
                yield from self._snapshot(merge({**head.wanted, **wanted}, order, view))
        self._equal = {item: message for item, message in wanted.items() if item not in continued}
        if not is_partial and not waiting:
            self._set_head(wanted)

    def _changed(self, ids: Collection[str]) -> None:
        """Something was emitted under these ids: the client's copies are compared again."""
        if not self._head.wanted.keys().isdisjoint(ids):
            self._compare_all()
        for message_id in ids:
            self._equal.pop(message_id, None)

    def _checked_head(self, order: list[str]) -> _Reconciled:
        """The head, if the client still has it as it was; else an empty one."""
        head = self._head
        count = len(head.order)
        if order[:count] != head.order or not head.wanted.keys().isdisjoint(order[count:]):
            self._compare_all()
        return self._head

    def _set_head(self, wanted: dict[str, Event]) -> None:
        """The superstep ended: if the client now has what it should, that is not compared again."""
        if self._view.knows_messages and self._is_in_order(wanted):
            head = self._head
            head.stored, head.order = len(self._stored.all), self._view.order
            head.wanted.update(wanted)
            head.call_counts.update(count_calls(wanted))
            self._equal = {}

    def _is_in_order(self, wanted: Mapping[str, Event]) -> bool:
        """Whether the client has the head and then the wanted messages, all in their order. It puts a result behind the
        message that called, wherever that is."""
        head, order = self._head.order, self._view.order
        present = [message_id for message_id in order[len(head) :] if message_id in wanted]
        return order[: len(head)] == head and len(present) == len(wanted) and same_order(present, wanted)

    def _compare_all(self) -> None:
        self._equal = {**self._head.wanted, **self._equal}
        self._head = _Reconciled()

    def _is_kept(self, message_id: str, pending: Collection[str]) -> bool:
        """Whether the client keeps a message that is not stored (rule 2)."""
        if self._ledger.is_kept(message_id):
            return True
        if message_id in pending:
            return False
        message = self._view.message(message_id) or {}
        if "subagentRunId" in message and "parentToolCallId" not in message.get("metadata", {}):
            return True
        if message.get("role") == "activity" and message_id not in self._equal:
            return True
        return self._options.history == "keep"

    def _differs(self, wanted: Mapping[str, Event]) -> bool:
        """Whether the client has another copy of one of these messages."""
        equal, message = self._equal, self._view.message
        return any(
            equal.get(message_id) is not stored
            and (copy := message(message_id)) is not None
            and not is_same_message(copy, stored)
            for message_id, stored in wanted.items()
        )

    def _appended(self, missing: list[Event], wanted: Mapping[str, Event]) -> list[Event]:
        """New messages as events; [] if events cannot express them, or the client would mix up their calls."""
        owner = self._view.call_owner
        before, counts = self._head.call_counts, count_calls(wanted)
        made: list[Event] = []
        for message in missing:
            message_events = as_events(message)
            call_ids = [call["id"] for call in message.get("toolCalls", ())]
            answered = message.get("toolCallId", "")
            repeated = before[answered] + counts[answered] > 1
            ambiguous = repeated or any(counts[call_id] > 1 or owner(call_id) is not None for call_id in call_ids)
            if message_events is None or ambiguous or "subagentRunId" in message:
                return []
            made += message_events
        return made

    def _snapshot(self, messages: list[Event]) -> Iterator[Event]:
        wanted = by_id(messages)
        if order := self._view.order:
            present = [message_id for message_id in order if message_id in wanted]
            result = present + [message_id for message_id in wanted if not self._view.has(message_id)]
            if not same_order(result, wanted):
                yield self._snapshot_event(messages[: common_length(present, list(wanted))])
        yield self._snapshot_event(messages)
        self._ledger.keep(message_id for message_id in self._view.order if message_id not in wanted)

    def _snapshot_event(self, messages: list[Event]) -> Event:
        """A snapshot. Of activities it says that media are complete: others a client may have from earlier runs."""
        view = self._view
        snapshot = events.messages_snapshot(messages)
        left = set(view.order).difference(message["id"] for message in messages)
        drops = any((copy := view.message(item)) is not None and copy.get("activityType") == "media" for item in left)
        known = view.knows_activities
        return with_activity_types(snapshot, view.version, known=known, complete=("media",), drops=drops)


def _behind(key: Any, keys: list[Any]) -> list[Any]:
    """The keys behind one; none if it is not there."""
    return keys[keys.index(key) + 1 :] if key in keys else []
