"""Clients that come back with the last id they got, and clients that want lines of JSON in place of SSE."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import connect_sse
from langgraph_agui.connect.events.readers import Offset
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import Pause
from langgraph_agui.translator import ClientView

from tests.support.servers.serving import WITHIN, data_of, posted, served
from tests.support.streams.pausing_graphs import Graph, speaking

Frame = tuple[str | None, dict[str, Any]]
"""The id of a frame (None: it has none) and its event."""


def framed(text: str) -> Frame:
    ids = [line.removeprefix("id:").strip() for line in text.split("\n") if line.startswith("id:")]
    return (ids[0] if ids else None), json.loads(data_of(text))


def ids_in(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("id")]


class Stream:
    """An event stream as a bare client reads it."""

    def __init__(self, answer: httpx.Response) -> None:
        self._chunks = answer.aiter_text()
        self._rest = ""
        self.frames: list[Frame] = []

    async def until(self, kind: str) -> list[Frame]:
        """Reads up to the next event of this type; the frames of the stream so far."""
        seen = len(self.frames)
        async with asyncio.timeout(WITHIN):
            while not any(event["type"] == kind for _, event in self.frames[seen:]):
                await self._more()
        return self.frames

    async def words(self, text: str) -> list[Frame]:
        """Reads until this text has come; the frames of the stream so far."""
        async with asyncio.timeout(WITHIN):
            while not any(event.get("delta", "").endswith(text) for _, event in self.frames):
                await self._more()
        return self.frames

    async def _more(self) -> None:
        *whole, self._rest = (self._rest + await anext(self._chunks)).split("\n\n")
        self.frames += [framed(text) for text in whole if not text.startswith(":")]


@asynccontextmanager
async def watching(client: httpx.AsyncClient, last: str | None = None) -> AsyncIterator[Stream]:
    headers = {} if last is None else {"Last-Event-ID": last}
    async with client.stream("GET", "/watch/t", headers=headers) as answer:
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        yield Stream(answer)


@asynccontextmanager
async def serving(graph: Graph) -> AsyncIterator[httpx.AsyncClient]:
    async with served(agui_app({"chat": graph}, heartbeat=0.1)) as server, server.client() as client:
        yield client


def shown(frames: list[Frame]) -> Any:
    view = ClientView(version="1.0")
    for _, event in frames:
        view.apply(event)
    return view.messages, view.state, view.terminal


async def test_a_client_that_comes_back_with_an_id_gets_what_follows_it_exactly() -> None:
    """After each event that has one, in the middle of a run, and to its end."""
    point = Pause()
    async with serving(speaking(point, InMemorySaver())) as client, AsyncExitStack() as stack:
        whole = await stack.enter_async_context(watching(client))
        run = await stack.enter_async_context(client.stream("POST", "/chat", json=posted("t", "hello")))
        await point.reached.wait()
        so_far = list(await whole.words("two "))
        named = [(place, last) for place, (last, _) in enumerate(so_far, 1) if last]
        assert len(named) > 2
        offsets = [Offset.parse(last) for _, last in named]
        assert all(one < other for one, other in pairwise(offsets))
        back = [(place, await stack.enter_async_context(watching(client, last))) for place, last in named]
        point.open.set()
        await run.aread()
        await whole.until("RUN_FINISHED")
        for place, stream in back:
            await stream.until("RUN_FINISHED")
            assert stream.frames == whole.frames[place:]


async def test_a_client_that_was_cut_off_while_it_was_brought_up_to_date_is_brought_up_to_date_again() -> None:
    """The first of those events takes back the id that the client had, and only the last has one."""
    point = Pause()
    async with serving(speaking(point, InMemorySaver())) as client, AsyncExitStack() as stack:
        await stack.enter_async_context(client.stream("POST", "/chat", json=posted("t", "hello")))
        await point.reached.wait()
        first = list(await (await stack.enter_async_context(watching(client))).until("TEXT_MESSAGE_START"))
        assert [last for last, _ in first[:-1]] == [None] * (len(first) - 1)
        assert first[-1][0]
        again = list(await (await stack.enter_async_context(watching(client, "1-1"))).until("TEXT_MESSAGE_START"))
        assert [last for last, _ in again] == ["", *[None] * (len(first) - 2), first[-1][0]]
        assert shown(again) == shown(first)
        point.open.set()


@pytest.mark.parametrize("last", ["", "1-1", "999999999999999-1", "not of ours", "7"])
async def test_a_client_with_an_unknown_id_is_brought_up_to_date(last: str) -> None:
    point = Pause()
    point.open.set()
    graph = speaking(point, InMemorySaver())
    async with serving(graph) as client:
        await client.post("/chat", json=posted("t", "hello"))
        new = (await client.post("/chat/connect", json=posted("t"))).text
        answer = await client.post("/chat/connect", json=posted("t"), headers={"Last-Event-ID": last})
        assert answer.text == f"id:\n{new}"
        found = [b"".join([each async for each in connect_sse(graph, "t", last_event_id=id_)]) for id_ in (None, last)]
        assert found[1] == b"id:\n" + found[0]


async def test_lines_of_json_are_the_same_events() -> None:
    point = Pause()
    point.open.set()
    async with serving(speaking(point, InMemorySaver())) as client:
        for accept in ("application/x-ndjson", "application/jsonl;q=0.9, application/json"):
            answer = await client.post("/chat", json=posted(accept, "hello"), headers={"Accept": accept})
            assert answer.headers["content-type"] == "application/x-ndjson"
            events = [json.loads(line) for line in answer.text.split("\n") if line]
            assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")
            assert shown([(None, event) for event in events])[0][-1]["content"] == "one two three four"
        both = {"Accept": "application/x-ndjson, text/event-stream"}
        assert (
            (await client.post("/chat/connect", json=posted("t"), headers=both))
            .headers["content-type"]
            .startswith("text/event-stream")
        )


async def test_copilotkit_gets_no_ids() -> None:
    point = Pause()
    point.open.set()
    async with serving(speaking(point, InMemorySaver())) as client:
        for path in ("/agent/chat/run", "/agent/chat/connect"):
            assert ids_in((await client.post(path, json=posted("t", "hello"))).text) == []
        assert ids_in((await client.post("/chat", json=posted("other", "hello"))).text) != []
