"""Reasoning of every provider: one span and one message per block, before its answer, sealed where it is signed."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_agui.translator import Options

from tests.support.streams.adapters import adapter_turn
from tests.support.streams.event_lines import Translated, is_subsequence, run_fixture, run_made, run_turn

SHAPES = {
    "reasoning_anthropic": [
        *("lc_run--#1-reasoning-0 thinks", "lc_run--#1-reasoning-0: Let me think about it."),
        *("lc_run--#1-reasoning-0 sealed c2lnbmF0dXJl", "lc_run--#1-reasoning-0 ends"),
        *("lc_run--#1-reasoning-1 thinks", "lc_run--#1-reasoning-1 sealed RW5jcnlwdGVk", "lc_run--#1-reasoning-1 ends"),
        *("lc_run--#1 begins", "lc_run--#1: The answer is 42.", "lc_run--#1 ends"),
    ],
    "reasoning_whole": [
        *("lc_run--#1-0-reasoning-0 thinks", "lc_run--#1-0-reasoning-0: Let me think about it."),
        *("lc_run--#1-0-reasoning-0 sealed c2lnbmF0dXJl", "lc_run--#1-0-reasoning-0 ends"),
        *("lc_run--#1-0-reasoning-1 thinks", "lc_run--#1-0-reasoning-1 sealed RW5jcnlwdGVk"),
        "lc_run--#1-0-reasoning-1 ends",
        *("lc_run--#1-0 begins", "lc_run--#1-0: The answer is 42.", "lc_run--#1-0 ends"),
    ],
    "reasoning_responses": [
        *("rs_1 thinks", "rs_1: First I look.\n\nThen I leap.", "rs_1 ends"),
        *("resp_7 begins", "resp_7: I leapt.", "resp_7 ends"),
    ],
    "reasoning_deepseek": [
        *("lc_run--#1-reasoning-0 thinks", "lc_run--#1-reasoning-0: Hm, let me see.", "lc_run--#1-reasoning-0 ends"),
        *("lc_run--#1 begins", "lc_run--#1: It is so.", "lc_run--#1 ends"),
    ],
    "reasoning_standard": [
        *(
            "lc_run--#1-reasoning-0 thinks",
            "lc_run--#1-reasoning-0: In standard blocks.",
            "lc_run--#1-reasoning-0 ends",
        ),
        *("lc_run--#1 begins", "lc_run--#1: Standard answer.", "lc_run--#1 ends"),
    ],
    "reasoning_and_text_in_one_chunk": [
        *("lc_run--#1-reasoning-0 thinks", "lc_run--#1-reasoning-0: Both in one chunk.", "lc_run--#1-reasoning-0 ends"),
        *("lc_run--#1 begins", "lc_run--#1: First block. Second block.", "lc_run--#1 ends"),
    ],
    "reasoning_only": [
        *(
            "lc_run--#1-reasoning-0 thinks",
            "lc_run--#1-reasoning-0: In standard blocks.",
            "lc_run--#1-reasoning-0 ends",
        ),
        *("lc_run--#1 begins", "lc_run--#1 ends"),
    ],
}


@pytest.mark.parametrize("fixture", SHAPES)
async def test_a_block_is_one_message_before_its_answer(fixture: str) -> None:
    assert (await run_turn(fixture)).lines == SHAPES[fixture]


@pytest.mark.parametrize("fixture", SHAPES)
async def test_a_span_holds_just_its_message(fixture: str) -> None:
    told = await run_turn(fixture)
    spans = [(event["type"], event["messageId"]) for event in told.kinds(*SPAN)]
    for place in range(0, len(spans), 4):
        assert spans[place : place + 4] == [(kind, spans[place][1]) for kind in SPAN]


SPAN = ("REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_END", "REASONING_END")

PROVIDERS = {
    "anthropic-thinking": [
        *(
            "lc_run--#1-reasoning-0: First this.",
            "lc_run--#1-reasoning-0 sealed c2lnLTE=",
            "lc_run--#1-reasoning-0 ends",
        ),
        *("lc_run--#1-reasoning-1 sealed cmVkYWN0ZWQ=", "lc_run--#1-reasoning-1 ends", "lc_run--#1 begins"),
        *("toolu_1 calls get_weather in lc_run--#1", "lc_run--#1 ends"),
    ],
    "anthropic-interleaved": [
        *("lc_run--#1-reasoning-0: One.", "lc_run--#1-reasoning-0 ends", "lc_run--#1 begins", "lc_run--#1: Some text."),
        *("lc_run--#1-reasoning-1: Two.", "lc_run--#1-reasoning-1 ends", "toolu_1 calls get_weather in lc_run--#1"),
        *("toolu_1: {}", "toolu_1 ends", "lc_run--#1 ends"),
    ],
    "openai-responses-reasoning": [
        *("rs_1: **One**\n\nFirst.\n\n**Two**\n\nSecond.", "rs_1 ends", "resp_1 begins", "resp_1: It is Paris."),
        *("call_1 calls get_weather in resp_1", "call_2 calls get_time in resp_1", "resp_1 ends"),
    ],
    "openai-responses-reasoning-v1": [
        *("rs_1: **One**\n\nFirst.\n\n**Two**\n\nSecond.", "rs_1 ends", "resp_1 begins", "resp_1: It is Paris."),
    ],
    "openai-responses-encrypted": [
        *("rs_1: Think.", "rs_1 sealed ZW5jLTE=", "rs_1 ends", "rs_2 thinks", "rs_2 sealed ZW5jLTI=", "rs_2 ends"),
        *("resp_1 begins", "resp_1: Done.", "resp_1 ends"),
    ],
    "google-thoughts": [
        "lc_run--#1-reasoning-0: **Weighing it**\n\nParis it is.\n",
        *("lc_run--#1-reasoning-0 ends", "lc_run--#1 begins", "lc_run--#1: Paris."),
    ],
}


@pytest.mark.parametrize("name", PROVIDERS)
async def test_what_a_real_adapter_streams(name: str) -> None:
    assert is_subsequence(PROVIDERS[name], (await adapter_turn(name)).lines)


@pytest.mark.parametrize("name", [name for name in PROVIDERS if not name.endswith("v0")])
async def test_what_a_real_adapter_streams_needs_no_snapshot(name: str) -> None:
    assert (await adapter_turn(name)).kinds("MESSAGES_SNAPSHOT") == []


async def test_blocks_of_bedrock_are_told_and_sealed() -> None:
    block = {"type": "reasoning_content", "index": 0}
    told = tell_blocks(
        {**block, "reasoning_content": {"type": "text", "text": "Hm, "}},
        {**block, "reasoning_content": {"type": "text", "text": "so."}},
        {**block, "reasoning_content": {"type": "signature", "signature": "c2ln"}},
        {"type": "text", "text": "Yes.", "index": 1},
    )
    assert told.lines == [
        *("m-reasoning-0 thinks", "m-reasoning-0: Hm, so.", "m-reasoning-0 sealed c2ln", "m-reasoning-0 ends"),
        *("m begins", "m: Yes.", "m ends"),
    ]


async def test_reasoning_after_text_is_a_span_of_its_own_and_the_text_goes_on() -> None:
    told = tell_blocks(
        {"type": "text", "text": "One. ", "index": 0},
        {"type": "thinking", "thinking": "Hm.", "index": 1},
        {"type": "text", "text": "Two.", "index": 2},
    )
    assert told.lines == [
        *("m begins", "m: One. ", "m-reasoning-0 thinks", "m-reasoning-0: Hm.", "m-reasoning-0 ends"),
        *("m: Two.", "m ends"),
    ]


async def test_a_closed_block_is_opened_again_for_text_and_not_for_its_seal() -> None:
    first = {"type": "thinking", "thinking": "Hm, ", "index": 0}
    answer = {"type": "text", "text": "Yes.", "index": 1}
    seal = {"type": "thinking", "thinking": "", "signature": "c2ln", "index": 0}
    begun = ["m-reasoning-0 thinks", "m-reasoning-0: Hm, ", "m-reasoning-0 ends", "m begins", "m: Yes."]
    assert tell_blocks(first, answer, seal).lines == [*begun, "m-reasoning-0 sealed c2ln", "m ends"]
    assert tell_blocks(first, answer, {**first, "thinking": "so."}).lines == [
        *(*begun, "m-reasoning-0 thinks", "m-reasoning-0: so.", "m-reasoning-0 ends", "m ends"),
    ]


async def test_a_block_without_text_or_seal_is_not_told() -> None:
    told = tell_blocks({"type": "thinking", "thinking": "", "index": 0}, {"type": "text", "text": "Yes.", "index": 1})
    assert told.lines == ["m begins", "m: Yes.", "m ends"]


async def test_reasoning_between_calls_belongs_to_the_message_that_calls() -> None:
    assert is_subsequence(
        ["lc_run--#1-reasoning-0 ends", "toolu_1 calls add in lc_run--#1", "#2 answers toolu_1: 3"],
        (await run_turn("reasoning_between_calls")).lines,
    )


async def test_reasoning_can_be_left_out() -> None:
    told = await run_turn("reasoning_anthropic", Options(reasoning=False))
    assert told.lines == ["lc_run--#1 begins", "lc_run--#1: The answer is 42.", "lc_run--#1 ends"]


async def test_reasoning_is_not_told_again_in_the_next_turn() -> None:
    _, second = await run_fixture("reasoning_anthropic")
    assert second.lines == ["lc_run--#1 begins", "lc_run--#1: And more.", "lc_run--#1 ends"]


async def test_a_model_that_fails_while_it_thinks_closes_the_span_first() -> None:
    told = await run_turn("model_raises_mid_reasoning")
    kinds = [event["type"] for event in told.events[-4:]]
    assert kinds == ["REASONING_END", "STEP_FINISHED", "ACTIVITY_SNAPSHOT", "RUN_ERROR"]


def tell_blocks(*blocks: dict[str, Any]) -> Translated:
    """One content block a chunk."""
    metadata = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
    return run_made([("messages", (AIMessageChunk(content=[block], id="m"), metadata)) for block in blocks])
