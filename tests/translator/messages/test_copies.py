"""What a model streamed and its node returned in a message of its own, which has another id: the streamed text stays
in its place until one event puts the stored message there."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.translator import STREAM_MODES

from fixtures.graphs.speech import one_node, said, speaker
from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.streams.translator_runs import TranslatorRun, options_for, view_for

_TEXT, _OTHER = "Birds sing, and here is all about it.", "Fish do not."
_ASKED = {"id": "u1", "role": "user", "content": "Do they?"}


async def _copied(state: MessagesState) -> dict[str, Any]:
    result = await said(_TEXT).ainvoke(state["messages"])
    return {"messages": [AIMessage(content=result.content)]}


async def _copied_from_a_graph(state: MessagesState) -> dict[str, Any]:
    inner = StateGraph(MessagesState).add_node("speak", speaker(said(_TEXT))).add_edge(START, "speak").compile()
    result: Any = await inner.ainvoke({"messages": state["messages"]})
    return {"messages": [AIMessage(content=result["messages"][-1].content)]}


async def _two_copied(state: MessagesState) -> dict[str, Any]:
    results = await asyncio.gather(*(said(each).ainvoke(state["messages"]) for each in (_TEXT, _OTHER)))
    return {"messages": [AIMessage(content=result.content) for result in results]}


async def _behind_a_message_that_is_kept(state: MessagesState) -> dict[str, Any]:
    kept = await said(_OTHER).ainvoke(state["messages"])
    return {"messages": [kept, *(await _copied(state))["messages"]]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("node", [_copied, _copied_from_a_graph, _two_copied, _behind_a_message_that_is_kept])
async def test_a_streamed_text_stays_until_the_message_that_was_made_of_it_replaces_it(
    node: Any, version: str, agui_client: AguiClient
) -> None:
    graph: Any = one_node(node)(None)
    run = TranslatorRun(options_for(version), view_for(version, [_ASKED], {}))
    async for part in graph.astream({"messages": [_ASKED]}, stream_mode=STREAM_MODES, subgraphs=True):
        run.feed(part)
    run.finish()
    answer = agui_client.play(run.events, version=version, messages=[_ASKED], trace=True)
    assert answer.accepted
    shown = [[message.get("content") for message in entry["messages"]] for entry in answer.trace]
    for text in {_TEXT, _OTHER}.intersection(shown[-1]):
        counts = [texts.count(text) for texts in shown]
        assert counts[counts.index(1) :] == [1] * len(counts[counts.index(1) :])
    ids = [message.id for message in run.translator.values["messages"]]
    assert [message["id"] for message in answer.messages] == ids
