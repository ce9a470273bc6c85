"""A reader that joins a run of this process whose conversation is not in a channel called `messages`: at every cut it
gets texts from their beginning. What no node saved in the channel of the options is removed with its step, for
those who join as for all others, unless the option `unsaved` keeps it."""

import asyncio
import operator
from functools import partial
from typing import Annotated, Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.testing import ScriptedChatModel, text
from langgraph_agui.connect.testing.scripts import tokens
from langgraph_agui.translator import Options
from typing_extensions import TypedDict

from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.batch_readers import BatchReader, until
from tests.support.clients.locally import played
from tests.support.streams.pausing_graphs import on

FIRST, SECOND = "One two three four.", "Five six seven."


def _says(sofar: str, channel: str, joins: Any) -> Any:
    """A node whose model waits before each chunk until a reader has joined there, which sees what came before."""
    words, steps = tokens(sofar), [*text(sofar), *end()]
    script = [each for at, step in enumerate(steps) for each in (partial(joins, "".join(words[:at])), step)]
    model = ScriptedChatModel(turns=[script])

    async def node(state: Any) -> dict[str, Any]:
        answer = await model.ainvoke([HumanMessage("hi")])
        return {channel: [answer.text if channel == "notes" else answer]}

    return node


def _graph(channel: str, how: Any, joins: Any) -> Any:
    schema = TypedDict("schema", {"topic": str, channel: how})  # type: ignore[misc]
    builder: Any = StateGraph(schema)
    builder.add_node("first", _says(FIRST, channel, joins)).add_node("second", _says(SECOND, channel, joins))
    return builder.add_edge(START, "first").add_edge("first", "second").compile(checkpointer=InMemorySaver())


CHANNELS: dict[str, tuple[str, Any, Options | None, list[str]]] = {
    "none": ("notes", Annotated[list, operator.add], None, []),
    "none, kept": ("notes", Annotated[list, operator.add], Options(unsaved="keep"), [FIRST, SECOND]),
    "none, by options": ("chat", Annotated[list, add_messages], Options(), []),
    "none, by options, kept": ("chat", Annotated[list, add_messages], Options(unsaved="keep"), [FIRST, SECOND]),
    "another": ("chat", Annotated[list, add_messages], None, [FIRST, SECOND]),
    "no value yet": ("messages", list, None, [SECOND]),
}
"""Of each graph: the channel, its type, the run's options, and the texts that stay in the end."""


def _heard(listener: BatchReader) -> set[str]:
    """All texts that it held at any time."""
    again, found = BatchReader(version=listener.version), set()
    for told in (told for batch in listener.batches for told in batch):
        again.take([told])
        found |= {str(message.get("content")) for message in again.view.messages}
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CHANNELS)
async def test_at_every_cut_texts_come_from_their_beginning(name: str, version: str, agui_client: AguiClient) -> None:
    channel, how, options, stays = CHANNELS[name]
    joined: list[asyncio.Task[BatchReader]] = []

    async def joins(sofar: str) -> None:
        await until(lambda: not sofar or any(message.get("content") == sofar for message in run.view.messages))
        listener = BatchReader(version=protocol(version))
        batches = await source.attach("t", listener.reader, options)
        listener.take(await anext(batches))
        assert not sofar or sofar in [message.get("content") for message in listener.view.messages]
        joined.append(asyncio.create_task(listener.hear(batches)))

    graph = _graph(channel, how, joins)
    async with Runs() as runs:
        source = Local(graph, runs=runs)
        run = await runs.start(graph, {"topic": "tea"}, on("t"), options=options)
        assert await run.wait() == "finished"
        listeners = await asyncio.gather(*joined)
    in_first, in_second = (len([*text(each), *end()]) for each in (FIRST, SECOND))
    assert len(listeners) == in_first + in_second
    for place, listener in enumerate(listeners):
        heard = _heard(listener)
        assert SECOND in heard
        assert (FIRST in heard) == (place < in_first or stays != [])
        answer = played(agui_client, listener, version)
        assert answer.accepted
        assert [message["content"] for message in answer.messages] == stays
