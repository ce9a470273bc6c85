"""Translates the subagents of deepagents' `task` tool into `SUBAGENT_*` events. Tracks which namespaces belong to a
subagent, which tool call started the subagent, and how the subagent ends.

Rules:

1. A subagent is a graph that the tool `task` runs for a tool call with the arguments `subagent_type` and `description`
   (https://github.com/langchain-ai/deepagents/blob/main/libs/deepagents/deepagents/middleware/subagents.py). The last
   segment of its namespace names the task that runs the tool. The id of that task stays the same when the run is
   resumed, because LangGraph derives it from the checkpoint and the task's path
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_algo.py). Ordinary subgraphs
   are not subagents, and neither are graphs and models that other tools call.
2. `delegations.py` finds the tool call that started a subagent. If several tool calls are possible, the events name
   none of them.
3. A subagent starts before the first event of its graph. It ends when the result of its tool call arrives, or when the
   superstep of the graph that called it ends. An interrupt inside a subagent suspends it. A subagent fails if the
   result of its tool call has the status `error`, or if the run fails or is cancelled.
4. The option `subagents` decides what is emitted. `attributed`: `SUBAGENT_*` events, and the events of the subagent's
   graph carry its id (`subagentRunId`, https://docs.ag-ui.com/concepts/events). `inline`: the events of the subagent's
   graph look like the main agent's. `hidden`: nothing is emitted. Clients that declare no version may not know
   subagents, so they get no `SUBAGENT_*` events and no steps of subagents (`wire/older_clients.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..client.view import ClientView
from ..options import Options
from ..parts.channels import written_messages
from ..parts.message import fields_of, kind_of
from ..parts.part import Namespace, is_within
from ..tool_tasks import ToolTasks
from ..wire import events
from ..wire.events import Event
from .delegations import Delegation, Delegations, last_input
from .error_detail import Failure


@dataclass(slots=True)
class Subagent:
    """One run of a subagent. Its id is its namespace, which stays the same when the run is resumed (rule 1)."""

    ns: Namespace
    name: str
    parent: Subagent | None
    call: Delegation | None
    """The tool call that started the subagent; None if several tool calls are possible."""
    has_ended: bool = False

    @property
    def id(self) -> str:
        """The `subagentRunId`."""
        return "|".join(self.ns)

    @property
    def call_id(self) -> str | None:
        """The id by which the client knows the subagent's tool call; None if that tool call is unknown or the client
        does not have it."""
        return self.call.client_id if self.call else None


class Subagents:
    """Keeps track of the subagents in one run. `view`: the client's messages. `tools`: the tasks that run tools."""

    def __init__(self, view: ClientView, options: Options, tools: ToolTasks) -> None:
        self._options = options
        self._key = options.messages_key
        self._tools = tools
        self._by_ns: dict[Namespace, Subagent] = {}
        """All subagents of the run, including those that have ended, because late parts may still belong to them."""
        self._examined: set[tuple[Namespace, bool]] = set()
        """The graphs that have already been examined to find out whether they are subagents. Each entry consists of a
        graph's namespace, and of a flag that is True if the graph's input was known."""
        self._delegations = Delegations(view, options, tools.call_of)

    def of(self, ns: Namespace) -> Subagent | None:
        """Returns the innermost subagent that the graph at `ns` belongs to; None if there is none. The graph may be the
        subagent itself."""
        if not self._by_ns:
            return None
        return next((subagent for depth in range(len(ns), 0, -1) if (subagent := self._by_ns.get(ns[:depth]))), None)

    def owner(self, ns: Namespace) -> tuple[str | None, int]:
        """Returns the `subagentRunId` for events from the graph at `ns`, and the depth of that subagent's namespace."""
        subagent = self.of(ns)
        return (self.tag(subagent), len(subagent.ns)) if subagent else (None, 0)

    def tag(self, subagent: Subagent | None) -> str | None:
        """Returns the `subagentRunId` for events from `subagent`; None if there is no subagent, or if events are not
        attributed to subagents."""
        return subagent.id if subagent is not None and self._is_attributed else None

    def is_visible(self, ns: Namespace) -> bool:
        """Returns whether events from the graph at `ns` are emitted. Events from inside a tool or a hidden subagent are
        not emitted."""
        if not ns:
            return True
        subagent = self.of(ns)
        return not self.hides(subagent) and not self._tools.in_tool(ns, len(subagent.ns) if subagent else 0)

    def has_steps(self, ns: Namespace) -> bool:
        """Returns whether the steps of the graph at `ns`, which is not the root graph, are emitted."""
        subagent = self.of(ns)
        return not self.hides(subagent) and self._tools.has_steps(ns, len(subagent.ns) if subagent else 0)

    def hides(self, subagent: Subagent | None) -> bool:
        """Returns whether the events from `subagent` are hidden."""
        return subagent is not None and self._options.subagents == "hidden"

    def on_message(self, ns: Namespace, metadata: Mapping[str, Any]) -> list[Event]:
        """Handles a message from the graph at `ns`. If the graph is a new subagent, returns the event that starts
        it."""
        return self._find(ns, metadata.get("lc_agent_name"), None) if self._is_new(ns, by_input=False) else []

    def on_values(self, ns: Namespace, channels: Mapping[str, Any] | None) -> list[Event]:
        """Handles `values` from the graph at `ns`. If the graph is a new subagent, returns the event that starts it."""
        self._delegations.read_values(ns, channels)
        return self._find(ns, None, last_input(channels, self._key)) if self._is_new(ns, by_input=True) else []

    def read_checkpoint(self, channels: Mapping[str, Any] | None) -> None:
        """Handles the channels of a checkpoint of the root graph that was read during the stream."""
        self._delegations.read_checkpoint(channels)

    def ended_by_message(self, message: Any, call_id: str | None, task: Namespace) -> list[Subagent]:
        """Returns the subagents that a message ends. Only the result of a tool call can end a subagent.

        `call_id`: the id by which the client knows the tool call; None if the client does not have it. `task`: the task
        that returned the result. If two tool calls have the same arguments, a subagent may have been assigned to the
        wrong one. In that case, the task shows which subagent ended.
        """
        running = self.running()
        if not running or kind_of(fields_of(message)) != "tool":
            return []
        asked = [item for item in running if call_id is not None and item.call_id == call_id]
        if any(item.ns[: len(task)] == task for item in asked):
            return asked
        return [item for item in running if item.ns == task] or asked

    def ended_by_updates(self, ns: Namespace, updates: Sequence[Mapping[str, Any]]) -> list[tuple[Subagent, Any]]:
        """Returns the subagents whose results are in a node's updates, each with its result. `ns`: the graph that the
        node belongs to.

        If the stream has the `messages` mode, these subagents have already ended.
        """
        if not self._by_ns:
            return []
        running = [item for item in self._by_ns.values() if not item.has_ended and item.ns[:-1] == ns]
        if not running:
            return []
        results = [(fields_of(message), message) for message in written_messages(updates, self._key)]
        return [
            (item, message)
            for fields, message in results
            for item in running
            if kind_of(fields) == "tool" and item.call and fields.get("tool_call_id") == item.call.id
        ]

    def running(self, ns: Namespace = ()) -> list[Subagent]:
        """Returns the subagents inside the graph at `ns` that have not ended, innermost first."""
        if not self._by_ns:
            return []
        running = [item for item in self._by_ns.values() if not item.has_ended]
        below = [item for item in running if item.ns != ns and is_within(item.ns, ns)]
        return sorted(below, key=lambda item: -len(item.ns))

    def end(
        self, subagent: Subagent, interrupt_ids: list[str], failure: Failure | None, *, is_suspended: bool
    ) -> Iterator[Event]:
        """Marks a subagent as ended, and yields the event for its end. The subagent has failed, is suspended, or has
        finished. `interrupt_ids`: the questions that suspend it. It may also wait for the page alone."""
        has_ended, subagent.has_ended = subagent.has_ended, True
        if has_ended or not self._is_attributed:
            return
        if failure is not None:
            yield events.subagent_error(subagent.id, failure.message, failure.code)
        else:
            questions = {"interruptIds": interrupt_ids} if interrupt_ids else {}
            outcome = {"type": "suspended", **questions} if is_suspended else {"type": "success"}
            yield events.subagent_finished(subagent.id, outcome)

    @property
    def _is_attributed(self) -> bool:
        return self._options.subagents in (None, "attributed")

    def _is_new(self, ns: Namespace, *, by_input: bool) -> bool:
        """Returns whether the graph at `ns` was called by a tool and has not been examined yet. Marks the graph as
        examined."""
        key = (ns, by_input)
        if not ns or ns in self._by_ns or key in self._examined or not self._tools.is_called_by_tool(ns):
            return False
        self._examined.add(key)
        return True

    def _find(self, ns: Namespace, name: Any, text: str | None) -> list[Event]:
        """Returns the event that starts the subagent at `ns`. `name`: the name of the subagent's graph. `text`: the
        text of the subagent's input."""
        taken = {(call.message_id, call.id) for item in self._by_ns.values() if (call := item.call) is not None}
        calls = [call for call in self._delegations.of(ns, name, text) if (call.message_id, call.id) not in taken]
        if not calls:
            return []
        call = calls[0]
        is_certain = len(calls) == 1 or text is not None
        self._by_ns[ns] = subagent = Subagent(ns, call.name, self.of(ns[:-1]), call if is_certain else None)
        return [_started(subagent)] if self._is_attributed else []


def _started(subagent: Subagent) -> Event:
    """Returns the event for the start of a subagent. If the client has the tool call, the event names it."""
    call, parent = subagent.call, subagent.parent.id if subagent.parent else None
    if call is None:
        return events.subagent_started(subagent.id, subagent.name, None, parent)
    message_id = call.message_id if call.client_id else None
    return events.subagent_started(subagent.id, call.name, call.description, parent, call.client_id, message_id)
