"""Runs a thread from one of its earlier checkpoints: `requested_checkpoint` reads from an input which one the client
asks for, and `find_checkpoint` finds it. No I/O.

A client names the checkpoint in `forwardedProps.command.checkpointId`. (Older clients also put their answers to
interrupts into `command`, as `resume`.) The run continues at the checkpoint as LangGraph does it: the nodes that are
next there run, and what they do becomes the newest branch of the thread. Rules:

1. Every client that may run the thread may do this, because it can fork the thread by editing a message too.
2. The input's messages are not read: the conversation is that of the checkpoint. The input's state is written there if
   `Intake.state` names the channels, as in any other run.
3. A thread that waits for an answer may run from a checkpoint. Its questions stay on the branch that is left.
4. A checkpoint at the end of a run is refused, because no node is next there, so that nothing could run. A new message
   does not change that: to say something else there, a client edits the message that it sent there.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final, TypeGuard

from ag_ui.core import RunAgentInput

from ..errors import InvalidInputError
from ..thread_info import Checkpoint
from .answers.resume import is_answering
from .forking import MOST, ForkPoint

_LONGEST: Final = 200
"""The longest id of a checkpoint, in characters."""


def requested_checkpoint(run_input: RunAgentInput) -> str | None:
    """Returns the id of the checkpoint that an input asks to run from, or None if it does not ask for one. Raises
    `InvalidInputError` if the input has something else in this place, or answers interrupts too."""
    forwarded = run_input.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    checkpoint_id = command.get("checkpointId") if isinstance(command, Mapping) else None
    if checkpoint_id is None:
        return None
    if not is_checkpoint_id(checkpoint_id):
        raise InvalidInputError("forwardedProps.command.checkpointId: expected the id of a checkpoint")
    if is_answering(run_input):
        raise InvalidInputError("expected answers or a checkpoint to run from, got both")
    return checkpoint_id


def is_checkpoint_id(value: object) -> TypeGuard[str]:
    """Returns whether a value that a client has sent can be the id of a checkpoint."""
    return isinstance(value, str) and 1 <= len(value) <= _LONGEST and "\0" not in value


async def find_checkpoint(
    checkpoint_id: str, checkpoints: AsyncGenerator[Checkpoint, None], messages_key: str
) -> ForkPoint:
    """Returns the checkpoint with this id as the point at which the thread continues. `checkpoints`: those of the
    thread, the newest first. At most `MOST` are read. Raises `InvalidInputError` if it is not among them, or if nothing
    runs from there."""
    read = 0
    async with aclosing(checkpoints):
        async for checkpoint in checkpoints:
            read += 1
            if checkpoint.id == checkpoint_id:
                if not checkpoint.next:
                    raise InvalidInputError("nothing runs from this checkpoint, because a run had ended there")
                return ForkPoint(checkpoint, checkpoint.values.get(messages_key) or ())
            if read == MOST:
                break
    raise InvalidInputError("the thread has no checkpoint with this id")
