"""deepagents' `task` subagents as `SUBAGENT_*`: which namespaces belong to them, which call started them, how they end.

Rules:

1. A subagent is a graph that a tool called `task` runs for a call with the arguments `subagent_type` and `description`
   (https://github.com/langchain-ai/deepagents/blob/main/libs/deepagents/deepagents/middleware/subagents.py). Its
   namespace ends in the tool's task. An ordinary subgraph does not count as a subagent, and neither does a graph or a
   model that another tool calls.
2. `delegations` finds the call that started a subagent. If several calls are possible, the events do not name one.
3. A subagent starts before the first event of its graph. It ends with its call's result, or with the superstep of the
   graph that called it. An interrupt inside it suspends it. It fails with its call, if the result's status is `error`,
   and with its run, if the run fails or is cancelled.
4. The option `subagents` decides what is emitted. `attributed`: `SUBAGENT_*` events, and the events of the subagent's
   graph carry its id. `inline`: the events of its graph look like the main agent's. `hidden`: nothing. Clients that
   declare no version may not know subagents: they get no `SUBAGENT_*` events and no steps of subagents
   (`wire/older_clients.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..client.view import ClientView
from ..options import Options
from ..parts.channels import written_messages
from ..parts.message import fields, kind_of
from ..parts.part import Namespace, is_within
from ..wire import events
from ..wire.events import Event
from .delegations import Delegation, Delegations, last_input
from .error_detail import Failure


@dataclass(slots=True)
class Subagent:
    """One run of a subagent. Its id is its namespace, which stays the same when the run is resumed."""

    ns: Namespace
    name: str
    parent: Subagent | None
    call: Delegation | None
    """The call that it runs for; None if the call is not certain."""
    has_ended: bool = False

    @property
    def id(self) -> str:
        """The `subagentRunId`."""
        return "|".join(self.ns)

    @property
    def call_id(self) -> str | None:
        """The id by which the client knows its call."""
        return self.call.client_id if self.call else None


class ToolTasks(Protocol):
    """Which tasks of a run are runs of a tool."""

    def call_of(self, task: Namespace) -> str | None:
        """The id of the call that a tool's task runs; None if it is not known."""

    def is_called_by_tool(self, ns: Namespace) -> bool:
        """Whether the task that runs the graph at `ns` runs a tool."""

    def in_tool(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the graph at `ns` was called by a tool; the first `depth` segments do not count."""

    def has_steps(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the steps of the graph at `ns` are visible; the first `depth` segments do not count."""


class Subagents:
    """The subagents of one run. `view`: the client's messages; `tools`: which tasks run tools."""

    def __init__(self, view: ClientView, options: Options, tools: ToolTasks) -> None:
        self._options = options
        self._key = options.messages_key
        self._tools = tools
        self._by_ns: dict[Namespace, Subagent] = {}
        """All subagents of the run: one that has ended may still own parts that come late."""
        self._examined: set[tuple[Namespace, bool]] = set()
        """Namespaces of graphs that tools call, and whether they were examined by their input."""
        self._delegations = Delegations(view, options, tools.call_of)

    def of(self, ns: Namespace) -> Subagent | None:
        """The innermost subagent that the graph at `ns` belongs to; the graph may be the subagent itself."""
        if not self._by_ns:
            return None
        return next((subagent for depth in range(len(ns), 0, -1) if (subagent := self._by_ns.get(ns[:depth]))), None)

    def owner(self, ns: Namespace) -> tuple[str | None, int]:
        """The `subagentRunId` of what happens at `ns`, and the depth of that subagent."""
        subagent = self.of(ns)
        return (self.tag(subagent), len(subagent.ns)) if subagent else (None, 0)

    def tag(self, subagent: Subagent | None) -> str | None:
        """The `subagentRunId` that events of `subagent` carry."""
        return subagent.id if subagent is not None and self._is_attributed else None

    def is_visible(self, ns: Namespace) -> bool:
        """Whether events of the graph at `ns` are emitted. Those from inside a tool or a hidden subagent are not."""
        if not ns:
            return True
        subagent = self.of(ns)
        return not self.hides(subagent) and not self._tools.in_tool(ns, len(subagent.ns) if subagent else 0)

    def has_steps(self, ns: Namespace) -> bool:
        """Whether the steps of the graph at `ns` are emitted."""
        if not ns:
            return True
        subagent = self.of(ns)
        return not self.hides(subagent) and self._tools.has_steps(ns, len(subagent.ns) if subagent else 0)

    def hides(self, subagent: Subagent | None) -> bool:
        """Whether no events of `subagent` are emitted."""
        return subagent is not None and self._options.subagents == "hidden"

    def on_message(self, ns: Namespace, metadata: Mapping[str, Any]) -> Iterator[Event]:
        """A message with this metadata came from the graph at `ns`. If that is a new subagent, it starts."""
        if self._is_new(ns, by_input=False):
            yield from self._find(ns, metadata.get("lc_agent_name"), None)

    def on_values(self, ns: Namespace, channels: Any) -> Iterator[Event]:
        """`values` of the graph at `ns` came. If that is a new subagent, it starts."""
        self._delegations.on_values(ns, channels)
        if self._is_new(ns, by_input=True):
            yield from self._find(ns, None, last_input(channels, self._key))

    def on_checkpoint(self, channels: Any) -> None:
        """A checkpoint of the root graph was read during the stream."""
        self._delegations.on_checkpoint(channels)

    def answered(self, message: Any, call_id: str | None, task: Namespace) -> list[Subagent]:
        """The subagents that end with a message, if it is the result of a call.

        `call_id`: the id by which the client knows the call; None if it does not know it. `task`: the task that
        returned the result. Two calls with the same arguments may have been confused with each other; then the task
        says which subagent ended.
        """
        running = self.running()
        if not running or kind_of(fields(message)) != "tool":
            return []
        asked = [item for item in running if call_id is not None and item.call_id == call_id]
        if any(item.ns[: len(task)] == task for item in asked):
            return asked
        return [item for item in running if item.ns == task] or asked

    def returned(self, ns: Namespace, output: Any) -> list[tuple[Subagent, Any]]:
        """The subagents that end with a result in the output of a node of the graph at `ns`, each with its result.

        If the stream has the `messages` mode, they have ended already.
        """
        running = [item for item in self.running() if item.ns[:-1] == ns]
        results = [(fields(message), message) for message in written_messages(output, self._key)] if running else []
        return [
            (item, message)
            for view, message in results
            for item in running
            if kind_of(view) == "tool" and item.call and view.get("tool_call_id") == item.call.id
        ]

    def running(self, ns: Namespace = ()) -> list[Subagent]:
        """The subagents within the graph at `ns` that have not ended, innermost first."""
        running = [item for item in self._by_ns.values() if not item.has_ended]
        below = [item for item in running if item.ns != ns and is_within(item.ns, ns)]
        return sorted(below, key=lambda item: -len(item.ns))

    def end(self, subagent: Subagent, interrupt_ids: list[str], failure: Failure | None) -> Iterator[Event]:
        """Ends a subagent, which has failed, is suspended by interrupts, or is done."""
        has_ended, subagent.has_ended = subagent.has_ended, True
        if has_ended or not self._is_attributed:
            return
        if failure is not None:
            yield events.subagent_error(subagent.id, failure.message, failure.code)
        else:
            outcome = {"type": "suspended", "interruptIds": interrupt_ids} if interrupt_ids else {"type": "success"}
            yield events.subagent_finished(subagent.id, outcome)

    @property
    def _is_attributed(self) -> bool:
        return self._options.subagents == "attributed"

    def _is_new(self, ns: Namespace, *, by_input: bool) -> bool:
        """Whether a tool called the graph at `ns` and it has not been examined before; from now on it has."""
        key = (ns, by_input)
        if not ns or ns in self._by_ns or key in self._examined or not self._tools.is_called_by_tool(ns):
            return False
        self._examined.add(key)
        return True

    def _find(self, ns: Namespace, name: Any, text: str | None) -> Iterator[Event]:
        """The start of the subagent at `ns`. `name`: the name of its graph; `text`: the text of its input."""
        taken = {(call.message_id, call.id) for item in self._by_ns.values() if (call := item.call) is not None}
        calls = [call for call in self._delegations.of(ns, name, text) if (call.message_id, call.id) not in taken]
        if not calls:
            return
        call = calls[0]
        is_certain = len(calls) == 1 or text is not None
        self._by_ns[ns] = subagent = Subagent(ns, call.name, self.of(ns[:-1]), call if is_certain else None)
        if self._is_attributed:
            yield _started(subagent)


def _started(subagent: Subagent) -> Event:
    """The event of a subagent's start. It names the call if the client knows the call."""
    call, parent = subagent.call, subagent.parent.id if subagent.parent else None
    if call is None:
        return events.subagent_started(subagent.id, subagent.name, None, parent)
    message_id = call.message_id if call.client_id else None
    return events.subagent_started(subagent.id, call.name, call.description, parent, call.client_id, message_id)
