"""The checkpoint at which a thread forks: `Search`, fed with checkpoints, the newest first. Pure; whoever has a
checkpointer or a platform feeds it, and stops as soon as it is settled.

Rules:

1. A thread's history has the branches that earlier forks left. Only the newest checkpoint and its ancestors count.
2. A turn with new messages starts from the newest ancestor that does not hold the message that they replace: all that
   the turn before did is kept.
3. A turn that is run again starts from the oldest of the ancestors in a row at which its question is the last message:
   all that the turn itself did is done anew.
4. An edit is one only if no ancestor ever held the message as it was sent: a node may have rewritten it since (to hide
   a name, say), and a client that was not told yet sends it as it was.
5. Messages that came in one step with the one that is replaced, and stand before it, go in again with a fork; unless
   that step removed others too, and they may stand for those.
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
    """Whether something is next."""
    run_id: str | None = None
    """The run that made it."""
    lacks: Sequence[Any] = ()
    """Messages that a fork from it begins with."""
    is_replaced: bool = False
    """Whether a fork from it replaces its conversation."""

    @property
    def standing(self) -> ThreadState:
        """How the thread stands where it forks."""
        return ThreadState(
            messages=self.messages,
            values=self.values,
            is_unfinished=self.is_unfinished,
            lacks=self.lacks,
            is_replaced=self.is_replaced,
        )


class Search:
    """The search for the checkpoint that a plan forks at. Feed it until it `is_settled`, or nothing is left."""

    def __init__(self, wanted: Fork | Again) -> None:
        self._wanted = wanted
        self._found: Checkpoint | None = None
        self._oldest: Checkpoint | None = None
        self.is_no_edit = False
        """Whether the thread held the message once as it was sent."""
        self.is_settled = False
        """Whether older checkpoints can change nothing any more."""

    @property
    def found(self) -> Checkpoint | None:
        """The checkpoint, when it is settled or nothing is left; None if there is none."""
        if self._found is None and self._oldest is not None and isinstance(self._wanted, Fork) and not self.is_no_edit:
            before = _before(self._wanted.before, self._oldest)
            return replace(self._oldest, messages=(), lacks=before, is_replaced=True)
        return self._found

    def feed(self, checkpoint: Checkpoint) -> None:
        """Takes the next older checkpoint of the thread, of whatever branch."""
        newer = self._oldest
        if self.is_settled or (newer is not None and checkpoint.id != newer.parent_id):
            return
        self._oldest = checkpoint
        held = _by_id(checkpoint)
        if isinstance(self._wanted, Fork):
            self._fork(checkpoint, newer, held, self._wanted)
        else:
            self._again(checkpoint, held, self._wanted)
        self.is_settled = self.is_settled or checkpoint.parent_id is None

    def _fork(self, checkpoint: Checkpoint, newer: Checkpoint | None, held: Mapping[str, Any], fork: Fork) -> None:
        if fork.before not in held:
            lacks = () if newer is None else _brought(fork.before, checkpoint, newer)
            self._found, self.is_settled = replace(checkpoint, lacks=lacks), True
        elif fork.edited is not None and same_content(held[fork.before], fork.edited):
            self.is_no_edit = self.is_settled = True

    def _again(self, checkpoint: Checkpoint, held: dict[str, Any], again: Again) -> None:
        is_last = next(reversed(held), None) == again.after
        if is_last and checkpoint.is_unfinished:
            self._found = checkpoint
        self.is_settled = self._found is not None and not is_last


def _by_id(checkpoint: Checkpoint) -> dict[str, Any]:
    return dict(zip(message_ids(checkpoint.messages), checkpoint.messages, strict=True))


def _before(message_id: str, checkpoint: Checkpoint) -> tuple[Any, ...]:
    """The messages that stand before this one."""
    held = _by_id(checkpoint)
    return tuple(held.values())[: list(held).index(message_id)]


def _brought(message_id: str, older: Checkpoint, newer: Checkpoint) -> tuple[Any, ...]:
    """The messages before this one that came in one step with it."""
    there, held = _by_id(older), _by_id(newer)
    if not there.keys() <= held.keys():
        return ()
    before = list(held)[: list(held).index(message_id)]
    return tuple(held[each] for each in before if each not in there)
