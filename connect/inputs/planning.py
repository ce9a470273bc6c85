"""The plan of an input, and where it is carried out: `planned`. Plan, search and plan again, the same here and on a
platform; never how a thread's checkpoints are read, or a run is started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..errors import InvalidInputError
from .forking import ForkPoint, Search
from .plan import Again, Fork, Plan, plan
from .request import RunRequest
from .thread_state import ThreadState

Searched = Callable[[Fork | Again], Awaitable[Search]]
"""The search for the checkpoint that a plan forks at, done."""


async def planned(request: RunRequest, now: ThreadState, searched: Searched) -> tuple[Plan, ForkPoint | None]:
    """What is to be done, and the earlier checkpoint at which; None is the newest, of which `now` is how it stands.

    Raises `InvalidInputError` where there is no checkpoint to run a message again from, and as `intake.plan.plan`.
    """
    unedited: list[str] = []
    while True:
        wanted = plan(request.given, now, request.intake, unedited=unedited, follows=request.follows)
        if not isinstance(wanted, Fork | Again):
            return wanted, None
        search = await searched(wanted)
        if search.found is None and isinstance(wanted, Again):
            wanted = wanted.asked(request.given)
            search = await searched(wanted)
        if search.found is not None:
            return wanted, search.found
        if not (search.is_no_edit and isinstance(wanted, Fork)):
            raise InvalidInputError("the thread keeps no checkpoint to run the message again from")
        unedited.append(wanted.before)
