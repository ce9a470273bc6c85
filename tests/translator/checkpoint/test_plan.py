"""The plan of an agent is an activity of the conversation by option: the thread's, live and after a reload."""

from collections.abc import Sequence
from typing import Any

import pytest
from langgraph_agui.connect.testing import assert_ends_as, check_stream, expected
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator import ClientView, Finished, Options, client_contents

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.streams.event_lines import run_fixture
from tests.support.streams.translator_runs import Event, TranslatorRun, options_for, view_for

_OPTIONS = Options(plan="todos")
_USER = {"type": "human", "id": "user-1", "content": "hi"}
_WIRE = {"id": "user-1", "role": "user", "content": "hi"}


def _call(call_id: str, message_id: str) -> dict[str, Any]:
    calls = [{"name": "write_todos", "args": {}, "id": call_id, "type": "tool_call"}]
    return {"type": "ai", "id": message_id, "content": "", "tool_calls": calls}


_CALL = _call("c1", "ai-1")
_RESULT = {"type": "tool", "id": "tool-1", "content": "ok", "tool_call_id": "c1"}
_ANSWER = {"type": "ai", "id": "ai-2", "content": "Done."}


def _plan(todos: Any, channel: str = "todos") -> dict[str, Any]:
    return {"id": f"plan-{channel}", "role": "activity", "activityType": "plan", "content": {channel: todos}}


def _todos(*statuses: str) -> list[dict[str, str]]:
    return [{"content": f"Step {number}", "status": status} for number, status in enumerate(statuses)]


def _run(*values: Any, view: ClientView | None = None, options: Options = _OPTIONS) -> TranslatorRun:
    run = TranslatorRun(options, view)
    for each in values:
        run.feed(("updates", {"node": each}))
        run.feed(("values", each))
    run.finish(Finished())
    check_stream(run.events, before=view, may_remove=True)
    return run


def _of_plan(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event["type"].startswith("ACTIVITY")]


@pytest.mark.newest
@pytest.mark.parametrize("name", ["todo_middleware", "todos_and_files"])
async def test_a_client_has_the_plan_of_the_thread_live_and_after_a_reload(name: str, agui_client: AguiClient) -> None:
    for version in VERSIONS:
        options = options_for(version, plan="todos")
        *_, run = await run_fixture(name, options, view=view_for(version, [_WIRE], {}))
        wanted = expected(run.values, options)
        assert _plan(run.values["todos"]) in wanted.messages
        answer = agui_client.play(run.events, version=version, messages=[_WIRE])
        assert answer.accepted
        assert comparable(answer.messages) == comparable(wanted.messages)
        reloaded = _run(run.values, view=None, options=options)
        assert comparable(agui_client.play(reloaded.events, version=version).messages) == comparable(wanted.messages)
        assert [each["id"] for each in reloaded.view.messages] == [each["id"] for each in wanted.messages]


def test_the_plan_is_a_snapshot_and_then_deltas() -> None:
    first = {"messages": [_USER, _CALL, _RESULT], "todos": _todos("in_progress", "pending")}
    second = {"messages": [*first["messages"], _ANSWER], "todos": _todos("completed", "pending")}
    run = _run({"messages": [_USER]}, first, second, view=ClientView([_WIRE], {}))
    assert _of_plan(run.events) == [
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "plan-todos",
            "activityType": "plan",
            "content": {"todos": first["todos"]},
        },
        {
            "type": "ACTIVITY_DELTA",
            "messageId": "plan-todos",
            "activityType": "plan",
            "patch": [{"op": "replace", "path": "/todos/0/status", "value": "completed"}],
        },
    ]
    assert "MESSAGES_SNAPSHOT" not in [event["type"] for event in run.events]


def test_a_plan_stands_behind_the_first_call_that_wrote_it() -> None:
    again = [_call("c2", "ai-3"), {**_RESULT, "id": "tool-2", "tool_call_id": "c2"}, _ANSWER]
    values = {"messages": [_USER, _CALL, _RESULT, *again], "todos": []}
    messages, _ = client_contents(values, _OPTIONS)
    assert [each["id"] for each in messages] == ["user-1", "ai-1", "tool-1", "plan-todos", "ai-3", "tool-2", "ai-2"]


def test_a_plan_that_no_call_wrote_stands_at_the_end() -> None:
    messages, _ = client_contents({"messages": [_USER, _ANSWER], "steps": ["a"]}, Options(plan="steps"))
    assert messages[-1] == _plan(["a"], "steps")


def test_a_plan_changes_where_no_message_does() -> None:
    run = _run({"messages": [_USER], "todos": [1]}, {"messages": [_USER], "todos": [1, 2]})
    assert run.view.messages[-1] == _plan([1, 2])


def test_a_plan_that_the_thread_has_no_longer_is_removed() -> None:
    run = _run({"messages": [_USER], "todos": [1]}, {"messages": [_USER]})
    assert [each["id"] for each in run.view.messages] == ["user-1"]
    later = _run({"messages": [_USER]}, view=ClientView([_WIRE, _plan([1])], {"todos": [1]}))
    assert [each["id"] for each in later.view.messages] == ["user-1"]


def test_a_client_that_has_the_plan_gets_no_event() -> None:
    run = _run({"messages": [_USER], "todos": [1]}, view=ClientView([_WIRE, _plan([1])], {"todos": [1]}))
    assert not {event["type"] for event in run.events} & {"MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"}


def test_a_client_that_sends_no_activities_keeps_why_a_run_failed(agui_client: AguiClient) -> None:
    content = {"runId": "run-0", "message": "The run failed."}
    failure = {"id": "run-0-error", "role": "activity", "activityType": "run_error", "content": content}
    values = {"messages": [_USER, _CALL, _RESULT], "todos": _todos("completed")}
    conversation, _ = client_contents(values, Options())
    for version in VERSIONS:
        run = TranslatorRun(options_for(version, plan="todos"), view_for(version, conversation, {}))
        run.feed(("values", values))
        run.finish(Finished())
        for plan in ([], [_plan(_todos("pending"))]):
            held = [*conversation, *plan, failure]
            answer = agui_client.play(run.events, version=version, messages=held)
            shown = {message["id"]: message for message in answer.messages}
            assert shown == {each["id"]: each for each in [*conversation, _plan(values["todos"]), failure]}


@pytest.mark.parametrize("values", [{"todos": None}, {}, {"other": [1]}])
def test_without_a_value_there_is_no_plan(values: dict[str, Any]) -> None:
    assert not _of_plan(_run({"messages": [_USER], **values}).events)


def test_by_default_there_is_no_plan() -> None:
    run = _run({"messages": [_USER], "todos": [1]}, options=Options())
    assert [each["role"] for each in run.view.messages] == ["user"]


def test_first_values_of_a_resumed_run_do_not_take_the_plan_back() -> None:
    view = ClientView(
        [_WIRE, {"id": "ai-2", "role": "assistant", "content": "Done."}, _plan([1, 2])], {"todos": [1, 2]}
    )
    run = TranslatorRun(_OPTIONS, view)
    run.feed(("values", {"messages": [_USER], "todos": [1]}))
    run.feed(("updates", {"talk": {"messages": [_ANSWER]}, "__metadata__": {"cached": True}}))
    run.feed(("values", {"messages": [_USER, _ANSWER], "todos": [1, 2]}))
    run.finish(Finished())
    check_stream(run.events, before=view)
    assert not _of_plan(run.events)


def test_the_check_of_users_has_the_plan() -> None:
    values = {"messages": [_USER, _CALL, _RESULT], "todos": [1]}
    run = _run(values)
    assert_ends_as(run.events, values, _OPTIONS)
    with pytest.raises(AssertionError, match="plan-todos"):
        assert_ends_as(run.events, {**values, "todos": [2]}, _OPTIONS)
