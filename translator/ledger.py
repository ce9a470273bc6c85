"""Records the facts about the messages of one run that several packages need (`Ledger`). This module emits no events.

A `Record` represents one message: the answer of a model call, the result of a tool, or an activity of a node. A model
call can also emit *companions* of its answer: reasoning, media, and results of tools that the provider runs. Each
companion has its own record.

Rules:

1. Only this module assigns to records.
2. A record gets its id just before the first event of its message is emitted, and keeps that id. As long as a record
   has no id, no event of its message has been emitted.
3. Once a record is suppressed, no further events for its message are emitted. The record's `reason` is the first reason
   for which it was suppressed.
4. An emitted message is *pending* until the next `values` of the root graph, which show whether the message is stored.
   This also applies to the messages of model calls inside a tool, whether the root graph or a subagent called the tool.
5. A message is *kept* instead of pending if it stays with the client although no checkpoint of the root graph will
   contain it. Kept messages are the messages of subagents, the activities that nodes and tools write, the client's
   copies of stored messages that cannot be read, and messages that no snapshot can remove from the client. While an
   interrupt is pending, the messages of the current superstep are kept too. If the option `unsaved` keeps a message,
   the message becomes a kept message at the next `values`. With `unsaved="run"`, it becomes pending again when the run
   ends. The ledger remembers kept messages until the run ends.
6. When a superstep of the root graph has ended, the ledger forgets those pending messages that have ended, because the
   client by now either has their stored form or has dropped them. A message that is still streaming stays pending, and
   so do its companions.
7. This module does not record which messages are open at the client, because the view does.

Tool calls are in `call_ids.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple

from .call_ids import CallIds
from .client.view import ClientView
from .losses import Losses, Reason
from .owner import RUN, Owner
from .wire.events import Event


class Overlap(NamedTuple):
    """How the client's messages differ from those of a checkpoint that was read while messages were streaming."""

    continued: set[str]
    """The ids of messages that have streamed further than the checkpoint's copies of them. The client's copies stay."""
    surplus: set[str]
    """The ids of messages that the client has to drop. Either the checkpoint contains such a message under another id,
    or an earlier checkpoint added the message and this one does not contain it, or no values will ever contain it."""


class Record:
    """One message of the run. Other modules only read the attributes; `Ledger` assigns to them."""

    __slots__ = (
        "answers",
        "companions",
        "has_ended",
        "id",
        "main",
        "model_call",
        "owner",
        "provider_id",
        "reason",
        "run_id",
    )

    def __init__(self, owner: Owner = RUN, model_call: object = None, main: Record | None = None) -> None:
        self.owner = owner
        self.model_call = model_call
        """The model call that produces the message. None once that model call has ended, and for messages that no model
        call produces."""
        self.main = self if main is None else main
        """For a companion, the record of the answer that it belongs to. For any other message, the record itself."""
        self.companions: tuple[Record, ...] = ()
        """The records of the message's companions."""
        self.id: str | None = None
        """The id under which the message is emitted; None as long as no event has been emitted."""
        self.run_id: str | None = None
        """The id that LangChain made from the run of the model call, if a chunk had such an id."""
        self.provider_id: str | None = None
        """The id that the provider chose, if a chunk had such an id."""
        self.has_ended = False
        """Whether the message has ended."""
        self.reason: Reason | None = None
        """The reason why the message is suppressed; None if it is not suppressed."""
        self.answers: str | None = None
        """For a tool result, the id that the tool call it answers has in the checkpoint."""

    @property
    def ids(self) -> list[str]:
        """The ids under which the message and its companions have been emitted."""
        return [record.id for record in (*self.companions, self) if record.id is not None]

    @property
    def names(self) -> list[str]:
        """The ids that the message may have in a checkpoint."""
        return [name for name in (self.id, self.provider_id, self.run_id) if name]

    @property
    def is_suppressed(self) -> bool:
        """Whether the message is suppressed (rule 3)."""
        return self.reason is not None

    def is_among(self, stored: Set[object], answered: Set[object]) -> bool:
        """Whether a checkpoint contains the message under any of its ids. `stored`: the ids of the checkpoint's
        messages;
        `answered`: the ids of the tool calls that have results in the checkpoint."""
        if self.answers is not None:
            return self.answers in answered
        return not stored.isdisjoint(self.names)


class Ledger:
    """The messages of one run, and the known facts about them."""

    def __init__(self, view: ClientView, losses: Losses) -> None:
        self._view = view
        self._losses = losses
        self.call_ids = CallIds(view)
        self._pending: dict[str, Record] = {}
        """The records of pending messages, as a mapping from their ids (rule 4)."""
        self._kept: dict[str, Record] = {}
        """The records of kept messages, as a mapping from their ids (rule 5)."""
        self._streaming: dict[str, Record] = {}
        """For each id, the last record that was emitted under it."""
        self._aliases: dict[tuple[str, str], Record] = {}
        """A mapping from a task and the id of a chunk to the last record that received a chunk with this id from this
        task."""
        self.latest: dict[Any, Record] = {}
        """For each chunk id, the record of the message that the next chunk with that id may continue."""
        self._dropped: dict[str, str | None] = {}
        """The messages that the client dropped because of a snapshot. A mapping from the message id to the
        `subagentRunId` in the message's events, or to None if they had none."""
        self._stored: dict[str, Event] = {}
        """For each id, the stored message that was last compared with the client's copy. If an event is emitted under
        the id, its entry is removed."""
        self._read: set[str] = set()
        """The ids of the messages in the last checkpoint that was read during the current superstep; empty if no
        checkpoint was read."""
        self._brought: set[str] = set()
        """The ids of messages that checkpoints have added to the client's messages during the current superstep."""
        self._until_end: set[str] = set()
        """The ids of messages that are kept only until the run ends."""

    # --- what is known --------------------------------------------------------------------------------------------

    def is_kept(self, message_id: str) -> bool:
        """Whether the message stays with the client even if it is not stored."""
        return message_id in self._kept

    def pending(self) -> set[str]:
        """The ids of the pending messages."""
        return set(self._pending)

    def ids_with(self, message_id: str) -> list[str]:
        """The ids of a message and its companions. If the message is not pending, only its own id."""
        record = self._pending.get(message_id)
        return [message_id] if record is None else record.ids

    def not_stored(self, stored: Set[object], answered: Set[object]) -> set[str]:
        """The ids of pending messages that a checkpoint does not contain under any of their ids. `stored`: the ids of
        the checkpoint's messages; `answered`: the ids of the tool calls that have results in the checkpoint."""
        return {key for key, record in self._pending.items() if not record.main.is_among(stored, answered)}

    def texts_not_stored(self, stored: Set[object]) -> dict[str, list[Event]]:
        """The client's copies of the pending assistant messages with text that a checkpoint does not contain, grouped
        by the node of the root graph that produced them. Messages that were produced during a tool call are left out.
        `stored`: the ids of the checkpoint's messages."""
        missing = self.not_stored(stored, set())
        by_node: dict[str, list[Event]] = {}
        for message in self._view.messages:
            is_own = message["id"] in missing and "parentToolCallId" not in message.get("metadata", {})
            if is_own and message["role"] == "assistant" and message.get("content"):
                node = self.task(message["id"]).partition("|")[0].partition(":")[0]
                by_node.setdefault(node, []).append(message)
        return by_node

    def only_displayed(self, stored: Set[object], answered: Set[object]) -> list[Event]:
        """The client's copies of the run's own pending and kept messages that no checkpoint contains, but not of
        activities and of messages of subagents. In between are the ids of the other messages, from the stored message
        before the first of these copies on. `stored`, `answered`: as for `not_stored`."""
        own = (record for record in (*self._pending.values(), *self._kept.values()) if record.owner.id is None)
        not_stored = {record.id for record in own if not record.main.is_among(stored, answered)}
        messages = self._view.messages
        shown = {item["id"] for item in messages if item["id"] in not_stored and item["role"] != "activity"}
        if not shown:
            return []
        first = next(at for at, item in enumerate(messages) if item["id"] in shown)
        before = (at for at in range(first - 1, -1, -1) if messages[at]["id"] in stored)
        return [item if item["id"] in shown else {"id": item["id"]} for item in messages[next(before, first) :]]

    def task(self, message_id: str) -> str:
        """The task (`langgraph_checkpoint_ns`) that a pending message comes from; empty if the message's chunks did not
        name a task."""
        return next((task for (task, _), record in self._aliases.items() if message_id in record.ids), "")

    def streaming(self, message_id: str) -> Record | None:
        """The record of the message that is streaming under this id; None if no message is."""
        record = self._streaming.get(message_id)
        return None if record is None or record.has_ended else record

    def of_stream_id(self, task: str, stream_id: str) -> Record | None:
        """The last record that received a chunk with this id in this task; None if there is no such record or its
        message has ended."""
        record = self._aliases.get((task, stream_id))
        return None if record is None or record.has_ended else record

    def opener(self, message_id: str, otherwise: str | None) -> str | None:
        """The `subagentRunId` of the agent that may open a message with this id. If a snapshot has made the client drop
        a message with the id, only the agent that opened that message may open the id again. In any other case, the
        result is `otherwise`."""
        return self._dropped.get(message_id, otherwise)

    def is_read(self, record: Record) -> bool:
        """Whether a checkpoint that was read during the current superstep contains the message."""
        return bool(self._read) and not self._read.isdisjoint(record.names)

    def uncompared(self, stored: Mapping[str, Event]) -> list[str]:
        """The ids of the stored messages that have not been compared with the client's copies yet. A message counts as
        compared if it is the very object that was last compared under its id."""
        compared = map(self._stored.get, stored)
        return list(compress(stored, map(is_not, compared, stored.values())))

    def was_stored(self, message_id: str) -> bool:
        """Whether the message was stored when the client's copies were last compared with the stored messages."""
        return message_id in self._stored

    # --- what happens ---------------------------------------------------------------------------------------------

    def take_id(self, record: Record, task: str, stream_id: str, *, is_run_id: bool) -> None:
        """Records that a chunk of the message had this id in this task. The first run id and the first provider id of
        its chunks become the message's `run_id` and `provider_id`."""
        self._aliases[task, stream_id] = record
        if is_run_id:
            record.run_id = record.run_id or stream_id
        else:
            record.provider_id = record.provider_id or stream_id

    def emit(self, record: Record, message_id: str) -> None:
        """Records that the first event of the message is about to be emitted, under this id."""
        record.id = message_id
        records = self._pending if record.owner.id is None or record.owner.in_tool else self._kept
        records[message_id] = record
        self._streaming[message_id] = record
        self._stored.pop(message_id, None)

    def emit_companion(self, record: Record, message_id: str) -> None:
        """Records that a companion of the record's message is about to be emitted, under this id."""
        companion = Record(record.owner, main=record)
        record.companions += (companion,)
        self.emit(companion, message_id)

    def emit_result(self, message_id: str, answers: str, owner: Owner) -> None:
        """Records that the complete result of a tool is about to be emitted. `answers`: the id that its tool call has
        in the checkpoint."""
        record = Record(owner)
        record.answers = answers
        self.emit(record, message_id)
        self.close(record)

    def dropped(self, message: Event, copy: Event | None) -> None:
        """Records that a snapshot makes the client drop a message, or replace that message with `copy`."""
        agent = message.get("subagentRunId")
        if copy is None:
            self._dropped[message["id"]] = agent
        kept = [tool_call["id"] for tool_call in (copy or {}).get("toolCalls", ())]
        ids = [tool_call["id"] for tool_call in message.get("toolCalls", ())]
        self.call_ids.dropped((tool_call_id for tool_call_id in ids if tool_call_id not in kept), agent)

    def suppress(self, record: Record, reason: Reason) -> None:
        """Records that no further events for the message are emitted, and logs the reason."""
        record.reason = record.reason or reason
        name = record.id or record.provider_id or record.run_id
        self._losses.drop("message", name, record.reason)

    def close(self, record: Record) -> None:
        """Records that the message and its companions have ended."""
        for ended in (*record.companions, record):
            ended.has_ended, ended.model_call = True, None

    def keep(self, ids: Iterable[str]) -> None:
        """Records that these messages stay with the client even if they are not stored (rule 5), for example because no
        snapshot can remove them from the client."""
        for message_id in ids:
            if message_id not in self._kept:
                record = self._pending.pop(message_id, None) or Record()
                record.id = message_id
                self._kept[message_id] = record

    def keep_until_end(self, ids: Collection[str]) -> None:
        """Records that these unsaved messages stay with the client until the run ends (`make_unsaved_pending`)."""
        self._until_end |= set(ids)
        self.keep(ids)

    def make_unsaved_pending(self) -> None:
        """Makes the messages that were passed to `keep_until_end` pending again, because the run has ended."""
        for message_id in self._until_end & self._kept.keys():
            self._pending[message_id] = self._kept.pop(message_id)
        self._until_end.clear()

    def read_checkpoint(self, ids: Collection[str]) -> None:
        """Records the ids of the messages of a checkpoint that was read during the stream."""
        self._read = set(ids)

    def take_brought(self, stored: Collection[str]) -> set[str]:
        """Returns the ids of the messages that earlier checkpoints have added but this checkpoint does not contain.
        Also records which messages this checkpoint adds. `stored`: the ids of this checkpoint's messages."""
        known = set(self._view.order)
        gone = (self._brought & known).difference(stored)
        self._brought = {item for item in stored if item in self._brought or item not in known}
        return gone

    def compared(self, stored: dict[str, Event], continued: Iterable[str], *, is_partial: bool = False) -> None:
        """Records that the client's copies of the messages equal the stored ones, except for the `continued` messages,
        which have streamed further. `is_partial`: whether the superstep has not ended, so that the client may still
        have messages that were stored earlier."""
        self._stored = stored = {**self._stored, **stored} if is_partial else stored
        for message_id in continued:
            stored.pop(message_id, None)

    def superstep_ended(self) -> None:
        """Records that a superstep of the root graph has ended, and forgets the messages that have ended (rule 6)."""
        self._pending = {key: record for key, record in self._pending.items() if not record.has_ended}
        self._read, self._brought = set(), set()
        self._streaming = {key: record for key, record in self._streaming.items() if not record.has_ended}
        self._aliases = {key: record for key, record in self._aliases.items() if not record.has_ended}
