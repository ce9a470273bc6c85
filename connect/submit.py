"""An input of a client as a run: `begin`. Which kind of run is `intake`'s to say; how it is told, `run`'s and
`attach`'s."""

from __future__ import annotations

from ag_ui.core import RunAgentInput

from ..translator import Options
from .backend import Source
from .encoded import Batches
from .inputs import Intake
from .local.source import Local
from .local.submit import begin_local
from .platform.retry import RetryPolicy
from .platform.submit import begin_platform
from .run_outcome import PastErrors


async def begin(
    source: Source,
    given: RunAgentInput,
    *,
    options: Options | None,
    intake: Intake,
    retry: RetryPolicy | None = None,
    past_errors: PastErrors = "error",
    queue: int | None = None,
) -> Batches:
    """Starts the run that an input asks for, and gives what the client that asked is told, to its end.

    `queue`: how many inputs may wait for their turn on a thread of this process; None: any number.
    Raises, before anything is told: `QueueFullError` where more would, `RunConflictError` where a run is running and
    the intake rejects a second one, `ThreadNotFoundError` for another agent's thread, `InvalidIdError` and
    `InvalidInputError` for an input that can't be run, `UnreadableError` for what the checkpointer raises,
    `PlatformError` and `ConnectionLost` for what the platform answers.
    """
    if isinstance(source, Local):
        return await begin_local(source, given, options, intake, past_errors, queue)
    return await begin_platform(source, given, options, intake, past_errors, retry)
