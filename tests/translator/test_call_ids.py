"""The ids that tool calls are emitted under, and which call a result answers."""

from langgraph_agui.translator import ClientView
from langgraph_agui.translator.call_ids import CallIds
from langgraph_agui.translator.owner import Owner

SUBAGENT = Owner("task:1", "task:1", 1)


def call_of(message_id: str, call_id: str, subagent: str | None = None) -> dict[str, object]:
    tag = {} if subagent is None else {"subagentRunId": subagent}
    function = {"name": "n", "arguments": "{}"}
    return {
        "id": message_id,
        "role": "assistant",
        "toolCalls": [{"id": call_id, "type": "function", "function": function}],
        **tag,
    }


def test_a_call_is_emitted_under_its_own_id_unless_that_is_taken() -> None:
    calls = CallIds(ClientView([call_of("old", "known"), call_of("m0", "m0-known", "task:1")]))
    assert calls.emit("fresh", "m1", Owner()) == "fresh"
    assert calls.emit("known", "m1", Owner()) is None
    assert calls.emit("known", "m1", SUBAGENT) == "m1-known"
    assert calls.emit("m0-known", "x", Owner("task:2", "task:2", 1)) == "x-m0-known"


def test_a_call_whose_second_id_is_taken_too_is_not_emitted() -> None:
    calls = CallIds(ClientView([call_of("old", "call"), call_of("older", "m-call")]))
    assert calls.emit("call", "m", SUBAGENT) is None


def test_a_result_answers_the_call_of_its_id_if_only_one_message_has_it() -> None:
    calls = CallIds(ClientView([call_of("old", "known"), call_of("subs", "subs-earlier", "task:1")]))
    calls.emit("known", "m1", Owner())
    calls.emit("known", "m1", SUBAGENT)
    assert calls.call_of_result("known", Owner()) is None
    assert calls.call_of_result("other", Owner()) == "other"
    assert calls.call_of_result("known", SUBAGENT) == "m1-known"
    assert calls.call_of_result("nowhere", SUBAGENT) is None
    assert calls.call_of_result("subs-earlier", SUBAGENT) == "subs-earlier"


def test_a_result_of_a_suspended_subagent_answers_its_call_of_the_earlier_run() -> None:
    earlier = [call_of("root", "call"), call_of("m", "m-call", "task:1"), call_of("n", "other", "task:2")]
    calls = CallIds(ClientView(earlier))
    assert calls.call_of_result("call", SUBAGENT) == "m-call"
    assert calls.call_of_result("call", Owner("task:3", "task:3", 1)) is None
    latest = [call_of("m", "call", "task:1"), call_of("n", "n-call", "task:1"), call_of("o", "call-2", "task:1")]
    assert CallIds(ClientView(latest)).call_of_result("call", SUBAGENT) == "n-call"


def test_an_id_that_another_agent_had_is_taken_also_after_the_client_dropped_it() -> None:
    calls = CallIds(ClientView([]))
    calls.dropped(["call"], None)
    assert [calls.emit("call", "m", owner) for owner in (Owner(), SUBAGENT)] == ["call", "m-call"]
