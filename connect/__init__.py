"""Everything that touches a graph, a server or a socket; never how a part becomes an event.

`run` starts the run of a client's input. `connect` emits the state of a thread and its active run, `watch` every later
run too. `start` starts a run of this process that outlives its readers, `cancel` stops one. `outcome` asks a platform
how a run ended, for `translate`. See each for its rules.

`api` validates the arguments, `backend` finds out where the runs are, and the rooms do the work: `local` (graphs of
this process), `platform` (LangGraph servers); for both `inputs` plans which run an input asks for, `submission` does
what the plan says, and `events` brings what is emitted to readers. `serve` puts them behind HTTP, `cli` on the command
line; `testing` is for tests of your own graphs.

Where it is decided

===============================================  ==============================================================
who may use a thread                             `access.py`; the hooks that an app gives: `serve/requests/users.py`
where a thread is opened                         `open_thread.py`; for a client: `serve/service.py` (`Service.open`)
what a request asks for, and how it is answered  the rooms `serve/agui`, `serve/copilotkit` and `serve/websocket`, by
                                                 `serve/operations.py` and `serve/protocol.py`
where a thread's metadata are found              `local/checkpoints/owners.py`; `platform/thread.py` (`exists`, `claim`)
which run an input asks for                      `inputs/plan.py`; what is done about it: `submission.py`
when an input has its turn                       `local/submit.py`; `platform/submit.py`
where a run is claimed and released              `local/run/runs.py` (`Runs.begin`, `Runs._release`), by the rules of
                                                 `local/store/run_store.py`. Of a platform's runs: the server
which process serves an agent, where processes   `local/process_lock.py`
share no run store
whether the clock lets a thread be written       `local/checkpoints/clock.py`
what other processes have of a run               the room `local/store`: `publisher.py` here, `followed_run.py` there;
                                                 it is kept in the rooms `redis` and `sqlite`
what becomes of a run when its last reader       `Intake.on_disconnect`, in `inputs/intake.py`; it is done by the
leaves                                           run store, and on a platform by `platform/submit.py`
what a late joiner gets                          `events/event_log.py`; `platform/join/attach.py`
how a lost connection to a platform is           the room `platform/join`: `run_stream.py` joins again, `replayed.py`
mended                                           knows which events are new, `attach.py` makes up for missing ones
how often a platform is tried again              `platform/calls.py`
how a run ended                                  `local/checkpoints/outcome.py`; `platform/outcome.py`
what a request passes before its body is read    `serve/routing.py`; after that: `serve/service.py`
how a server ends                                `serve/streams/shutdown.py`; its streams:
                                                 `serve/streams/transmission.py`
which code an error has, and how it is logged    `errors.py`; its HTTP status: `serve/errors.py`
===============================================  ==============================================================
"""

from typing import TYPE_CHECKING

from .api import cancel, connect, connect_sse, run, run_sse, thread, threads, watch, watch_sse
from .backend import Source
from .default_options import options_for
from .errors import (
    ClockSkewError,
    ConnectionLost,
    GraphNotMadeError,
    InvalidIdError,
    InvalidInputError,
    InvalidRunIdError,
    InvalidThreadIdError,
    NotSupportedError,
    PlatformError,
    RunConflictError,
    RunNotFoundError,
    RunsClosedError,
    StoreUnavailableError,
    ThreadNotFoundError,
    UnreadableError,
)
from .inputs import Intake, Prepared
from .inputs.thread_state import ThreadState
from .local.backend import Local
from .local.run.run import Run
from .local.run.runs import Runs, start
from .local.run.structured_output import StructuredOutputMarker
from .local.run.summary import RunSummary
from .local.store.memory_store import MemoryRunStore
from .local.store.sqlite import SqliteRunStore
from .platform.backend import Platform, outcome
from .platform.calls import RetryPolicy
from .run_outcome import PAST_ERROR, PastErrors
from .thread_info import Checkpoint, ThreadInfo, ThreadPage, Threads

if TYPE_CHECKING:
    from .local.store.redis import RedisRunStore as RedisRunStore

__all__ = [
    "PAST_ERROR",
    "Checkpoint",
    "ClockSkewError",
    "ConnectionLost",
    "GraphNotMadeError",
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
    "RunsClosedError",
    "Source",
    "SqliteRunStore",
    "StoreUnavailableError",
    "StructuredOutputMarker",
    "ThreadInfo",
    "ThreadNotFoundError",
    "ThreadPage",
    "ThreadState",
    "Threads",
    "UnreadableError",
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


def __getattr__(name: str) -> object:
    """`RedisRunStore`, which is imported when it is used first, and is not in `__all__`: it needs the extra `redis`."""
    if name != "RedisRunStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from .local.store.redis import RedisRunStore
    except ModuleNotFoundError as missing:
        raise ImportError(
            f"RedisRunStore needs a package that is not installed ({missing.name}): pip install 'langgraph-agui[redis]'"
        ) from missing
    return RedisRunStore
