"""Finds the checkpoint at which a thread forks: `Search`. No I/O: `local` and `platform` feed it with checkpoints,
newest first, and stop as soon as the search is complete.

Rules:

1. The history of a thread contains the branches of earlier forks. Only the newest checkpoint and its ancestors count.
2. A turn with new messages starts from the newest ancestor that lacks the message that they replace. Everything that
   the turn before did is kept.
3. A turn that is run again starts from the oldest of the consecutive ancestors in which its question is the last
   message. Everything that the turn itself did is done again.
4. A message is an edit only if no ancestor has ever had the content that was sent. A node may have rewritten the
   message since, to hide a name for example, and a client that did not get the change sends the original.
5. Messages that were added in the same superstep as the replaced one, and before it, are added again by the fork. But
   if that superstep also removed messages, they may be replacements, and are not added.
6. A thread may have no checkpoint that is old enough: it was begun by `update_state`, its runs were saved only at their
   end, old checkpoints were deleted, or the checkpoint is more than `MOST` back. Then the thread forks at its oldest
   checkpoint, and the conversation there is replaced.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ...translator import message_ids
from ..thread_info import Checkpoint
from .messages import same_content
from .plan import Again, Fork
from .thread_state import ThreadState

MOST: Final = 1_000
"""The maximum number of checkpoints that are read."""


class _Search(Protocol):
    @property
    def is_complete(self) -> bool: ...
    def feed(self, checkpoint: Checkpoint) -> None: ...


_AnySearch = TypeVar("_AnySearch", bound=_Search)


async def run_search(search: _AnySearch, checkpoints: AsyncGenerator[Checkpoint, None]) -> _AnySearch:
    """Feeds a search with a thread's checkpoints, newest first, until it is complete, and returns it. Raises what
    reading the checkpoints raises."""
    async with aclosing(checkpoints):
        while not search.is_complete and (checkpoint := await anext(checkpoints, None)) is not None:
            search.feed(checkpoint)
    return search


class ForkPoint(NamedTuple):
    """A checkpoint at which a thread forks."""

    checkpoint: Checkpoint
    messages: Sequence[Any]
    """The conversation in this checkpoint."""
    brought: Sequence[Any] = ()
    """Messages that the fork adds before the new ones; see rule 5."""
    is_replaced: bool = False
    """Whether the fork replaces the conversation; see rule 6."""

    @property
    def thread(self) -> ThreadState:
        """The state of the thread at the point where it forks."""
        return ThreadState(
            messages=self.messages,
            values=self.checkpoint.values,
            is_unfinished=bool(self.checkpoint.next),
            brought=self.brought,
            is_replaced=self.is_replaced,
        )


class Search:
    """Searches the checkpoint at which a plan forks. Feed it until it `is_complete` or no checkpoint is left."""

    def __init__(self, goal: Fork | Again, messages_key: str, most: int = MOST) -> None:
        """`goal` is the plan, and `most` how many checkpoints may be read."""
        self._goal = goal
        self._most = most
        self.read = 0
        """How many checkpoints were read."""
        self._messages_key = messages_key
        self._point: ForkPoint | None = None
        self._oldest: ForkPoint | None = None
        self.is_no_edit = False
        """Whether the thread once had the message with the content that was sent."""
        self.is_complete = False
        """Whether older checkpoints can't change the result."""

    @property
    def point(self) -> ForkPoint | None:
        """The result, once the search is complete or no checkpoint is left; None if the thread can't fork."""
        if self._point is None and self._oldest is not None and isinstance(self._goal, Fork) and not self.is_no_edit:
            before = _before(self._goal.before, self._oldest)
            return ForkPoint(self._oldest.checkpoint, (), before, is_replaced=True)
        return self._point

    def feed(self, checkpoint: Checkpoint) -> None:
        """Takes the next older checkpoint of the thread, which may be on any branch."""
        self._feed(checkpoint)
        self.read += 1
        self.is_complete = self.is_complete or self.read >= self._most

    def _feed(self, checkpoint: Checkpoint) -> None:
        newer = self._oldest
        if self.is_complete or (newer is not None and checkpoint.id != newer.checkpoint.parent_id):
            return
        self._oldest = point = ForkPoint(checkpoint, checkpoint.values.get(self._messages_key) or ())
        by_id = _by_id(point)
        if isinstance(self._goal, Fork):
            self._fork(point, newer, by_id, self._goal)
        else:
            self._again(point, by_id, self._goal)
        self.is_complete = self.is_complete or checkpoint.parent_id is None

    def _fork(self, point: ForkPoint, newer: ForkPoint | None, by_id: Mapping[str, Any], fork: Fork) -> None:
        if fork.before not in by_id:
            brought = () if newer is None else _brought(fork.before, point, newer)
            self._point, self.is_complete = point._replace(brought=brought), True
        elif fork.edited is not None and same_content(by_id[fork.before], fork.edited):
            self.is_no_edit = self.is_complete = True

    def _again(self, point: ForkPoint, by_id: dict[str, Any], again: Again) -> None:
        is_last = next(reversed(by_id), None) == again.after
        if is_last and point.checkpoint.next:
            self._point = point
        self.is_complete = self._point is not None and not is_last


def _by_id(point: ForkPoint) -> dict[str, Any]:
    return dict(zip(message_ids(point.messages), point.messages, strict=True))


def _before(message_id: str, point: ForkPoint) -> tuple[Any, ...]:
    """Returns the messages before this one."""
    by_id = _by_id(point)
    return tuple(by_id.values())[: list(by_id).index(message_id)]


def _brought(message_id: str, older: ForkPoint, newer: ForkPoint) -> tuple[Any, ...]:
    """Returns the messages before this one that were added in the same superstep."""
    older_ids, by_id = _by_id(older).keys(), _by_id(newer)
    if not older_ids <= by_id.keys():
        return ()
    before = list(by_id)[: list(by_id).index(message_id)]
    return tuple(by_id[id_] for id_ in before if id_ not in older_ids)
