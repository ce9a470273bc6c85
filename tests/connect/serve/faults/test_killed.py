"""A server that is killed in mid-run and started again on the same SQLite file: who comes back sees what the thread's
checkpoint holds, nothing of what was only half said, and can go on from there."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView, Options

from fixtures.gated import FIRST, FOUND, GATED, SECOND
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.reader_clients import ReaderClient, played
from tests.support.servers.gated_server import gated_server
from tests.support.servers.gates import Gates, gates
from tests.support.servers.processes.server_process import ServerProcess
from tests.support.servers.serving import WITHIN, events_of, posted, told

pytestmark = pytest.mark.services

Event = dict[str, Any]


class Point(NamedTuple):
    """Where a run is when the server is killed."""

    agent: str
    name: str
    kept: int
    """How many messages the thread's checkpoint holds there."""
    shown: str
    """What its reader has been told of the last message."""


POINTS = {
    "before-the-first-word": Point("gated_chat", "first 0", 1, ""),
    "in-the-first-message": Point("gated_chat", "first 3", 1, "One two three "),
    "before-it-is-kept": Point("gated_chat", "first over", 1, FIRST),
    "in-the-second-message": Point("gated_chat", "second 3", 2, "Alpha beta gamma "),
    "in-a-call": Point("gated_agent", "call 4", 1, "Looking."),
    "in-a-tool": Point("gated_agent", "tool", 2, "Looking."),
}
"""By the beginning of a thread's id; each is killed on several threads, so that every test has one of its own."""
USES = ("seen", "continued", "retried")
CUT_OFF = "in-a-tool-cut-off"
INTERRUPTED = "interrupted"
"""A thread that waits for an answer when the server is killed."""


class Survivors:
    """A server that was killed with runs at all the points, and is there again."""

    def __init__(self, url: str, database: Path) -> None:
        self.url = url
        self.database = database
        self.views: dict[str, ClientView] = {}
        """What those that read the runs held when the server was gone, by thread."""

    def said(self, agent: str, **given: Any) -> bytes:
        """The event stream that answers a POST."""
        answer = httpx.post(f"{self.url}/{agent}", json=given, timeout=WITHIN, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.content

    def kept(self, agent: str, thread_id: str) -> Any:
        """The values that the file has of a thread."""
        return asyncio.run(self._kept(agent, thread_id))

    def texts(self, agent: str, thread_id: str) -> list[str]:
        """What was said on a thread."""
        return [str(message.content) for message in self.kept(agent, thread_id)["messages"]]

    async def holds(self, agent: str, thread_id: str, messages: int) -> None:
        """Returns when the file has so many messages of a thread: LangGraph writes while the next node runs."""
        async with asyncio.timeout(WITHIN):
            while len((await self._kept(agent, thread_id)).get("messages", [])) < messages:
                pass

    async def _kept(self, agent: str, thread_id: str) -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(self.database)) as saver:
            return (await GATED[agent](saver).aget_state({"configurable": {"thread_id": thread_id}})).values


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survivors]:
    folder = tmp_path_factory.mktemp("killed")
    with asyncio.Runner() as runner:
        opened = gates()
        gate = runner.run(opened.__aenter__())
        with gated_server(folder, gate.port) as process:
            found = Survivors(process.url, folder / "threads.sqlite")
            runner.run(_until_killed(found, gate, process))
            runner.run(opened.__aexit__(None, None, None))
            process.start()
            yield found


async def _until_killed(found: Survivors, gate: Gates, process: ServerProcess) -> None:
    gate.hold(*(f"{thread} {point.name}" for thread, point in _threads()))
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=process.url, timeout=WITHIN, trust_env=False, limits=limits) as client:
        asked = await client.post("/gated_asking", json=posted(INTERRUPTED, "hi"))
        found.views[INTERRUPTED] = _viewed(events_of(asked.text))
        async with asyncio.TaskGroup() as tasks:
            for thread_id, point in _threads():
                guest = ReaderClient("1.0.0", None)
                tasks.create_task(_read(client, point.agent, thread_id, guest))
                await gate.reached(f"{thread_id} {point.name}")
                await found.holds(point.agent, thread_id, point.kept)
                if point.shown:
                    await guest.sees(point.shown)
                found.views[thread_id] = guest.view
            await asyncio.to_thread(process.kill)


async def _read(client: httpx.AsyncClient, agent: str, thread_id: str, guest: ReaderClient) -> None:
    """Asks for a run, and reads it until the server is gone."""
    with suppress(httpx.RemoteProtocolError, httpx.ReadError):
        async with client.stream("POST", f"/{agent}", json=posted(thread_id, "hi")) as response:
            events = told(response)
            try:
                async for event in events:
                    guest.take(event)
            finally:
                await events.aclose()  # type: ignore[attr-defined]


def _threads() -> list[tuple[str, Point]]:
    used = [(f"{start}-{use}", point) for start, point in POINTS.items() for use in USES]
    return [*used, (CUT_OFF, POINTS["in-a-tool"])]


def _viewed(events: list[Event]) -> ClientView:
    view = ClientView([], {})
    for event in events:
        view.apply(event)
    return view


@pytest.fixture(params=POINTS)
def start(request: pytest.FixtureRequest) -> str:
    """The beginning of the thread's id."""
    return str(request.param)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("holds", ["nothing", "what it was told"])
def test_who_comes_back_holds_what_the_checkpoint_does(
    survivors: Survivors, agui_client: AguiClient, start: str, version: str, holds: str
) -> None:
    agent, thread_id = POINTS[start].agent, f"{start}-seen"
    guest = ReaderClient(version, survivors.views[thread_id] if holds == "what it was told" else None)
    held = {"messages": guest.view.messages, "state": guest.view.state, "protocolVersion": protocol(version)}
    for event in events_of(survivors.said(f"{agent}/connect", **{**posted(thread_id), **held})):
        guest.take(event)
    answer = played(agui_client, guest)
    assert (guest.end, answer.warnings) == ("unfinished", [])
    options, values = Options(protocol_version=protocol(version)), survivors.kept(agent, thread_id)
    *conversation, failure = answer.messages
    assert comparable(conversation) == comparable(expected(values, options).messages)
    assert failure["content"]["code"] == "unfinished"


def test_the_next_message_is_answered(survivors: Survivors, agui_client: AguiClient, start: str) -> None:
    point, thread_id = POINTS[start], f"{start}-continued"
    held = survivors.views[thread_id].messages
    more = {"id": "more", "role": "user", "content": "and now?"}
    given = {**posted(thread_id, run_id="run-2"), "messages": [*held, more]}
    frames = survivors.said(point.agent, **given)
    answer = agui_client.play(frames=frames, messages=given["messages"])
    assert answer.accepted, (answer.error, answer.warnings)
    values = survivors.kept(point.agent, thread_id)
    assert comparable(answer.messages) == comparable(expected(values, Options()).messages)
    assert str(values["messages"][-1].content) == SECOND


def test_the_same_request_does_what_was_left_undone(survivors: Survivors, agui_client: AguiClient, start: str) -> None:
    point, thread_id = POINTS[start], f"{start}-retried"
    given = posted(thread_id, "hi", run_id="run-2")
    answer = agui_client.play(frames=survivors.said(point.agent, **given), messages=given["messages"])
    assert answer.accepted, (answer.error, answer.warnings)
    whole = ["hi", "Looking.", FOUND, SECOND] if point.agent == "gated_agent" else ["hi", FIRST, SECOND]
    assert survivors.texts(point.agent, thread_id) == whole


def test_a_call_that_was_cut_off_is_answered_before_the_model_goes_on(survivors: Survivors) -> None:
    given = posted(CUT_OFF, "hi", run_id="run-2")
    given["messages"].append({"id": "more", "role": "user", "content": "and now?"})
    survivors.said("gated_agent", **given)
    kinds = [message.type for message in survivors.kept("gated_agent", CUT_OFF)["messages"]]
    assert kinds[:4] == ["human", "ai", "tool", "human"]


def test_a_question_is_answered_after_the_restart(survivors: Survivors, agui_client: AguiClient) -> None:
    frames = survivors.said("gated_asking/connect", **posted(INTERRUPTED))
    answer = agui_client.play(frames=frames, mode="connect")
    [interrupt] = answer.pending_interrupts
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}]
    survivors.said(
        "gated_asking", **{**posted(INTERRUPTED, run_id="run-2"), "messages": answer.messages}, resume=resume
    )
    assert survivors.texts("gated_asking", INTERRUPTED) == ["hi", FIRST, "really: yes", SECOND]
