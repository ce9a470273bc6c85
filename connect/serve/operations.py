"""The operations that clients request of an agent, whatever their protocol, and the results that `Service.perform`
returns for them. Each is a frozen value. No I/O: a protocol makes operations from requests, and answers from results.

| operation | result |
|---|---|
| `Run`, `Connect`, `Watch` | a `Stream`; `NothingRuns` for a `Connect` that asks for an active run |
| `Decline` | `Declined` |
| `Stop` | `Stopped` |
| `DescribeAgents` | `AgentList` |
| `DescribeInput` | `InputDescription` |
| `DescribeGraph` | `GraphDescription` |
| `ListThreads` | `ThreadList` |
| `ReadThread`, `ChangeThread` | `OneThread` |
| `ReadState` | `ThreadState` |
| `DeleteThread` | `Deleted` |
| `ListRuns` | `RunList` |
| `ReadRun` | a `Stream` |
| `ListCheckpoints` | `CheckpointList` |

`agent` is the name of an agent that is served (`AgentNames`). A `thread_id` is the text that the client sent. Only
`Service.open` validates it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ag_ui.core import RunAgentInput

from ...translator import PROTOCOL_VERSION, ClientView
from ..events.encoded import Event
from ..events.readers import Offset
from ..graph_structure import GraphStructure
from ..inputs.input_schemas import ClientSchemas
from ..inputs.thread_state import ThreadState
from ..run_outcome import CancelResult, PastErrors
from ..thread_info import LIMIT, Checkpoint, RunInfo, ThreadInfo, ThreadPage, ThreadStatus
from .agents import Agent
from .requests.users import Action
from .streams.transmission import Stream

Archived = Literal["left_out", "included", "only"]
"""What a list has of archived threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """An operation that has the input of a run."""

    action: ClassVar[Action] = "run"
    agent: str
    input: RunAgentInput

    @property
    def thread_id(self) -> str:
        """The thread that the input is for."""
        return self.input.thread_id

    @property
    def run_id(self) -> str:
        """The run that the input asks for."""
        return self.input.run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(_Input):
    """Starts the run of an input, and streams it. The agent's intake says whether the run continues when its client
    leaves, even if the client leaves before the run has started."""

    past_errors: PastErrors = "error"
    is_direct: bool = False
    """Whether the client is known to read the stream directly, without a server in between."""
    shows_refusals: bool = False
    """Whether a refused answer to interrupts is answered with a stream: the refusal, and the interrupts that the thread
    waits for (see `endings`)."""
    waits: bool = False
    """Whether the input waits for its turn, where the agent's intake would refuse it because another run is active."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decline(_Input):
    """Authorizes the user of an input to run it, but runs nothing, and answers that the run has finished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thread:
    """An operation on a thread."""

    action: ClassVar[Action] = "read"
    agent: str
    thread_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect(_Thread):
    """Streams a thread and its active run, until that run ends."""

    view: ClientView | None = None
    """The client's messages and state, or None if they are not known."""
    version: str | None = PROTOCOL_VERSION
    """The protocol version of the client."""
    past_errors: PastErrors = "error"
    after: Offset | None = None
    """The position up to which the client has all events, or None if it is not known."""
    only_active: bool = False
    """Whether the client wants nothing of a thread on which nothing runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch(_Thread):
    """Streams a thread, and then every run of it for as long as the client stays."""

    after: Offset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(_Thread):
    """Stops a run, or the thread's active run if there is no run id."""

    action: ClassVar[Action] = "stop"
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThread(_Thread):
    """Reads the entry of a thread in a list of threads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadState(_Thread):
    """Reads the messages and the state that a client which connects to a thread receives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRuns(_Thread):
    """Lists the runs of a thread, newest first."""

    limit: int = LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun(_Thread):
    """Streams the events of a run that has ended, each with the time at which it was emitted."""

    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCheckpoints(_Thread):
    """Lists checkpoints of a thread, newest first. `before`: only those before the checkpoint with this id."""

    limit: int = LIMIT
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeThread(_Thread):
    """Changes metadata of a thread."""

    action: ClassVar[Action] = "update"
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteThread(_Thread):
    """Deletes a thread with all its checkpoints."""

    action: ClassVar[Action] = "delete"


@dataclass(frozen=True, slots=True)
class DescribeAgents:
    """Lists the agents that the user may list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeInput:
    """Describes what clients may send to an agent."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGraph:
    """Describes the graph of an agent."""

    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListThreads:
    """Lists the threads of an agent, newest first. `text`: only threads whose title or id has these words. `cursor`:
    the end of the previous page. `archived`: whether archived threads are left out, listed too, or listed alone."""

    agent: str
    status: ThreadStatus | None = None
    limit: int = LIMIT
    cursor: str | None = None
    archived: Archived = "left_out"
    text: str | None = None


OnThread = (
    Run
    | Decline
    | Connect
    | Watch
    | Stop
    | ReadThread
    | ReadState
    | ListRuns
    | ReadRun
    | ListCheckpoints
    | ChangeThread
    | DeleteThread
)
"""The operations on a thread. `action` is passed to `authorize`."""
Operation = OnThread | DescribeAgents | DescribeInput | DescribeGraph | ListThreads


@dataclass(frozen=True, slots=True)
class Declined:
    """The `events` of a run in which nothing happened."""

    events: list[Event]


@dataclass(frozen=True, slots=True)
class NothingRuns:
    """No run is active on the thread, or there is no such thread."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The result of stopping a run, or None if there was no such run."""

    result: CancelResult | None


@dataclass(frozen=True, slots=True)
class AgentList:
    """The agents that a user may list, by name. `only`: the name of the agent, if only one is served. `may_manage`:
    whether the user may list, change and delete threads, as far as that is known. `has_sockets`: whether the app serves
    WebSockets."""

    agents: Mapping[str, Agent]
    only: str | None
    may_manage: bool
    has_sockets: bool


@dataclass(frozen=True, slots=True)
class InputDescription:
    """What clients may send to an agent. `has_token`: whether the request has the app's token, so that its sender may
    learn what clients may not send."""

    schemas: ClientSchemas
    has_token: bool


@dataclass(frozen=True, slots=True)
class GraphDescription:
    """The graph of an agent. `may_pause`: whether the client may set breakpoints."""

    structure: GraphStructure
    may_pause: bool


@dataclass(frozen=True, slots=True)
class ThreadList:
    """A page of the threads of an agent."""

    agent: str
    page: ThreadPage


@dataclass(frozen=True, slots=True)
class OneThread:
    """A thread of an agent."""

    agent: str
    info: ThreadInfo


@dataclass(frozen=True, slots=True)
class RunList:
    """The runs of a thread."""

    runs: Sequence[RunInfo]


@dataclass(frozen=True, slots=True)
class ShownCheckpoint:
    """A checkpoint as a client sees it.

    - `state`: its state.
    - `error`: the `message` and the `code` of what a node raised next, as far as clients may know it
      (`Options.error_detail`). None if none did.
    """

    checkpoint: Checkpoint
    state: Any
    error: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CheckpointList:
    """Checkpoints of a thread. `next`: the `before` of the next page, or None
    after the last one. `writable`: the channels that the client of a run may write."""

    checkpoints: Sequence[ShownCheckpoint]
    next: str | None
    writable: Sequence[str]


@dataclass(frozen=True, slots=True)
class Deleted:
    """The thread was deleted."""


Result = (
    Stream
    | NothingRuns
    | Declined
    | Stopped
    | AgentList
    | InputDescription
    | GraphDescription
    | ThreadList
    | OneThread
    | ThreadState
    | RunList
    | CheckpointList
    | Deleted
)
