"""Every fact about the messages and tool calls of one run that several rooms need: `Ledger`. Emits nothing itself.

A `Record` is one message: what a model call says, the result of a tool, or an activity of a node. A model call also
emits messages next to its own: reasoning, media, and results of tools that the provider runs. Each of them has a record
of its own. A record has two independent states.

- *Emission*: how far the message has been emitted. `EMISSION_MOVES` has the legal moves.
- *Storage*: whether the checkpoint is known to have it. `STORAGE_MOVES` has the legal moves.

Rules

1. Only this module assigns to records. A move that is in neither table changes nothing: it is logged as an error, and
   the message is compared again when the next `values` are reconciled.
2. A record without an id has emitted nothing. It gets its id just before its first block is emitted, and keeps it.
3. A suppressed record emits nothing more while it streams; its `Reason` says why. The first reason stays.
4. A message is kept if no checkpoint of the root graph will have it: what a subagent emits, activities that nodes make,
   and what a client cannot be made to drop. Every other message is pending until the next `values` of the root graph,
   even what a model emits inside a tool of the root or of a subagent. Text that the option `unsaved` keeps is kept from
   those values on; with `run` it is pending again when the run ends.
5. When a superstep of the root graph has been reconciled, each message that has ended is saved or removed, and then
   forgotten. A message that still streams stays pending until it ends, together with the messages emitted next to it.
   Kept messages are remembered until the run ends.
6. This module does not record what is open on the wire: the view knows that.

Tool calls are in `calls.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from enum import Enum
from itertools import compress
from operator import is_not
from typing import Any, Final, NamedTuple

from .calls import Calls
from .client.view import ClientView
from .losses import Losses, Reason
from .owner import RUN, Owner
from .wire.events import Event


class Overlap(NamedTuple):
    """Messages that are streaming and that a checkpoint read during the stream also has."""

    continued: set[str]
    """Ids of messages that have streamed beyond what the checkpoint has: the client's copies stay."""
    renamed: set[str]
    """Ids that the client must drop: those of messages that the checkpoint has under other ids, and those of messages
    that an earlier checkpoint brought and this one does not have."""


class Emission(Enum):
    """How far a message has been emitted."""

    WAITING = "nothing has been emitted"
    STREAMING = "some has been emitted, and more may come"
    SUPPRESSED = "it streams, and no more of it is emitted"
    CLOSED = "it has ended"


class Storage(Enum):
    """Whether the checkpoint is known to have a message."""

    UNSEEN = "nothing has been emitted that a checkpoint could have"
    PENDING = "the next values of the root graph say whether the checkpoint has it"
    SAVED = "the checkpoint has it"
    REMOVED = "the client was made to drop it: it is not stored, or under another id"
    KEPT = "it stays with the client, whatever the checkpoint has"
    UNCOMPARED = "its superstep has ended, and the values had no messages to compare it with"


EMISSION_MOVES: Final[Mapping[tuple[Emission, str], Emission]] = {
    (Emission.WAITING, "emit"): Emission.STREAMING,
    (Emission.WAITING, "suppress"): Emission.SUPPRESSED,
    (Emission.WAITING, "close"): Emission.CLOSED,
    (Emission.STREAMING, "suppress"): Emission.SUPPRESSED,
    (Emission.STREAMING, "close"): Emission.CLOSED,
    (Emission.SUPPRESSED, "suppress"): Emission.SUPPRESSED,
    (Emission.SUPPRESSED, "close"): Emission.CLOSED,
    (Emission.CLOSED, "suppress"): Emission.CLOSED,
}
STORAGE_MOVES: Final[Mapping[tuple[Storage, str], Storage]] = {
    (Storage.UNSEEN, "emit"): Storage.PENDING,
    (Storage.UNSEEN, "keep"): Storage.KEPT,
    (Storage.PENDING, "keep"): Storage.KEPT,
    (Storage.PENDING, "save"): Storage.SAVED,
    (Storage.PENDING, "remove"): Storage.REMOVED,
    (Storage.PENDING, "pass"): Storage.UNCOMPARED,
    (Storage.KEPT, "release"): Storage.PENDING,
}


class Record:
    """One message of the run. Its attributes are read only; `Ledger` assigns to them."""

    __slots__ = (
        "answers",
        "beside",
        "call",
        "emission",
        "id",
        "main",
        "owner",
        "provider_id",
        "reason",
        "run_id",
        "storage",
    )

    def __init__(self, owner: Owner = RUN, call: object = None, main: Record | None = None) -> None:
        self.owner = owner
        self.call = call
        """The model call that is saying it; None for other messages, and once the call has ended."""
        self.main = self if main is None else main
        """The record of the message that this one is emitted next to. A message that stands for itself is its own."""
        self.beside: tuple[Record, ...] = ()
        """The records of the messages that are emitted next to it."""
        self.id: str | None = None
        """The id it is emitted under; None if nothing has been emitted."""
        self.run_id: str | None = None
        """The id that LangChain made for it from the run of the model call."""
        self.provider_id: str | None = None
        """The id that the provider gave it."""
        self.emission = Emission.WAITING
        self.storage = Storage.UNSEEN
        self.reason: Reason | None = None
        """Why it is suppressed; None if it is not."""
        self.answers: str | None = None
        """For the result of a tool: the id of its call, as the checkpoint has it."""

    @property
    def ids(self) -> list[str]:
        """The ids of the message and of the messages next to it, as far as they have been emitted."""
        return [record.id for record in (*self.beside, self) if record.id is not None]

    @property
    def names(self) -> list[str]:
        """The ids that the message may have in a checkpoint."""
        return [name for name in (self.id, self.provider_id, self.run_id) if name]

    @property
    def is_suppressed(self) -> bool:
        """Whether nothing more of it is emitted."""
        return self.reason is not None

    @property
    def has_ended(self) -> bool:
        """Whether the message has ended."""
        return self.emission is Emission.CLOSED

    def is_among(self, stored: Set[object], answered: Set[object]) -> bool:
        """Whether a checkpoint has the message under any of its ids. `stored`: the ids of the checkpoint's messages;
        `answered`: the ids of the calls that its results answer."""
        if self.answers is not None:
            return self.answers in answered
        return not stored.isdisjoint(self.names)


class Ledger:
    """The messages of one run, by the ids they are emitted under."""

    def __init__(self, view: ClientView, losses: Losses) -> None:
        self._view = view
        self._losses = losses
        self.calls = Calls(view)
        self._pending: dict[str, Record] = {}
        """By id: the records whose storage is `PENDING`."""
        self._kept: dict[str, Record] = {}
        """By id: the records whose storage is `KEPT`."""
        self._streaming: dict[str, Record] = {}
        """By id: the record that was emitted under it last."""
        self._aliases: dict[tuple[str, str], Record] = {}
        """By task and id of a chunk: the last record that took the id."""
        self.latest: dict[Any, Record] = {}
        """By id of a chunk: the record of the latest chunk with this id, for the next one, which may continue it."""
        self._dropped: dict[str, str | None] = {}
        """The owners of messages that a snapshot made the client drop, as the `subagentRunId` of their events, by
        id."""
        self._stored: dict[str, Event] = {}
        """By id: the stored messages as they were when the client's copies were last compared with them. A message is
        taken out when something is emitted under its id."""
        self._read: set[str] = set()
        """Ids of the messages of the last checkpoint that was read during the stream; empty after a reconciliation."""
        self._brought: set[str] = set()
        """Ids of the messages that such checkpoints brought to the client."""
        self._unsaved: set[str] = set()
        """Ids of messages that are kept only until the run ends."""

    # --- what is known --------------------------------------------------------------------------------------------

    def is_kept(self, message_id: str) -> bool:
        """Whether the message stays with the client, whatever the checkpoint has."""
        return message_id in self._kept

    def pending(self) -> set[str]:
        """The ids of the pending messages: the next values say whether the checkpoint has them."""
        return set(self._pending)

    def ids_with(self, message_id: str) -> list[str]:
        """The ids of a message and of the messages emitted next to it, if they are pending."""
        record = self._pending.get(message_id)
        return [message_id] if record is None else record.ids

    def not_stored(self, stored: Set[object], answered: Set[object]) -> set[str]:
        """The ids of pending messages that a checkpoint does not have under any id. `stored`: the ids of the
        checkpoint's messages; `answered`: the ids of the calls that its tool results answer."""
        return {key for key, record in self._pending.items() if not record.main.is_among(stored, answered)}

    def texts_not_stored(self, stored: Set[object]) -> dict[str, list[Event]]:
        """The pending assistant messages with text that a checkpoint does not have, as the client has them, by the name
        of the node of the root graph that said them. Messages from inside a tool call are left out. `stored`: the ids
        of the checkpoint's messages."""
        missing = self.not_stored(stored, set())
        by_node: dict[str, list[Event]] = {}
        for message in self._view.messages:
            is_own = message["id"] in missing and "parentToolCallId" not in message.get("metadata", {})
            if is_own and message["role"] == "assistant" and message.get("content"):
                node = self.task(message["id"]).partition("|")[0].partition(":")[0]
                by_node.setdefault(node, []).append(message)
        return by_node

    def task(self, message_id: str) -> str:
        """The task (`langgraph_checkpoint_ns`) that a pending message comes from; empty if its chunks did not name
        one."""
        return next((task for (task, _), record in self._aliases.items() if message_id in record.ids), "")

    def streaming(self, message_id: str) -> Record | None:
        """The record of the model call that is saying this message; None if it has ended."""
        record = self._streaming.get(message_id)
        return None if record is None or record.has_ended else record

    def of_stream_id(self, task: str, stream_id: str) -> Record | None:
        """The last record that had a chunk with this id in this task; None if it has ended."""
        record = self._aliases.get((task, stream_id))
        return None if record is None or record.has_ended else record

    def opener(self, message_id: str, otherwise: str | None) -> str | None:
        """The `subagentRunId` of the message with this id that a snapshot dropped: only its agent may open the id
        again. `otherwise`: returned if no message was dropped."""
        return self._dropped.get(message_id, otherwise)

    def is_read(self, record: Record) -> bool:
        """Whether a checkpoint that was read during the stream has the message."""
        return bool(self._read) and not self._read.isdisjoint(record.names)

    def uncompared(self, stored: Mapping[str, Event]) -> list[str]:
        """The ids of the stored messages that have not been compared with the client's copies."""
        compared = map(self._stored.get, stored)
        return list(compress(stored, map(is_not, compared, stored.values())))

    def was_stored(self, message_id: str) -> bool:
        """Whether the message was among the stored ones when the client's copies were last compared with them."""
        return message_id in self._stored

    # --- moves ----------------------------------------------------------------------------------------------------

    def take_id(self, record: Record, task: str, stream_id: str, *, is_run_id: bool) -> None:
        """A chunk of the message, in this task, has this id. The first id of each kind counts."""
        self._aliases[task, stream_id] = record
        if is_run_id:
            record.run_id = record.run_id or stream_id
        else:
            record.provider_id = record.provider_id or stream_id

    def emit(self, record: Record, message_id: str) -> None:
        """The first event of the message is about to be emitted, under this id."""
        if self._move(record, "emit"):
            record.id = message_id
            self._store(record, "emit" if record.owner.id is None or record.owner.in_tool else "keep")
            self._streaming[message_id] = record
            self._stored.pop(message_id, None)

    def emit_beside(self, record: Record, message_id: str) -> None:
        """A message is emitted next to the record's: reasoning, media, the result of a tool that the provider runs."""
        beside = Record(record.owner, main=record)
        record.beside += (beside,)
        self.emit(beside, message_id)

    def emit_result(self, message_id: str, answers: str, owner: Owner) -> None:
        """The result of a tool is emitted whole; `answers` is the id of its call as the checkpoint has it."""
        record = Record(owner)
        record.answers = answers
        self.emit(record, message_id)
        self.close(record)

    def dropped(self, message: Event, copy: Event | None) -> None:
        """A snapshot makes the client drop a message, or replace it by this copy."""
        agent = message.get("subagentRunId")
        if copy is None:
            self._dropped[message["id"]] = agent
        kept = [call["id"] for call in (copy or {}).get("toolCalls", ())]
        self.calls.dropped((call["id"] for call in message.get("toolCalls", ()) if call["id"] not in kept), agent)

    def suppress(self, record: Record, reason: Reason) -> None:
        """Nothing more of the message is emitted."""
        if self._move(record, "suppress"):
            record.reason = record.reason or reason
            name = record.id or record.provider_id or record.run_id
            self._losses.drop("message", name, record.reason)

    def close(self, record: Record) -> None:
        """The message has ended, and so have the messages that were emitted next to it."""
        for ended in (*record.beside, record):
            if not ended.has_ended:
                self._move(ended, "close")
                ended.call = None

    def keep(self, ids: Iterable[str]) -> None:
        """Messages stay with the client, whatever the checkpoint has: they were made by a node, or the client cannot be
        made to drop them."""
        for message_id in ids:
            if message_id not in self._kept:
                record = self._pending.get(message_id) or Record()
                record.id = message_id
                self._store(record, "keep")

    def keep_unsaved(self, ids: Collection[str]) -> None:
        """Messages that no checkpoint has stay with the client until the run ends (`release_unsaved`)."""
        self._unsaved |= set(ids)
        self.keep(ids)

    def release_unsaved(self) -> None:
        """The run has ended: what `keep_unsaved` kept is pending again."""
        for message_id in self._unsaved & self._kept.keys():
            self._store(self._kept[message_id], "release")
        self._unsaved.clear()

    def on_checkpoint(self, ids: Collection[str]) -> None:
        """A checkpoint was read during the stream; it has the messages with these ids."""
        self._read = set(ids)

    def take_brought(self, stored: Collection[str]) -> set[str]:
        """The ids of messages that earlier checkpoints read during the stream brought, and that this one does not have.
        `stored`: the ids of the messages of this checkpoint."""
        known = set(self._view.order)
        gone = (self._brought & known).difference(stored)
        self._brought = {item for item in stored if item in self._brought or item not in known}
        return gone

    def compared(self, stored: dict[str, Event], continued: Iterable[str], *, is_partial: bool = False) -> None:
        """The client's copies of the messages equal the stored ones, except the `continued` messages, which have
        streamed beyond them. `is_partial`: the superstep has not ended, and the client may still have messages that
        were stored before."""
        self._stored = stored = {**self._stored, **stored} if is_partial else stored
        for message_id in continued:
            stored.pop(message_id, None)

    def superstep_ended(self, *, is_compared: bool) -> None:
        """A superstep of the root graph has ended (rule 5). `is_compared`: the client was brought to what the
        checkpoint has, so every message that it still has is stored."""
        for message_id, record in [(key, record) for key, record in self._pending.items() if record.has_ended]:
            move = "save" if self._view.has(message_id) else "remove"
            self._store(record, move if is_compared else "pass")
        self._read, self._brought = set(), set()
        self._streaming = {key: record for key, record in self._streaming.items() if not record.has_ended}
        self._aliases = {key: record for key, record in self._aliases.items() if not record.has_ended}

    def _move(self, record: Record, move: str) -> bool:
        after = EMISSION_MOVES.get((record.emission, move))
        if after is None:
            self._refuse(record, move, record.emission.name)
            return False
        record.emission = after
        return True

    def _store(self, record: Record, move: str) -> None:
        after = STORAGE_MOVES.get((record.storage, move))
        if after is None or record.id is None:
            self._refuse(record, move, record.storage.name)
            return
        record.storage = after
        for storage, records in ((Storage.PENDING, self._pending), (Storage.KEPT, self._kept)):
            if after is storage:
                records[record.id] = record
            elif records.get(record.id) is record:
                del records[record.id]

    def _refuse(self, record: Record, move: str, state: str) -> None:
        for message_id in record.ids:
            self._stored.pop(message_id, None)
        self._losses.illegal_move(f"The move {move!r} of the message {record.id!r}, which is {state}")
