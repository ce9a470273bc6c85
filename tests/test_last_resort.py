"""A value that raises wherever nobody foresaw it: it costs what it is in, and one log line, never the stream."""

import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph_agui.translator import Translator

from .agui_client import AguiClient


class Raises:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("do not look")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("do not compare")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.last_resort
def test_a_message_that_cannot_be_looked_at_costs_one_log_line(
    agui_client: AguiClient, caplog: pytest.LogCaptureFixture
) -> None:
    run = Translator("t", "r")
    odd = AIMessage.model_construct(id=Raises(), content="odd")
    good = {"type": "ai", "id": "ai-1", "content": "good"}
    told = run.start()
    with caplog.at_level(logging.ERROR):
        told += run.feed(("values", {"messages": [odd, good], "count": 1}))
    told += run.feed(("values", {"messages": [good], "count": 2}))
    told += run.finish()
    played = agui_client.play(told)
    assert played.accepted
    assert (played.messages[0]["content"], played.state) == ("good", {"count": 2})
    assert len(caplog.records) <= 1
