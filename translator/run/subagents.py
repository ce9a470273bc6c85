"""deepagents' `task` subagents as `SUBAGENT_*`: which namespaces are theirs, whose call began them, how they end.

Rules:

1. A subagent is a graph that a tool called `task` runs for a call with the arguments `subagent_type` and `description`.
   Its namespace ends in the tool's task. An ordinary subgraph is none, nor is a graph or a model that another tool
   calls.
2. The call is found by the subagent's input: its last human message ends with the call's description, also in a run
   that resumes it. Where the input is not in the stream, by its name (`lc_agent_name`), if just one unanswered call
   asks for it; else the events name no call.
3. It starts before the first event of its graph and ends with its call's result, or with the superstep of the graph
   that called it. An interrupt inside suspends it. It fails with its call, if the result's status is `error`, and with
   its run, if that fails or is cancelled.
4. `attributed`: `SUBAGENT_*` events, and the events of its graph are tagged. `inline`: the events of its graph are the
   main agent's. `hidden`: there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from ..client.view import ClientView
from ..content.reader import text_of
from ..options import Options
from ..parts.message import fields
from ..parts.part import Namespace, is_within
from ..wire import events
from ..wire.events import Event
from .error_detail import Failure

TASK_TOOL: Final = "task"


@dataclass(slots=True)
class Subagent:
    """One run of a subagent. Its id is its namespace, which a resumed run has again."""

    ns: Namespace
    name: str
    parent: Subagent | None
    call_id: str | None = None
    ended: bool = False

    @property
    def id(self) -> str:
        """The `subagentRunId`."""
        return "|".join(self.ns)


class ToolTasks(Protocol):
    """Which tasks of a run call a tool."""

    def is_tool(self, task: Namespace) -> bool:
        """Whether a task, by its whole path, runs a tool."""

    def in_tool(self, ns: Namespace, depth: int = 0) -> bool:
        """Whether the graph at `ns` was called by a tool; the first `depth` segments do not count."""


class Subagents:
    """The subagents of one run. `view`: the client's messages, which have the calls that began them."""

    def __init__(self, view: ClientView, options: Options, tools: ToolTasks) -> None:
        self._view = view
        self._options = options
        self._tools = tools
        self._by_ns: dict[Namespace, Subagent] = {}
        self._ordinary: set[tuple[Namespace, bool]] = set()
        """Namespaces that were found to be no subagent's, and whether by their input."""
        self._calls: dict[Namespace, str] = {}
        """By the namespace of a tool's task: the call it runs, where the `tasks` mode says so."""

    def of(self, ns: Namespace) -> Subagent | None:
        """The innermost subagent that the graph at `ns` is, or belongs to."""
        if not self._by_ns:
            return None
        return next((found for depth in range(len(ns), 0, -1) if (found := self._by_ns.get(ns[:depth]))), None)

    def owner(self, ns: Namespace) -> tuple[str | None, int]:
        """The `subagentRunId` of what happens at `ns`, and how deep that subagent lies."""
        subagent = self.of(ns)
        return (self.tag(subagent), len(subagent.ns)) if subagent else (None, 0)

    def tag(self, subagent: Subagent | None) -> str | None:
        """The `subagentRunId` that events of `subagent` carry."""
        return subagent.id if subagent is not None and self._is_attributed else None

    def tag_at(self, ns: Namespace) -> str | None:
        """The `subagentRunId` that events of the graph at `ns` carry."""
        return self.tag(self.of(ns))

    def is_visible(self, ns: Namespace) -> bool:
        """Whether events of the graph at `ns` are emitted: not inside a tool, nor of a hidden subagent."""
        if not ns:
            return True
        subagent = self.of(ns)
        return not self.hides(subagent) and not self._tools.in_tool(ns, len(subagent.ns) if subagent else 0)

    def hides(self, subagent: Subagent | None) -> bool:
        """Whether no events of `subagent` are emitted."""
        return subagent is not None and self._options.subagents == "hidden"

    def on_message(self, ns: Namespace, metadata: Mapping[str, Any]) -> Iterator[Event]:
        """A message with this metadata came from the graph at `ns`: the start of its subagent, if it is a new one."""
        if self._is_new(ns, by_input=False):
            yield from self._find(ns, metadata.get("lc_agent_name"), None)

    def on_values(self, ns: Namespace, channels: Any) -> Iterator[Event]:
        """`values` of the graph at `ns` came: the start of its subagent, if it is a new one."""
        if self._is_new(ns, by_input=True):
            messages = channels.get(self._options.messages_key) if isinstance(channels, Mapping) else None
            yield from self._find(ns, None, _last_human(messages))

    def on_task(self, ns: Namespace, task: Mapping[str, Any]) -> tuple[str, bool]:
        """A part of the `tasks` mode: the start of a tool's task names the call it runs.

        Returns the task's segment of a namespace, and whether the part is the start of a tool call."""
        call, segment = _tool_call(task.get("input")), f"{task.get('name')}:{task.get('id')}"
        if call is not None:
            self._calls[(*ns, segment)] = call
        return segment, call is not None

    def answered(self, call_id: str | None, task: Namespace) -> list[Subagent]:
        """The subagents that end with a result of the call `call_id` (None: there is none), returned by `task`.

        Two calls with the same arguments may have been confused; then the result's own task says which subagent ended.
        """
        if call_id is None:
            return []
        running = [item for item in self._by_ns.values() if not item.ended]
        asked = [item for item in running if item.call_id == call_id]
        if any(item.ns[: len(task)] == task for item in asked):
            return asked
        return [item for item in running if item.ns == task] or asked

    def running(self, ns: Namespace = ()) -> list[Subagent]:
        """The subagents called within the graph at `ns` that have not ended, innermost first."""
        below = [item for item in self._by_ns.values() if not item.ended and item.ns != ns and is_within(item.ns, ns)]
        return sorted(below, key=lambda item: -len(item.ns))

    def end(self, subagent: Subagent, interrupt_ids: list[str], failure: Failure | None) -> Iterator[Event]:
        """Ends a subagent: failed, suspended by interrupts, or done."""
        if subagent.ended:
            return
        subagent.ended = True
        if not self._is_attributed:
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
        """Whether the graph at `ns` is called by a tool and not examined yet; then it counts as examined."""
        key = (ns, by_input)
        if not ns or ns in self._by_ns or key in self._ordinary or not self._tools.is_tool(ns):
            return False
        self._ordinary.add(key)
        return True

    def _find(self, ns: Namespace, name: Any, given: str | None) -> Iterator[Event]:
        """The start of the subagent that the graph at `ns` is. `name`: its graph's; `given`: the text of its input."""
        caller = self.of(ns[:-1])
        known = self._calls.get(ns)
        asking = [
            (call_id, args)
            for call_id, args in self._unanswered(caller)
            if (call_id == known if known else _is_for(args, given, name))
        ]
        if not asking:
            return
        call_id, args = asking[0]
        certain = len(asking) == 1 or given is not None
        subagent = Subagent(ns, args["subagent_type"], caller, call_id if certain else None)
        started = self._started(subagent, args["description"] if certain else None)
        self._by_ns[ns] = subagent
        if self._is_attributed:
            yield started

    def _started(self, subagent: Subagent, description: str | None) -> Event:
        call_id = subagent.call_id
        parent_message = self._view.call_owner(call_id) if call_id else None
        parent = subagent.parent.id if subagent.parent else None
        return events.subagent_started(subagent.id, subagent.name, description, parent, call_id, parent_message)

    def _unanswered(self, caller: Subagent | None) -> Iterator[tuple[str, dict[str, str]]]:
        """The unanswered `task` calls of the main agent (None) or a subagent, those with a subagent left out."""
        taken = {subagent.call_id for subagent in self._by_ns.values()}
        messages = self._view.messages
        answered = {message.get("toolCallId") for message in messages if message["role"] == "tool"}
        for message in messages:
            if message.get("subagentRunId") != self.tag(caller):
                continue
            for call in (message.get("toolCalls") or ()) if message["role"] == "assistant" else ():
                if call["function"]["name"] == TASK_TOOL and call["id"] not in answered | taken:
                    args = _task_args(call["function"]["arguments"])
                    if args is not None:
                        yield call["id"], args


def _is_for(args: Mapping[str, str], given: str | None, name: Any) -> bool:
    """Whether a call with these arguments gave this input, or, if that is unknown, asks for a subagent of this name."""
    return given.endswith(args["description"]) if given is not None else args["subagent_type"] == name


def _tool_call(task_input: Any) -> str | None:
    """The id of the tool call that a task's input is; LangGraph gives it in a list, or beside the state. Both forms are
    recognised by their `type` marks: a graph's own state may have the fields of a call."""
    if type(task_input) in (list, tuple) and len(task_input) == 1:
        task_input = task_input[0]
    if type(task_input) is dict and task_input.get("__type") == "tool_call_with_context":
        task_input = task_input.get("tool_call")
    if type(task_input) is dict and task_input.get("type") == "tool_call" and {"name", "args"} <= task_input.keys():
        call_id = task_input.get("id")
        return call_id if isinstance(call_id, str) else None
    return None


def _task_args(arguments: str) -> dict[str, str] | None:
    try:
        args = orjson.loads(arguments)
    except ValueError:
        return None
    wanted = ("subagent_type", "description")
    good = isinstance(args, dict) and all(isinstance(args.get(name), str) for name in wanted)
    return {name: args[name] for name in wanted} if good else None


def _last_human(messages: Any) -> str | None:
    if type(messages) not in (list, tuple):
        return None
    views = map(fields, reversed(messages))
    return next((text_of(view) for view in views if view.get("type") == "human"), None)
