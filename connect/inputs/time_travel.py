"""Reads which checkpoint of its thread an input asks to run from, and finds it: `checkpoint_asked`, `point_at`. No I/O.

A client names the checkpoint in `forwardedProps.command.checkpointId`, next to `resume`, with which older clients
answer interrupts. The run continues there, as LangGraph does: the nodes that are next at the checkpoint run, and what
they do becomes the newest branch of the thread. Rules:

1. Whoever may run the thread may do this, since an edited message forks a thread too.
2. The input's messages are not read: the conversation is that of the checkpoint. The input's state is written there if
   `Intake.state` names the channels, as in any other run.
3. A thread that waits for an answer may run from a checkpoint: its questions stay on the branch that is left.
4. At the end of a run no node is next, so nothing could run from there. A new message is no reason to: a client that
   wants to say something else edits the message that it said there.
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
"""Characters of the id of a checkpoint."""


def checkpoint_asked(run_input: RunAgentInput) -> str | None:
    """Returns the id of the checkpoint that an input asks to run from; None if it names none. Raises
    `InvalidInputError`."""
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
    """Returns whether a value from a client may be the id of a checkpoint."""
    return isinstance(value, str) and 1 <= len(value) <= _LONGEST and "\0" not in value


async def point_at(checkpoint_id: str, checkpoints: AsyncGenerator[Checkpoint, None], messages_key: str) -> ForkPoint:
    """Returns the checkpoint of a thread with this id. `checkpoints`: those of the thread, the newest first, of which
    `MOST` are read. Raises `InvalidInputError` if it is not among them, or if nothing runs from there."""
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
