"""What streams and is not, or not so, in the checkpoint: copied, edited, removed, abandoned. The end is the graph's."""

import pytest
from langgraph_agui.translator import Cancelled, ClientView, Lost

from fixtures import FIXTURES
from fixtures.run import Conversation
from tests.support.streams.event_lines import Translated, run_fixture, run_turn
from tests.support.streams.translator_runs import TranslatorRun

DROPPED = {
    "router_not_saved": ["It will rain."],
    "subgraph_private_state": ["The child has looked."],
    "answer_removed": [],
    "failure_caught_by_node": ["I am sorry."],
    "retried": ["Said at the second try."],
    "fallback_model": ["Said by the second model."],
    "speech_after_its_node": ["I leave.", "Said after the node was over."],
}


@pytest.mark.parametrize("fixture", DROPPED)
async def test_root_speech_that_was_not_saved_is_dropped_in_the_end(fixture: str) -> None:
    told = await run_turn(fixture)
    assert answers(told) == DROPPED[fixture]


STREAMED = {
    "router_not_saved": ["weather", "Private notes, not kept.", "It will rain."],
    "subgraph_private_state": ["Words the parent never keeps.", "The child has looked."],
    "retried": ["This will never be ", "Said at the second try."],
    "fallback_model": ["This will never be ", "Said by the second model."],
}


@pytest.mark.parametrize("fixture", STREAMED)
async def test_speech_is_told_live_before_anybody_knows_whether_it_is_saved(fixture: str) -> None:
    assert list((await run_turn(fixture)).texts.values()) == STREAMED[fixture]


@pytest.mark.parametrize("fixture", STREAMED)
async def test_all_the_unsaved_speech_of_a_step_costs_one_snapshot(fixture: str) -> None:
    steps = 2 if fixture == "router_not_saved" else 1
    assert len((await run_turn(fixture)).kinds("MESSAGES_SNAPSHOT")) == steps


async def test_an_abandoned_message_is_closed_and_then_gone() -> None:
    assert (await run_turn("retried")).lines == [
        *("lc_run--#1 begins", "lc_run--#1: This will never be "),
        *("lc_run--#2 begins", "lc_run--#2: Said at the second try.", "lc_run--#2 ends"),
        *("lc_run--#1 ends", "snapshot user-1 lc_run--#2"),
    ]


EDITED = {
    "edited_before_return": "My secret is ****.",
    "guardrail_same_id": "My secret is ****.",
    "guardrail_in_place": "My secret is ****.",
    "guardrail_middleware": "The number is ****.",
    "copied_message": "Streamed under one id, kept under another.",
}


@pytest.mark.parametrize("fixture", EDITED)
async def test_what_a_node_changed_after_it_streamed_ends_as_stored_by_one_snapshot(fixture: str) -> None:
    told = await run_turn(fixture)
    assert answers(told) == [EDITED[fixture]]
    assert len(told.kinds("MESSAGES_SNAPSHOT")) == 1


async def test_a_copied_message_is_not_told_a_second_time() -> None:
    """It comes again, whole and under its new id, in the `messages` mode."""
    told = await run_turn("copied_message")
    assert list(told.texts.values()) == ["Streamed under one id, kept under another."]


async def test_a_graph_that_repeats_itself_is_not_taken_for_a_copy() -> None:
    told = await run_turn("subgraph_called_twice")
    assert answers(told) == ["Spoken by a called graph."] * 2


async def test_speech_left_running_behind_its_node_is_whole_once_it_is_saved() -> None:
    told = await run_turn("speech_after_its_node")
    assert told.lines[-3:] == ["lc_run--#1 begins", "lc_run--#1: Said after the node was over.", "lc_run--#1 ends"]


async def test_after_an_error_the_partial_text_stays() -> None:
    told = await run_turn("model_raises_mid_text")
    assert answers(told) == ["This will never be "]


async def test_the_partial_text_of_a_failed_run_goes_with_the_next_snapshot() -> None:
    """The next run of the thread tells a checkpoint that does not have it."""
    failed = await run_turn("model_raises_mid_text")
    told = await run_turn("plain_text", view=failed.view)
    assert answers(told) == ["Hello there, how are you?"]


@pytest.mark.parametrize("ending", [Cancelled(), Lost("gone")])
async def test_after_a_cancel_or_a_loss_the_partial_text_stays(ending: Cancelled | Lost) -> None:
    run = TranslatorRun(view=ClientView([], {}))
    fixture = FIXTURES["plain_text"]
    stream = Conversation(fixture).stream(fixture.turns[0])
    async for part in stream:
        run.feed(part)
        if len(run.feeds) == 4:
            break
    await stream.aclose()  # type: ignore[attr-defined]
    run.finish(ending)
    assert [message["content"] for message in run.view.messages] == ["hi", "Hello there, "]


async def test_what_a_waiting_node_said_stays_until_the_node_starts_over_and_says_it_again() -> None:
    first, resumed = await run_fixture("interrupt_after_speech")
    assert answers(first) == ["Shall I really do it?"]
    assert resumed.lines[0] == "snapshot user-1"
    assert answers(resumed) == ["Shall I really do it?", "You said yes."]


def answers(told: Translated) -> list[str]:
    """What the client's assistant messages say in the end."""
    return [message.get("content", "") for message in told.view.messages if message["role"] == "assistant"]
