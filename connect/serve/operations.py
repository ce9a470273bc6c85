"""What clients request of an agent, whatever the protocol: one frozen value for each operation; and what
`Service.perform` gives for them. No I/O: a protocol makes operations from requests, and answers from results.

| operation | result |
|---|---|
| `Run`, `Connect`, `Watch` | a `Stream` |
| `Decline` | `Declined` |
| `Stop` | `Stopped` |
| `DescribeAgents` | `AgentList` |
| `ListThreads` | `ThreadList` |
| `ReadThread`, `ChangeThread` | `OneThread` |
| `ReadState` | `ThreadState` |
| `DeleteThread` | `Deleted` |

`agent` is the name of an agent that is served (`AgentNames`). A `thread_id` is what the client sent: `Service.open`
alone reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ag_ui.core import RunAgentInput

from ...translator import PROTOCOL_VERSION, ClientView
from ..events.encoded import Event
from ..events.readers import Offset
from ..inputs.thread_state import ThreadState
from ..run_outcome import CancelResult, PastErrors
from ..thread_info import LIMIT, ThreadInfo, ThreadPage, ThreadStatus
from .agents import Agent
from .requests.users import Action
from .streams.transmission import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """An operation with the input of a run."""

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
    """Starts the run of an input, and streams it. The run continues when its client leaves, as the agent's intake says,
    also if that is before it has started."""

    past_errors: PastErrors = "error"
    is_direct: bool = False
    """Whether the client is known to read the stream itself."""
    shows_refusals: bool = False
    """Whether the refusal of an answer to interrupts is streamed with what the thread waits for (see `endings`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decline(_Input):
    """Runs nothing for an input of a user who may run it, and says that the run is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thread:
    """An operation on a thread."""

    action: ClassVar[Action] = "read"
    agent: str
    thread_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect(_Thread):
    """Streams a thread and what runs on it, to its end."""

    view: ClientView | None = None
    """The client's messages and state; None: they are not known."""
    version: str | None = PROTOCOL_VERSION
    """The protocol version of the client."""
    past_errors: PastErrors = "error"
    after: Offset | None = None
    """The client has all events before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch(_Thread):
    """Streams a thread, and from then on every run of it, for as long as the client stays."""

    after: Offset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(_Thread):
    """Stops a run, or without a run's id the thread's active run."""

    action: ClassVar[Action] = "stop"
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadThread(_Thread):
    """Reads how a list shows a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadState(_Thread):
    """Reads a thread as a client has it that connects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeThread(_Thread):
    """Writes metadata of a thread."""

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
class ListThreads:
    """Lists the threads of an agent, the newest first. `cursor`: the end of the page before. `archived`: whether
    archived threads are listed too."""

    agent: str
    status: ThreadStatus | None = None
    limit: int = LIMIT
    cursor: str | None = None
    archived: bool = False


OnThread = Run | Decline | Connect | Watch | Stop | ReadThread | ReadState | ChangeThread | DeleteThread
"""The operations on a thread. `action`: what `authorize` is asked."""
Operation = OnThread | DescribeAgents | ListThreads


@dataclass(frozen=True, slots=True)
class Declined:
    """A run in which nothing happened. `events`: those of it."""

    events: list[Event]


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of the run that was to be stopped; None: there was none."""

    result: CancelResult | None


@dataclass(frozen=True, slots=True)
class AgentList:
    """The agents that a user may list, by name. `only`: the agent that is served alone. `may_manage`: whether the user
    may list, change and delete threads, as far as that is known. `has_sockets`: whether there are WebSockets."""

    agents: Mapping[str, Agent]
    only: str | None
    may_manage: bool
    has_sockets: bool


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
class Deleted:
    """The thread is deleted."""


Result = Stream | Declined | Stopped | AgentList | ThreadList | OneThread | ThreadState | Deleted
