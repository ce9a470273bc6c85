"""Everything that touches a graph, a server or a socket; never how a part becomes an event.

`run` starts the run of a client's input. `connect` emits the state of a thread and its active run, `watch` every later
run too. `start` starts a run of this process that outlives its readers, `cancel` stops one. `outcome` asks a platform
how a run ended, for `translate`. See each for its rules.
"""

from .api import cancel, connect, connect_sse, run, run_sse, thread, threads, watch, watch_sse
from .backend import Source
from .default_options import options_for
from .errors import (
    ConnectionLost,
    InvalidIdError,
    InvalidInputError,
    InvalidRunIdError,
    InvalidThreadIdError,
    NotSupportedError,
    PlatformError,
    RunConflictError,
    RunNotFoundError,
    ThreadNotFoundError,
)
from .inputs import Intake, Prepared
from .inputs.thread_state import ThreadState
from .local.backend import Local
from .local.memory_store import MemoryRunStore
from .local.run import Run
from .local.runs import Runs, start
from .local.summary import RunSummary
from .platform.backend import Platform, outcome
from .platform.calls import RetryPolicy
from .run_outcome import PAST_ERROR, PastErrors
from .thread_info import Checkpoint, ThreadInfo, ThreadPage, Threads

__all__ = [
    "PAST_ERROR",
    "Checkpoint",
    "ConnectionLost",
    "Intake",
    "InvalidIdError",
    "InvalidInputError",
    "InvalidRunIdError",
    "InvalidThreadIdError",
    "Local",
    "MemoryRunStore",
    "NotSupportedError",
    "PastErrors",
    "Platform",
    "PlatformError",
    "Prepared",
    "RetryPolicy",
    "Run",
    "RunConflictError",
    "RunNotFoundError",
    "RunSummary",
    "Runs",
    "Source",
    "ThreadInfo",
    "ThreadNotFoundError",
    "ThreadPage",
    "ThreadState",
    "Threads",
    "cancel",
    "connect",
    "connect_sse",
    "options_for",
    "outcome",
    "run",
    "run_sse",
    "start",
    "thread",
    "threads",
    "watch",
    "watch_sse",
]
