"""A pytest plugin for the run on the oldest versions: what they lack, or do otherwise.

Loaded with `-p tests.versions.oldest`, which `make test-oldest` does beside `-m "not newest"`; see
`tests.versions.older`.
"""

from pathlib import Path

import pytest

from tests.versions.older import leave_out

LATER = "tests/connect/acp"
"""The tests that need the dependency group `later`, which is not installed here: `mcp`, which the extra `acp` requires,
asks for a later httpx than the oldest."""

GRPC = "google-"
"""The models whose adapter, in its version for langchain-core 1.0, speaks gRPC: no canned HTTP answers it."""

CONFIGURED = "a graph's own config is lost where a run has one, and with it the test's gate"

OTHERWISE = {
    "test_answers_to_tools_need_no_snapshot[review_": "langchain 1.0.0 reviews calls otherwise: a snapshot",
    "test_a_subagent_starts_before_its_messages_and_ends_with_its_result": "no agent's name in the metadata",
    "test_what_a_suspended_subagent_said_is_still_there": "deepagents 0.2.0 resumes in another way",
    "test_a_call_id_that_two_suspended_subagents_use": "deepagents 0.2.0 resumes in another way",
    "test_an_inline_subagent_that_goes_on_answers_no_call": "deepagents 0.2.0 resumes in another way",
    "test_a_run_that_fails_leaves_the_results_that_came": "what came beside a failure is not streamed",
    "test_a_named_agent_": "no agent's name in the metadata",
    "test_a_middlewares_model_is_silent": "the summarization middleware has other parameters",
    "test_encrypted_reasoning_of_responses": "langchain-openai 1.0.0 reads it in another way",
    "test_what_a_real_adapter_streams[openai-responses-encrypted]": "langchain-openai 1.0.0 reads it in another way",
    "test_an_answer_that_stopped_early_is_marked_the_same_for_every_provider[openai-": "it does not say so",
    "test_thought_signatures_of_calls": "an adapter that speaks gRPC",
    "test_a_value_becomes[Interrupt-": "an interrupt has no response_schema",
    "test_an_older_clients_answer_goes_to_the_question_it_was_shown": "an answered question is listed still",
    "test_twenty_open_streams_end_properly": CONFIGURED,
    "test_a_second_run_on_a_thread_is_answered_by_the_policy[": CONFIGURED,
    "test_the_end_leaves_a_run_its_grace": CONFIGURED,
    "test_when_the_grace_is_over_the_streams_end_properly": CONFIGURED,
    "test_each_call_runs_once_where_it_belongs[nested": "a finished task of a subgraph runs again with its siblings",
    "test_an_answer_that_failed_is_tried_again": "an answer that failed is forgotten, and asked for again",
}
"""Tests, by how their names begin, of what the oldest versions do otherwise. That what is told ends right there too is
the conformance tests' to say, which run on them."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out the tests of `LATER`."""
    return True if collection_path.as_posix().endswith(LATER) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out the tests of what the oldest versions do otherwise."""
    leave_out(items, OTHERWISE, models=GRPC)
