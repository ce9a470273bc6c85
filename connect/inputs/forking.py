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
   only, old ones were deleted; or it is too far back (`MOST`). Then the oldest is forked at, and its conversation is
   replaced.
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
"""How many checkpoints are read at most."""


class _Search(Protocol):
    @property
    def is_complete(self) -> bool: ...
    def feed(self, checkpoint: Checkpoint) -> None: ...


_Searching = TypeVar("_Searching", bound=_Search)


async def searched(search: _Searching, checkpoints: AsyncGenerator[Checkpoint, None]) -> _Searching:
    """A search, fed with a thread's checkpoints (the newest first) until it is complete. Raises what they raise."""
    async with aclosing(checkpoints):
        while not search.is_complete and (checkpoint := await anext(checkpoints, None)) is not None:
            search.feed(checkpoint)
    return search


class ForkPoint(NamedTuple):
    """A checkpoint at which a thread forks."""

    checkpoint: Checkpoint
    messages: Sequence[Any]
    """Its conversation."""
    brought: Sequence[Any] = ()
    """Messages that the fork begins with."""
    is_replaced: bool = False
    """Whether the fork replaces its conversation."""

    @property
    def thread(self) -> ThreadState:
        """The state of the thread where it forks."""
        return ThreadState(
            messages=self.messages,
            values=self.checkpoint.values,
            is_unfinished=bool(self.checkpoint.next),
            brought=self.brought,
            is_replaced=self.is_replaced,
        )


class Search:
    """The search for the checkpoint that a plan forks at. Feed it until it `is_complete`, or nothing is left."""

    def __init__(self, wanted: Fork | Again, messages_key: str, most: int = MOST) -> None:
        """`most`: how many checkpoints it reads."""
        self._wanted = wanted
        self._most = most
        self.read = 0
        """How many it has read."""
        self._messages_key = messages_key
        self._found: ForkPoint | None = None
        self._oldest: ForkPoint | None = None
        self.is_no_edit = False
        """Whether the thread had the message once as it was sent."""
        self.is_complete = False
        """Whether older checkpoints can change nothing any more."""

    @property
    def found(self) -> ForkPoint | None:
        """The checkpoint, when the search is complete or no checkpoint is left; None if there is none."""
        if self._found is None and self._oldest is not None and isinstance(self._wanted, Fork) and not self.is_no_edit:
            before = _before(self._wanted.before, self._oldest)
            return ForkPoint(self._oldest.checkpoint, (), before, is_replaced=True)
        return self._found

    def feed(self, checkpoint: Checkpoint) -> None:
        """Takes the next older checkpoint of the thread, of whatever branch."""
        self._feed(checkpoint)
        self.read += 1
        self.is_complete = self.is_complete or self.read >= self._most

    def _feed(self, checkpoint: Checkpoint) -> None:
        newer = self._oldest
        if self.is_complete or (newer is not None and checkpoint.id != newer.checkpoint.parent_id):
            return
        self._oldest = point = ForkPoint(checkpoint, checkpoint.values.get(self._messages_key) or ())
        by_id = _by_id(point)
        if isinstance(self._wanted, Fork):
            self._fork(point, newer, by_id, self._wanted)
        else:
            self._again(point, by_id, self._wanted)
        self.is_complete = self.is_complete or checkpoint.parent_id is None

    def _fork(self, point: ForkPoint, newer: ForkPoint | None, by_id: Mapping[str, Any], fork: Fork) -> None:
        if fork.before not in by_id:
            brought = () if newer is None else _brought(fork.before, point, newer)
            self._found, self.is_complete = point._replace(brought=brought), True
        elif fork.edited is not None and same_content(by_id[fork.before], fork.edited):
            self.is_no_edit = self.is_complete = True

    def _again(self, point: ForkPoint, by_id: dict[str, Any], again: Again) -> None:
        is_last = next(reversed(by_id), None) == again.after
        if is_last and point.checkpoint.next:
            self._found = point
        self.is_complete = self._found is not None and not is_last


def _by_id(point: ForkPoint) -> dict[str, Any]:
    return dict(zip(message_ids(point.messages), point.messages, strict=True))


def _before(message_id: str, point: ForkPoint) -> tuple[Any, ...]:
    """The messages that are before this one."""
    by_id = _by_id(point)
    return tuple(by_id.values())[: list(by_id).index(message_id)]


def _brought(message_id: str, older: ForkPoint, newer: ForkPoint) -> tuple[Any, ...]:
    """The messages before this one that came in one step with it."""
    there, by_id = _by_id(older), _by_id(newer)
    if not there.keys() <= by_id.keys():
        return ()
    before = list(by_id)[: list(by_id).index(message_id)]
    return tuple(by_id[each] for each in before if each not in there)
