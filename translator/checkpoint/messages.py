"""The conversation: what the checkpoint holds against what the client holds, and the cheapest events that mend it.

Only `values` is complete: what streamed may be missing from it, and it has what never streamed. Rules:

1. The client is to hold the `shown` messages of the root graph's messages channel, in their order. Results of one
   assistant message, reasoning and activities stand in any order.
2. Beside them it keeps what a subagent said (a run that resumes it goes on from there), activities that nodes made,
   and, while a superstep goes on, what streams. Everything else is dropped: speech that was not saved, and, unless
   history is to be kept, what the graph removed.
3. New messages at the end are told by events. Anything else, and what is missing when the stream begins, by a snapshot.
4. A client keeps its own order for ids it holds. Where that is known to end wrong, a snapshot of what stands right so
   far comes first.
5. What a snapshot cannot make the client drop (old reasoning and activities, by its own rule) is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..client.reducer import with_activity_types
from ..convert.compare import by_id, common_length, count_calls, is_same_message, merge, same_order
from ..convert.to_events import as_events
from ..losses import Losses
from ..options import Options
from ..outbox import Outbox
from ..wire import events
from ..wire.events import Event
from .message_cache import StoredMessages, keys_of


class _Standing:
    """What stood when a superstep ended, with the client as in the checkpoint: the head of both, not judged again."""

    __slots__ = ("messages", "order", "owners", "wanted")

    def __init__(self) -> None:
        self.messages = 0
        """How many stored messages."""
        self.order: list[str] = []
        """The ids at the client, with those that are the client's to keep."""
        self.wanted: dict[str, Event] = {}
        self.owners: Counter[str] = Counter()
        """How many messages have a tool call of this id."""


class _Beside(NamedTuple):
    """What streamed, and messages learned beside the stream."""

    stays: set[str]
    """Ids in both, of which the client's copy goes on."""
    gone: set[str]
    """Ids of messages that are stored under other ids."""


class History:
    """The conversation of the root graph, as seen and as told."""

    def __init__(self, outbox: Outbox, options: Options, losses: Losses) -> None:
        self._outbox = outbox
        self._view = outbox.view
        self._options = options
        self._stored = StoredMessages(options, losses)
        self._last: Any = None
        """The channel's value when it was last read."""
        self._is_written = False
        self._standing = _Standing()
        self._equal: dict[str, Event] = {}
        """Messages after those that stand, that the client is known to hold as the checkpoint does."""
        self._lent: set[str] = set()
        """Ids that the client has from messages learned beside the stream; no values of the stream came since."""
        self.kept: set[str] = set()
        """Ids that are the client's to keep: of subagents' speech, nodes' activities, what it cannot be made to
        drop."""

    def touched(self, message_id: str) -> None:
        """Something was told under this id since the last `values`."""
        if message_id in self._standing.wanted:
            self._judge_all()
        self._equal.pop(message_id, None)

    def write(self, names: Collection[str]) -> None:
        """Nodes wrote these channels."""
        self._is_written = self._is_written or self._options.messages_key in names

    def goes_back(self, messages: Any, unsaved: Collection[str] = ()) -> bool:
        """Whether the client is known to hold messages that these lack, beside those that streamed and are not saved
        yet."""
        if not self._view.knows_messages or not isinstance(messages, list | tuple):
            return False
        self._stored.read(messages)
        wanted = {wire["id"] for stored in self._stored.all for wire in stored.wires}
        apart = wanted.union(unsaved)
        return any(item not in apart and not self._stays(item, ()) for item in self._view.order)

    def is_ahead(self, messages: Sequence[Any]) -> bool:
        """Whether these go on where the messages known end: they hold the last of them, and behind it new ones."""
        known, keys = self._stored.keys, keys_of(messages)
        behind = _behind(known[-1], keys) if known else keys
        return not self._stored.past.union(known).issuperset(behind)

    def is_behind(self, messages: Sequence[Any]) -> bool:
        """Whether the messages known go on where these end."""
        known, keys = self._stored.keys, keys_of(messages)
        return bool(_behind(keys[-1], known) if keys else known)

    def told(
        self,
        messages: Any,
        unsaved: Collection[str],
        *,
        opening: bool,
        going_on: bool,
        waiting: Sequence[Event] = (),
    ) -> None:
        """Tells the messages channel of root `values`.

        `unsaved`: ids that streamed since the last time. `opening`: the stream begins. `going_on`: the superstep does,
        so that what the client holds may still be saved, and nothing is dropped. `waiting`: messages that count as
        stored behind these, of subgraphs that wait. A channel that no node wrote and that is the same object is not
        looked at.
        """
        self._lent = set()
        if self._is_written or opening or messages is not self._last:
            self._last, self._is_written = messages, False
            if self._stored.read(messages) < self._standing.messages:
                self._judge_all()
        elif not unsaved and not waiting:
            return
        self._mend(unsaved, opening=opening, going_on=going_on, waiting=waiting)

    def shown(
        self,
        messages: Sequence[Any],
        unsaved: Collection[str],
        apart: Callable[[Mapping[str, Event]], tuple[set[str], set[str]]],
        *,
        opening: bool,
    ) -> None:
        """Tells messages that were learned beside the stream, in the middle of a superstep.

        `apart` is told what they are for the client, and says which of the ids that streamed stay as the client has
        them, and which are to go since their message stands there under another id. What came this way the last time,
        and did not stream, goes if it is not in these: a message without an id gets a new one with each reading of a
        superstep that is not over.
        """
        if self._stored.read(messages) < self._standing.messages:
            self._judge_all()
        wires = by_id(wire for stored in self._stored.all for wire in stored.wires)
        stays, gone = apart(wires)
        held = set(self._view.order)
        left = {item for item in self._lent.intersection(held).difference(wires, unsaved) if not self._stays(item, ())}
        self._mend(unsaved, opening=opening, going_on=True, beside=_Beside(stays, gone | left))
        self._lent = {item for item in wires if item in self._lent or item not in held}
        self._last, self._is_written = messages, True  # whatever the stream brings next is looked at

    def judged(self, unsaved: Collection[str], waiting: Sequence[Event]) -> None:
        """The run ended: what streamed since the last `values` is not in the checkpoint. Reads no message anew.

        `waiting`: as for `told`.
        """
        if self._stored.known:
            self._mend(unsaved, opening=False, going_on=False, waiting=waiting)

    def _mend(
        self,
        unsaved: Collection[str],
        *,
        opening: bool,
        going_on: bool,
        beside: _Beside | None = None,
        waiting: Sequence[Event] = (),
    ) -> None:
        order = self._view.order
        self._check_standing(order)
        standing = self._standing
        wires = [wire for stored in self._stored.all[standing.messages :] for wire in stored.wires]
        wanted = by_id(wire for wire in (*wires, *waiting) if wire["id"] not in standing.wanted)
        tail = order[len(standing.order) :]
        extras = [message_id for message_id in tail if message_id not in wanted]
        stays, surplus = beside or ((), set())
        surplus = surplus if going_on else {item for item in extras if not self._stays(item, unsaved)}
        wanted |= {item: message for item in stays if item in wanted and (message := self._view.message(item))}
        late = [item for item in extras if item in unsaved and item not in surplus] if beside is not None else []
        missing = [wire for message_id, wire in wanted.items() if not self._view.has(message_id)]
        held = [message_id for message_id in tail if message_id in wanted]
        if len(held) + len(missing) < len(wanted):  # what stood as the client's own is stored now
            self._judge_all()
            self._mend(unsaved, opening=opening, going_on=going_on, beside=beside, waiting=waiting)
            return
        unknown = not self._view.knows_messages and bool(wanted)
        whole = unknown or bool(surplus) or bool(missing and (opening or late)) or self._differs(wanted)
        if whole or not same_order(held + [wire["id"] for wire in missing], wanted):
            rest = [item for item in order if item not in surplus and item not in late]
            streaming = [message for item in late if (message := self._view.message(item))]
            self._snapshot(merge({**standing.wanted, **wanted}, rest, self._view) + streaming)
        elif missing and not (self._append(missing, wanted) and self._is_in_order(wanted)):
            self._snapshot(merge({**standing.wanted, **wanted}, order, self._view))
        self._equal = {item: wire for item, wire in wanted.items() if item not in stays}
        if not going_on and not waiting:
            self._stand(wanted)

    def _check_standing(self, order: list[str]) -> None:
        """Has all judged anew if what stood does not stand at the client any more."""
        standing = self._standing
        count = len(standing.order)
        if order[:count] != standing.order or not standing.wanted.keys().isdisjoint(order[count:]):
            self._judge_all()

    def _stand(self, wanted: dict[str, Event]) -> None:
        """The superstep ended: if the client now holds what it should, that stands."""
        if self._view.knows_messages and self._is_in_order(wanted):
            standing = self._standing
            standing.messages, standing.order = len(self._stored.all), self._view.order
            standing.wanted.update(wanted)
            standing.owners.update(count_calls(wanted))
            self._equal = {}

    def _is_in_order(self, wanted: Mapping[str, Event]) -> bool:
        """Whether the client holds what stood and then the wanted messages, all in their order. It puts a result behind
        the message that called, wherever that is."""
        standing, order = self._standing.order, self._view.order
        held = [message_id for message_id in order[len(standing) :] if message_id in wanted]
        return order[: len(standing)] == standing and len(held) == len(wanted) and same_order(held, wanted)

    def _judge_all(self) -> None:
        self._equal = {**self._standing.wanted, **self._equal}
        self._standing = _Standing()

    def without(self, message_id: str) -> bool:
        """Makes the client drop one message, so that it can be told anew; whether that could be done."""
        if not self._view.knows_messages:
            return False
        self.touched(message_id)
        rest = [self._view.message(item) for item in self._view.order if item != message_id]
        self._tell([item for item in rest if item is not None])
        return not self._view.has(message_id)

    def _stays(self, message_id: str, unsaved: Collection[str]) -> bool:
        if message_id in self.kept:
            return True
        if message_id in unsaved:
            return False
        message = self._view.message(message_id) or {}
        if "subagentRunId" in message or (message.get("role") == "activity" and message_id not in self._equal):
            return True
        return self._options.history == "keep"

    def _differs(self, wanted: Mapping[str, Event]) -> bool:
        equal, message = self._equal, self._view.message
        return any(
            equal.get(message_id) is not wire
            and (held := message(message_id)) is not None
            and not is_same_message(held, wire)
            for message_id, wire in wanted.items()
        )

    def _append(self, missing: list[Event], wanted: Mapping[str, Event]) -> bool:
        """Tells messages by events, if events can and mean what they say; whether it did."""
        held = self._view.call_owner
        before, owners = self._standing.owners, count_calls(wanted)
        told: list[Event] = []
        for wire in missing:
            telling = as_events(wire)
            call_ids = [call["id"] for call in wire.get("toolCalls", ())]
            answered = wire.get("toolCallId", "")
            repeated = before[answered] + owners[answered] > 1
            ambiguous = repeated or any(owners[call_id] > 1 or held(call_id) is not None for call_id in call_ids)
            if telling is None or ambiguous or "subagentRunId" in wire:
                return False
            told += telling
        self._outbox.tell_all(told)
        return True

    def _snapshot(self, messages: list[Event]) -> None:
        wanted = by_id(messages)
        if order := self._view.order:
            held = [message_id for message_id in order if message_id in wanted]
            ends = held + [message_id for message_id in wanted if not self._view.has(message_id)]
            if not same_order(ends, wanted):
                standing = common_length(held, list(wanted))
                self._tell(messages[:standing])
        self._tell(messages)
        self.kept.update(message_id for message_id in self._view.order if message_id not in wanted)

    def _tell(self, messages: list[Event]) -> None:
        """A snapshot. Of activities it tells all that are media: other ones a client may have from earlier runs."""
        view = self._view
        snapshot = events.messages_snapshot(messages)
        left = set(view.order).difference(message["id"] for message in messages)
        drops = any((held := view.message(item)) is not None and held.get("activityType") == "media" for item in left)
        known = view.knows_activities
        self._outbox.tell(with_activity_types(snapshot, view.version, known=known, complete=("media",), drops=drops))


def _behind(key: Any, keys: list[Any]) -> list[Any]:
    """The keys behind one; none if it is not there."""
    return keys[keys.index(key) + 1 :] if key in keys else []
