"""A pytest plugin for the run on versions between the oldest and the newest: what they lack, or do otherwise.

Loaded with `-p tests.versions.middle`, which `make test-middle` does beside `-m "not newest"`; see
`tests.versions.older`. These are versions of LangGraph that write a run's ids into the metadata that are bound to a
graph.
"""

import pytest

from tests.versions.older import leave_out

OTHERWISE = {
    "test_answers_to_tools_need_no_snapshot[review_": "langchain 1.2 reviews calls otherwise: a snapshot",
    "test_a_fan_out_of_one_node_is_one_pair": "the messages of a fan-out name no task",
    "test_with_tasks_the_same_steps_are_told[fan_out]": "the messages of a fan-out name no task",
    "test_an_id_known_too_late_is_mended_by_one_snapshot[copied_message]": "a message names no task",
    "test_a_copied_message_is_not_told_a_second_time": "a message names no task",
    "test_the_reader_comes_back_to_the_sentence_it_left": "a late reader is shown the rest of a sentence twice",
    "test_a_named_agent_": "no agent's name in the metadata",
    "test_a_value_becomes[Interrupt-": "an interrupt has no response_schema",
    "test_an_older_clients_answer_goes_to_the_question_it_was_shown": "an answered question is listed still",
    "test_an_answer_that_failed_is_tried_again": "an answer that failed is forgotten, and asked for again",
}
"""Tests, by how their names begin, of what these versions do otherwise."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out the tests of what these versions do otherwise."""
    leave_out(items, OTHERWISE)
