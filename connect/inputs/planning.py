"""The plan of an input, and where it is carried out: `planned`. Plan, search and plan again, the same here and on a
platform; never how a thread's checkpoints are read, or a run is started.

What it costs is bounded, whatever a client sends and how often:

- Searches of one input read `MOST` checkpoints in all, and there are `_ROUNDS` of them. Then what else the input has
  with other content counts as no edit.
- That a message is no edit is kept for the newest checkpoint of its thread, so that it is not searched for again until
  the thread has another.
- Long conversations are compared in a thread: the event loop continues.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Final

from ag_ui.core import Message, RunAgentInput

from ..errors import InvalidInputError
from ..recent import Recent
from ..thread_info import Checkpoint
from .forking import MOST, ForkPoint, Search, searched
from .off_loop import off_loop, size_of
from .plan import Again, Fork, Plan, plan
from .request import RunRequest
from .thread_state import ThreadState

_ROUNDS: Final = 8
_REMEMBERED: Final = 1_000
"""Checkpoints for which it is kept what is no edit."""


class NoEdits:
    """Messages that differ from those of a thread and are no edits, because it had them so once; by the newest
    checkpoint of the thread."""

    def __init__(self) -> None:
        self._found: Recent[str, dict[str, int]] = Recent(_REMEMBERED)

    def of(self, given: RunAgentInput, checkpoint_id: str | None) -> set[str]:
        """The ids of those of an input."""
        known = self._found.get(checkpoint_id or "", {})
        return {each.id for each in given.messages if each.id in known and known[each.id] == _content(each)}

    def add(self, message: Message, checkpoint_id: str | None) -> None:
        """A message was found to be none."""
        if checkpoint_id is not None:
            self._found[checkpoint_id] = {**self._found.get(checkpoint_id, {}), message.id: _content(message)}


async def planned(
    request: RunRequest,
    now: ThreadState,
    history: Callable[[], AsyncGenerator[Checkpoint, None]],
    no_edits: NoEdits,
    *,
    takes_messages: bool = True,
) -> tuple[Plan, ForkPoint | None]:
    """What is to be done, and the earlier checkpoint at which; None is the newest, whose state is `now`. `history`: the
    thread's checkpoints, the newest first, read again by each call. `takes_messages`: as `inputs.plan.plan`.

    Raises `InvalidInputError` where there is no checkpoint to run a message again from, and as `inputs.plan.plan`.
    """
    given, key = request.run_input, request.options.messages_key
    size = size_of(given)
    unedited, left = await off_loop(no_edits.of, size, given, now.checkpoint_id), MOST
    for number in range(_ROUNDS + 1):
        if number == _ROUNDS or left <= 0:
            unedited = {message.id for message in given.messages}
        wanted = await off_loop(
            plan,
            size,
            given,
            now,
            request.intake,
            unedited=unedited,
            follows=request.follows,
            before=request.before,
            takes_messages=takes_messages,
        )
        if not isinstance(wanted, Fork | Again):
            return wanted, None
        search = await searched(Search(wanted, key, max(left, 1)), history())
        left -= search.read
        if search.found is None and isinstance(wanted, Again):
            wanted = wanted.as_fork(given)
            search = await searched(Search(wanted, key), history())
        if search.found is not None:
            return wanted, search.found
        if not (search.is_no_edit and isinstance(wanted, Fork) and wanted.edited is not None):
            break
        no_edits.add(wanted.edited, now.checkpoint_id)
        unedited.add(wanted.before)
    raise InvalidInputError("the thread keeps no checkpoint to run the message again from")


def _content(message: Message) -> int:
    return hash(message.model_dump_json())
