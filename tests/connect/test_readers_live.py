"""Readers of one live run that come whenever they like: all hold the same in the end, and little is kept for them."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.events.encoded import EncodedEvent
from langgraph_agui.connect.events.event_log import MOST, MOST_BYTES
from langgraph_agui.connect.local.run.run import Run
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.connect.local.store.active_run import ThreadKey
from langgraph_agui.connect.local.store.memory_store import MemoryRunStore
from langgraph_agui.connect.testing import ScriptedChatModel, text
from langgraph_agui.translator import ClientView, Options, Translator

from fixtures import FIXTURES
from fixtures.graphs.speech import speaker
from fixtures.run import Conversation
from fixtures.scripts import end
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.batch_readers import BatchReader, held, turns
from tests.support.streams.pausing_graphs import HELLO, Graph, on
from tests.support.sweeps import SWEEP, one_each

pytestmark = pytest.mark.early

# --- at every event ---------------------------------------------------------------------------------------------------


@dataclass
class Joining:
    """A graph's stream, and a reader that joins after each of its parts, or after one of `every` parts."""

    version: str | None
    every: int
    run: Run | None = None
    joined: list[tuple[BatchReader, AsyncGenerator[list[EncodedEvent], None]]] = field(default_factory=list)

    async def parts(self, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        await self.join()
        places = count()
        async for part in stream:
            yield part
            if next(places) % self.every == 0:
                await self.join()

    async def join(self) -> None:
        assert self.run is not None
        listener = BatchReader(version=self.version)
        told = self.run.attach(listener.reader)
        listener.take(await anext(told))
        self.joined.append((listener, told))


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=SWEEP)])
@pytest.mark.parametrize(
    ("name", "version"), one_each([name for name, each in FIXTURES.items() if not each.composed], VERSIONS, of=4)
)
async def test_who_joins_at_any_event_holds_in_the_end_what_the_first_reader_does(
    name: str, version: str, every: int, agui_client: AguiClient
) -> None:
    fixture = FIXTURES[name]
    conversation = Conversation(fixture)
    options = Options(messages_key=fixture.messages_key or "messages")
    for turn in fixture.turns:
        joining = Joining(protocol(version), every)
        view = ClientView(messages=None if fixture.messages_key else [])
        parts = joining.parts(conversation.stream(turn))
        translator = Translator("t", "r", options, view)
        thread = ThreadKey("chat", "t")
        joining.run = Run(thread, translator, "chat", has_checkpointer=True)
        holder = await MemoryRunStore().claim(thread, joining.run)
        joining.run.begin(lambda _, parts=parts: parts, holder)  # type: ignore[misc]
        await joining.run.wait()
        listeners = [await listener.hear(told) for listener, told in joining.joined]
        first = listeners[0]
        for listener in listeners[1:]:
            assert held(listener.view) == held(first.view)
        for listener in (first, *random.Random(len(listeners)).sample(listeners, min(2, len(listeners)))):
            answer = agui_client.play(frames=listener.frames, version=version, mode="connect")
            assert answer.accepted
            assert (answer.messages, answer.state) == (first.view.messages, first.view.state or {})


# --- many of them -----------------------------------------------------------------------------------------------------

READERS = 20
SLOW = 4
CHUNKS = 5_800
LENGTH = 6_000
"""Turns of the event loop, about, that the run takes."""


def _fast() -> Graph:
    """A graph that says 6,000 things as fast as it can."""
    words = " ".join(f"word-{number}" for number in range(CHUNKS))
    answer = speaker(ScriptedChatModel(turns=[text(words) + end()]))

    async def tell(state: MessagesState) -> dict[str, Any]:
        write = get_stream_writer()
        for number in range(200):
            write({"name": "n", "value": number})
            await asyncio.sleep(0)
        return {"messages": [AIMessage("All said.", id="all-1")]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_node("tell", tell)
    return graph.add_edge(START, "answer").add_edge("answer", "tell").compile()


@dataclass
class Coming:
    """A reader that comes at some moment, and takes its time."""

    run: Run
    comes_after: int
    pause: int
    listener: BatchReader = field(default_factory=BatchReader)
    most: int = 0
    """The most bytes it was handed at once."""
    kept: int = 0
    """The most bytes that the run kept when it came for more."""

    async def read(self) -> None:
        await turns(self.comes_after)
        async for batch in self.run.attach(self.listener.reader):
            self.listener.take(batch)
            self.most = max(self.most, sum(told.size for told in batch))
            self.kept = max(self.kept, self.run.kept)
            await turns(self.pause)


async def test_many_readers_of_a_fast_run_hold_the_same_in_the_end_and_slow_ones_cost_little(
    agui_client: AguiClient,
) -> None:
    chance = random.Random(6_000)
    async with Runs() as runs:
        run = await runs.start(_fast(), HELLO, on("t"))
        coming = [Coming(run, chance.randrange(LENGTH), 0) for _ in range(READERS - SLOW)]
        coming += [Coming(run, chance.randrange(LENGTH // 10), chance.randrange(600, 1_200)) for _ in range(SLOW)]
        first = Coming(run, 0, 0)
        await asyncio.gather(first.read(), *(each.read() for each in coming))
        assert len(first.listener.events) > 6_000
        assert run.view.messages[-2]["content"].endswith(f"word-{CHUNKS - 1}")
        for each in coming:
            assert held(each.listener.view) == held(run.view)
    slow = coming[-SLOW:]
    assert all(len(each.listener.events) < 4_000 for each in slow)
    assert max(each.kept for each in coming) <= min(MOST_BYTES, MOST * 200)
    snapshot = max(told.size for batch in slow[0].listener.batches for told in batch)
    assert max(each.most for each in slow) <= 2 * snapshot
    assert run.kept == 0
    for each in (first, coming[0], *slow[:2]):
        answer = agui_client.play(frames=each.listener.frames, mode="connect")
        assert answer.accepted
        assert answer.messages == run.view.messages
