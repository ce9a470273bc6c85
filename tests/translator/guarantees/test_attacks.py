"""What broke when real graphs were driven oddly, told to the real clients: one test for each."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph_agui.translator import ClientView, to_agui_messages

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.streams.translator_runs import options_for, run_parts, view_for

RESUMED: list[Any] = [((), "values", None), ((), "updates", {"flow": {"ok": "y"}}), ((), "values", {"ok": "y"})]
"""A function of the functional API that asked before it ever returned a value, and returns now."""


QUESTION = HumanMessage("hi", id="user-1")
CALLS = AIMessage(
    "", id="ai-1", tool_calls=[{"name": "ask", "args": {}, "id": "c-1"}, {"name": "add", "args": {}, "id": "c-2"}]
)
RESULTS = [ToolMessage("yes", tool_call_id="c-1", id="t-1"), ToolMessage("3", tool_call_id="c-2", id="t-2")]
BOTH_DONE: list[Any] = [
    ((), "values", {"messages": [QUESTION, CALLS]}),
    ((), "messages", (RESULTS[0], {"langgraph_node": "tools"})),
    ((), "updates", {"tools": {"messages": RESULTS[:1]}}),
    ((), "values", {"messages": [QUESTION, CALLS, *RESULTS]}),
]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_state_that_follows_null_is_told_so_that_the_client_can_apply_it(
    agui_client: AguiClient, version: str
) -> None:
    telling = run_parts(RESUMED, options=options_for(version), view=view_for(version, [], {}))
    answer = agui_client.play(telling.events, version=version)
    assert (answer.warnings, answer.state) == ([], {"ok": "y"})


def test_what_was_kept_and_is_stored_later_is_no_reason_for_a_snapshot() -> None:
    options = options_for("1.0.0", history="keep")
    held = [QUESTION, CALLS, RESULTS[1]]
    view = ClientView(to_agui_messages(held), {})
    kinds = [event["type"] for event in run_parts(BOTH_DONE, options=options, view=view).events]
    assert "MESSAGES_SNAPSHOT" not in kinds
