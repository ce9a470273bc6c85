"""`Owners`: the metadata that say which agent owns a thread of a checkpointer, and which users may use it. `access`
decides what follows from them.

They come from the runs of this process, and from the metadata of the thread's checkpoints, where each run leaves them.
The newest checkpoint may lack them (`update_state` and runs of other programs drop them), so the first one is read too,
and the newest ones with which runs began. If several have the same key, the oldest counts, because owners never change.
Therefore known metadata are kept, even if the thread is deleted. The whole history is never read.
"""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ...access import MARK, Access, Metadata, owner_of
from ...recent import Recent
from ..store.active_run import ThreadKey

_MOST = 10_000
_INPUTS = 16
"""Checkpoints with which runs began that are read, at most, the newest first."""
_BEGIN = {"source": "input"}


class Owners:
    """The metadata of threads that this process knows, by checkpointer and thread id."""

    def __init__(self) -> None:
        self._known: Recent[ThreadKey, Metadata] = Recent(_MOST)
        self._read: Recent[ThreadKey, str] = Recent(_MOST)
        """By thread: the newest checkpoint when its checkpoints were read. They need not be read again up to there."""

    def known(self, key: ThreadKey) -> Metadata | None:
        """Returns the thread's metadata, if this process knows any."""
        return self._known.get(key)

    def with_known(self, key: ThreadKey, metadata: Metadata) -> dict[str, Any]:
        """Returns these metadata, with the thread's own values where this process knows them."""
        known = self._known.get(key, {})
        return {name: known.get(name, value) for name, value in metadata.items()}

    def note(self, key: ThreadKey, metadata: Metadata) -> dict[str, Any]:
        """Adds these metadata to those of a thread, whose own take precedence. Returns the thread's metadata of these
        keys."""
        self._known[key] = {**metadata, **self._known.get(key, {})}
        return self.with_known(key, metadata)

    async def find(self, key: ThreadKey, saver: BaseCheckpointSaver[Any], access: Access) -> Metadata | None:
        """Returns the metadata of a thread, as far as `access` depends on them; None if there is no such thread. Raises
        what the checkpointer raises."""
        remembered = self._known.get(key)
        if remembered is not None and access.keys <= remembered.keys():
            return remembered
        thread: Any = {"configurable": {"thread_id": key.thread_id, "checkpoint_ns": ""}}
        newest = await saver.aget_tuple(thread)
        if newest is None:
            return self._known.get(key)  # a run may have begun meanwhile
        if access.keys == {MARK} and owner_of(newest.metadata) == access.agent:
            self.note(key, {MARK: access.agent})
        elif self._read.get(key) != newest.checkpoint["id"]:
            metadata = await _metadata(saver, thread, {"step": -1}, 1)
            if not access.keys <= metadata.keys():
                metadata = {**await later_metadata(saver, thread, newest), **metadata}
                self._read[key] = newest.checkpoint["id"]
            self.note(key, metadata)
        return self._known.get(key, {})


async def later_metadata(saver: BaseCheckpointSaver[Any], thread: Any, newest: CheckpointTuple) -> dict[str, Any]:
    """Returns the metadata of a thread that its first checkpoint may lack. `newest`: its newest checkpoint."""
    return {**scalars(newest.metadata), **await _metadata(saver, thread, _BEGIN, _INPUTS)}


async def _metadata(saver: BaseCheckpointSaver[Any], thread: Any, which: Any, limit: int) -> dict[str, Any]:
    """Returns the metadata of the newest checkpoints that match. If several have the same key, the oldest counts."""
    metadata: dict[str, Any] = {}
    async for checkpoint in saver.alist(thread, filter=which, limit=limit):
        metadata.update(scalars(checkpoint.metadata))
    return metadata


def scalars(metadata: Metadata) -> dict[str, Any]:
    """Returns the metadata that a run can leave in a checkpoint."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float)}
