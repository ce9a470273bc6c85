"""Everything that touches a graph, a server or a socket; never how a part becomes an event.

`connect` tells what a thread holds and what runs on it, `watch` every run that comes after; `start` makes a run of this
process that outlives its readers, `cancel` stops one for real; `outcome` asks a platform how a run ended, for
`translate`. See each for its rules.
"""

from .failures import InvalidIdError, InvalidInputError, InvalidRunIdError, InvalidThreadIdError, RunConflictError
from .idle import PAST_ERROR, PastErrors
from .intake import Intake, Prepared
from .patience import Policy
from .process_run import Run
from .public import cancel, connect, connect_sse, watch, watch_sse
from .public_run import run, run_sse
from .run_outcome import outcome
from .runs import RunNotFoundError, Runs, start
from .shown import options_for
from .sources import Local, Platform
from .wire import Cut, PlatformError

__all__ = [
    "PAST_ERROR",
    "Cut",
    "Intake",
    "InvalidIdError",
    "InvalidInputError",
    "InvalidRunIdError",
    "InvalidThreadIdError",
    "Local",
    "PastErrors",
    "Platform",
    "PlatformError",
    "Policy",
    "Prepared",
    "Run",
    "RunConflictError",
    "RunNotFoundError",
    "Runs",
    "cancel",
    "connect",
    "connect_sse",
    "options_for",
    "outcome",
    "run",
    "run_sse",
    "start",
    "watch",
    "watch_sse",
]
