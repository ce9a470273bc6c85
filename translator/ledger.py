"""Every fact about the messages and tool calls of one run that several rooms need: `Ledger`. Emits nothing itself.

A `Record` is one message: what a model call says, the result of a tool, an activity of a node. What a model call emits
beside its message (reasoning, media, results of tools that the provider runs) are messages too, and records of their
own. A record has two axes.

- *Emission*: how far the message has been emitted. `EMISSION_MOVES` has the legal moves.
- *Storage*: whether the checkpoint is known to have it. `STORAGE_MOVES` has the legal moves.

Rules

1. Only this module assigns to records. A move that is in neither table changes nothing: it is logged as an error, and
   the message is compared anew when the next `values` are reconciled.
2. A record without an id has emitted nothing. It gets its id when its first block is to be emitted, and keeps it.
3. A suppressed record emits no more while it streams; its `Reason` says why. The first reason stays.
4. Kept, because no checkpoint of the root graph has it: what a subagent emits, activities that nodes make, and what a
   client cannot be made to drop. All else is pending until the next `values` of the root graph, also what a model
   emits inside a tool, the root's or a subagent's. What the option `unsaved` keeps is kept from those values on; with
   `run` it is pending again when the run ends.
5. When a superstep of the root graph has been reconciled, what has ended is saved or removed, and forgotten. What still
   streams is pending until it has ended, together with what was emitted beside it. What is kept is known to the end of
   the run.
6. What is open on the wire is not noted here: the view knows it.

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
    """Messages that stream, and that a checkpoint read beside the stream has too."""

    continued: set[str]
    """Ids of messages that have streamed beyond what the checkpoint has: the client's copies stay."""
    renamed: set[str]
    """Ids that the client is to drop: messages that the checkpoint has under other ids, and those that an earlier
    checkpoint brought and this one does not have."""


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
        """The model call that says it, while it does; None for other messages."""
        self.main = self if main is None else main
        """The record beside which it is emitted; itself, if it is no such message."""
        self.beside: tuple[Record, ...] = ()
        """The messages emitted beside it."""
        self.id: str | None = None
        """The id it is emitted under; None: nothing has been emitted."""
        self.run_id: str | None = None
        """The id that LangChain made for it from the run of the model call."""
        self.provider_id: str | None = None
        """The id that the provider gave it."""
        self.emission = Emission.WAITING
        self.storage = Storage.UNSEEN
        self.reason: Reason | None = None
        """Why it is suppressed; None: it is not."""
        self.answers: str | None = None
        """Of a tool's result: the id of its call, as the checkpoint has it."""

    @property
    def ids(self) -> list[str]:
        """The ids of all that was emitted of it and beside it."""
        return [record.id for record in (*self.beside, self) if record.id is not None]

    @property
    def names(self) -> list[str]:
        """The ids under which a checkpoint may have it."""
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
        """Whether a checkpoint with these messages, and results for these calls, has it, under any of its ids."""
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
        """By task and id of a chunk: the record that took the id last."""
        self.latest: dict[Any, Record] = {}
        """By id of a chunk: the record of the latest chunk with this id, for the next one, which may continue it."""
        self._dropped: dict[str, str | None] = {}
        """By id: whose message the client had under an id and has no longer, as the `subagentRunId` of its events."""
        self._stored: dict[str, Event] = {}
        """By id: the stored messages when the client's copies were last compared with them, but for those under whose
        id something was emitted since."""
        self._read: set[str] = set()
        """Ids of messages that a checkpoint read beside the stream has; no reconciliation came since."""
        self._brought: set[str] = set()
        """Those of them that the client did not have before."""
        self._unsaved: set[str] = set()
        """Ids of messages that are kept only until the run ends."""

    # --- what is known --------------------------------------------------------------------------------------------

    def is_kept(self, message_id: str) -> bool:
        """Whether the message stays with the client, whatever the checkpoint has."""
        return message_id in self._kept

    def pending(self) -> set[str]:
        """The ids of the messages of which the next values say whether the checkpoint has them."""
        return set(self._pending)

    def ids_with(self, message_id: str) -> list[str]:
        """The ids of a message and of what was emitted beside it, as far as that is pending."""
        record = self._pending.get(message_id)
        return [message_id] if record is None else record.ids

    def not_stored(self, stored: Set[object], answered: Set[object]) -> set[str]:
        """The ids of pending messages that a checkpoint does not have, also not under other ids. `stored`: the ids of
        its messages; `answered`: the ids of the calls that its tool results answer."""
        return {key for key, record in self._pending.items() if not record.main.is_among(stored, answered)}

    def texts_not_stored(self, stored: Set[object]) -> dict[str, list[Event]]:
        """The pending assistant messages with text, as the client has them, that a checkpoint with messages of the ids
        `stored` does not have, by the node of the root graph that they are of; without those from inside a tool
        call."""
        missing = self.not_stored(stored, set())
        found: dict[str, list[Event]] = {}
        for each in self._view.messages:
            is_own = each["id"] in missing and "parentToolCallId" not in each.get("metadata", {})
            if is_own and each["role"] == "assistant" and each.get("content"):
                node = self.task(each["id"]).partition("|")[0].partition(":")[0]
                found.setdefault(node, []).append(each)
        return found

    def task(self, message_id: str) -> str:
        """The task (`langgraph_checkpoint_ns`) that a pending message is of; empty where its chunks named none."""
        return next((task for (task, _), record in self._aliases.items() if message_id in record.ids), "")

    def streaming(self, message_id: str) -> Record | None:
        """The record of the model call that says this message, if it has not ended."""
        record = self._streaming.get(message_id)
        return None if record is None or record.has_ended else record

    def of_stream_id(self, task: str, stream_id: str) -> Record | None:
        """The record of which a chunk in this task had this id, the last one; None if it has ended."""
        record = self._aliases.get((task, stream_id))
        return None if record is None or record.has_ended else record

    def opener(self, message_id: str, otherwise: str | None) -> str | None:
        """The `subagentRunId` of the message that a snapshot dropped under this id: only its agent may open the id
        again. `otherwise`: given where no message was dropped."""
        return self._dropped.get(message_id, otherwise)

    def is_read(self, record: Record) -> bool:
        """Whether a checkpoint that was read beside the stream has the message."""
        return bool(self._read) and not self._read.isdisjoint(record.names)

    def uncompared(self, stored: Mapping[str, Event]) -> list[str]:
        """The ids of those stored messages that the client's copies have not been compared with."""
        compared = map(self._stored.get, stored)
        return list(compress(stored, map(is_not, compared, stored.values())))

    def was_stored(self, message_id: str) -> bool:
        """Whether the message was among the stored ones when the client's copies were last compared with them."""
        return message_id in self._stored

    # --- moves ----------------------------------------------------------------------------------------------------

    def take_id(self, record: Record, task: str, stream_id: str, *, is_run_id: bool) -> None:
        """A chunk of the message, in this task, has this id. The first of each kind counts."""
        self._aliases[task, stream_id] = record
        if is_run_id:
            record.run_id = record.run_id or stream_id
        else:
            record.provider_id = record.provider_id or stream_id

    def emit(self, record: Record, message_id: str) -> None:
        """The first event of the message comes, under this id."""
        if self._move(record, "emit"):
            record.id = message_id
            self._store(record, "emit" if record.owner.id is None or record.owner.in_tool else "keep")
            self._streaming[message_id] = record
            self._stored.pop(message_id, None)

    def emit_beside(self, record: Record, message_id: str) -> None:
        """A message is emitted beside the record's: reasoning, media, the result of a tool that the provider runs."""
        beside = Record(record.owner, main=record)
        record.beside += (beside,)
        self.emit(beside, message_id)

    def emit_result(self, message_id: str, answers: str, owner: Owner) -> None:
        """A tool's result is emitted, whole; `answers` is the id of its call as the checkpoint has it."""
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
        """No more of the record is emitted."""
        if self._move(record, "suppress"):
            record.reason = record.reason or reason
            name = record.id or record.provider_id or record.run_id
            self._losses.drop("message", name, record.reason)

    def close(self, record: Record) -> None:
        """The message has ended, and what was emitted beside it."""
        for each in (*record.beside, record):
            if not each.has_ended:
                self._move(each, "close")
                each.call = None

    def keep(self, ids: Iterable[str]) -> None:
        """Messages stay with the client, whatever the checkpoint has: of a node, or such as it cannot be made to
        drop."""
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
        """A checkpoint was read beside the stream; it has the messages of these ids."""
        self._read = set(ids)

    def take_brought(self, wanted: Collection[str]) -> set[str]:
        """The ids of messages that came from earlier checkpoints read beside the stream, and are not in this one, whose
        ids are `wanted`."""
        known = set(self._view.order)
        gone = (self._brought & known).difference(wanted)
        self._brought = {item for item in wanted if item in self._brought or item not in known}
        return gone

    def compared(self, stored: dict[str, Event], continued: Iterable[str], *, is_partial: bool = False) -> None:
        """The client's copies of these messages are the stored ones, but for those that have streamed beyond them.
        `is_partial`: the superstep has not ended, and the client may still have messages that were stored before."""
        self._stored = stored = {**self._stored, **stored} if is_partial else stored
        for message_id in continued:
            stored.pop(message_id, None)

    def superstep_ended(self, *, is_compared: bool) -> None:
        """A superstep of the root graph has ended (rule 5). `is_compared`: the client was given what the checkpoint
        has, so that what it has now is stored."""
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
