"""What a run waits for, as questions to the user of an editor, one after the other: `asking`, a generator that yields
requests, is sent their answers, and returns the `resume` entries of all interrupts.

| interrupt | is asked as | without forms |
|---|---|---|
| approval of calls, in one or one for each | permission, about each call, in their order | without `edit` |
| approval to which only a text is an answer | a form with one text | in the chat |
| a question with options | a form with one choice | permission, one option each |
| any other question | a form, made of the answer's schema | in the chat |
| breakpoint | permission: continue, or stop | the same |

A permission that is not given is a rejection; a form that is not filled in cancels its interrupt. An answer in the chat
is the user's next prompt; the generator waits for it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from ....translator import decision_schemas, is_breakpoint
from .calls import Card, Update
from .forms import Form, form_of, parsed, read_form
from .updates import Updates

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Permission:
    """A request for permission. Its answer is the id of an option; None: the user chose none."""

    tool_call: Update
    """The call it is about."""
    options: Sequence[Json]


@dataclass(frozen=True, slots=True)
class InChat:
    """A question in the chat. Its answer is the text of the next prompt."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Emit:
    """Updates that belong to a question. It has no answer."""

    updates: Sequence[Update]


Request = Permission | Form | InChat | Emit
Asking = Generator[Request, Any, list[Json]]
"""Asks about all interrupts of a run."""
AskingOne = Generator[Request, Any, Json]
"""Asks about one interrupt."""


@dataclass(slots=True)
class Approvals:
    """What the user has approved. `given`: for the whole session, tools by name, and of tools that execute a command
    the same command only. `by_mode`: the tools that the chosen mode approves."""

    given: set[tuple[str, str | None]] = field(default_factory=set)
    by_mode: frozenset[str] = frozenset()

    def covers(self, card: Card) -> bool:
        """Whether the call needs no question."""
        return card.name in self.by_mode or _scope(card) in self.given

    def add(self, card: Card) -> None:
        """The user approves this and each later call like it."""
        self.given.add(_scope(card))


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


def asking(interrupts: Sequence[Json], updates: Updates, *, forms: bool, approvals: Approvals) -> Asking:
    """Asks for the answers to the interrupts of a run. `updates`: of the session, whose open calls they are about.
    `forms`: whether the editor has forms. `approvals`: of the session; new ones are added."""
    asked = _Asked(updates, forms, approvals)
    entries = []
    for item in interrupts:
        value: Any = (item.get("metadata") or {}).get("value")
        if is_breakpoint(item["id"]):
            entries.append((yield from asked.breakpoint(item)))
        elif (decisions := decision_schemas(value)) is not None:
            entries.append((yield from asked.actions(item, value["action_requests"], decisions)))
        elif isinstance(value, Mapping) and value.get("type") == "tool_approval":
            entries.append((yield from asked.call(item, value)))
        else:
            entries.append((yield from asked.question(item, value)))
    return entries


class _Asked:
    """The questions of one run."""

    def __init__(self, updates: Updates, forms: bool, approvals: Approvals) -> None:
        self._updates, self._forms, self._approvals = updates, forms, approvals
        self._left = updates.open_cards()

    def breakpoint(self, item: Json) -> AskingOne:
        answer = yield from self._choice(item["id"], "The run has stopped at a breakpoint", [_CONTINUE, _STOP])
        return _entry(item, None) if answer == "continue" else _cancelled(item)

    def actions(self, item: Json, requests: Sequence[Any], schemas: Sequence[Json]) -> AskingOne:
        decisions = []
        for number, (request, schema) in enumerate(zip(requests, schemas, strict=True)):
            action = request if isinstance(request, Mapping) else {}
            card = self._card(item, action, number)
            decision = yield from self._decision(item, action, card, _types(schema))
            if decision is None:
                return _cancelled(item)
            decisions.append(decision)
        return _entry(item, {"decisions": decisions})

    def call(self, item: Json, value: Mapping[str, Any]) -> AskingOne:
        card = self._updates.card(str(value.get("tool_call_id"))) or self._card(item, value, 0)
        decision = yield from self._decision(item, value, card, _types(item.get("responseSchema")))
        return _cancelled(item) if decision is None else _entry(item, decision)

    def question(self, item: Json, value: Any) -> AskingOne:
        text, schema = _text_of(item, value), item.get("responseSchema")
        options = _options(value)
        form = form_of(text, schema, options, item.get("toolCallId"))
        if self._forms:
            content = yield form
            return _cancelled(item) if content is None else _entry(item, read_form(form, content))
        if options:
            offered = [
                {"optionId": f"option-{number}", "name": label, "kind": "allow_once"}
                for number, (label, _) in enumerate(options)
            ]
            answer = yield from self._choice(item["id"], text, offered)
            chosen = {option["optionId"]: given for option, (_, given) in zip(offered, options, strict=True)}
            return _entry(item, chosen[answer]) if answer in chosen else _cancelled(item)
        answer = yield InChat(item["id"], text)
        return _entry(item, parsed(answer, schema))

    def _decision(
        self, item: Json, action: Mapping[str, Any], card: Card, allowed: Sequence[str]
    ) -> Generator[Request, Any, Json | None]:
        """The decision about one call; None if the user gave none and rejecting is not allowed."""
        if "approve" in allowed and self._approvals.covers(card):
            return {"type": "approve"}
        if not {"approve", "reject"} & set(allowed):
            return (yield from self._response(item, action, card)) if "respond" in allowed else None
        options = [_APPROVE, _ALWAYS] if "approve" in allowed else []
        if self._forms:
            options += [option for option in (_EDIT, _RESPOND) if option["optionId"] in allowed]
        options += [_REJECT] if "reject" in allowed else []
        answer = yield Permission(self._updates.asked(card), options)
        if answer not in [option["optionId"] for option in options]:
            answer = "reject"
        if answer == "approve_always":
            self._approvals.add(card)
        if answer in ("approve", "approve_always"):
            return {"type": "approve"}
        if answer == "edit" and (edited := (yield from self._edited(action, card))) is not None:
            return {"type": "edit", "edited_action": {"name": card.name, "args": edited}}
        if answer == "respond":
            return (yield from self._response(item, action, card))
        if "reject" in allowed:
            return {"type": "reject"}
        return {"type": "respond", "message": _DECLINED} if "respond" in allowed else None

    def _edited(self, action: Mapping[str, Any], card: Card) -> Generator[Request, Any, Json | None]:
        given = action.get("args")
        arguments = given if isinstance(given, dict) else card.input or {}
        form = Form.of_values(f"The arguments of {card.name}", arguments, card.id)
        content = yield form
        found = None if content is None else read_form(form, content)
        return found if isinstance(found, dict) else None

    def _response(self, item: Json, action: Mapping[str, Any], card: Card) -> Generator[Request, Any, Json]:
        arguments = action.get("args")
        texts = [each for each in arguments.values() if isinstance(each, str)] if isinstance(arguments, Mapping) else []
        text = "\n".join(texts) or str(action.get("description") or card.name)
        form = form_of(text, _TEXT, (), card.id)
        if self._forms:
            content = yield form
            answer = _DECLINED if content is None else read_form(form, content)
        else:
            answer = yield InChat(f"{item['id']}-{card.id}", text)
        return {"type": "respond", "message": str(answer)}

    def _choice(self, own_id: str, text: str, options: Sequence[Json]) -> Generator[Request, Any, str | None]:
        """Asks a question that is about no call of the thread: it has a card of its own."""
        card = {"toolCallId": own_id, "title": text, "kind": "other", "status": "pending"}
        yield Emit([{"sessionUpdate": "tool_call", **card}])
        answer = yield Permission(card, options)
        is_given = answer in [option["optionId"] for option in options if option["kind"] == "allow_once"]
        status = "completed" if is_given else "failed"
        yield Emit([{"sessionUpdate": "tool_call_update", "toolCallId": own_id, "status": status}])
        return answer if isinstance(answer, str) else None

    def _card(self, item: Json, action: Mapping[str, Any], number: int) -> Card:
        """The call that an action is about: the first open one like it that no other action is about; or one of its
        own, if the thread has none."""
        name, arguments = action.get("name"), action.get("args")
        like = [card for card in self._left if card.name == name]
        card = next((card for card in like if card.input == arguments), like[0] if like else None)
        if card is not None:
            self._left.remove(card)
            return card
        made = Card(f"{item['id']}-{number}", "", str(name), "other")
        made.input = dict(arguments) if isinstance(arguments, Mapping) else None
        return made


def _entry(item: Json, payload: Any) -> Json:
    return {"interruptId": item["id"], "status": "resolved", "payload": payload}


def _cancelled(item: Json) -> Json:
    return {"interruptId": item["id"], "status": "cancelled"}


def cancelled(interrupts: Sequence[Json]) -> list[Json]:
    """The `resume` entries that cancel interrupts."""
    return [_cancelled(item) for item in interrupts]


def _scope(card: Card) -> tuple[str, str | None]:
    return card.name, orjson.dumps(card.input, option=orjson.OPT_SORT_KEYS).decode() if card.kind == "execute" else None


def _types(schema: Any) -> list[str]:
    """The types of the decisions that a schema allows; all of them if it does not say."""
    root = schema if isinstance(schema, Mapping) else {}

    def types(of: Any) -> list[str]:
        if not isinstance(of, Mapping):
            return []
        reference = of.get("$ref")
        if isinstance(reference, str):
            return types((root.get("$defs") or {}).get(reference.rpartition("/")[2]))
        constant = ((of.get("properties") or {}).get("type") or {}).get("const")
        found = [constant] if isinstance(constant, str) else []
        return found + [each for name in ("oneOf", "anyOf") for one in of.get(name) or () for each in types(one)]

    return types(root) or ["approve", "edit", "reject", "respond"]


def _options(value: Any) -> list[tuple[str, Any]]:
    """The options of a question, each with its label; [] if it has none that can be offered."""
    given = value if isinstance(value, list) else None
    if isinstance(value, Mapping):
        given = next((value[name] for name in ("options", "choices") if isinstance(value.get(name), list)), None)
    found = []
    for each in given or ():
        if isinstance(each, str):
            found.append((each, each))
        elif isinstance(each, Mapping) and isinstance(label := each.get("label") or each.get("title"), str):
            found.append((label, each.get("value", label)))
        else:
            return []
    labels = {label for label, _ in found}
    return found if len(labels) == len(found) <= _MOST_OPTIONS else []


def _text_of(item: Json, value: Any) -> str:
    message = item.get("message")
    if isinstance(message, str) and message:
        return message
    if isinstance(value, str) and value:
        return value
    if value is None or isinstance(value, list):
        return "The run waits for an answer."
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
