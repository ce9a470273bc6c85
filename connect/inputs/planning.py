"""Makes the plan of an input, and finds the checkpoint at which it is carried out: `make_plan`. It plans, searches, and
plans again, in the same way for this process and for a platform. How checkpoints are read and runs are started is
decided elsewhere.

The cost is bounded, whatever a client sends and however often:

- All searches for an input together read at most `MOST` checkpoints, and there are at most `_ROUNDS` of them. After
  that, no other difference in the input counts as an edit.
- If a message turns out not to be an edit, this is remembered for the newest checkpoint of the thread, so that it is
  not searched for again until the thread has another checkpoint.
- Long conversations are compared in a thread, so that the event loop continues.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final

from ag_ui.core import Message, RunAgentInput

from ..errors import InvalidInputError
from ..recent import Recent
from ..thread_info import Checkpoint
from .forking import MOST, ForkPoint, Search, run_search
from .off_loop import off_loop, size_of
from .plan import Again, Fork, Plan, plan
from .request import RunRequest
from .thread_state import ThreadState

_ROUNDS: Final = 8
_REMEMBERED: Final = 1_000
"""For how many checkpoints it is remembered which messages are not edits."""


class NoEdits:
    """Remembers messages that differ from those of a thread but are not edits, because the thread once had them with
    the same content. They are remembered by the newest checkpoint of the thread."""

    def __init__(self) -> None:
        self._messages: Recent[str, dict[str, int]] = Recent(_REMEMBERED)

    def of(self, run_input: RunAgentInput, checkpoint_id: str | None) -> set[str]:
        """Returns the ids of those messages of an input."""
        hashes = self._messages.get(checkpoint_id or "", {})
        return {message.id for message in run_input.messages if hashes.get(message.id) == _content(message)}

    def add(self, message: Message, checkpoint_id: str | None) -> None:
        """Remembers a message that is not an edit."""
        if checkpoint_id is not None:
            hashes = self._messages.get(checkpoint_id, {})
            self._messages[checkpoint_id] = {**hashes, message.id: _content(message)}


async def make_plan(
    request: RunRequest,
    state: ThreadState,
    history: Callable[[], AsyncGenerator[Checkpoint, None]],
    no_edits: NoEdits,
    *,
    takes_messages: bool = True,
) -> tuple[Plan, ForkPoint | None]:
    """Returns the plan, and the earlier checkpoint at which to carry it out, or None for the newest, whose state is
    `state`. Each call of `history` reads the thread's checkpoints again, newest first. `takes_messages` is as in
    `inputs.plan.plan`.

    Raises `InvalidInputError` if there is no checkpoint from which to run a message again, and as `inputs.plan.plan`.
    """
    run_input, key = request.run_input, request.options.messages_key
    size = size_of(run_input)
    unedited, left = await off_loop(no_edits.of, size, run_input, state.checkpoint_id), MOST
    for number in range(_ROUNDS + 1):
        if number == _ROUNDS or left <= 0:
            unedited = {message.id for message in run_input.messages}
        goal = await off_loop(
            plan,
            size,
            run_input,
            state,
            request.intake,
            unedited=unedited,
            follows=request.follows,
            before=request.before,
            takes_messages=takes_messages,
        )
        if not isinstance(goal, Fork | Again):
            return goal, None
        search = await run_search(Search(goal, key, max(left, 1)), history())
        left -= search.read
        if search.point is None and isinstance(goal, Again):
            goal = goal.as_fork(run_input)
            search = await run_search(Search(goal, key), history())
        if search.point is not None:
            return goal, search.point
        if not (search.is_no_edit and isinstance(goal, Fork) and goal.edited is not None):
            break
        no_edits.add(goal.edited, state.checkpoint_id)
        unedited.add(goal.before)
    raise InvalidInputError("the thread has no checkpoint from which the message could be run again")


def _content(message: Message) -> int:
    return hash(message.model_dump_json())
