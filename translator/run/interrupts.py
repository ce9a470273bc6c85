"""Interrupts, collected over the whole run, in AG-UI's form. When they are told is the end's to say.

Rules:

1. The same interrupt comes once per namespace level and again in `values`: by id it is one. The deepest level tells
   whose it is.
2. Ids are LangGraph's, verbatim; a static breakpoint has none and gets one from the run's id.
3. The value is kept whole in `metadata.value`; what can be read off it (a question, the tool call it is about) is given
   beside, and the schema of the answer: LangGraph's `response_schema`, or else that of an approval (`approvals`).
   `toolCallId` is given where the value names one call, or asks for one action that one open call is.
4. `reason` is AG-UI's `confirmation` for the approval of actions, `input_required` for any other question, and
   `langgraph:breakpoint`. `tool_call` is not used: on it clients write the answer into the chat as the tool's result.
5. The older custom event, `on_interrupt`, carries a string, as `ag-ui-langgraph` and its TypeScript twin send it:
   clients parse it as JSON and take what is none as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..jsonable.to_json import freeze, to_json, to_text
from ..parts.part import Namespace
from ..wire.events import Event, custom
from .approvals import answer_schema

BREAKPOINT = "-breakpoint"
"""What the id of a static breakpoint ends with, after the run's id."""
OpenCalls = Mapping[str, tuple[str, Any]]
"""Unanswered tool calls of the conversation: id to name and arguments."""


class Interrupts:
    """The interrupts of one run."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Namespace, Any, Any]] = {}
        self.is_stopped = False
        """Whether a static breakpoint was hit; the stream does not say where."""

    def __bool__(self) -> bool:
        return bool(self._found) or self.is_stopped

    @property
    def by_namespace(self) -> list[tuple[Namespace, str]]:
        """Where each was raised, and its id."""
        return [(ns, interrupt_id) for interrupt_id, (ns, _, _) in self._found.items()]

    @property
    def namespaces(self) -> set[Namespace]:
        """Where an interrupt is pending, each at its deepest level."""
        return {ns for ns, _, _ in self._found.values()}

    def add(self, ns: Namespace, interrupts: Any) -> None:
        """Takes the interrupts of a part: objects or their JSON; an empty sequence is a static breakpoint's."""
        if type(interrupts) not in (tuple, list):
            return
        found = list(interrupts)
        if not found:
            self.is_stopped = True
        for position, interrupt in enumerate(found):
            interrupt_id = _field(interrupt, "id")
            key = to_text(interrupt_id) if issubclass(type(interrupt_id), str) else f"interrupt-{position}"
            known = self._found.get(key)
            if known is None or len(ns) > len(known[0]):
                # as they are now: the node that asked may go on changing them
                self._found[key] = (
                    ns,
                    to_json(_field(interrupt, "value")),
                    to_json(_field(interrupt, "response_schema")),
                )

    def add_last(self, interrupts: Any) -> None:
        """Adds the interrupts of an ending, from any collection; an empty one changes nothing.

        A collection that raises when it is read counts as a breakpoint: the run must not end as a success.
        """
        try:
            found = tuple(interrupts)
        except Exception:
            self.is_stopped = True
            raise
        if found:
            self.add((), found)

    def legacy(self, owner: Any) -> list[Event]:
        """The custom events of older clients: a text as it is, any other value as its JSON in a string; a breakpoint's
        is null. `owner` gives the subagent run of a namespace."""
        found = [(_as_text(value), owner(ns)) for ns, value, _ in self._found.values()] or [("null", None)]
        return [custom("on_interrupt", value, subagent) for value, subagent in found]

    def items(self, run_id: str, calls: OpenCalls, owner: Any) -> list[Event]:
        """AG-UI `Interrupt` items. `owner` gives the subagent run of a namespace."""
        if not self._found:
            return [{"id": f"{run_id}{BREAKPOINT}", "reason": "langgraph:breakpoint"}]
        return [_told(key, *found, calls, owner(found[0])) for key, found in self._found.items()]

    def bare(self, run_id: str) -> list[Event]:
        """The `Interrupt` items with their required fields alone."""
        return [{"id": key, "reason": "input_required"} for key in self._found or [f"{run_id}{BREAKPOINT}"]]


def _told(key: str, ns: Namespace, value: Any, schema: Any, calls: OpenCalls, subagent: str | None) -> Event:
    item: Event = {"id": key, "reason": "confirmation" if _asks_approval(value) else "input_required"}
    message = _message(value)
    if message:
        item["message"] = message
    call_id = _call_id(value, calls)
    if call_id:
        item["toolCallId"] = call_id
    wanted = schema if isinstance(schema, dict) else answer_schema(value)
    if wanted is not None:
        item["responseSchema"] = wanted
    item["metadata"] = {"value": value}
    if subagent is not None:
        item["subagentRunId"] = subagent
    return item


def _asks_approval(value: Any) -> bool:
    return isinstance(value, dict) and ("action_requests" in value or value.get("type") == "tool_approval")


def _message(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    requests = value.get("action_requests")
    if isinstance(requests, list):
        descriptions = [request.get("description") for request in requests if isinstance(request, dict)]
        return "\n\n".join(item for item in descriptions if isinstance(item, str)) or None
    given = (value.get(key) for key in ("message", "question", "description"))
    return next((item for item in given if isinstance(item, str) and item), None)


def _call_id(value: Any, calls: OpenCalls) -> str | None:
    if not isinstance(value, dict):
        return None
    named = value.get("tool_call_id")
    if isinstance(named, str) and named:
        return named
    requests = value.get("action_requests")
    if not isinstance(requests, list) or len(requests) != 1 or not isinstance(requests[0], dict):
        return None
    wanted = (requests[0].get("name"), requests[0].get("args"))
    same = [call_id for call_id, call in calls.items() if call == wanted]
    return same[0] if len(same) == 1 else None


def _as_text(value: Any) -> str:
    frozen = freeze(value)
    return frozen.json if isinstance(frozen.json, str) else frozen.data.decode()


def _field(interrupt: Any, name: str) -> Any:
    if type(interrupt) is dict:
        return interrupt.get(name)
    try:
        return getattr(interrupt, name, None)
    except Exception:  # what is no interrupt must not end a stream
        return None
