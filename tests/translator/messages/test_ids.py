"""Under which id a message is told: the checkpoint's, from the start where it can be known, at the end always."""

from typing import Literal

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langgraph_agui.translator import ClientView

from tests.support.streams.event_lines import Event, Translated, run_fixture, run_made, run_turn

USER = HumanMessage("hi", id="user-1")
TOLD_UNDER = {
    "ids_none": "lc_run--#1",
    "ids_provider": "chatcmpl-1",
    "ids_provider_on_first": "msg_1",
    "ids_changing": "p1",
}


@pytest.mark.parametrize("fixture", TOLD_UNDER)
async def test_the_id_of_the_checkpoint_is_told_from_the_start(fixture: str) -> None:
    name = TOLD_UNDER[fixture]
    assert (await run_turn(fixture)).lines == [f"{name} begins", f"{name}: One two three four.", f"{name} ends"]


async def test_the_responses_api_is_told_under_the_id_of_its_empty_first_chunk() -> None:
    told = await run_turn("ids_responses")
    assert told.lines == ["resp_1 begins", "resp_1: Said by Responses.", "resp_1 ends"]


async def test_a_responses_agent_keeps_both_responses_apart() -> None:
    assert (await run_turn("ids_responses_agent")).lines == [
        *("resp_1 begins", "resp_1: Let me add. "),
        *("call_1 calls add in resp_1", 'call_1: {"a": 1, "b": 2}', "call_1 ends", "resp_1 ends"),
        "#1 answers call_1: 3",
        *("resp_2 begins", "resp_2: The sum is three.", "resp_2 ends"),
    ]


LATE_IDS = {
    "ids_provider_on_last": ("One two three four.", "msg_1"),
    "ids_responses_v0": ("Said by the older Responses shape.", "msg_2"),
    "copied_message": ("Streamed under one id, kept under another.", "kept-1"),
}


@pytest.mark.parametrize("fixture", LATE_IDS)
async def test_an_id_known_too_late_is_mended_by_one_snapshot(fixture: str) -> None:
    text, final = LATE_IDS[fixture]
    assert (await run_turn(fixture)).lines == [
        *("lc_run--#1 begins", f"lc_run--#1: {text}", "lc_run--#1 ends"),
        f"snapshot user-1 {final}",
    ]


async def test_a_model_that_reports_its_own_tokens_says_one_message() -> None:
    told = await run_turn("self_reporting_model")
    assert list(told.texts.values()) == ["One two three four."]
    assert ids(told)[1:] == [told.values["messages"][-1].id]


@pytest.mark.parametrize("fixture", [*TOLD_UNDER, *LATE_IDS, "self_reporting_model", "ids_one_for_two_calls"])
async def test_the_client_ends_with_the_ids_of_the_checkpoint(fixture: str) -> None:
    told = await run_turn(fixture)
    assert ids(told) == [message.id for message in told.values["messages"]]


async def test_an_id_used_for_a_second_call_is_told_anew_not_appended_to() -> None:
    assert (await run_turn("ids_one_for_two_calls")).lines == [
        *("same-1 begins", "same-1: This is replaced.", "same-1 ends"),
        "snapshot user-1",
        *("same-1 begins", "same-1: This replaces it.", "same-1 ends"),
    ]


async def test_an_id_used_again_in_the_next_turn_is_told_anew_and_put_where_the_graph_has_it() -> None:
    _, second = await run_fixture("ids_repeated_in_next_turn")
    assert second.texts == {"final-1": "Three."}
    assert ids(second) == [message.id for message in second.values["messages"]]


async def test_two_calls_at_once_under_one_id_never_share_a_message() -> None:
    left, right = ({"langgraph_checkpoint_ns": "n:1", "langgraph_node": "n", "ls_model_type": "chat"} for _ in "lr")
    last: Literal["last"] = "last"
    said = [(left, "A1 ", None), (right, "B1 ", None), (left, "A2", None), (left, "", last), (right, "B2", None)]
    told = run_made(
        [
            ("values", {"messages": [USER]}),
            *(
                ("messages", (AIMessageChunk(content=text, id="same", chunk_position=position), metadata))
                for metadata, text, position in said
            ),
            ("values", {"messages": [USER, AIMessage("B1 B2", id="same")]}),
        ],
        view=ClientView([{"id": "user-1", "role": "user", "content": "hi"}], {}),
    )
    assert told.lines == [
        *("same begins", "same: A1 ", "same ends"),
        "snapshot user-1",
        *("same begins", "same: B1 B2", "same ends"),
    ]


async def test_chunks_of_one_id_go_on_after_json() -> None:
    """A platform's chunks have no metadata object in common: the id alone says what belongs together."""
    told = run_made([chunk("lc_run--1", "One "), chunk("lc_run--2", "Two "), chunk("lc_run--1", "one.")])
    assert told.texts == {"lc_run--1": "One one.", "lc_run--2": "Two "}


async def test_after_json_an_empty_chunk_with_a_provider_id_names_the_lone_call_that_follows() -> None:
    told = run_made([chunk("resp_1", ""), chunk("lc_run--1", "Hello "), chunk("lc_run--1", "you.")])
    assert told.texts == {"resp_1": "Hello you."}


async def test_after_json_a_provider_id_in_the_middle_is_the_same_call() -> None:
    told = run_made([chunk("lc_run--1", "Hello "), chunk("msg_1", "dear "), chunk("lc_run--1", "you.")])
    assert told.texts == {"lc_run--1": "Hello dear you."}


def chunk(message_id: str, content: str) -> Event:
    message = {"type": "AIMessageChunk", "id": message_id, "content": content}
    metadata = {"langgraph_checkpoint_ns": "n:1", "langgraph_node": "n", "ls_model_type": "chat"}
    return {"event": "messages", "data": [message, metadata]}


def ids(told: Translated) -> list[str]:
    return [message["id"] for message in told.view.messages]
