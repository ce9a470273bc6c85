"""The questions to a user of an editor, and the `resume` entries that their answers make."""

from collections.abc import Sequence
from typing import Any

import pytest
from langgraph_agui.connect.acp.mapping.calls import absolute_in
from langgraph_agui.connect.acp.mapping.forms import Form
from langgraph_agui.connect.acp.mapping.questions import Approvals, Emit, InChat, Permission, ask
from langgraph_agui.connect.acp.mapping.updates import Updates

ALL = ["approve", "edit", "reject", "respond"]
DONE = {"type": "approve"}


def session(*calls: tuple[str, str, str]) -> Updates:
    """A session with these open calls: id, name and the JSON of the arguments."""
    updates = Updates(absolute_in("/work"))
    for call_id, name, arguments in calls:
        for event in (
            {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, "parentMessageId": "m"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments},
            {"type": "TOOL_CALL_END", "toolCallId": call_id},
        ):
            updates.of(event)
    return updates


def batched(*actions: tuple[str, dict[str, Any]], allowed: Sequence[str] = tuple(ALL)) -> dict[str, Any]:
    configs = [{"action_name": name, "allowed_decisions": list(allowed)} for name, _ in actions]
    requests = [{"name": name, "args": arguments} for name, arguments in actions]
    return {"id": "i", "metadata": {"value": {"action_requests": requests, "review_configs": configs}}}


def question(value: Any, schema: Any = None) -> dict[str, Any]:
    message = value.get("question") if isinstance(value, dict) else None
    given = {"message": message, "responseSchema": schema}
    return {"id": "q", "metadata": {"value": value}, **{name: each for name, each in given.items() if each}}


def answered(
    items: list[dict[str, Any]], answers: list[Any], updates: Updates | None = None, **how: Any
) -> tuple[list[Any], Any]:
    """The requests, and what the answers make of the interrupts."""
    asked = ask(items, updates or session(), **{"forms": True, "approvals": Approvals(), **how})
    left, answer = list(answers), None
    requests: list[Any] = []
    while True:
        try:
            request = asked.send(answer)
        except StopIteration as end:
            assert not left
            return requests, end.value
        requests.append(request)
        answer = None if isinstance(request, Emit) else left.pop(0)


def payload(items: list[dict[str, Any]], answers: list[Any], **how: Any) -> Any:
    (entry,) = answered(items, answers, **how)[1]
    return entry.get("payload", entry["status"])


TWO = session(("call_a", "add", '{"a": 1}'), ("call_b", "add", '{"a": 2}'))


def test_permission_is_asked_about_each_announced_call_in_order() -> None:
    item = batched(("add", {"a": 2}), ("add", {"a": 1}))
    requests, entries = answered([item], ["approve", "reject"], TWO)
    assert [request.tool_call["toolCallId"] for request in requests] == ["call_b", "call_a"]
    assert requests[0].tool_call["rawInput"] == {"a": 2}
    assert entries[0]["payload"] == {"decisions": [DONE, {"type": "reject"}]}


def test_what_is_approved_for_the_session_is_not_asked_again() -> None:
    approvals, item = Approvals(), batched(("add", {"a": 1}))
    assert payload([item], ["approve_always"], updates=session(("1", "add", '{"a": 1}')), approvals=approvals)
    later = batched(("add", {"a": 5}))
    assert payload([later], [], updates=session(("2", "add", '{"a": 5}')), approvals=approvals) == {"decisions": [DONE]}


def test_a_command_is_approved_for_the_session_as_it_stands() -> None:
    approvals = Approvals()
    calls = [session((str(number), "bash", f'{{"command": "{command}"}}')) for number, command in enumerate("aab")]
    commands = [batched(("bash", {"command": command})) for command in "aab"]
    assert payload([commands[0]], ["approve_always"], updates=calls[0], approvals=approvals)
    assert payload([commands[1]], [], updates=calls[1], approvals=approvals) == {"decisions": [DONE]}
    denied = payload([commands[2]], ["reject"], updates=calls[2], approvals=approvals)
    assert denied == {"decisions": [{"type": "reject"}]}


def test_what_the_mode_approves_is_not_asked() -> None:
    both = batched(("add", {"a": 1}), ("bash", {"command": "a"}))
    calls = session(("1", "add", '{"a": 1}'), ("2", "bash", '{"command": "a"}'))
    requests, entries = answered([both], ["reject"], calls, approvals=Approvals(by_mode=frozenset({"add"})))
    assert [request.tool_call["toolCallId"] for request in requests] == ["2"]
    assert entries[0]["payload"] == {"decisions": [DONE, {"type": "reject"}]}
    only = batched(("add", {}), allowed=["reject"])
    assert len(answered([only], ["reject"], approvals=Approvals(by_mode=frozenset({"add"})))[0]) == 1


def test_a_call_that_began_waits_while_it_is_asked_about() -> None:
    """An approval inside the step of the tools: the step has begun, the tool has not."""
    updates = session(("call_a", "add", '{"a": 1}'))
    step = {"type": "STEP_STARTED", "stepName": "tools"}
    value = {"type": "tool_approval", "tool_call_id": "call_a", "name": "add", "args": {"a": 1}}
    assert [update["status"] for update in updates.of(step)] == ["in_progress"]
    (request,), _ = answered([{"id": "i", "metadata": {"value": value}}], ["approve"], updates)
    assert request.tool_call["status"] == "pending"
    assert [update["status"] for update in updates.of(step)] == ["in_progress"]


@pytest.mark.parametrize(
    ("allowed", "forms", "options"),
    [
        (ALL, True, ["approve", "approve_always", "edit", "respond", "reject"]),
        (ALL, False, ["approve", "approve_always", "reject"]),
        (["approve", "reject"], True, ["approve", "approve_always", "reject"]),
        (["reject"], True, ["reject"]),
        (["approve"], False, ["approve", "approve_always"]),
    ],
)
def test_only_what_is_allowed_is_offered(allowed: list[str], forms: bool, options: list[str]) -> None:
    item = batched(("add", {}), allowed=allowed)
    requests, _ = answered([item], ["reject"], session(("c", "add", "{}")), forms=forms)
    assert [option["optionId"] for option in requests[0].options] == options


@pytest.mark.parametrize("answer", [None, "unknown", {"a": 1}])
def test_any_other_answer_is_no_approval(answer: Any) -> None:
    assert payload([batched(("add", {}))], [answer]) == {"decisions": [{"type": "reject"}]}
    assert payload([batched(("add", {}), allowed=["approve"])], [answer]) == "cancelled"


def test_arguments_are_edited_in_a_form() -> None:
    item = batched(("add", {"a": 1, "note": "x"}))
    requests, entries = answered([item], ["edit", {"a": 3, "note": "y"}], session(("c", "add", '{"a": 1}')))
    assert requests[1].properties == {
        "a": {"type": "integer", "default": 1},
        "note": {"type": "string", "default": "x"},
    }
    edited = {"type": "edit", "edited_action": {"name": "add", "args": {"a": 3, "note": "y"}}}
    assert entries[0]["payload"] == {"decisions": [edited]}
    nested = batched(("add", {"a": [1]}))
    assert payload([nested], ["edit", {"answer": '{"a": [2]}'}])["decisions"][0]["edited_action"]["args"] == {"a": [2]}
    assert payload([nested], ["edit", {"answer": "no object"}]) == {"decisions": [{"type": "reject"}]}
    assert payload([nested], ["edit", None]) == {"decisions": [{"type": "reject"}]}


def test_a_call_that_only_a_text_answers_is_a_form_or_a_question_in_the_chat() -> None:
    item = batched(("ask_user", {"question": "Which file?"}), allowed=["respond"])
    requests, entries = answered([item], [{"answer": "a.py"}])
    assert isinstance(requests[0], Form)
    assert requests[0].message == "Which file?"
    requests, in_chat = answered([item], ["a.py"], forms=False)
    assert isinstance(requests[0], InChat)
    assert entries == in_chat
    assert entries[0]["payload"] == {"decisions": [{"type": "respond", "message": "a.py"}]}


def test_one_interrupt_for_each_call_is_answered_by_its_id() -> None:
    items: list[dict[str, Any]] = [
        {"id": name, "metadata": {"value": {"type": "tool_approval", "tool_call_id": name, "name": "add", "args": {}}}}
        for name in ("call_b", "call_a")
    ]
    requests, entries = answered(items, ["approve", None], TWO)
    assert [request.tool_call["toolCallId"] for request in requests] == ["call_b", "call_a"]
    assert entries == [
        {"interruptId": "call_b", "status": "resolved", "payload": DONE},
        {"interruptId": "call_a", "status": "resolved", "payload": {"type": "reject"}},
    ]


BOOLEAN = {"type": "boolean"}
FIELDS = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"enum": ["a", "b"]}}, "required": ["n"]}
NESTED = {"type": "object", "properties": {"n": {"type": "array"}}}
QUESTIONS = [
    ("Name?", None, {"answer": "Ada"}, "Ada", "Ada"),
    ({"question": "Name?"}, None, {"answer": "Ada"}, "Ada", "Ada"),
    ("Sure?", BOOLEAN, {"answer": True}, True, "yes"),
    ("Sure?", BOOLEAN, {"answer": False}, False, "false"),
    ("Which?", FIELDS, {"n": 1, "s": "a"}, {"n": 1, "s": "a"}, '{"n": 1, "s": "a"}'),
    ("Which?", NESTED, {"answer": '{"n": [1]}'}, {"n": [1]}, '{"n": [1]}'),
    ({"action": "delete"}, None, {"answer": "ok"}, "ok", "ok"),
]


@pytest.mark.parametrize(("value", "schema", "content", "wanted", "typed"), QUESTIONS)
def test_a_question_is_a_form_or_is_answered_in_the_chat(
    value: Any, schema: Any, content: Any, wanted: Any, typed: str
) -> None:
    assert payload([question(value, schema)], [content]) == wanted
    assert payload([question(value, schema)], [None]) == "cancelled"
    requests, entries = answered([question(value, schema)], [typed], forms=False)
    assert isinstance(requests[0], InChat)
    assert entries[0]["payload"] == wanted


def test_a_question_with_options_is_a_choice() -> None:
    item = question({"question": "Which way?", "options": ["left", {"label": "right", "value": 2}]})
    assert payload([item], [{"answer": "right"}]) == 2
    requests, entries = answered([item], ["option-1"], forms=False)
    announced, permission, ended = requests
    assert isinstance(permission, Permission)
    assert [option["name"] for option in permission.options] == ["left", "right"]
    assert announced.updates[0]["toolCallId"] == permission.tool_call["toolCallId"] == "q"
    assert ended.updates[0]["status"] == "completed"
    assert entries[0]["payload"] == 2
    assert payload([item], [None], forms=False) == "cancelled"


def test_a_breakpoint_is_continued_or_stopped() -> None:
    item = {"id": "run-1-breakpoint", "reason": "langgraph:breakpoint"}
    assert answered([item], ["continue"])[1] == [{"interruptId": item["id"], "status": "resolved", "payload": None}]
    requests, entries = answered([item], ["stop"])
    assert entries == [{"interruptId": item["id"], "status": "cancelled"}]
    assert requests[-1].updates[0]["status"] == "failed"


def test_several_interrupts_are_asked_one_after_the_other_and_answered_together() -> None:
    items = [question("First?"), {**question("Second?"), "id": "r"}]
    _, entries = answered(items, ["one", "two"], forms=False)
    assert [(entry["interruptId"], entry["payload"]) for entry in entries] == [("q", "one"), ("r", "two")]
