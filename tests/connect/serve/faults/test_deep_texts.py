"""Texts of an input that are read as JSON, and are nested more deeply than a body may be: refused, with nothing written
to the thread."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.serve import Limits, agui_app

from tests.support.servers.serving import events_of, kinds_of, posted, served
from tests.support.streams.chats import asking, counting

DEPTHS = (101, 300, 1_000, 2_000)
ON: Any = {"configurable": {"thread_id": "t"}}


def nested(depth: int) -> str:
    """An object that is nested so deeply."""
    return '{"it":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


def calling(arguments: str) -> dict[str, Any]:
    function = {"name": "paint", "arguments": arguments}
    return {"id": "a", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": function}]}


@pytest.mark.parametrize("path", ["/chat", "/chat/connect", "/agent/chat/run"])
async def test_arguments_that_are_nested_too_deeply_are_refused(path: str) -> None:
    graph = counting(InMemorySaver())
    async with served(agui_app({"chat": graph}, limits=Limits(depth=100))) as server, server.client() as client:
        for depth in DEPTHS:
            body = posted("t", "hi")
            body["messages"].insert(0, calling(nested(depth)))
            refused = await client.post(path, json=body)
            message = "messages.0.toolCalls.0.function.arguments: expected JSON that is nested at most 100 levels deep."
            assert (refused.status_code, refused.json()) == (422, {"error": "invalid_input", "message": message})
        assert [each async for each in graph.aget_state_history(ON)] == []
        body = posted("t", "hi", "again")
        body["messages"].insert(0, calling(nested(100)))
        body["messages"].insert(0, {**calling("[" * 200 + "]" * 100), "id": "no JSON"})
        assert kinds_of((await client.post("/chat", json=body)).content)[-1] == "RUN_FINISHED"


@pytest.mark.parametrize("field", ["resume", "interruptEvent"])
async def test_an_answer_as_text_that_is_nested_too_deeply_is_refused_and_the_next_one_taken(field: str) -> None:
    graph = asking("really?")
    async with served(agui_app({"chat": graph}, limits=Limits(depth=100))) as server, server.client() as client:
        assert kinds_of((await client.post("/chat", json=posted("t", "go"))).content)[-1] == "RUN_FINISHED"
        before = await graph.aget_state(ON)
        for depth in DEPTHS:
            command = {"resume": "yes", field: nested(depth)}
            body = posted("t", run_id=f"deep-{depth}", forwardedProps={"command": command})
            refused = await client.post("/chat", json=body)
            message = f"forwardedProps.command.{field}: expected JSON that is nested at most 100 levels deep."
            assert (refused.status_code, refused.json()) == (422, {"error": "invalid_input", "message": message})
        assert await graph.aget_state(ON) == before
        good = posted("t", run_id="good", forwardedProps={"command": {"resume": json.dumps({"it": [1]})}})
        events = events_of((await client.post("/chat", json=good)).content)
        assert events[-1]["type"] == "RUN_FINISHED"
        assert (await graph.aget_state(ON)).values["messages"][-1].content == "really? {'it': [1]}"
