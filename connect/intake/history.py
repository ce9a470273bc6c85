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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...translator.agui_messages import id_of
from ...translator.content import fields
from .messages import same_content
from .plan import Again, Fork


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


class Search:
    """The search for the checkpoint that a plan forks at. Feed it until it `is_settled`, or nothing is left."""

    def __init__(self, wanted: Fork | Again) -> None:
        self._wanted = wanted
        self._next: str | None = None
        self._has_begun = False
        self.found: Checkpoint | None = None
        """The checkpoint; None as long as there is none."""
        self.is_no_edit = False
        """Whether the thread held the message once as it was sent."""
        self.is_settled = False
        """Whether older checkpoints can change nothing any more."""

    def feed(self, checkpoint: Checkpoint) -> None:
        """Takes the next older checkpoint of the thread, of whatever branch."""
        if self.is_settled or (self._has_begun and checkpoint.id != self._next):
            return
        self._has_begun, self._next = True, checkpoint.parent_id
        held = {id_of(fields(message), place): message for place, message in enumerate(checkpoint.messages)}
        if isinstance(self._wanted, Fork):
            self._fork(checkpoint, held, self._wanted)
        else:
            self._again(checkpoint, held, self._wanted)
        self.is_settled = self.is_settled or checkpoint.parent_id is None

    def _fork(self, checkpoint: Checkpoint, held: Mapping[str, Any], fork: Fork) -> None:
        if fork.before not in held:
            self.found, self.is_settled = checkpoint, True
        elif fork.edited is not None and same_content(held[fork.before], fork.edited):
            self.is_no_edit = self.is_settled = True

    def _again(self, checkpoint: Checkpoint, held: dict[str, Any], again: Again) -> None:
        is_last = next(reversed(held), None) == again.after
        if is_last and checkpoint.is_unfinished:
            self.found = checkpoint
        self.is_settled = self.found is not None and not is_last
