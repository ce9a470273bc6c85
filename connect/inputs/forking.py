"""The checkpoint at which a thread forks: `Search`. Pure: `local` and `platform` feed it with checkpoints, the newest
first, and stop as soon as the search is complete.

Rules:

1. A thread's history has the branches that earlier forks left. Only the newest checkpoint and its ancestors count.
2. A turn with new messages starts from the newest ancestor without the message that they replace: all that the turn
   before did is kept.
3. A turn that is run again starts from the oldest of the consecutive ancestors at which its question is the last
   message: all that the turn itself did is done anew.
4. An edit is one only if no ancestor ever had the message as it was sent: a node may have rewritten it since (to hide
   a name, say), and a client without that change sends it as it was.
5. Messages that came in one superstep with the one that is replaced, and before it, go in again with a fork; unless
   that superstep removed others too, which they may replace.
6. A thread may keep no checkpoint that is old enough: it was begun by `update_state`, its runs were saved at their end
   only, old ones were deleted. Then the oldest is forked at, and its conversation is replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...translator import message_ids
from .messages import same_content
from .plan import Again, Fork
from .thread_state import ThreadState


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One checkpoint of a thread."""

    id: str
    parent_id: str | None
    messages: Sequence[Any]
    values: Mapping[str, Any]
    is_unfinished: bool
    """Whether a node is next."""
    run_id: str | None = None
    """The run that made it."""
    brought: Sequence[Any] = ()
    """Messages that a fork from it begins with."""
    is_replaced: bool = False
    """Whether a fork from it replaces its conversation."""

    @property
    def thread(self) -> ThreadState:
        """The state of the thread where it forks."""
        return ThreadState(
            messages=self.messages,
            values=self.values,
            is_unfinished=self.is_unfinished,
            brought=self.brought,
            is_replaced=self.is_replaced,
        )


class Search:
    """The search for the checkpoint that a plan forks at. Feed it until it `is_complete`, or nothing is left."""

    def __init__(self, wanted: Fork | Again) -> None:
        self._wanted = wanted
        self._found: Checkpoint | None = None
        self._oldest: Checkpoint | None = None
        self.is_no_edit = False
        """Whether the thread by_id the message once as it was sent."""
        self.is_complete = False
        """Whether older checkpoints can change nothing any more."""

    @property
    def found(self) -> Checkpoint | None:
        """The checkpoint, when the search is complete or no checkpoint is left; None if there is none."""
        if self._found is None and self._oldest is not None and isinstance(self._wanted, Fork) and not self.is_no_edit:
            before = _before(self._wanted.before, self._oldest)
            return replace(self._oldest, messages=(), brought=before, is_replaced=True)
        return self._found

    def feed(self, checkpoint: Checkpoint) -> None:
        """Takes the next older checkpoint of the thread, of whatever branch."""
        newer = self._oldest
        if self.is_complete or (newer is not None and checkpoint.id != newer.parent_id):
            return
        self._oldest = checkpoint
        by_id = _by_id(checkpoint)
        if isinstance(self._wanted, Fork):
            self._fork(checkpoint, newer, by_id, self._wanted)
        else:
            self._again(checkpoint, by_id, self._wanted)
        self.is_complete = self.is_complete or checkpoint.parent_id is None

    def _fork(self, checkpoint: Checkpoint, newer: Checkpoint | None, by_id: Mapping[str, Any], fork: Fork) -> None:
        if fork.before not in by_id:
            brought = () if newer is None else _brought(fork.before, checkpoint, newer)
            self._found, self.is_complete = replace(checkpoint, brought=brought), True
        elif fork.edited is not None and same_content(by_id[fork.before], fork.edited):
            self.is_no_edit = self.is_complete = True

    def _again(self, checkpoint: Checkpoint, by_id: dict[str, Any], again: Again) -> None:
        is_last = next(reversed(by_id), None) == again.after
        if is_last and checkpoint.is_unfinished:
            self._found = checkpoint
        self.is_complete = self._found is not None and not is_last


def _by_id(checkpoint: Checkpoint) -> dict[str, Any]:
    return dict(zip(message_ids(checkpoint.messages), checkpoint.messages, strict=True))


def _before(message_id: str, checkpoint: Checkpoint) -> tuple[Any, ...]:
    """The messages that stand before this one."""
    by_id = _by_id(checkpoint)
    return tuple(by_id.values())[: list(by_id).index(message_id)]


def _brought(message_id: str, older: Checkpoint, newer: Checkpoint) -> tuple[Any, ...]:
    """The messages before this one that came in one step with it."""
    there, by_id = _by_id(older), _by_id(newer)
    if not there.keys() <= by_id.keys():
        return ()
    before = list(by_id)[: list(by_id).index(message_id)]
    return tuple(by_id[each] for each in before if each not in there)
