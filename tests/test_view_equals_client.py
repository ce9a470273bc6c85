"""The view holds what the real client holds, after every event, for both client versions."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph_agui.translator.view import ClientView

from .agui_client import VERSIONS, AguiClient, protocol
from .event_streams import messages, streams

Event = dict[str, Any]

RUN: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def canonical(value: Any) -> str:
    """JSON text that is equal only for equal JSON (`true` is not `1`)."""
    return json.dumps(value, sort_keys=True)


def assert_equal(client: AguiClient, version: str, events: list[Event], held: list[Event], state: Any) -> None:
    answer = client.play(events, version=version, messages=held, state=state, trace=True)
    assert answer.error is None
    view = ClientView(deepcopy(held), deepcopy(state), version=protocol(version))
    assert len(answer.trace) == len(events)
    for number, (event, seen) in enumerate(zip(events, answer.trace, strict=True)):
        view.apply(event)
        where = f"after event {number}: {event}"
        assert canonical(view.messages) == canonical(seen["messages"]), where
        assert canonical(view.state) == canonical(seen["state"]), where
    assert canonical(view.pending_interrupts) == canonical(answer.pending_interrupts)


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(events=streams(), held=messages(), state=st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 2)))
def test_random_streams(
    agui_client: AguiClient, version: str, events: list[Event], held: list[Event], state: Any
) -> None:
    assert_equal(agui_client, version, events, held, state)
