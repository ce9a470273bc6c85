"""Everything that touches a graph, a server or a socket; never how a part becomes an event.

`run` starts the run of a client's input. `connect` emits the state of a thread and its active run, and `watch` every
later run too. `start` starts a local run that outlives its readers, and `cancel` stops one. `outcome` asks a platform
how a run ended, for `translate`. The rules of each are in its own docstring.

`api` validates the arguments, and `backend` finds out where the runs are. Two folders do the work: `local` for graphs
of this process, and `platform` for LangGraph servers. For both, `inputs` plans which run an input asks for,
`submission` carries out the plan, and `events` brings the events to their readers. `serve` puts all of this behind
HTTP, and `cli` on the command line; `testing` is for tests of your own graphs.

Where it is decided

===============================================  =======================================================================
who may use a thread                             `access.py`; the hooks that an app gives: `serve/requests/users.py`
the filter of a user                             compared by `access.py` where a thread is read: `local/thread.py` and
                                                 `platform/thread.py`; in lists `local/index/reading.py` and
                                                 `platform/threads.py`. `Service.open` only fetches it
where a thread is opened                         `open_thread.py`; for a client: `serve/service.py` (`Service.open`)
where the metadata of a thread are found         `local/checkpoints/owners.py`; `platform/thread.py` (`exists`, `claim`)
what a request asks for, and how it is answered  the folders `serve/agui`, `serve/copilotkit` and `serve/websocket`, by
                                                 `serve/operations.py` and `serve/protocol.py`
another protocol of clients                      `serve/protocol.py`, and CONTRIBUTING
which run an input asks for                      `inputs/plan.py`; which values it is started with: `submission.py`;
                                                 on which thread: `local/port.py`; `platform/submit.py`
when an input has its turn                       `local/submit.py`; `platform/submit.py`
one run a thread                                 `local/store/run_store.py`; atomically in `memory_database.py`,
                                                 `redis/scripts.py` and `sqlite/steps.py` of that folder; on a platform:
                                                 the server
one process an agent, without a shared store     `local/process_lock.py` (SQLite and PostgreSQL; threads of other
                                                 checkpointers have no lock, and only `WEB_CONCURRENCY` is checked:
                                                 `serve/routes.py`)
where a run is claimed and released              `local/run/runs.py` (`Runs.begin`); `local/run/run.py` (`Run._end`)
whether the clock lets a thread be written       `local/checkpoints/clock.py`
a run that other processes read                  the folder `local/store`: `publisher.py` in its own process,
                                                 `followed_run.py` in the others
a second database for runs (a `RunDatabase`)     the rules in `local/store/run_database.py`; `sqlite/steps.py` keeps all
                                                 of them, `memory_database.py` those of one process
a process that was frozen                        `local/store/renewals.py`
whether a run continues without readers          `Intake.on_disconnect`, in `inputs/intake.py`
when the last reader of a run leaves             noticed in `events/event_log.py` (`_leave`), decided in
                                                 `local/store/publisher.py` (`_append`) or `memory_store.py`
                                                 (`LocalHold`); on a platform: `platform/submit.py`
what a late joiner gets of an active run         `events/event_log.py`; `platform/join/attach.py`
what a late joiner gets of a thread on which     `idle.py`
nothing runs
runs that another client started on a platform   `platform/connect.py`, `platform/watch.py`; for an input
                                                 `platform/submit.py`
how a lost connection to a platform is mended    the folder `platform/join`: `run_stream.py` joins again, `replayed.py`
                                                 knows which events are new, `attach.py` makes up for missing ones
how often a platform is tried again              `platform/calls.py`
how a run ended                                  `local/checkpoints/outcome.py`; `platform/outcome.py`
how many steps a batch takes to its reader       `events/relay.py`
what a request passes before its body is read    `serve/routing.py`; after that: `serve/service.py`
how a server ends                                `serve/streams/shutdown.py`; its streams:
                                                 `serve/streams/transmission.py`
which code an error has, and how it is logged    `errors.py`; its HTTP status: `serve/errors.py`
===============================================  =======================================================================
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
from .local.store.retention import Retention
from .local.store.sqlite import SqliteRunStore
from .platform.backend import Platform, outcome
from .platform.calls import RetryPolicy
from .run_outcome import PAST_ERROR, PastErrors
from .thread_info import Checkpoint, CheckpointTask, RunInfo, ThreadInfo, ThreadPage, Threads

if TYPE_CHECKING:
    from .local.store.redis import RedisRunStore as RedisRunStore

__all__ = [
    "PAST_ERROR",
    "Checkpoint",
    "CheckpointTask",
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
    "Retention",
    "RetryPolicy",
    "Run",
    "RunConflictError",
    "RunInfo",
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
