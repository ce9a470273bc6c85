"""Compares the stored messages with the client's messages, and emits the smallest events that make the client's
messages equal to the stored ones.

The stored messages are authoritative: a message that was streamed may never be stored, and a stored message may never
have been streamed.

Rules:

1. The client has to end up with the visible messages of the root graph's messages channel, in the order of the channel.
   LangGraph's reducer replaces a stored message with a new message that has the same id, and appends all other new
   messages (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/graph/message.py). The tool
   results of one assistant message may be in any order, and so may reasoning and activities.
2. The client also keeps the following messages, although they are not stored:

   - messages of a subagent, because they continue when a run resumes the subagent;
   - activities that nodes made;
   - messages that were emitted in a superstep that has not ended yet;
   - the client's copy of a stored message that cannot be read, because that message is still in the thread.

   All other messages that were never stored are removed. Messages that the graph removed are also removed, unless
   `history="keep"` is set.
3. New messages at the end of the channel are emitted as message events. Any other change is emitted as a
   `MESSAGES_SNAPSHOT`, because no other event can remove or reorder messages, or replace their text
   (https://docs.ag-ui.com/concepts/events). The messages that the client lacks when the stream begins are also emitted
   as a snapshot.
4. A client that receives a snapshot keeps the order of the messages that it already has
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts). If that
   order would be wrong, two snapshots are emitted. The first one contains only the messages that are already in order,
   so the client drops the others. The second one contains all messages.
5. A client may keep older reasoning and activities even if a snapshot does not contain them (same source as rule 4).
   They are recorded as kept (`ledger.py`, rule 5).
6. The plan (`convert/plan.py`) counts as a stored message. A change to the plan is emitted as `ACTIVITY_DELTA`
   (https://docs.ag-ui.com/concepts/events). If the client lacks nothing but the plan, the plan is emitted as
   `ACTIVITY_SNAPSHOT`, which changes no other message. CopilotKit and assistant-ui have activities, but never send them
   back, so that a messages snapshot would make them drop others, such as the one that says why the last run failed.
7. The client has a stored message if the view has a message with that id. The message is compared with the client's
   copy if it is new, if it has changed, or if an event has been emitted
   under its id since the last comparison. `is_same_message` in `convert/compare.py` decides whether the two are equal.
8. For a function (`@entrypoint`), the values are only the return value of one call, and not the whole conversation. So
   the messages in that value are added, and no other messages are removed. If the function saves something else with
   `entrypoint.final(save=...)`, the stream does not contain it
   (https://docs.langchain.com/oss/python/langgraph/functional-api).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from ..client.view import ClientView
from ..convert.compare import by_id, count_calls, is_same_message, merge, same_order
from ..convert.plan import plan_of, with_plan
from ..convert.to_events import as_events
from ..jsonable.json_diff import diff
from ..ledger import Ledger, Overlap
from ..losses import Losses
from ..options import Options
from ..parts.channels import channels
from ..snapshots import Snapshots
from ..wire import events
from ..wire.events import Event
from ..wire.ids import plan_id
from .message_cache import MessageCache, keys_of

_ASKED: Final = ("user", "system", "developer")
"""The roles of messages that come from a client or its user, and never from a model."""
_SAID: Final = ("assistant", "tool", "reasoning")
"""The roles of messages that a run produces."""


class StoredMessages:
    """Makes the client's messages equal to the stored messages of the root graph."""

    def __init__(
        self, view: ClientView, options: Options, ledger: Ledger, losses: Losses, snapshots: Snapshots
    ) -> None:
        self._view = view
        self._options = options
        self._ledger = ledger
        self._snapshots = snapshots
        self._losses = losses
        self._stored = MessageCache(options, losses)
        self._last: Any = None
        """The value that the channel had when it was last read."""
        self._is_written = False
        self._has_removed_earlier = False
        """Whether the messages of earlier runs have been removed from the client. This only applies to a graph without
        a messages channel, whose checkpoints contain no messages."""
        self.is_function = False
        """Whether the graph is a function, so that messages are only added and never removed (rule 8)."""
        self._plan: Event | None = None
        self._plan_id = None if options.plan is None else plan_id(options.plan)

    def record_written(self, names: Collection[str]) -> None:
        """Records that nodes wrote to these channels."""
        self._is_written = self._is_written or self._options.messages_key in names

    def read_plan(self, values: Any) -> None:
        """Reads the plan from the values of the thread. The next call to `on_values` or `reconcile_checkpoint` emits
        the plan."""
        if self._plan_id is None:
            return
        plan = plan_of(channels(values) or {}, self._options)
        if plan != self._plan:
            self._plan, self._is_written = plan, True

    def would_remove(self, messages: Any, pending: Collection[str] = ()) -> bool:
        """Whether any of the client's messages would be removed because neither `messages` nor `pending` contains it.
        The result is False if the client's messages are unknown. This method also reads `messages`."""
        if not self._view.knows_messages or not isinstance(messages, (list, tuple)):
            return False
        self._read(messages)
        beside = {message["id"] for message in self._listed}.union(pending, [self._plan_id])
        return any(item not in beside and not self._is_kept(item, ()) for item in self._view.order)

    def is_ahead(self, messages: Sequence[Any]) -> bool:
        """Whether `messages` continue the messages that were read last. They do if they contain the last of those
        messages, followed by at least one message that was never read before."""
        known, keys = self._stored.keys, keys_of(messages)
        behind = _behind(known[-1], keys) if known else keys
        return not self._stored.past.union(known).issuperset(behind)

    def is_behind(self, messages: Sequence[Any]) -> bool:
        """Whether the messages that were read last continue `messages`."""
        known, keys = self._stored.keys, keys_of(messages)
        return bool(_behind(keys[-1], known) if keys else known)

    def on_values(
        self, messages: Any, *, has_compared: bool, is_partial: bool, in_subgraphs: Sequence[Event] = ()
    ) -> Iterable[Event]:
        """Returns the events for the messages channel of root `values`.

        `has_compared`: whether earlier values have been compared in this run. `is_partial`: whether the superstep of
        these values is still running. If so, nothing is removed, because a missing message may still be stored later.
        `in_subgraphs`: the messages of subgraphs that are waiting at an interrupt. They count as stored, and follow the
        messages of the channel.

        The channel is not read again if no node has written to it and its value is the same object as before. In that
        case, the messages are compared only if there are pending messages, if `in_subgraphs` is not empty, or if no
        values have been compared before."""
        pending = self._ledger.pending()
        if self._is_written or messages is not self._last:
            self._read(messages)
        elif has_compared and not pending and not in_subgraphs:
            return ()
        return self._reconcile(pending, has_compared=has_compared, is_partial=is_partial, in_subgraphs=in_subgraphs)

    def _read(self, messages: Sequence[Any]) -> None:
        self._last, self._is_written = messages, False
        self._stored.read(messages)
        for message_id in sorted(self._stored.unreadable):
            if self._view.has(message_id):
                self._ledger.keep(self._ledger.ids_with(message_id))

    def read_checkpoint(self, messages: Sequence[Any]) -> dict[str, Event]:
        """Reads the messages of a checkpoint during the stream. Returns the messages in AG-UI form, as a mapping from
        their ids."""
        self._read(messages)
        self._is_written = True  # so that the next values of the stream are read and compared in any case
        return by_id(self._listed)

    def reconcile_checkpoint(
        self, wanted: Mapping[str, Event], pending: Collection[str], overlap: Overlap, *, has_compared: bool
    ) -> Iterator[Event]:
        """Yields the events for the messages that `read_checkpoint` has read. The superstep is still running.

        `pending`: the ids of the messages that were pending when the checkpoint was read. A message that came from an
        earlier checkpoint and never streamed is removed if this checkpoint does not contain it. Without this rule, the
        client could end up with several copies of a message without an id, because such a message gets a different id
        each time the values of an unfinished superstep are read.
        """
        gone = self._ledger.take_brought(wanted).difference(pending)
        surplus = overlap.surplus.union(item for item in gone if not self._is_kept(item, ()))
        overlap = Overlap(overlap.continued, surplus)
        yield from self._reconcile(pending, has_compared=has_compared, is_partial=True, overlap=overlap)

    def remove_unsaved(self) -> Iterator[Event]:
        """Yields the events that remove the pending messages that are not stored."""
        pending = self._ledger.pending()
        unsaved = pending.difference(by_id(self._listed))
        yield from self._reconcile(pending, has_compared=True, is_partial=True, overlap=Overlap(set(), unsaved))

    def at_end(self, in_subgraphs: Sequence[Event]) -> Iterator[Event]:
        """Yields the events for the end of a run. They remove the messages that are still pending, because the
        checkpoint does not contain them. `in_subgraphs`: as for `on_values`."""
        if self._stored.known:
            yield from self._reconcile(
                self._ledger.pending(), has_compared=True, is_partial=False, in_subgraphs=in_subgraphs
            )

    def without_channel(self) -> Iterator[Event]:
        """Yields the events for root values that have no messages channel. The messages that this run emitted are
        removed, unless a rule keeps them. Messages from users stay, because the client itself sent them. The first call
        in a run also removes the messages that models produced in earlier runs, because those runs did not save their
        messages either."""
        view, pending = self._view, self._ledger.pending()
        removes_earlier, self._has_removed_earlier = not self._has_removed_earlier, True
        present = view.messages if removes_earlier or not pending.isdisjoint(view.order) else []
        surplus = {
            message["id"]
            for message in present
            if (message["id"] in pending or (removes_earlier and message["role"] not in _ASKED))
            and not self._is_kept(message["id"], pending)
        }
        if surplus:
            self._losses.note(
                f"The values have no messages channel {self._options.messages_key!r}, so text that models generate is "
                "removed when the superstep of the root graph ends (see `Options.unsaved`). If the conversation is in "
                "another channel, set `messages_key`"
            )
            yield from self._snapshots.of([message for message in present if message["id"] not in surplus])

    def _reconcile(
        self,
        pending: Collection[str],
        *,
        has_compared: bool,
        is_partial: bool,
        overlap: Overlap | None = None,
        in_subgraphs: Sequence[Event] = (),
    ) -> Iterator[Event]:
        """Yields the events after which the client has the stored messages in the right order (rules 1 to 4).

        First, the messages that the client has are compared with the stored ones. The result is a few sets of ids:
        `extras` are not stored, `surplus` are the extras that have to be removed, `still_streaming` are extras that
        stay behind a checkpoint's messages because they are still growing, and `missing` are stored messages that the
        client lacks. A snapshot is made if something has to be removed or replaced, if the order would be wrong, or if
        the client lacks messages from before the stream. Otherwise, the missing messages are added by their own events.

        `pending`: the ids of the messages that are pending. `overlap`: how the client's messages differ from those of a
        checkpoint that was read during the stream; None for values. `has_compared`, `is_partial` and `in_subgraphs`: as
        for `on_values`.
        """
        view, ledger = self._view, self._ledger
        order = view.order
        wanted = by_id([*self._listed, *in_subgraphs] if in_subgraphs else self._listed)
        if self._plan is not None:
            yield from self._changed_plan(self._plan)
        continued, surplus = overlap or (set(), set())
        for item in continued:
            if item in wanted and (message := view.message(item)):
                wanted[item] = message
        is_beginning = order == [*islice(wanted, len(order))]  # as a rule, the client only lacks the newest messages
        extras = [] if is_beginning else [item for item in order if item not in wanted]
        if not is_partial and not (self.is_function and not view.knows_messages):
            surplus = {item for item in extras if not self._is_kept(item, pending)}
        still_streaming: list[str] = []
        if overlap is not None:
            still_streaming = [item for item in extras if item in pending and item not in surplus]
        uncompared = ledger.uncompared(wanted)
        is_unknown = not view.knows_messages and bool(wanted) and not self.is_function
        begins_stream = not has_compared and not self.is_function
        missing = [] if is_unknown else [wanted[item] for item in uncompared if not view.has(item)]
        lacks_earlier = begins_stream and any(message["id"] != self._plan_id for message in missing)
        whole = (
            is_unknown or surplus or lacks_earlier or (missing and still_streaming) or self._differ(uncompared, wanted)
        )
        is_complete = is_beginning and len(order) + len(missing) == len(wanted)
        if whole or not (is_complete or _are_in_order([*order, *(message["id"] for message in missing)], wanted)):
            rest = [item for item in order if item not in surplus and item not in still_streaming]
            streaming = [message for item in still_streaming if (message := view.message(item))]
            yield from self._snapshots.of(merge(wanted, rest, view.message) + streaming)
        else:
            appended = self._appended(missing, wanted) if missing else []
            yield from appended
            if missing and (not appended or not _are_in_order(view.order, wanted)):
                yield from self._snapshots.of(merge(wanted, order, view.message))
            # Share the stored messages with the view, so that only one copy of each stays in memory. A snapshot needs
            # no such step, because it already puts these objects in the view.
            for item in uncompared:
                view.share(wanted[item])
        ledger.compared(wanted, continued, is_partial=is_partial)

    @property
    def _listed(self) -> list[Event]:
        """The stored messages in AG-UI form, including the plan."""
        messages = self._stored.messages
        return messages if self._plan is None else with_plan(messages, self._plan)

    def _changed_plan(self, plan: Event) -> Iterator[Event]:
        """Yields the event that updates the client's copy of the plan, if the client has a copy that differs from the
        plan of the thread."""
        copy = self._view.message(plan["id"])
        if copy is None or copy["role"] != "activity":
            return
        patch = diff(copy.get("content"), plan["content"])
        if patch:
            yield events.activity_delta(plan["id"], plan["activityType"], patch)

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
        """Whether the client's copy of any of these messages differs from the stored message."""
        for item in ids:
            copy = self._view.message(item)
            if copy is not None and not is_same_message(copy, wanted[item]):
                return True
        return False

    def _appended(self, missing: list[Event], wanted: Mapping[str, Event]) -> list[Event]:
        """Returns the events that add new messages at the end. The list is empty if events cannot express one of the
        messages. It is also empty if two tool calls have the same id, because the client would then apply events to the
        wrong tool call."""
        # `as_events` makes events of the run itself, so a snapshot has to add the messages of subagents.
        ids = {call["id"] for message in missing for call in message.get("toolCalls", ())}
        ids.update(message["toolCallId"] for message in missing if "toolCallId" in message)
        counts = count_calls(wanted) if ids else {}
        if any(counts.get(call_id, 0) > 1 for call_id in ids) or any("subagentRunId" in message for message in missing):
            return []
        made = [as_events(message) for message in missing]
        return [] if None in made else [event for each in made for event in each or ()]


def _are_in_order(ids: list[str], wanted: Mapping[str, Event]) -> bool:
    """Whether a client that has the messages `ids`, in this order, has the wanted messages in the right order."""
    return ids == list(wanted) or same_order([item for item in ids if item in wanted], wanted)


def _behind(key: Any, keys: list[Any]) -> list[Any]:
    """The keys that follow `key`; an empty list if `keys` does not contain it."""
    return keys[keys.index(key) + 1 :] if key in keys else []
