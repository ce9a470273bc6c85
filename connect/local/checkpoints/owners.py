"""The metadata of threads of a checkpointer: which agent owns one, and what its users are kept apart by. What follows
from them is `access`'s.

They are known from the runs of this process, and from the metadata of the thread's checkpoints, where each run leaves
them. The newest may be without them (`update_state` and runs of others drop them), so the first one is read too, and
the newest ones that a run began with. Of a key that several have, the oldest counts: owners never change. So what is
known is kept, also when the thread is deleted; the whole history is never read.
"""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ...access import MARK, Access, Metadata, owner_of
from ...recent import Recent
from ..store.active_run import ThreadKey

_MOST = 10_000
_INPUTS = 16
"""Checkpoints that a run began with that are looked through, the newest first."""
_BEGIN = {"source": "input"}


class Owners:
    """The metadata of threads as far as this process knows them; by checkpointer and thread id."""

    def __init__(self) -> None:
        self._known: Recent[ThreadKey, Metadata] = Recent(_MOST)
        self._read: Recent[ThreadKey, str] = Recent(_MOST)
        """Threads whose checkpoints were read, and the newest one then: there are no other metadata in them."""

    def known(self, key: ThreadKey) -> Metadata | None:
        """The thread's metadata, if this process knows some already."""
        return self._known.get(key)

    def note(self, key: ThreadKey, metadata: Metadata) -> dict[str, Any]:
        """Gives a thread those of these metadata that it does not have; its metadata of these keys."""
        self._known[key] = known = {**metadata, **self._known.get(key, {})}
        return {name: known[name] for name in metadata}

    async def find(self, key: ThreadKey, saver: BaseCheckpointSaver[Any], access: Access) -> Metadata | None:
        """The metadata of a thread that is to be used, as far as `access` depends on them; None if there is no such
        thread. Raises what the checkpointer raises."""
        known = self._known.get(key)
        if known is not None and access.keys <= known.keys():
            return known
        thread: Any = {"configurable": {"thread_id": key.thread_id, "checkpoint_ns": ""}}
        newest = await saver.aget_tuple(thread)
        if newest is None:
            return self._known.get(key)  # a run may have begun meanwhile
        if access.keys == {MARK} and owner_of(newest.metadata) == access.agent:
            self.note(key, {MARK: access.agent})
        elif self._read.get(key) != newest.checkpoint["id"]:
            found = await _metadata(saver, thread, {"step": -1}, 1)
            if not access.keys <= found.keys():
                found = {**await later_metadata(saver, thread, newest), **found}
                self._read[key] = newest.checkpoint["id"]
            self.note(key, found)
        return self._known.get(key, {})


async def later_metadata(saver: BaseCheckpointSaver[Any], thread: Any, newest: CheckpointTuple) -> dict[str, Any]:
    """The metadata of a thread that are not in its first checkpoint. `newest`: its newest one."""
    return {**scalars(newest.metadata), **await _metadata(saver, thread, _BEGIN, _INPUTS)}


async def _metadata(saver: BaseCheckpointSaver[Any], thread: Any, which: Any, limit: int) -> dict[str, Any]:
    """The metadata of the newest checkpoints of these; of a key that several have, the oldest's."""
    found: dict[str, Any] = {}
    async for each in saver.alist(thread, filter=which, limit=limit):
        found.update(scalars(each.metadata))
    return found


def scalars(metadata: Metadata) -> dict[str, Any]:
    """The metadata that a run can leave in a checkpoint."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float)}
