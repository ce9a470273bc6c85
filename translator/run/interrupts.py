"""Collects a run's interrupts from all parts of the stream, and converts them to AG-UI's form. They are emitted when
the run ends (`Procedures.on_end`).

Rules:

1. The stream contains each interrupt several times, once for each level of its namespace and again in `values`
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). The copies have the
   same id, and the deepest level shows where the interrupt was raised. If an interrupt never reaches the root graph, it
   was caught inside the graph and the run continued. Such an interrupt is not emitted.
2. Ids are used as LangGraph gives them. Some interrupts have no id of their own, because they are JSON without an id,
   or a `NodeInterrupt` (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/types.py). They
   are distinguished by their value and, if one part contains several, by their position. They are numbered in the order
   in which they arrive. LangGraph raises no interrupt at a static breakpoint, so the id of a breakpoint is made from
   the run's id.
3. The complete value is in `metadata.value`. If the value contains AG-UI's own fields `reason`, `toolCallId`,
   `responseSchema` or `expiresAt` (https://docs.ag-ui.com/concepts/interrupts), in camel or snake case, they become
   fields of the AG-UI interrupt. A field whose value AG-UI does not allow is logged and left out. `expiresAt` must be
   in RFC 3339 format with an offset, because clients compare it with their own clocks.
4. Fields that the value does not contain are set as follows. `reason` is AG-UI's `confirmation` if the interrupt asks
   for approval of actions, `langgraph:breakpoint` for a breakpoint, and `input_required` for any other interrupt. It is
   never `tool_call`, because clients would then write the answer into the chat as the tool's result. If exactly one
   open tool call matches the action that the value asks for, `toolCallId` is the id of that tool call. If not, it is
   the id of the tool call whose tool raised the interrupt (`tool_tasks.py`, rule 3). If that tool call is nested inside
   other tool calls, `toolCallId` is the id of the innermost tool call that appears in the thread's own messages. For
   example, an interrupt from a subagent gets the id of the tool call that started the subagent, because a client that
   connects later does not get the subagent's messages. For `responseSchema`, LangGraph's `response_schema` is preferred
   even to a schema in the value. If there is neither, it is the schema for an approval (`approvals.py`).
5. The older custom event, `on_interrupt`, has a string as its value, as `ag-ui-langgraph` sends it
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/integrations/langgraph/python/ag_ui_langgraph/agent.py). Clients
   parse this string as JSON. If it is not JSON, they use the string unchanged.
6. Interrupts are emitted in the same order whether they come from a stream or from a checkpoint. A stream contains them
   in the order in which tasks raise them. A checkpoint lists them by task, with the interrupts from a subgraph in any
   order, and does not always show the subagent. But a stream and a checkpoint both contain the open tool calls in the
   main agent's messages, the values of the interrupts, and their ids. These three determine the order. The tool that
   raised an interrupt does not count, because only the `tasks` mode shows it. The tool calls in a subagent's messages
   do not count, because a checkpoint may not contain these messages. If messages are not attributed to subagents, tool
   calls named in a subagent's interrupts do not count either.
7. An interrupt at which a tool call waits for the page is not a question (`page_calls.py`). It gives no item, and alone
   it does not make the outcome an interrupt. Everything else that holds for a run that waits holds for it too: the
   messages that are displayed stay, and a subagent that contains it is suspended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain, count
from typing import Any, Final, NamedTuple, TypeGuard

import orjson

from ..jsonable.to_json import to_json, to_text
from ..losses import Losses
from ..owner import Owner
from ..parts.part import Namespace
from ..wire.events import Event, custom
from .approvals import Schema, approval_schema
from .page_calls import PageCall

BREAKPOINT = "-breakpoint"
"""The suffix that follows the run's id in the id of a static breakpoint."""
OpenCalls = Mapping[str, tuple[str, Any]]
"""A mapping from the ids of the unanswered tool calls in the client's messages to their names and arguments, in the
order of the messages."""
OwnerAt = Callable[[Namespace], Owner]
"""A function that returns the owner of the events from a namespace."""
OwnsCalls = Callable[[Namespace], bool]
"""A function that returns whether the thread's own messages contain the tool calls that the graph at a namespace
makes."""

_PLACEHOLDER: Final = "placeholder-id"
"""The id that LangGraph gives to every interrupt that was created without an id, such as a `NodeInterrupt`
(https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/types.py)."""
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)


def open_calls(messages: Iterable[Event]) -> OpenCalls:
    """Returns the tool calls in AG-UI messages that are not followed by a result. Some models restart the numbering of
    their tool calls in each message. So a tool call may be unanswered although an earlier tool call with the same id
    was answered."""
    unanswered: dict[str, tuple[str, str]] = {}
    for message in messages:
        if message["role"] == "tool":
            unanswered.pop(message.get("toolCallId", ""), None)
        elif message["role"] == "assistant":
            functions = ((call["id"], call["function"]) for call in message.get("toolCalls") or ())
            unanswered |= {call_id: (function["name"], function["arguments"]) for call_id, function in functions}
    return {call_id: (name, _json(arguments)) for call_id, (name, arguments) in unanswered.items()}


def _call_ids(messages: Iterable[Event]) -> set[str]:
    """Returns the ids of the tool calls in AG-UI messages."""
    assistants = (message for message in messages if message["role"] == "assistant")
    return {call["id"] for message in assistants for call in message.get("toolCalls") or ()}


def answer_schema(value: Any, response_schema: Any = None) -> Schema | None:
    """Returns the JSON schema for the answer to an interrupt; None if no schema is known.

    `value`: the interrupt's value, as JSON; `response_schema`: the interrupt's `response_schema` in LangGraph, which is
    used first. Without it, the `responseSchema` or `response_schema` in the value is used. If the value contains
    neither, and LangChain's middleware asks for approval, the schema for that approval is used.
    """
    schemas = (to_json(response_schema), _own_field(value, "responseSchema"), approval_schema(value))
    return next((schema for schema in schemas if isinstance(schema, dict)), None)


class _Interrupt(NamedTuple):
    """One interrupt: its value and answer schema as JSON, and the deepest namespace in which the stream reported it."""

    ns: Namespace
    value: Any
    schema: Any
    has_own_id: bool
    is_of_run: bool = False
    """Whether the interrupt has reached the root graph. If not, it may have been caught inside the graph."""
    calls: Mapping[Namespace, str] = {}
    """The ids of the tool calls during which the interrupt was raised. The keys are the namespaces of the graphs that
    made the tool calls."""
    page_call: PageCall | None = None
    """The tool call that waits for the page at this interrupt (rule 7); None if the interrupt is a question."""


_BREAKPOINT: Final = _Interrupt((), None, None, has_own_id=False)


def is_breakpoint(interrupt_id: str) -> bool:
    """Returns whether this is the id that `RUN_FINISHED.outcome` contains for a static breakpoint. LangGraph gives
    breakpoints no ids, so this id is made from the run's id. A breakpoint takes no answer: a client can only continue
    or abandon the run."""
    return interrupt_id.endswith(BREAKPOINT)


class Interrupts:
    """Collects the interrupts of one run."""

    def __init__(self, losses: Losses) -> None:
        self._losses = losses
        self._found: dict[str, _Interrupt] = {}
        self.is_at_breakpoint = False
        """Whether the run stopped at a static breakpoint. The stream does not show where the breakpoint is."""

    def __bool__(self) -> bool:
        return bool(self._found) or self.is_at_breakpoint

    @property
    def asks(self) -> bool:
        """Whether the run waits for a person: for an answer, or at a breakpoint."""
        return bool(self._questions) or self.is_at_breakpoint

    @property
    def places(self) -> list[tuple[Namespace, str]]:
        """The namespace in which each question was raised, and the id of its interrupt."""
        return [(interrupt.ns, interrupt_id) for interrupt_id, interrupt in self._questions.items()]

    @property
    def namespaces(self) -> set[Namespace]:
        """The deepest namespace of each pending interrupt."""
        return {interrupt.ns for interrupt in self._found.values()}

    @property
    def _page_calls(self) -> Mapping[str, PageCall]:
        waiting = (interrupt.page_call for interrupt in self._found.values())
        return {call.id: call for call in waiting if call is not None}

    @property
    def _questions(self) -> Mapping[str, _Interrupt]:
        return {key: interrupt for key, interrupt in self._found.items() if interrupt.page_call is None}

    def add(self, ns: Namespace, interrupts: Any, call_id: str | None = None) -> None:
        """Adds the interrupts of a part of the stream, as objects or as JSON. In a stream, an empty sequence means a
        static breakpoint. `call_id`: the id of the tool call that the graph at `ns` made and whose tool raised the
        interrupts, if known."""
        if type(interrupts) in (tuple, list):
            self.is_at_breakpoint = self.is_at_breakpoint or not interrupts
            self._add(ns, interrupts, call_id, is_of_run=not ns)

    def add_pending(self, ns: Namespace, interrupts: Sequence[Any], *, at_breakpoint: bool) -> None:
        """Adds the interrupts that are pending in a checkpoint. They count as interrupts of the run, even if `ns` is a
        subgraph."""
        self.is_at_breakpoint = self.is_at_breakpoint or at_breakpoint
        self._add(ns, interrupts or (), is_of_run=True)

    def add_last(self, interrupts: Iterable[Any], *, at_breakpoint: bool) -> None:
        """Adds the interrupts in the run's ending.

        If reading `interrupts` raises an exception, the run counts as stopped at a breakpoint, so that it does not
        appear successful. The exception is raised again.
        """
        try:
            self._add((), tuple(interrupts), is_of_run=True)
        except Exception:
            self.is_at_breakpoint = True
            raise
        self.is_at_breakpoint = self.is_at_breakpoint or (at_breakpoint and not self._found)

    def _add(self, ns: Namespace, interrupts: Iterable[Any], call_id: str | None = None, *, is_of_run: bool) -> None:
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
            if known is None:
                known = _Interrupt(ns, value, schema, has_own_id)
            elif len(ns) > len(known.ns):
                known = known._replace(ns=ns, value=value, schema=schema, has_own_id=has_own_id)
            called = call_id or _field(interrupt, "tool_call_id")
            calls = {**known.calls, ns: to_text(called)} if _is_name(called) else known.calls
            page_call = PageCall.of(known.value)
            self._found[key] = known._replace(is_of_run=known.is_of_run or is_of_run, calls=calls, page_call=page_call)

    def forget_caught(self) -> None:
        """Removes the interrupts that were caught inside the graph, because the run has ended without waiting for them
        (rule 1)."""
        self._found = {key: interrupt for key, interrupt in self._found.items() if interrupt.is_of_run}

    def legacy(self, messages: Iterable[Event], owner_at: OwnerAt) -> list[Event]:
        """Returns the custom events for older clients. A string is sent unchanged, and any other value as a string of
        JSON. The value for a breakpoint is null. `messages`: the client's messages."""
        ordered = self._ordered(messages, owner_at, lambda _: False) or [(_BREAKPOINT, {})]
        return [custom("on_interrupt", to_text(one.value), item.get("subagentRunId")) for one, item in ordered]

    def items(self, run_id: str, messages: Iterable[Event], owner_at: OwnerAt, owns_calls: OwnsCalls) -> list[Event]:
        """Returns the interrupts as AG-UI `Interrupt` items. `messages`: the client's messages."""
        if not self._questions:
            return [{"id": f"{run_id}{BREAKPOINT}", "reason": "langgraph:breakpoint"}]
        return [item for _, item in self._ordered(messages, owner_at, owns_calls)]

    def hidden_page_calls(self, messages: Iterable[Event]) -> list[PageCall]:
        """Returns the tool calls that wait for the page and are in none of the client's messages."""
        waiting = self._page_calls
        known = _call_ids(messages) if waiting else ()
        return [call for call in waiting.values() if call.id not in known]

    def pending_page_calls(self, messages: Iterable[Event]) -> list[str]:
        """Returns the ids of the tool calls that wait for the page and have no result in the client's messages, in the
        order of the messages. A client may have sent a result that the thread has not taken yet."""
        waiting = self._page_calls
        return [call_id for call_id in open_calls(messages) if call_id in waiting] if waiting else []

    def bare(self, run_id: str) -> list[Event]:
        """Returns the `Interrupt` items with only their required fields."""
        return [{"id": key, "reason": "input_required"} for key in self._questions or [f"{run_id}{BREAKPOINT}"]]

    def _ordered(
        self, messages: Iterable[Event], owner_at: OwnerAt, owns_calls: OwnsCalls
    ) -> list[tuple[_Interrupt, Event]]:
        """Returns the interrupts and their AG-UI items, in the order of rule 6."""
        listed = list(messages)
        calls = open_calls(listed)
        main = list(open_calls(message for message in listed if "subagentRunId" not in message))

        def order(pair: tuple[_Interrupt, Event]) -> tuple[int, bytes, str]:
            interrupt, item = pair
            owner, call_id = owner_at(interrupt.ns), _named_call(interrupt.value, calls) or ""
            counts = call_id in main and (owner.id is None or owner.tag is not None)
            return main.index(call_id) if counts else len(main), orjson.dumps(interrupt.value), item["id"]

        items: list[tuple[_Interrupt, Event]] = []
        for key, interrupt in self._questions.items():
            called = _raised_in(interrupt, main, owns_calls)
            items.append((interrupt, self._item(key, interrupt, calls, called, owner_at(interrupt.ns).tag)))
        return sorted(items, key=order)

    def _key(self, name: str, ns: Namespace, value: Any, seen: set[str]) -> str:
        """Returns an id for an interrupt that has no id of its own. If the same interrupt has already been found at
        another level of its namespace, returns the id that it was given then. Otherwise, returns a new id."""
        for key, known in self._found.items():
            related = known.ns[: len(ns)] == ns or ns[: len(known.ns)] == known.ns
            if not known.has_own_id and key not in seen and related and known.value == value:
                return key
        numbered = (f"{name or 'interrupt'}-{number}" for number in count(1 if name else 0))
        return next(key for key in chain((name,) if name else (), numbered) if key not in self._found)

    def _item(
        self, key: str, interrupt: _Interrupt, calls: OpenCalls, called: str | None, subagent: str | None
    ) -> Event:
        value = interrupt.value
        own = self._own_fields(key, value)
        item: Event = {
            "id": key,
            "reason": own.get("reason") or ("confirmation" if _asks_approval(value) else "input_required"),
            "message": _message(value) or None,
            "toolCallId": _named_call(value, calls) or called,
            "responseSchema": answer_schema(value, interrupt.schema),
            "expiresAt": own.get("expiresAt"),
            "metadata": {"value": value},
            "subagentRunId": subagent,
        }
        return {name: content for name, content in item.items() if content is not None}

    def _own_fields(self, key: str, value: Any) -> Event:
        """Returns the AG-UI fields in an interrupt's value (rule 3), and logs those that are not valid."""
        fields: Event = {}
        for name, (_, is_valid) in _OWN_FIELDS.items():
            content = _own_field(value, name)
            if content is not None and is_valid(content):
                fields[name] = content
            elif content is not None:
                self._losses.warn(f"The field {name!r} of the interrupt {key!r} is not valid in AG-UI and is left out")
        return fields


def _is_name(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def _is_instant(value: Any) -> bool:
    if not isinstance(value, str) or not _INSTANT.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:  # a date that does not exist, such as 30 February
        return False
    return True


_OWN_FIELDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "reason": ("reason", _is_name),
    "toolCallId": ("tool_call_id", _is_name),
    "responseSchema": ("response_schema", lambda value: isinstance(value, dict)),
    "expiresAt": ("expires_at", _is_instant),
}
"""For each AG-UI field that an interrupt's value may contain, the name in snake case and a function that checks the
field."""


def _own_field(value: Any, name: str) -> Any:
    """Returns the AG-UI field with this name in an interrupt's value, in camel or snake case; None if the value does
    not contain the field."""
    if not isinstance(value, dict):
        return None
    content = value.get(name)
    return value.get(_OWN_FIELDS[name][0]) if content is None else content


def _asks_approval(value: Any) -> bool:
    return isinstance(value, dict) and ("action_requests" in value or value.get("type") == "tool_approval")


def _message(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        asked = [_message(item) for item in value if isinstance(item, dict) and "action_request" in item]
        return "\n\n".join(filter(None, asked)) or None
    if not isinstance(value, dict):
        return None
    requests = value.get("action_requests")
    if isinstance(requests, list):
        descriptions = [request.get("description") for request in requests if isinstance(request, dict)]
        return "\n\n".join(item for item in descriptions if isinstance(item, str)) or None
    texts = (value.get(key) for key in ("message", "question", "description"))
    return next((text for text in texts if isinstance(text, str) and text), None) or _action(value)


def _action(value: Any) -> str | None:
    """Returns the name of the action in a request of LangChain's Agent Inbox
    (https://github.com/langchain-ai/agent-inbox); None for any other value."""
    request = value.get("action_request") if isinstance(value, dict) else None
    action = request.get("action") if isinstance(request, dict) else None
    return action if _is_name(action) else None


def _named_call(value: Any, calls: OpenCalls) -> str | None:
    """Returns the id of the tool call that an interrupt's value names, or that matches the action for which the value
    asks."""
    own = _own_field(value, "toolCallId")
    return own if _is_name(own) else _call_of_action(value, calls)


def _raised_in(interrupt: _Interrupt, calls: Sequence[str], owns_calls: OwnsCalls) -> str | None:
    """Returns the id of the tool call whose tool raised an interrupt. `calls`: the open tool calls in the thread's own
    messages."""
    innermost_first = sorted(interrupt.calls, key=len, reverse=True)
    return next((call for ns in innermost_first if owns_calls(ns) and (call := interrupt.calls[ns]) in calls), None)


def _call_of_action(value: Any, calls: OpenCalls) -> str | None:
    """Returns the id of the open tool call that matches the action requested by an interrupt's value; None unless
    exactly one call matches."""
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
