"""What every backend does alike: a compiled graph of this process, `langgraph dev`, Aegra. The same clients do the same
things on each, and end with the same views."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, get_args
from uuid import uuid4

import pytest
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import (
    Intake,
    InvalidThreadIdError,
    Local,
    NotSupportedError,
    Platform,
    RunConflictError,
    RunNotFoundError,
    Runs,
    ThreadNotFoundError,
    ThreadPage,
    cancel,
    connect,
    run,
    thread,
    threads,
    watch,
)
from langgraph_agui.connect.backend import Backend, backend_of
from langgraph_agui.connect.inputs.intake import Busy
from langgraph_agui.translator import ClientView
from langgraph_sdk import get_client

from fixtures.gated import FIRST, GATED, SECOND
from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol
from tests.support.clients.reader_clients import ReaderClient, ReaderClients, played
from tests.support.servers.gates import Gates
from tests.support.servers.platforms.backend import BACKENDS, not_on

ASKED = "Go on."


@dataclass
class Place:
    """A backend with the gated graphs."""

    source_of: Callable[[str], Any]
    gate: Gates
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def client(
        self, graph: str, thread_id: str, run_id: str = "run-1", intake: Any = None, **given: Any
    ) -> ReaderClient:
        """A client that runs this graph on a thread, in a task of its own. `intake`: choices of the owner."""
        messages = [{"id": f"user-{run_id}", "role": "user", "content": ASKED}]
        wire: dict[str, Any] = {"threadId": thread_id, "runId": run_id, "messages": messages, "state": {}, "tools": []}
        wire |= {"context": [], "forwardedProps": {}, "protocolVersion": protocol(VERSIONS[0]), **given}
        guest = ReaderClient(VERSIONS[0], ClientView(wire["messages"], {}, version=protocol(VERSIONS[0])))
        choices = Intake(config=self.gate.config(), **(intake or {}))
        stream = run(self.source_of(graph), RunAgentInput.model_validate(wire), intake=choices)
        self.tasks.append(asyncio.create_task(self._heard(guest, stream)))
        return guest

    async def ran(self, graph: str, thread_id: str | None = None, **given: Any) -> tuple[str, ReaderClient]:
        """A thread on which this graph has run, and the client that has run it."""
        thread_id = thread_id or str(uuid4())
        return thread_id, await self.client(graph, thread_id, **given).over()

    async def held(self, **intake: Any) -> tuple[str, ReaderClient]:
        """A thread whose run waits in its second message, and the client that has started it."""
        self.gate.hold("second 2")
        thread_id = str(uuid4())
        runner = self.client("gated_chat", thread_id, intake=intake)
        await self.gate.reached("second 2")
        return thread_id, runner

    async def leave(self) -> None:
        """The newest client goes away."""
        self.tasks[-1].cancel()
        await asyncio.gather(self.tasks[-1], return_exceptions=True)

    @staticmethod
    async def _heard(guest: ReaderClient, stream: Any) -> None:
        async with aclosing(stream):
            await guest.hear(stream)


@asynccontextmanager
async def local() -> AsyncIterator[Callable[[str], Any]]:
    graphs = {name: build(InMemorySaver()) for name, build in GATED.items()}
    for graph in graphs.values():
        graph.store = InMemoryStore()
    sources = {name: Local(graph, agent=name) for name, graph in graphs.items()}
    yield sources.__getitem__


@asynccontextmanager
async def served(url: str) -> AsyncIterator[Callable[[str], Any]]:
    async with get_client(url=url) as client:
        yield lambda graph: Platform(client, graph)


@pytest.fixture(params=["local", *BACKENDS])
async def place(request: pytest.FixtureRequest, gate: Gates) -> AsyncIterator[Place]:
    url = None if request.param == "local" else request.getfixturevalue(f"{request.param}_server")
    async with AsyncExitStack() as stack:
        sources = await stack.enter_async_context(local() if url is None else served(url))
        found = Place(sources, gate)
        yield found
        gate.open("*")
        for task in found.tasks:
            task.cancel()
        await asyncio.gather(*found.tasks, return_exceptions=True)


def texts(messages: Any) -> list[str]:
    return [str(each["content"]) for each in messages if each["role"] != "activity"]


async def test_a_run_is_read_while_it_runs_and_after_it(place: Place, agui_client: AguiClient) -> None:
    source, thread_id = place.source_of("gated_chat"), str(uuid4())
    place.gate.hold("second 2")
    runner = place.client("gated_chat", thread_id)
    await place.gate.reached("second 2")
    async with ReaderClients(source) as guests:
        live = guests.connect(thread_id)
        await live.sees(FIRST)
        now = await thread(source, thread_id)
        info = await threads(source).get(thread_id)
        assert now is not None
        assert info is not None
        assert (now.status, info.status, now.run_id) == ("running", "running", "run-1")
        assert texts(now.view.messages)[:2] == [ASKED, FIRST]
        with pytest.raises(RunConflictError):
            await threads(source).delete(thread_id)
        place.gate.open("*")
        ended = [await runner.over(), await live.over(), await guests.connect(thread_id).over()]
    after = await thread(source, thread_id)
    assert after is not None
    assert (after.status, after.interrupts, after.run_id) == ("idle", [], "run-1")
    views = [*(each.view for each in ended), after.view]
    assert [texts(view.messages) for view in views] == 4 * [[ASKED, FIRST, SECOND]]
    assert [each.end for each in ended] == 3 * ["success"]
    assert [each.view.messages for each in ended[:2]] == 2 * [after.view.messages]
    assert all(played(agui_client, each).accepted for each in ended[1:])


async def test_a_thread_that_waits_is_answered(place: Place) -> None:
    source = place.source_of("gated_asking")
    thread_id, runner = await place.ran("gated_asking")
    waiting = await thread(source, thread_id)
    assert waiting is not None
    assert (waiting.status, len(waiting.interrupts), runner.end) == ("waiting", 1, "interrupt")
    (asked,) = runner.events[-1]["outcome"]["interrupts"]
    entry = {"interruptId": asked["id"], "status": "resolved", "payload": "yes"}
    _, answered = await place.ran(
        "gated_asking", thread_id, run_id="run-2", messages=runner.view.messages, resume=[entry]
    )
    done = await thread(source, thread_id)
    assert done is not None
    assert (done.status, done.interrupts, answered.end) == ("idle", [], "success")
    assert texts(done.view.messages) == texts(answered.view.messages) == [ASKED, FIRST, "really: yes", SECOND]


@pytest.mark.parametrize("run_id", [None, "run-1"])
async def test_a_run_is_cancelled(place: Place, run_id: str | None) -> None:
    source = place.source_of("gated_chat")
    thread_id, runner = await place.held()
    with pytest.raises(RunNotFoundError, match="other"):
        await cancel(source, thread_id, "other")
    assert await cancel(source, thread_id, run_id) == "stopped"
    assert (await runner.over()).end == "cancelled"
    after = await thread(source, thread_id)
    assert after is not None
    assert (after.status, texts(after.view.messages)) == ("idle", [ASKED, FIRST])
    with pytest.raises(RunNotFoundError):
        await cancel(source, thread_id)


async def test_a_second_input_is_refused_and_the_same_one_gets_the_run(place: Place) -> None:
    thread_id, runner = await place.held()
    _, second = await place.ran("gated_chat", thread_id, run_id="run-2")
    assert (second.kinds, second.end) == (["RUN_ERROR"], "conflict")
    again = place.client("gated_chat", thread_id)
    await again.sees(FIRST)
    place.gate.open("*")
    ended = [await runner.over(), await again.over()]
    assert [(each.run_ids, each.end, each.texts) for each in ended] == 2 * [(["run-1"], "success", [FIRST, SECOND])]
    assert place.gate.passed.count("first 0") == 1


@not_on(aegra="lets the runs of a thread run at once")
@pytest.mark.parametrize("busy", get_args(Busy))
async def test_two_equal_inputs_at_once_are_one_run(place: Place, busy: Busy) -> None:
    thread_id = str(uuid4())
    both = [place.client("gated_chat", thread_id, intake={"busy": busy}) for _ in range(2)]
    assert [(await each.over()).end for each in both] == ["success", "success"]
    assert place.gate.passed.count("first 0") == 1


async def test_a_queued_input_runs_after_the_run_before(place: Place) -> None:
    thread_id, runner = await place.held()
    queued = place.client("gated_chat", thread_id, run_id="run-2", intake={"busy": "queue"})
    place.gate.open("*")
    assert [(await each.over()).end for each in (runner, queued)] == ["success", "success"]
    found = await thread(place.source_of("gated_chat"), thread_id)
    assert found is not None
    assert texts(found.view.messages) == 2 * [ASKED, FIRST, SECOND]


async def test_an_input_may_take_the_place_of_a_run(place: Place) -> None:
    thread_id, runner = await place.held()
    other = place.client("gated_chat", thread_id, run_id="run-2", intake={"busy": "cancel"})
    assert (await runner.over()).end == "cancelled"
    place.gate.open("*")
    assert (await other.over()).end == "success"


@pytest.mark.parametrize(("on_disconnect", "end"), [("continue", "success"), ("cancel", "cancelled")])
async def test_a_run_continues_without_its_reader_or_ends_as_its_owner_says(
    place: Place, on_disconnect: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    thread_id, _ = await place.held(on_disconnect=on_disconnect)
    await place.leave()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    if on_disconnect == "cancel":
        await place.gate.left("second 2")
    place.gate.open("*")
    async with ReaderClients(place.source_of("gated_chat")) as guests:
        assert (await guests.connect(thread_id).over()).end == end


async def test_a_watch_emits_the_runs_that_come(place: Place) -> None:
    source, guest = place.source_of("gated_chat"), ReaderClient(VERSIONS[0], None)
    thread_id, _ = await place.ran("gated_chat")
    place.tasks.append(asyncio.create_task(place._heard(guest, watch(source, thread_id, poll=0.05))))
    await guest.told("RUN_FINISHED")
    await place.ran("gated_chat", thread_id, run_id="run-2")
    await guest.sees(lambda view: texts(view.messages).count(SECOND) == 2 and view.terminal is not None)
    assert (guest.run_ids, guest.ends) == (["run-1", "run-2"], ["success", "success"])


async def test_only_the_channels_of_the_output_schema_are_visible(place: Place) -> None:
    options = await backend_of(place.source_of("gated_narrow")).options()
    assert options.state_include == frozenset({"messages", "shown"})
    thread_id, _ = await place.ran("gated_narrow")
    found = await thread(place.source_of("gated_narrow"), thread_id)
    async with ReaderClients(place.source_of("gated_narrow")) as guests:
        guest = await guests.connect(thread_id, options=None).over()
    assert found is not None
    assert guest.view.state == found.view.state
    assert found.view.state == {"shown": "for all to see"}


async def test_an_unknown_thread_is_nowhere(place: Place) -> None:
    source, thread_id = place.source_of("gated_chat"), str(uuid4())
    listed = threads(source)
    assert [event async for event in connect(source, thread_id)] == []
    assert [await thread(source, thread_id), await listed.get(thread_id)] == [None, None]
    assert await listed.history(thread_id) == []
    with pytest.raises(RunNotFoundError):
        await cancel(source, thread_id)
    for refused in (listed.update(thread_id, {"a": 1}), listed.delete(thread_id)):
        with pytest.raises(ThreadNotFoundError):
            await refused
    for invalid in (listed.get(""), listed.history(""), listed.delete(""), listed.update("", {}), thread(source, "")):
        with pytest.raises(InvalidThreadIdError):
            await invalid


async def test_threads_are_listed_by_metadata_and_status_newest_first(place: Place) -> None:
    source, mark = place.source_of("gated_asking"), str(uuid4())
    listed = threads(source)
    ids = [(await place.ran("gated_asking"))[0] for _ in range(3)]
    for number, thread_id in enumerate(ids):
        info = await listed.update(thread_id, {"mark": mark, "agui_title": f"Number {number}"})
        assert (info.thread_id, info.title, info.status) == (thread_id, f"Number {number}", "waiting")
    found = await listed.search(metadata={"mark": mark})
    assert ([each.thread_id for each in found.threads], found.next) == (ids[::-1], None)
    assert [each.updated_at for each in found.threads] == sorted((e.updated_at for e in found.threads), reverse=True)
    assert all(each.created_at is not None and each.created_at <= each.updated_at for each in found.threads)
    pages, after = [], None
    while True:
        page = await listed.search(metadata={"mark": mark}, status="waiting", limit=1, after=after)
        pages.append([each.thread_id for each in page.threads])
        if (after := page.next) is None:
            break
    assert [each for page in pages for each in page] == ids[::-1]
    assert max(map(len, pages)) == 1
    assert (await listed.search(metadata={"mark": mark}, status="idle")).threads == []
    assert (await listed.search(metadata={"mark": "other"})).threads == []
    with pytest.raises(ValueError, match="limit"):
        await listed.search(limit=0)
    for frozen in ("agui_agent", "graph_id", "assistant_id"):
        with pytest.raises(ValueError, match=frozen):
            await listed.update(ids[0], {frozen: "another"})


async def test_a_thread_that_stays_as_it_is_is_on_one_page_of_a_list_that_changes(place: Place) -> None:
    """Between the pages threads are made, changed and deleted: also the one at which the next page begins."""
    listed, mark = threads(place.source_of("gated_chat")), str(uuid4())

    async def made() -> str:
        thread_id, _ = await place.ran("gated_chat")
        await listed.update(thread_id, {"mark": mark, "other": str(uuid4())})
        return thread_id

    ids = [await made() for _ in range(9)][::-1]
    seen: list[list[str]] = []
    after = None
    for between in (made, lambda: listed.delete(ids[0]), lambda: listed.delete(ids[5]), made, None):
        page = await listed.search(metadata={"mark": mark}, limit=2, after=after)
        seen.append([each.thread_id for each in page.threads])
        after = page.next
        if between is not None:
            await between()
    assert (seen, after) == ([ids[:2], ids[2:4], ids[4:6], ids[6:8], ids[8:]], None)
    for _ in range(2):  # the second page has to begin where it ended, though all before that are gone
        await made()
    first = await listed.search(metadata={"mark": mark}, limit=4)
    for each in first.threads:
        await listed.delete(each.thread_id)
    rest = await listed.search(metadata={"mark": mark}, after=first.next)
    assert [each.thread_id for each in rest.threads] == [each for each in ids[1:] if each != ids[5]]
    given: list[Any] = [{"mark": mark, "agui_agent": "other"}, {"mark": mark, "graph_id": "other"}]
    for none_has in given:
        assert (await listed.search(metadata=none_has)).threads == []


async def test_arguments_of_lists_that_are_none_are_refused(place: Place) -> None:
    listed = threads(place.source_of("gated_chat"))
    for limit in (-1, 0, 101):
        for refused in (listed.search(limit=limit), listed.history(str(uuid4()), limit=limit)):
            with pytest.raises(ValueError, match="limit: expected a number from 1 to 100"):
                await refused


@pytest.mark.parametrize("after", ["", "2", "garbage", "-5", "2_never_t"])
async def test_a_cursor_of_a_platform_that_is_none_is_refused(after: str) -> None:
    async with get_client(url="http://127.0.0.1:9") as client:
        with pytest.raises(ValueError, match="after: expected the `next` of a page"):
            await threads(client).search(after=after)


async def test_a_failed_thread_is_listed_as_failed(place: Place) -> None:
    source = place.source_of("gated_raising")
    thread_id, runner = await place.ran("gated_raising")
    found, state = await threads(source).search(status="failed"), await thread(source, thread_id)
    assert thread_id in [each.thread_id for each in found.threads]
    assert {each.status for each in found.threads} == {"failed"}
    assert state is not None
    assert (state.status, runner.end) == ("failed", "ValueError")


async def test_the_history_of_a_thread_is_read_in_pages(place: Place) -> None:
    listed = threads(place.source_of("gated_chat"))
    thread_id, _ = await place.ran("gated_chat")
    whole = await listed.history(thread_id)
    newest = whole[0]
    assert (list(newest.next), [each.parent_id for each in whole]) == ([], [*(each.id for each in whole[1:]), None])
    assert len(newest.values["messages"]) == 3
    assert newest.run_id is not None
    assert [each.id for each in await listed.history(thread_id, limit=2)] == [each.id for each in whole[:2]]
    older = await listed.history(thread_id, before=newest.id)
    assert [each.id for each in older] == [each.id for each in whole[1:]]


async def test_a_deleted_thread_is_unknown(place: Place) -> None:
    source = place.source_of("gated_raising")
    thread_id, _ = await place.ran("gated_raising")
    await threads(source).delete(thread_id)
    assert [event async for event in connect(source, thread_id)] == []
    assert [await thread(source, thread_id), await threads(source).get(thread_id)] == [None, None]


async def test_threads_of_a_checkpointer_are_listed_across_its_pages() -> None:
    """SQL checkpointers list checkpoints of all threads together, the newest first."""
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        graph, other = (GATED["gated_fronted"](saver) for _ in range(2))
        mine, others = Local(graph, agent="mine"), Local(other, agent="other")
        made = []
        for number in range(30):  # more than one page of checkpoints
            made.append(f"t{number}")
            source = others if number % 3 == 0 else mine
            stamped = source.for_user("ann", {"user": "ann"}) if number == 2 else source
            message = {"id": "u", "role": "user", "content": "a"}
            async for _ in run(stamped, {**_wire(made[-1]), "messages": [message]}):
                pass
        wanted = [each for number, each in enumerate(made) if number % 3][::-1]
        pages, after = [], None
        while True:
            page = await threads(mine).search(limit=7, after=after)
            pages += [each.thread_id for each in page.threads]
            if (after := page.next) is None:
                break
        assert pages == wanted
        assert [each.thread_id for each in (await threads(mine).search(limit=30)).threads] == wanted
        assert {each.agent for each in page.threads} <= {"mine"}
        with pytest.raises(ThreadNotFoundError):
            await threads(mine).delete("t0")
        with pytest.raises(NotSupportedError):
            await threads(mine).update("t1", {"agui_title": "There is no store"})
        for user, ids in (("ann", ["t2"]), ("bob", [])):
            listed = await mine.for_user(user, {"user": user}).threads.search()
            assert [each.thread_id for each in listed.threads] == ids
        assert [each.thread_id for each in (await threads(mine).search(metadata={"user": "ann"})).threads] == ["t2"]
        nested = Local(GATED["gated_asking_inside"](saver), agent="mine")  # its subgraph has checkpoints too
        async for _ in run(nested, {**_wire("sub"), "messages": [message]}):
            pass
        page = await threads(nested).search(limit=2)
        assert [(each.thread_id, each.status) for each in page.threads] == [("sub", "waiting"), (wanted[0], "idle")]
        await graph.aupdate_state({"configurable": {"thread_id": "t1"}}, {"notes": ["written"]})
        assert [each.thread_id for each in (await threads(mine).search(limit=1)).threads] == ["t1"]


async def test_threads_without_a_checkpointer_are_known_while_their_run_is() -> None:
    async with Runs() as runs:
        source = Local(GATED["gated_raising"](None), runs=runs)
        async for _ in run(source, {**_wire("t"), "messages": [{"id": "u", "role": "user", "content": ASKED}]}):
            pass
        found, listed = await thread(source, "t"), threads(source)
        assert found is not None
        assert (found.status, texts(found.view.messages)) == ("failed", [ASKED, FIRST, SECOND])
        assert [await thread(source, "other"), await listed.get("t"), await listed.search()] == [
            None,
            None,
            ThreadPage([]),
        ]


def _wire(thread_id: str) -> dict[str, Any]:
    return {"threadId": thread_id, "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {}}


def test_both_are_backends() -> None:
    kinds: list[type[Backend]] = [Local, Platform]
    assert len(kinds) == 2
