"""Asks the user of an editor about the interrupts of a run, one after the other: `ask`, a generator that yields
requests, receives their answers, and returns the `resume` entries of all interrupts.

| interrupt | asked as | asked without forms as |
|---|---|---|
| approval of one or more calls | a permission for each call, in order | the same, but without `edit` |
| approval that allows only a text as the answer | a form with one text | a question in the chat |
| question with options | a form with one choice | a permission with one option for each |
| any other question | a form made from the schema of the answer | a question in the chat |
| breakpoint | a permission to continue or stop | the same |

A permission that the user does not give is a rejection. A form that the user does not fill in cancels its interrupt. A
question in the chat is answered by the next prompt, for which the generator waits.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from ....translator import decision_schemas, is_breakpoint
from .calls import Card, Update
from .forms import Form, form_of, parse_answer, read_form
from .updates import Updates

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Permission:
    """A request for permission. Its answer is the id of an option, or None if the user chose none."""

    tool_call: Update
    """The call that the user is asked about."""
    options: Sequence[Json]


@dataclass(frozen=True, slots=True)
class InChat:
    """A question in the chat. Its answer is the text of the next prompt."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Emit:
    """Updates to send with a question. They have no answer."""

    updates: Sequence[Update]


Request = Permission | Form | InChat | Emit
Asking = Generator[Request, Any, list[Json]]
"""The questions about all interrupts of a run."""
AskingOne = Generator[Request, Any, Json]
"""The questions about one interrupt."""


@dataclass(slots=True)
class Approvals:
    """The calls that the user has approved in advance. `for_session` are the approvals for the whole session, by tool;
    for tools that execute commands, only the same command is approved. `by_mode` are the tools that the chosen mode
    approves."""

    for_session: set[tuple[str, str | None]] = field(default_factory=set)
    by_mode: frozenset[str] = frozenset()

    def covers(self, card: Card) -> bool:
        """Whether the call is approved already."""
        return card.name in self.by_mode or _scope(card) in self.for_session

    def add(self, card: Card) -> None:
        """Approves all later calls like this one."""
        self.for_session.add(_scope(card))


_APPROVE: Final[Json] = {"optionId": "approve", "name": "Allow", "kind": "allow_once"}
_ALWAYS: Final[Json] = {"optionId": "approve_always", "name": "Always allow in this session", "kind": "allow_always"}
_EDIT: Final[Json] = {"optionId": "edit", "name": "Edit, then allow", "kind": "allow_once"}
_RESPOND: Final[Json] = {"optionId": "respond", "name": "Answer in its place", "kind": "reject_once"}
_REJECT: Final[Json] = {"optionId": "reject", "name": "Reject", "kind": "reject_once"}
_CONTINUE: Final[Json] = {"optionId": "continue", "name": "Continue", "kind": "allow_once"}
_STOP: Final[Json] = {"optionId": "stop", "name": "Stop", "kind": "reject_once"}
_DECLINED: Final = "The user did not answer."
_TEXT: Final[Json] = {"type": "string"}
_MOST_OPTIONS: Final = 20


def ask(interrupts: Sequence[Json], updates: Updates, *, forms: bool, approvals: Approvals) -> Asking:
    """Asks for the answers to the interrupts of a run.

    Args:
        interrupts: The interrupts, as JSON.
        updates: The updates of the session, which know its open calls.
        forms: Whether the editor can display forms.
        approvals: The approvals of the session. New ones are added.
    """
    questions = _Questions(updates, forms, approvals)
    entries = []
    for item in interrupts:
        value: Any = (item.get("metadata") or {}).get("value")
        if is_breakpoint(item["id"]):
            entries.append((yield from questions.breakpoint(item)))
        elif (decisions := decision_schemas(value)) is not None:
            entries.append((yield from questions.actions(item, value["action_requests"], decisions)))
        elif isinstance(value, Mapping) and value.get("type") == "tool_approval":
            entries.append((yield from questions.call(item, value)))
        else:
            entries.append((yield from questions.question(item, value)))
    return entries


class _Questions:
    """The questions about one run."""

    def __init__(self, updates: Updates, forms: bool, approvals: Approvals) -> None:
        self._updates, self._forms, self._approvals = updates, forms, approvals
        self._left = updates.open_cards()

    def breakpoint(self, item: Json) -> AskingOne:
        answer = yield from self._choice(item["id"], "The run has stopped at a breakpoint", [_CONTINUE, _STOP])
        return _entry(item, None) if answer == "continue" else _cancel(item)

    def actions(self, item: Json, requests: Sequence[Any], schemas: Sequence[Json]) -> AskingOne:
        decisions = []
        for number, (request, schema) in enumerate(zip(requests, schemas, strict=True)):
            action = request if isinstance(request, Mapping) else {}
            card = self._card(item, action, number)
            decision = yield from self._decision(item, action, card, _types(schema))
            if decision is None:
                return _cancel(item)
            decisions.append(decision)
        return _entry(item, {"decisions": decisions})

    def call(self, item: Json, value: Mapping[str, Any]) -> AskingOne:
        card = self._updates.card(str(value.get("tool_call_id"))) or self._card(item, value, 0)
        decision = yield from self._decision(item, value, card, _types(item.get("responseSchema")))
        return _cancel(item) if decision is None else _entry(item, decision)

    def question(self, item: Json, value: Any) -> AskingOne:
        text, schema = _text_of(item, value), item.get("responseSchema")
        options = _options(value)
        form = form_of(text, schema, options, item.get("toolCallId"))
        if self._forms:
            content = yield form
            return _cancel(item) if content is None else _entry(item, read_form(form, content))
        if options:
            choices = [
                {"optionId": f"option-{number}", "name": label, "kind": "allow_once"}
                for number, (label, _) in enumerate(options)
            ]
            answer = yield from self._choice(item["id"], text, choices)
            values = {choice["optionId"]: value for choice, (_, value) in zip(choices, options, strict=True)}
            return _entry(item, values[answer]) if answer in values else _cancel(item)
        answer = yield InChat(item["id"], text)
        return _entry(item, parse_answer(answer, schema))

    def _decision(
        self, item: Json, action: Mapping[str, Any], card: Card, allowed: Sequence[str]
    ) -> Generator[Request, Any, Json | None]:
        """Returns the decision about one call, or None if the user made none and a rejection is not allowed."""
        if "approve" in allowed and self._approvals.covers(card):
            return {"type": "approve"}
        if not {"approve", "reject"} & set(allowed):
            return (yield from self._response(item, action, card)) if "respond" in allowed else None
        options = [_APPROVE, _ALWAYS] if "approve" in allowed else []
        if self._forms:
            options += [option for option in (_EDIT, _RESPOND) if option["optionId"] in allowed]
        options += [_REJECT] if "reject" in allowed else []
        answer = yield Permission(self._updates.for_permission(card), options)
        if answer not in [option["optionId"] for option in options]:
            answer = "reject"
        if answer == "approve_always":
            self._approvals.add(card)
        if answer in ("approve", "approve_always"):
            return {"type": "approve"}
        if answer == "edit" and (arguments := (yield from self._edit(action, card))) is not None:
            return {"type": "edit", "edited_action": {"name": card.name, "args": arguments}}
        if answer == "respond":
            return (yield from self._response(item, action, card))
        if "reject" in allowed:
            return {"type": "reject"}
        return {"type": "respond", "message": _DECLINED} if "respond" in allowed else None

    def _edit(self, action: Mapping[str, Any], card: Card) -> Generator[Request, Any, Json | None]:
        arguments = action.get("args")
        if not isinstance(arguments, dict):
            arguments = card.input or {}
        form = Form.of_values(f"The arguments of {card.name}", arguments, card.id)
        content = yield form
        edited = None if content is None else read_form(form, content)
        return edited if isinstance(edited, dict) else None

    def _response(self, item: Json, action: Mapping[str, Any], card: Card) -> Generator[Request, Any, Json]:
        arguments = action.get("args")
        values = arguments.values() if isinstance(arguments, Mapping) else ()
        texts = [value for value in values if isinstance(value, str)]
        text = "\n".join(texts) or str(action.get("description") or card.name)
        form = form_of(text, _TEXT, (), card.id)
        if self._forms:
            content = yield form
            answer = _DECLINED if content is None else read_form(form, content)
        else:
            answer = yield InChat(f"{item['id']}-{card.id}", text)
        return {"type": "respond", "message": str(answer)}

    def _choice(self, own_id: str, text: str, options: Sequence[Json]) -> Generator[Request, Any, str | None]:
        """Asks a question that is not about a call in the thread, on a card of its own."""
        card = {"toolCallId": own_id, "title": text, "kind": "other", "status": "pending"}
        yield Emit([{"sessionUpdate": "tool_call", **card}])
        answer = yield Permission(card, options)
        is_allowed = answer in [option["optionId"] for option in options if option["kind"] == "allow_once"]
        status = "completed" if is_allowed else "failed"
        yield Emit([{"sessionUpdate": "tool_call_update", "toolCallId": own_id, "status": status}])
        return answer if isinstance(answer, str) else None

    def _card(self, item: Json, action: Mapping[str, Any], number: int) -> Card:
        """Returns the call that an action is about. It is the first open call with the same name, preferably with the
        same arguments, that no other action is about. If the thread has no such call, it is a new card."""
        name, arguments = action.get("name"), action.get("args")
        candidates = [card for card in self._left if card.name == name]
        same = [card for card in candidates if card.input == arguments]
        card = next(iter(same or candidates), None)
        if card is not None:
            self._left.remove(card)
            return card
        card = Card(f"{item['id']}-{number}", "", str(name), "other")
        card.input = dict(arguments) if isinstance(arguments, Mapping) else None
        return card


def _entry(item: Json, payload: Any) -> Json:
    return {"interruptId": item["id"], "status": "resolved", "payload": payload}


def _cancel(item: Json) -> Json:
    return {"interruptId": item["id"], "status": "cancelled"}


def cancel_all(interrupts: Sequence[Json]) -> list[Json]:
    """Returns the `resume` entries that cancel interrupts."""
    return [_cancel(item) for item in interrupts]


def _scope(card: Card) -> tuple[str, str | None]:
    return card.name, orjson.dumps(card.input, option=orjson.OPT_SORT_KEYS).decode() if card.kind == "execute" else None


def _types(schema: Any) -> list[str]:
    """Returns the types of decisions that a schema allows, or all types if it does not list them."""
    root = schema if isinstance(schema, Mapping) else {}

    def types(node: Any) -> list[str]:
        if not isinstance(node, Mapping):
            return []
        reference = node.get("$ref")
        if isinstance(reference, str):
            return types((root.get("$defs") or {}).get(reference.rpartition("/")[2]))
        constant = ((node.get("properties") or {}).get("type") or {}).get("const")
        own = [constant] if isinstance(constant, str) else []
        alternatives = [schema for name in ("oneOf", "anyOf") for schema in node.get(name) or ()]
        return own + [kind for schema in alternatives for kind in types(schema)]

    return types(root) or ["approve", "edit", "reject", "respond"]


def _options(value: Any) -> list[tuple[str, Any]]:
    """Returns the options of a question as pairs of a label and a value, or an empty list if it has none that can be
    offered."""
    items = value if isinstance(value, list) else None
    if isinstance(value, Mapping):
        items = next((value[name] for name in ("options", "choices") if isinstance(value.get(name), list)), None)
    options = []
    for item in items or ():
        if isinstance(item, str):
            options.append((item, item))
        elif isinstance(item, Mapping) and isinstance(label := item.get("label") or item.get("title"), str):
            options.append((label, item.get("value", label)))
        else:
            return []
    labels = {label for label, _ in options}
    return options if len(labels) == len(options) <= _MOST_OPTIONS else []


def _text_of(item: Json, value: Any) -> str:
    message = item.get("message")
    if isinstance(message, str) and message:
        return message
    if isinstance(value, str) and value:
        return value
    if value is None or isinstance(value, list):
        return "The run waits for an answer."
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
