"""The names of keys in Redis, their contents, and the messages of channels. No I/O.

The keys of a thread have one hash tag, so that they are in one slot. Ids are quoted in it, because they may have braces.

| key | contents | expires |
|---|---|---|
| `thread` | hash: `fence`; `ended` and `last` (the token of the last run that ended, and how, JSON); until a run has ended, its `token`, `claim` (JSON), lease (`until`, in ms), `status` (`lost` if it was handed over), `cancel`, and the `input` with which it can be started again; after the thread was deleted, `forgotten` (the fence up to which nothing is kept) | a day after the last run |
| `log:<fence>` | stream: `kind`, `at`, `frames`; ids are `<fence>-<number>`, from 1 on without gaps | a minute after its end, or later |
| `logs` | sorted set: the fences of the runs that have a log, and when each log expires | with the last log |
| `finished` | sorted set: the fences of the finished runs that are kept | with the last of them |
| `finished:<fence>` | hash: what is known of a finished run (`about`), and its `events` | as its `Retention` says |
| `line`, `alive` | list and hash: the tickets of inputs, and until when they are valid | after two leases |
| `closed` | the ticket that has closed the thread | after a lease |
| `readers:<fence>` | hash: the processes with readers of the run, and until when each note is valid | after two leases |
| `live` | channel: claims (`started`, and `back` from an owner whose lease had expired), `turn`, `mark`; earlier versions send entries too | |
| `appended` | channel: the fence of a run that has a new entry | |
| `agui:continuable:<namespace>` | sorted set: the threads whose runs have an input, each with the token of the run, and when it was claimed | a day after the last claim, or the last look for lost runs |
| `agui:{finished:<namespace>}:ages`, `:sizes` | sorted set and hash: the finished runs of a store, each with when it is dropped, in ms, and with the size of its events; the field `` has the size of all | with the last of them |
| `agui:handed-over:<namespace>` | channel: a run was handed over | |
| `agui:owner:<owner>` | channel of a process: the fence of a run that another process wants to stop, or no longer reads | |
| `agui:wake:<process>` | stream: gets an entry when the process should read other logs | after a minute |
| `agui:contact:<process>` | since when the process has been in contact with Redis, in ms | after a third of a lease |
| `agui:emptied` | when Redis was found to have lost its data, in ms; 0 if it has not lost any | after a day without contacts |
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from ..active_run import ThreadKey
from ..records import Claim, Entry, quoted
from ..run_database import Log, News

PREFIX: Final = "agui"
EMPTIED: Final = f"{PREFIX}:emptied"
STARTED: Final = "started"
BACK: Final = "back"
TURN: Final = "turn"
MARK: Final = "mark"
"""The kinds of messages."""


class Keys:
    """The names of one thread."""

    def __init__(self, thread: ThreadKey) -> None:
        self._tag = f"{PREFIX}:{{{quoted(thread.namespace)}:{quoted(thread.thread_id)}}}"
        self.thread = f"{self._tag}:thread"
        self.channel = f"{self._tag}:live"
        self.appended = f"{self._tag}:appended"
        self.line = f"{self._tag}:line"
        self.alive = f"{self._tag}:alive"
        self.closed = f"{self._tag}:closed"
        self.logs = f"{self._tag}:logs"
        self.finished = f"{self._tag}:finished"

    def log(self, fence: int) -> str:
        """Returns the key of the log of a run."""
        return f"{self._tag}:log:{fence}"

    def finished_run(self, fence: int) -> str:
        """Returns the key of a finished run."""
        return f"{self._tag}:finished:{fence}"

    def readers(self, fence: int) -> str:
        """Returns the key of the processes that have readers of a run."""
        return f"{self._tag}:readers:{fence}"


def owner_channel(owner: str) -> str:
    """Returns the channel of a process."""
    return f"{PREFIX}:owner:{owner}"


def continuable_key(namespace: str) -> str:
    """Returns the key of the runs of a namespace that have an input."""
    return f"{PREFIX}:continuable:{quoted(namespace)}"


def continuable(thread: ThreadKey, token: str) -> str:
    """Returns the name of a run there."""
    return f"{quoted(thread.thread_id)}:{token}"


def continuable_thread(namespace: str, name: bytes) -> ThreadKey:
    """Returns the thread of a run by its name there."""
    thread_id, _, _ = name.decode().partition(":")
    return ThreadKey(namespace, unquote(thread_id, errors="surrogatepass"))


def finished_keys(thread: ThreadKey) -> tuple[str, str]:
    """Returns the keys of the ages and the sizes of all finished runs of the store that has this thread. The namespace
    of a thread without checkpoints begins with that of the store."""
    tag = f"{PREFIX}:{{finished:{thread.namespace.partition(':')[0]}}}"
    return f"{tag}:ages", f"{tag}:sizes"


def finished_name(log: Log) -> str:
    """Returns the name of a finished run there."""
    return f"{quoted(log.thread.namespace)}:{quoted(log.thread.thread_id)}:{log.fence}"


def finished_log(name: bytes) -> Log:
    """Returns the run that has this name there."""
    *ids, fence = name.decode().split(":")
    namespace, thread_id = (unquote(part, errors="surrogatepass") for part in ids)
    return Log(ThreadKey(namespace, thread_id), int(fence))


def handed_over_channel(namespace: str) -> str:
    """Returns the channel for runs of a namespace that are handed over."""
    return f"{PREFIX}:handed-over:{quoted(namespace)}"


def wake_key(process: str) -> str:
    """Returns the key of the stream that interrupts the reader of a process."""
    return f"{PREFIX}:wake:{process}"


def contact_key(process: str) -> str:
    """Returns the key of the contact of a process."""
    return f"{PREFIX}:contact:{process}"


def news_of(message: bytes) -> News | None:
    """Reads a message of a thread's channel. Returns None for an entry, and for a kind that only later versions
    know."""
    head, _, body = message.partition(b"\n")
    kind, entry_id, _ = head.split(b" ")
    fence, _ = _parsed(entry_id)
    if kind == STARTED.encode():
        return News("started", fence, Claim.from_json(body))
    if kind == BACK.encode():
        return News("back", fence, Claim.from_json(body))
    if kind == TURN.encode():
        return News("turn")
    if kind == MARK.encode():
        return News("mark", mark=body.decode())
    return None


def entry_of(entry_id: bytes, fields: Mapping[bytes, bytes]) -> Entry:
    """Reads an entry of a log."""
    return Entry(*_parsed(entry_id), fields[b"kind"].decode(), int(fields[b"at"]), fields[b"frames"])


def _parsed(entry_id: bytes) -> tuple[int, int]:
    fence, number = entry_id.split(b"-")
    return int(fence), int(number)
