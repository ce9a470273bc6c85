"""Which agent owns a thread: the one that ran on it first. An agent is its name here. Never who may use an
agent (that is the app's `authorize`).

The owner is known from, the first of these that names it:

1. The runs of this process.
2. `agui_agent` in the metadata of the thread's checkpoints, where each run of a named agent leaves it. The newest may
   be without it (`update_state` and runs of others drop it), so the first one is read too, and the newest ones that a
   run began with. A thread has one owner, so any mark names it: a run of an agent that shares it leaves the owner's.

A thread without a mark belongs to no agent: every agent may read it, and the next one that runs on it owns it. An owner
never changes, so it is kept, also when the thread is deleted; the whole history is never read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver

MARK: Final = "agui_agent"
"""The metadata key that names the owner of a thread."""

_MOST = 10_000
_INPUTS = 16
"""Checkpoints that a run began with that are looked through for a mark, the newest first."""

_Key = tuple[Hashable, str]


class Owners:
    """The owners of threads as far as this process knows them; by checkpointer and thread id."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, str] = OrderedDict()
        self._unowned: OrderedDict[_Key, str] = OrderedDict()
        """Threads that belong to no agent, and the newest checkpoint they had then."""

    def known(self, key: _Key) -> str | None:
        """The owner, if this process knows it already."""
        return self._known.get(key)

    def note(self, key: _Key, agent: str) -> str:
        """Makes an agent the owner of a thread that has none; the owner."""
        owner = self._known.setdefault(key, agent)
        self._known.move_to_end(key)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return owner

    async def find(self, key: _Key, saver: BaseCheckpointSaver[Any], agent: str) -> str | None:
        """The owner of a thread, which `agent` asks for; None if it belongs to none. Raises what the checkpointer
        raises."""
        if key in self._known:
            return self._known[key]
        thread: Any = {"configurable": {"thread_id": key[1], "checkpoint_ns": ""}}
        newest = await saver.aget_tuple(thread)
        if newest is None or self._unowned.get(key) == newest.checkpoint["id"]:
            return self._known.get(key)  # a run may have begun meanwhile
        owner = mark_of(newest.metadata)
        if owner != agent:
            owner = await _first_mark(saver, thread) or owner
        if owner is not None:
            return self.note(key, owner)
        self._unowned[key] = newest.checkpoint["id"]
        if len(self._unowned) > _MOST:
            self._unowned.popitem(last=False)
        return self._known.get(key)


async def _first_mark(saver: BaseCheckpointSaver[Any], thread: Any) -> str | None:
    """The mark of the thread's first checkpoint, or else the oldest among those of its newest inputs."""
    for which, limit in (({"step": -1}, 1), ({"source": "input"}, _INPUTS)):
        marks = [mark_of(each.metadata) async for each in saver.alist(thread, filter=which, limit=limit)]
        found = next((mark for mark in reversed(marks) if mark is not None), None)
        if found is not None:
            return found
    return None


def mark_of(metadata: Mapping[str, Any] | None) -> str | None:
    """The owner that metadata name."""
    mark = (metadata or {}).get(MARK)
    return mark if isinstance(mark, str) and mark else None
