"""How a stream ends: each ending's terminal event, everything closed before it, and what an older client is told."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import (
    PROTOCOL_VERSION,
    Cancelled,
    ClientView,
    Failed,
    Finished,
    Lost,
    Options,
    Translator,
)
from langgraph_agui.translator.endings import Ending
from langgraph_sdk.schema import StreamPart

from fixtures import FIXTURES, Fixture
from fixtures.run import local_parts
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.streams.translator_runs import Event, left_open, run_parts

_METADATA = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1", "ls_provider": "scripted"}
_USER = {"type": "human", "id": "user-1", "content": "hi"}
ENDINGS: dict[str, Ending | None] = {
    "as the stream has it": None,
    "finished": Finished(),
    "failed": Failed(ValueError("bad")),
    "cancelled": Cancelled(),
    "lost": Lost("the connection broke"),
}


def _chunk(text: str = "", call: str | None = None, message_id: str = "lc_run--1", task: str = "talk:1") -> Any:
    calls: list[Any] = [{"name": call, "args": '{"a":', "id": f"call-{call}", "index": 0}] if call else []
    chunk = AIMessageChunk(content=text, id=message_id, tool_call_chunks=calls)
    return ("messages", (chunk, {**_METADATA, "langgraph_checkpoint_ns": task}))


def _thought(text: str) -> Any:
    return (
        "messages",
        (AIMessageChunk(content=[{"type": "thinking", "thinking": text, "index": 0}], id="lc_run--2"), {**_METADATA}),
    )


_ALL_OPEN = [("values", {"messages": [_USER]}), _chunk("Half", call="look"), _thought("Hm")]


def _last(ending: Ending | BaseException | None, *parts: Any, **options: Any) -> Event:
    return run_parts(parts or _ALL_OPEN, ending, Options(**options)).events[-1]


@pytest.mark.parametrize("ending", ENDINGS)
def test_everything_is_closed_before_the_terminal_event(ending: str) -> None:
    assert left_open(run_parts(_ALL_OPEN, ENDINGS[ending]).events) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_clients_accept_every_ending(ending: str, version: str, agui_client: AguiClient) -> None:
    run = run_parts(_ALL_OPEN, ENDINGS[ending], Options(protocol_version=protocol(version)))
    answer = agui_client.play(run.events, version=version)
    assert (answer.error, answer.warnings) == (None, [])


@pytest.mark.parametrize("ending", ENDINGS)
def test_there_is_one_terminal_event_and_it_is_the_last(ending: str) -> None:
    kinds = [event["type"] for event in run_parts(_ALL_OPEN, ENDINGS[ending]).events]
    assert [kind for kind in kinds if kind in ("RUN_FINISHED", "RUN_ERROR")] == kinds[-1:]


def test_a_run_that_ends_well_says_success() -> None:
    assert _last(Finished())["outcome"] == {"type": "success"}


def test_an_unknown_ending_is_success() -> None:
    assert _last(None)["outcome"] == {"type": "success"}


def test_an_unknown_ending_is_the_interrupts_in_the_stream() -> None:
    asked = ("updates", {"__interrupt__": ({"id": "i1", "value": "Sure?"},)})
    assert _last(None, asked)["outcome"]["type"] == "interrupt"


def test_an_unknown_ending_is_the_error_in_the_stream() -> None:
    error = StreamPart("error", {"error": "ValueError", "message": "bad"})
    assert _last(None, error) == {"type": "RUN_ERROR", "message": "bad", "code": "ValueError"}


def test_an_error_the_stream_showed_is_not_finished_away() -> None:
    error = StreamPart("error", {"error": "ValueError", "message": "bad"})
    assert _last(Finished(), error)["type"] == "RUN_ERROR"


def test_an_error_without_data_is_an_error() -> None:
    assert _last(None, {"event": "error", "data": None})["type"] == "RUN_ERROR"


def test_a_failed_run_names_the_error() -> None:
    assert _last(Failed(ValueError("bad"))) == {"type": "RUN_ERROR", "message": "bad", "code": "ValueError"}


def test_a_failed_run_leaves_an_activity(agui_client: AguiClient) -> None:
    """`RUN_ERROR` is gone once it is over; the activity stays in the conversation."""
    for version in VERSIONS:
        options = Options(protocol_version=protocol(version), error_detail="code")
        run = run_parts(_ALL_OPEN, Failed(ValueError("bad")), options)
        answer = agui_client.play(run.events, version=version)
        assert answer.messages[-1] == {
            "id": "run-1-error",
            "role": "activity",
            "activityType": "run_error",
            "content": {"runId": "run-1", "message": "The run failed.", "code": "ValueError"},
        }


@pytest.mark.parametrize("ending", [None, Finished(), Cancelled(), Lost("x")], ids=repr)
def test_a_run_that_did_not_fail_leaves_none(ending: Ending | None) -> None:
    events = run_parts(_ALL_OPEN, ending, Options(protocol_version=None)).events
    assert not [event for event in events if event["type"] == "ACTIVITY_SNAPSHOT"]


def test_by_option_a_failed_run_leaves_none() -> None:
    run = run_parts(_ALL_OPEN, Failed("x"), Options(error_activity=False, error_detail="none"))
    assert not [event for event in run.events if event["type"] == "ACTIVITY_SNAPSHOT"]


def test_what_failed_stays_through_later_runs() -> None:
    failed = run_parts(_ALL_OPEN, Failed("x"))
    later = run_parts([("values", {"messages": [_USER, {"type": "ai", "id": "a", "content": "x"}]})], view=failed.view)
    assert "run-1-error" in later.view.order


def test_a_cancelled_run_says_so() -> None:
    assert _last(Cancelled())["outcome"] == {"type": "cancelled"}


def test_a_cancelled_run_has_no_result() -> None:
    assert "result" not in _last(Cancelled(), ("values", {"structured_response": {"a": 1}}))


@pytest.mark.parametrize(
    ("reason", "told"),
    [("gone", ": gone"), (ConnectionError("reset"), ": reset"), (ConnectionError(), ".")],
)
def test_a_lost_source_says_so_and_that_the_run_may_continue(reason: Any, told: str) -> None:
    message = f"The connection to the run was lost, and the run may continue{told}"
    assert _last(Lost(reason)) == {"type": "RUN_ERROR", "message": message, "code": "lost"}


@pytest.mark.parametrize("ending", ["failed", "cancelled", "lost"])
def test_partial_text_stays_when_a_run_breaks_off(ending: str) -> None:
    view = run_parts(
        _ALL_OPEN, ENDINGS[ending], view=ClientView([{"id": "user-1", "role": "user", "content": "hi"}], {})
    ).view
    message = view.message("lc_run--1")
    assert message is not None
    assert message["content"] == "Half"


def test_speech_that_was_not_saved_is_dropped_when_a_run_ends_well() -> None:
    assert run_parts(_ALL_OPEN, Finished()).view.message("lc_run--1") is None


def test_the_interrupts_of_the_ending_are_emitted_beside_those_of_the_stream() -> None:
    asked = ("updates", {"__interrupt__": ({"id": "i1", "value": "one?"},)})
    event = _last(Finished(interrupts=[{"id": "i1", "value": "one?"}, {"id": "i2", "value": "two?"}]), asked)
    assert [item["id"] for item in event["outcome"]["interrupts"]] == ["i1", "i2"]


def test_the_state_of_the_ending_is_emitted_last() -> None:
    run = run_parts([("values", {"count": 1})], Finished(state={"count": 2, "messages": [_USER]}))
    assert run.view.state == {"count": 2}
    assert run.view.order == ["user-1"]


def test_the_result_of_the_ending_is_the_result() -> None:
    assert _last(Finished(result={"answer": 42}))["result"] == {"answer": 42}


def test_the_structured_response_is_the_result() -> None:
    assert _last(None, ("values", {"structured_response": {"name": "Ada"}}))["result"] == {"name": "Ada"}


def test_the_result_of_the_ending_comes_before_the_structured_response() -> None:
    assert _last(Finished(result=1), ("values", {"structured_response": 2}))["result"] == 1


def test_an_interrupted_run_has_no_result() -> None:
    asked = ("updates", {"__interrupt__": ({"id": "i1", "value": "Sure?"},)})
    assert "result" not in _last(None, ("values", {"structured_response": 1}), asked)


@pytest.mark.parametrize("name", ["structured_by_tool", "structured_by_tool_after_tools"])
async def test_an_agents_structured_response_is_the_result(name: str, agui_client: AguiClient) -> None:
    fixture: Fixture = FIXTURES[name]
    ran = (await local_parts(fixture))[0]
    answer = agui_client.play(run_parts(ran.parts).events)
    assert ran.state is not None
    assert answer.result == ran.state.values["structured_response"].model_dump()


def test_the_start_declares_our_protocol_version_and_the_run() -> None:
    event = Translator("t", "r", Options(protocol_version=None)).start()[0]
    assert event == {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": PROTOCOL_VERSION}


def test_the_start_names_the_run_it_continues() -> None:
    assert Translator("t", "r", parent_run_id="r-0").start()[0]["parentRunId"] == "r-0"


def test_the_end_names_the_thread_and_the_run_of_the_start() -> None:
    events = run_parts([]).events
    assert (events[0]["threadId"], events[0]["runId"]) == (events[-1]["threadId"], events[-1]["runId"])


def test_an_older_client_gets_a_cancelled_run_as_an_error() -> None:
    assert _last(Cancelled(), protocol_version=None) == {
        "type": "RUN_ERROR",
        "message": "The run was cancelled.",
        "code": "cancelled",
    }


def test_a_run_that_the_server_began_anew_leaves_no_ghost() -> None:
    parts = [
        StreamPart("metadata", {"run_id": "r", "attempt": 1}),
        StreamPart("values", {"messages": [_USER]}),
        _chunk("First try, brok"),
        StreamPart("metadata", {"run_id": "r", "attempt": 1}),
        StreamPart("values", {"messages": [_USER]}),
        _chunk("Second try.", message_id="lc_run--9"),
        StreamPart("values", {"messages": [_USER, {"type": "ai", "id": "lc_run--9", "content": "Second try."}]}),
    ]
    assert [message["content"] for message in run_parts(parts).view.messages] == ["hi", "Second try."]


@pytest.mark.parametrize("joined_late", [False, True])
def test_what_was_open_is_closed_when_the_server_begins_the_run_anew(joined_late: bool) -> None:
    metadata = StreamPart("metadata", {"run_id": "r", "attempt": 1})
    parts = [StreamPart("values", {"messages": [_USER]}), _chunk("First try, brok"), metadata]
    run = run_parts([*([] if joined_late else [metadata]), *parts])
    assert [event["type"] for event in run.feeds[-2]] == ["TEXT_MESSAGE_END", "STEP_FINISHED"]


@pytest.mark.parametrize("detail", ["code", "message"])
def test_an_exception_is_a_failure(detail: Any) -> None:
    failed = _last(Failed(ValueError("boom")), error_detail=detail)
    assert failed == _last(ValueError("boom"), error_detail=detail)
    assert (failed["code"], failed["message"]) == ("ValueError", "boom" if detail == "message" else "The run failed.")


@pytest.mark.parametrize("ending", ["boom", 7, Failed, {"error": "boom"}, ()])
def test_what_is_no_ending_is_refused_and_changes_nothing(ending: Any) -> None:
    run = Translator("thread", "run")
    run.start()
    with pytest.raises(TypeError, match="expected Finished, Failed, Cancelled, Lost, an exception or None, got "):
        run.finish(ending)
    assert run.finish()[-1]["outcome"] == {"type": "success"}
