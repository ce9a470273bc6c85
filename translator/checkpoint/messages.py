"""The messages channel: what the checkpoint has, what the client has, and the cheapest events that reconcile the two.

`values` decide: what streamed may be missing from them, and they have what never streamed. Rules

1. The client is to have the visible messages of the root graph's messages channel, in their order. Results of one
   assistant message, reasoning and activities may stand in any order.
2. Beside them it keeps what a subagent emitted (a run that resumes the subagent continues from there), activities that
   nodes made, while a superstep has not ended what streams, and its own copy of a stored message that cannot be read
   (the graph has not removed it). All else is removed: messages that were not stored, and, unless `history="keep"`,
   what the graph removed.
3. New messages at the end are emitted as events. Any other change, and what is missing when the stream begins, is a
   snapshot.
4. A client keeps its own order for ids it has. Where that is known to end wrong, a snapshot of what is in order so far
   comes first.
5. What a snapshot cannot make the client drop (old reasoning and activities, by the client's own rule) is kept.
6. The plan (`convert/plan.py`) is a stored message too. A change of it is a delta.
7. A stored message is compared with the client's copy when it is new or changed, and when something was emitted under
   its id since.
8. The value of a function (`@entrypoint`) is what one call gave, not the conversation: its messages are added, and none
   is removed for not being there. (What a function keeps, `entrypoint.final(save=...)`, no stream has:
   https://docs.langchain.com/oss/python/langgraph/functional-api)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..client.snapshots import ordered_snapshots, with_activity_types
from ..client.view import ClientView
from ..convert.compare import by_id, count_calls, is_same_message, merge, same_order
from ..convert.plan import ACTIVITY, plan_of, with_plan
from ..convert.to_events import as_events
from ..jsonable.json_diff import diff
from ..ledger import Ledger, Overlap
from ..losses import Losses
from ..options import Options
from ..parts.channels import channels
from ..wire import events
from ..wire.events import Event
from ..wire.ids import plan_id
from .message_cache import MessageCache, keys_of

_ASKED: Final = ("user", "system", "developer")
"""The roles of messages that only a client, or its user, makes up."""
_SAID: Final = ("assistant", "tool", "reasoning")
"""The roles of what a run says."""


class Messages:
    """The messages of the root graph, as stored and as the client has them."""

    def __init__(self, view: ClientView, options: Options, ledger: Ledger, losses: Losses) -> None:
        self._view = view
        self._options = options
        self._ledger = ledger
        self._losses = losses
        self._stored = MessageCache(options, losses)
        self._last: Any = None
        """The channel's value when it was last read."""
        self._is_written = False
        self._has_earlier = True
        """Whether the client may have messages of earlier runs that no checkpoint has, in a graph without the
        channel."""
        self.is_function = False
        """Whether the graph is a function, whose values are added (rule 8)."""
        self._plan: Event | None = None
        self._plan_id = None if options.plan is None else plan_id(options.plan)
        self._complete = ("media",) if options.plan is None else ("media", ACTIVITY)
        """The types of the activities that a checkpoint has."""

    def written(self, names: Collection[str]) -> None:
        """Nodes wrote these channels."""
        self._is_written = self._is_written or self._options.messages_key in names

    def read_plan(self, values: Any) -> None:
        """Takes the thread's plan from its values; what `on_values` and `on_checkpoint` emit next has it."""
        plan = plan_of(channels(values) or {}, self._options)
        if plan != self._plan:
            self._plan, self._is_written = plan, True

    def would_remove(self, messages: Any, pending: Collection[str] = ()) -> bool:
        """Whether the client is known to have messages that are missing here, beside `pending` ones."""
        if not self._view.knows_messages or not isinstance(messages, list | tuple):
            return False
        self._read(messages)
        beside = {message["id"] for message in self._listed}.union(pending, [self._plan_id])
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
        as stored behind these. A channel that no node wrote and that is the same object is not read again, and it is
        compared only if a message is pending or waits.
        """
        pending = self._ledger.pending()
        if self._is_written or messages is not self._last:
            self._read(messages)
        elif not (is_first or pending or waiting):
            return
        yield from self._reconcile(pending, is_first=is_first, is_partial=is_partial, waiting=waiting)

    def _read(self, messages: Sequence[Any]) -> None:
        self._last, self._is_written = messages, False
        self._stored.read(messages)
        for message_id in sorted(self._stored.unreadable):
            if self._view.has(message_id):
                self._ledger.keep(self._ledger.ids_with(message_id))

    def on_checkpoint(self, messages: Sequence[Any]) -> dict[str, Event]:
        """Reads messages of a checkpoint that was read beside the stream; what they are for the client, by id."""
        self._read(messages)
        self._is_written = True  # whatever the stream brings next is compared
        return by_id(self._listed)

    def reconcile_checkpoint(
        self, wanted: Mapping[str, Event], pending: Collection[str], overlap: Overlap, *, is_first: bool
    ) -> Iterator[Event]:
        """The events of what `on_checkpoint` has read, in the middle of a superstep.

        `pending`: the ids that had been emitted and not reconciled before. What came this way the last time, and did
        not stream, is removed if it is not in these messages: a message without an id gets a new one with each reading
        of a superstep that has not ended.
        """
        gone = self._ledger.take_brought(wanted).difference(pending)
        renamed = overlap.renamed.union(item for item in gone if not self._is_kept(item, ()))
        overlap = Overlap(overlap.continued, renamed)
        yield from self._reconcile(pending, is_first=is_first, is_partial=True, overlap=overlap)

    def at_end(self, waiting: Sequence[Event]) -> Iterator[Event]:
        """The events of a run's end: what is still pending is not in the checkpoint. `waiting`: as for `on_values`."""
        if self._stored.known:
            yield from self._reconcile(self._ledger.pending(), is_first=False, is_partial=False, waiting=waiting)

    def without_channel(self) -> Iterator[Event]:
        """The events of root values that have no messages channel: what was emitted is removed, unless something keeps
        it. What users have said stays, because a client has sent that itself. The first time in a run that is all the
        client has of models: an earlier run has not saved it either."""
        view, pending = self._view, self._ledger.pending()
        is_first, self._has_earlier = self._has_earlier, False
        present = view.messages if is_first or not pending.isdisjoint(view.order) else []
        surplus = {
            message["id"]
            for message in present
            if (message["id"] in pending or (is_first and message["role"] not in _ASKED))
            and not self._is_kept(message["id"], pending)
        }
        if surplus:
            self._losses.note(
                f"The values have no messages in {self._options.messages_key!r}: what models say is removed when its "
                "step ends (`Options.unsaved`; `messages_key`, if the conversation is in another channel)"
            )
            yield from self._snapshots([message for message in present if message["id"] not in surplus])

    def remove(self, message_id: str) -> Iterator[Event]:
        """The event that makes the client drop one message, so that it can be emitted anew; none if it cannot be made
        to."""
        if self._view.knows_messages:
            yield self._snapshot_event([each for each in self._view.messages if each["id"] != message_id])

    def _reconcile(
        self,
        pending: Collection[str],
        *,
        is_first: bool,
        is_partial: bool,
        overlap: Overlap | None = None,
        waiting: Sequence[Event] = (),
    ) -> Iterator[Event]:
        view, ledger = self._view, self._ledger
        order = view.order
        wanted = by_id([*self._listed, *waiting])
        yield from self._changed_plan()
        continued, surplus = overlap or Overlap(set(), set())
        wanted |= {item: message for item in continued if item in wanted and (message := view.message(item))}
        extras = [item for item in order if item not in wanted]
        if not is_partial and not (self.is_function and not view.knows_messages):
            surplus = {item for item in extras if not self._is_kept(item, pending)}
        kept_pending = [item for item in extras if item in pending and item not in surplus]
        still_streaming = [] if overlap is None else kept_pending
        uncompared = ledger.uncompared(wanted)
        is_unknown = not view.knows_messages and bool(wanted) and not self.is_function
        is_first = is_first and not self.is_function
        missing = [] if is_unknown else [wanted[item] for item in uncompared if not view.has(item)]
        whole = is_unknown or surplus or (missing and (is_first or still_streaming)) or self._differ(uncompared, wanted)
        if whole or not _are_in_order([*order, *(message["id"] for message in missing)], wanted):
            rest = [item for item in order if item not in surplus and item not in still_streaming]
            streaming = [message for item in still_streaming if (message := view.message(item))]
            yield from self._snapshots(merge(wanted, rest, view.message) + streaming)
        else:
            appended = self._appended(missing, wanted) if missing else []
            yield from appended
            if missing and (not appended or not _are_in_order(view.order, wanted)):
                yield from self._snapshots(merge(wanted, order, view.message))
            for item in uncompared:  # of a snapshot, the client's copies are these anyway
                view.share(wanted[item])
        ledger.compared(wanted, continued, is_partial=is_partial)

    @property
    def _listed(self) -> list[Event]:
        """What the stored messages are for the client, the plan among them."""
        messages = self._stored.messages
        return messages if self._plan is None else with_plan(messages, self._plan)

    def _changed_plan(self) -> Iterator[Event]:
        """The event that makes the client's copy of the plan the thread's, if it has one."""
        copy = None if self._plan is None else self._view.message(self._plan["id"])
        if copy is None or self._plan is None or copy["role"] != "activity":
            return
        patch = diff(copy.get("content"), self._plan["content"])
        if patch:
            yield events.activity_delta(self._plan["id"], self._plan["activityType"], patch)

    def _is_kept(self, message_id: str, pending: Collection[str]) -> bool:
        """Whether the client keeps a message that is not stored (rule 2)."""
        if self._ledger.is_kept(message_id):
            return True
        if message_id in pending or message_id == self._plan_id:
            return False
        message = self._view.message(message_id) or {}
        if "subagentRunId" in message and "parentToolCallId" not in message.get("metadata", {}):
            return True
        if message.get("role") == "activity" and not self._ledger.was_stored(message_id):
            return True
        if self._options.unsaved == "keep" and message.get("role") in _SAID and not self._ledger.was_stored(message_id):
            return True
        return self._options.history == "keep" or self.is_function

    def _differ(self, ids: Iterable[str], wanted: Mapping[str, Event]) -> bool:
        """Whether the client has another copy of one of these messages."""
        copies = ((self._view.message(item), wanted[item]) for item in ids)
        return any(copy is not None and not is_same_message(copy, stored) for copy, stored in copies)

    def _appended(self, missing: list[Event], wanted: Mapping[str, Event]) -> list[Event]:
        """New messages as events; [] if events cannot express them, or the client would mix up their calls."""
        ids = {call["id"] for message in missing for call in message.get("toolCalls", ())}
        ids.update(message["toolCallId"] for message in missing if "toolCallId" in message)
        counts = count_calls(wanted) if ids else {}
        if any(counts.get(call_id, 0) > 1 for call_id in ids) or any("subagentRunId" in message for message in missing):
            return []
        made = [as_events(message) for message in missing]
        return [] if None in made else [event for each in made for event in each or ()]

    def _snapshots(self, messages: list[Event]) -> Iterator[Event]:
        wanted = {message["id"] for message in messages}
        yield from ordered_snapshots(self._view.order, messages, self._snapshot_event)
        self._ledger.keep(message_id for message_id in self._view.order if message_id not in wanted)

    def _snapshot_event(self, messages: list[Event]) -> Event:
        """A snapshot. Of activities it says that the stored are complete: others a client may have from earlier
        runs."""
        view, present = self._view, self._view.messages
        stays = by_id(messages) if present else {}
        replaced = [message for message in present if stays.get(message["id"]) is not message]
        for message in replaced:
            self._ledger.dropped(message, stays.get(message["id"]))
        dropped = (message for message in replaced if message["id"] not in stays)
        drops = any(message.get("activityType") in self._complete for message in dropped)
        snapshot, known = events.messages_snapshot(messages), view.knows_activities
        return with_activity_types(snapshot, view.version, known=known, complete=self._complete, drops=drops)


def _are_in_order(ids: list[str], wanted: Mapping[str, Event]) -> bool:
    """Whether a client with messages of these ids has the wanted ones in their order."""
    return ids == list(wanted) or same_order([item for item in ids if item in wanted], wanted)


def _behind(key: Any, keys: list[Any]) -> list[Any]:
    """The keys behind one; none if it is not there."""
    return keys[keys.index(key) + 1 :] if key in keys else []
