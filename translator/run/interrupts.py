"""The interrupts of a run, collected from all its parts, in AG-UI's form. `Procedures.end` emits them at the end.

Rules:

1. The stream has each interrupt several times: once per level of its namespace, and again in `values`. The id shows
   that they are the same interrupt, and the deepest level shows where it was raised. An interrupt that the root graph
   never has was caught within the graph, and the run went on, so it does not count as an interrupt of the run.
2. Ids are LangGraph's, verbatim. Interrupts without an id of their own (`NodeInterrupt`, JSON without an id) are told
   apart by their value, and by their position if one part has several; they are numbered in the order in which they
   came. A static breakpoint has no interrupt; its id is made from the run's id.
3. The value is kept whole in `metadata.value`. If it has AG-UI's own fields `reason`, `toolCallId`, `responseSchema` or
   `expiresAt`, in camel or snake case, the item takes them over. A field that AG-UI does not allow is logged and left
   out. An instant must be in RFC 3339 with its offset, because a client compares it with its own clock.
4. Otherwise `reason` is AG-UI's `confirmation` for the approval of actions, `langgraph:breakpoint` for a breakpoint,
   and `input_required` for any other question. It is never `tool_call`: with that reason clients write the answer into
   the chat as the tool's result. `toolCallId` is the id of the one open call whose action the value asks for.
   `responseSchema` is LangGraph's `response_schema`, which takes precedence over the value's own, or the schema of an
   approval (`approvals`).
5. The older custom event, `on_interrupt`, carries a string, as `ag-ui-langgraph` sends it
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/integrations/langgraph/python/ag_ui_langgraph/agent.py). Clients
   parse it as JSON, and use a string that is not JSON as it is.
6. A stream and a checkpoint give the same order. A stream has interrupts in the order in which tasks raise them. A
   checkpoint has them by task, those of a subgraph in any order, and does not always know the subgraph. Both have the
   open calls of the main agent's messages, the values and the ids, so the order is by these three. The calls of a
   subagent's messages do not count, because a checkpoint may not have them. If those messages are not attributed, no
   call that the subagent's interrupts name counts either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, count
from typing import Any, Final, NamedTuple

import orjson

from ..jsonable.to_json import to_json, to_text
from ..losses import Losses
from ..owner import Owner
from ..parts.part import Namespace
from ..wire.events import Event, custom
from .approvals import Schema, approval_schema

BREAKPOINT = "-breakpoint"
"""What the id of a static breakpoint ends with, after the run's id."""
OpenCalls = Mapping[str, tuple[str, Any]]
"""The unanswered tool calls of the client's messages, in their order: name and arguments, by id."""
OwnerAt = Callable[[Namespace], Owner]
"""Returns the owner of what is emitted in a namespace."""

_PLACEHOLDER: Final = "placeholder-id"
"""The id that LangGraph gives to every interrupt made without one, such as a `NodeInterrupt`
(https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/types.py)."""
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


def open_calls(messages: Iterable[Event]) -> OpenCalls:
    """The unanswered tool calls of AG-UI messages: those without a result after them. Some models start counting again
    in each message, so an earlier call with the same id may have been answered."""
    unanswered: dict[str, tuple[str, str]] = {}
    for message in messages:
        if message["role"] == "tool":
            unanswered.pop(message.get("toolCallId", ""), None)
        elif message["role"] == "assistant":
            functions = ((call["id"], call["function"]) for call in message.get("toolCalls") or ())
            unanswered |= {call_id: (function["name"], function["arguments"]) for call_id, function in functions}
    return {call_id: (name, _json(arguments)) for call_id, (name, arguments) in unanswered.items()}


def answer_schema(value: Any, response_schema: Any = None) -> Schema | None:
    """The JSON schema for the answer to an interrupt; None if none is known.

    `value`: the interrupt's value, as JSON; `response_schema`: the interrupt's `response_schema` in LangGraph, which
    takes precedence. After it come the value's own `responseSchema` or `response_schema`, and then the schema of an
    approval by LangChain's middleware.
    """
    schemas = (to_json(response_schema), _own_field(value, "responseSchema"), approval_schema(value))
    return next((schema for schema in schemas if isinstance(schema, dict)), None)


class _Interrupt(NamedTuple):
    """One interrupt as JSON, and the deepest namespace that it came from."""

    ns: Namespace
    value: Any
    schema: Any
    has_own_id: bool
    is_of_run: bool = False
    """Whether the root graph has it, so that it was not caught within the graph."""


_BREAKPOINT: Final = _Interrupt((), None, None, has_own_id=False)


def is_breakpoint(interrupt_id: str) -> bool:
    """Whether this is the id of a static breakpoint in `RUN_FINISHED.outcome`. LangGraph does not give breakpoints an
    id, so it is made from the run's id. A breakpoint takes no answer: the run is continued, or given up."""
    return interrupt_id.endswith(BREAKPOINT)


class Interrupts:
    """The interrupts of one run."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._found: dict[str, _Interrupt] = {}
        self.is_stopped = False
        """Whether a static breakpoint was hit; the stream does not say where."""

    def __bool__(self) -> bool:
        return bool(self._found) or self.is_stopped

    @property
    def places(self) -> list[tuple[Namespace, str]]:
        """The namespace in which each interrupt was raised, and its id."""
        return [(interrupt.ns, interrupt_id) for interrupt_id, interrupt in self._found.items()]

    @property
    def namespaces(self) -> set[Namespace]:
        """The namespaces in which interrupts are pending, each at its deepest level."""
        return {interrupt.ns for interrupt in self._found.values()}

    def add(self, ns: Namespace, interrupts: Any) -> None:
        """Adds the interrupts of a part of the stream: objects or their JSON. In a stream, an empty sequence means a
        static breakpoint."""
        if type(interrupts) in (tuple, list):
            self.is_stopped = self.is_stopped or not interrupts
            self._add(ns, interrupts, is_of_run=not ns)

    def add_pending(self, ns: Namespace, interrupts: Sequence[Any], *, at_breakpoint: bool) -> None:
        """Adds what a checkpoint waits for. Its interrupts are interrupts of the run at every level."""
        self.is_stopped = self.is_stopped or at_breakpoint
        self._add(ns, interrupts or (), is_of_run=True)

    def add_last(self, interrupts: Iterable[Any], *, at_breakpoint: bool) -> None:
        """Adds what the run waits for according to its ending.

        If the collection raises when it is read, it counts as a breakpoint, because the run must not end as a success.
        """
        try:
            self._add((), tuple(interrupts), is_of_run=True)
        except Exception:
            self.is_stopped = True
            raise
        self.is_stopped = self.is_stopped or (at_breakpoint and not self._found)

    def _add(self, ns: Namespace, interrupts: Iterable[Any], *, is_of_run: bool) -> None:
        seen: set[str] = set()
        for interrupt in interrupts:
            own_id = _field(interrupt, "id")
            name = to_text(own_id) if issubclass(type(own_id), str) else ""
            has_own_id = bool(name) and name != _PLACEHOLDER
            # The JSON is made now, because the node that raised the interrupt may still change the value.
            value, schema = to_json(_field(interrupt, "value")), to_json(_field(interrupt, "response_schema"))
            key = name if has_own_id else self._key(name, ns, value, seen)
            seen.add(key)
            known = self._found.get(key)
            if known is None or len(ns) > len(known.ns):
                known = _Interrupt(ns, value, schema, has_own_id, is_of_run=known is not None and known.is_of_run)
            self._found[key] = known._replace(is_of_run=known.is_of_run or is_of_run)

    def forget_caught(self) -> None:
        """The run has ended: an interrupt that was caught within the graph does not wait (rule 1)."""
        self._found = {key: interrupt for key, interrupt in self._found.items() if interrupt.is_of_run}

    def legacy(self, messages: Iterable[Event], owner_at: OwnerAt) -> list[Event]:
        """The custom events for older clients. A text is sent as it is, any other value as its JSON in a string; the
        value of a breakpoint is null. `messages`: the client's messages."""
        ordered = self._ordered(messages, owner_at) or [(_BREAKPOINT, {})]
        return [custom("on_interrupt", to_text(one.value), item.get("subagentRunId")) for one, item in ordered]

    def items(self, run_id: str, messages: Iterable[Event], owner_at: OwnerAt) -> list[Event]:
        """AG-UI `Interrupt` items. `messages`: the client's messages."""
        if not self._found:
            return [{"id": f"{run_id}{BREAKPOINT}", "reason": "langgraph:breakpoint"}]
        return [item for _, item in self._ordered(messages, owner_at)]

    def bare(self, run_id: str) -> list[Event]:
        """The `Interrupt` items with only their required fields."""
        return [{"id": key, "reason": "input_required"} for key in self._found or [f"{run_id}{BREAKPOINT}"]]

    def _ordered(self, messages: Iterable[Event], owner_at: OwnerAt) -> list[tuple[_Interrupt, Event]]:
        """The interrupts and their items, in the order of rule 6."""
        listed = list(messages)
        calls = open_calls(listed)
        main = list(open_calls(message for message in listed if "subagentRunId" not in message))

        def order(pair: tuple[_Interrupt, Event]) -> tuple[int, bytes, str]:
            interrupt, item = pair
            owner, call_id = owner_at(interrupt.ns), item.get("toolCallId", "")
            counts = call_id in main and (owner.id is None or owner.tag is not None)
            return main.index(call_id) if counts else len(main), orjson.dumps(interrupt.value), item["id"]

        items = [(one, self._item(key, one, calls, owner_at(one.ns).tag)) for key, one in self._found.items()]
        return sorted(items, key=order)

    def _key(self, name: str, ns: Namespace, value: Any, seen: set[str]) -> str:
        """The id for an interrupt without its own: the id of the same interrupt at another level, or a new id."""
        for key, known in self._found.items():
            related = known.ns[: len(ns)] == ns or ns[: len(known.ns)] == known.ns
            if not known.has_own_id and key not in seen and related and known.value == value:
                return key
        numbered = (f"{name or 'interrupt'}-{number}" for number in count(1 if name else 0))
        return next(key for key in chain((name,) if name else (), numbered) if key not in self._found)

    def _item(self, key: str, interrupt: _Interrupt, calls: OpenCalls, subagent: str | None) -> Event:
        value = interrupt.value
        own = self._own_fields(key, value)
        item: Event = {
            "id": key,
            "reason": own.get("reason") or ("confirmation" if _asks_approval(value) else "input_required"),
            "message": _message(value) or None,
            "toolCallId": own.get("toolCallId") or _call_of_action(value, calls),
            "responseSchema": answer_schema(value, interrupt.schema),
            "expiresAt": own.get("expiresAt"),
            "metadata": {"value": value},
            "subagentRunId": subagent,
        }
        return {name: content for name, content in item.items() if content is not None}

    def _own_fields(self, key: str, value: Any) -> Event:
        """The fields of AG-UI that a value has (rule 3)."""
        fields: Event = {}
        for name, (_, is_valid) in _OWN_FIELDS.items():
            content = _own_field(value, name)
            if content is not None and is_valid(content):
                fields[name] = content
            elif content is not None:
                self._losses.warn(f"The field {name!r} of the interrupt {key!r} is not valid in AG-UI and left out")
        return fields


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_instant(value: Any) -> bool:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:  # a 30th of February
        return False
    return True


_OWN_FIELDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "reason": ("reason", _is_name),
    "toolCallId": ("tool_call_id", _is_name),
    "responseSchema": ("response_schema", lambda value: isinstance(value, dict)),
    "expiresAt": ("expires_at", _is_instant),
}
"""The fields of AG-UI's interrupts that a value may have: their names in snake case, and which values are valid."""


def _own_field(value: Any, name: str) -> Any:
    """The field of AG-UI with this name in a value, in camel or snake case; None if the value does not have it."""
    if not isinstance(value, dict):
        return None
    content = value.get(name)
    return value.get(_OWN_FIELDS[name][0]) if content is None else content


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
    texts = (value.get(key) for key in ("message", "question", "description"))
    return next((text for text in texts if isinstance(text, str) and text), None)


def _call_of_action(value: Any, calls: OpenCalls) -> str | None:
    """The one open call whose action a value asks for."""
    requests = value.get("action_requests") if isinstance(value, dict) else None
    if not isinstance(requests, list) or len(requests) != 1 or not isinstance(requests[0], dict):
        return None
    action = (requests[0].get("name"), requests[0].get("args"))
    same = [call_id for call_id, call in calls.items() if call == action]
    return same[0] if len(same) == 1 else None


def _json(arguments: str) -> Any:
    try:
        return orjson.loads(arguments)
    except ValueError:
        return arguments


def _field(interrupt: Any, name: str) -> Any:
    if type(interrupt) is dict:
        return interrupt.get(name)
    try:
        return getattr(interrupt, name, None)
    except Exception:  # an object that cannot be read must not end a stream
        return None
