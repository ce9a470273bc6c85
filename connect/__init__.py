"""Everything that touches a graph, a server or a socket; never how a part becomes an event.

`connect` tells what a thread holds and what runs on it, `watch` every run that comes after; `start` makes a run of this
process that outlives its readers, `cancel` stops one for real. See each for its rules.
"""

from .failures import InvalidIdError, InvalidRunIdError, InvalidThreadIdError
from .idle import PAST_ERROR, PastErrors
from .patience import Policy
from .public import cancel, connect, connect_sse, watch, watch_sse
from .run import Run
from .runs import RunConflictError, RunNotFoundError, Runs, start
from .shown import options_for
from .sources import Local, Platform
from .wire import Cut, PlatformError

__all__ = [
    "PAST_ERROR",
    "Cut",
    "InvalidIdError",
    "InvalidRunIdError",
    "InvalidThreadIdError",
    "Local",
    "PastErrors",
    "Platform",
    "PlatformError",
    "Policy",
    "Run",
    "RunConflictError",
    "RunNotFoundError",
    "Runs",
    "cancel",
    "connect",
    "connect_sse",
    "options_for",
    "start",
    "watch",
    "watch_sse",
]
