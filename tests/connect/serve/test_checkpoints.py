"""The checkpoints of a thread over HTTP, and runs from one of them: graphs of this process, and a LangGraph server."""

import operator
import typing
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Platform
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import check_stream
from langgraph_agui.translator import Options
from langgraph_agui.translator.options import ErrorDetail
from langgraph_sdk import get_client

from tests.support.servers.serving import events_of, posted, served


class State(MessagesState):
    city: str
    days: int
    notes: Annotated[list[str], operator.add]


def trip() -> Any:
    """Chooses a city, looks at it, and answers."""

    async def choose(state: State) -> dict[str, Any]:
        return {"city": "Porto", "days": 1, "notes": ["chosen"]}

    async def look(state: State) -> dict[str, Any]:
        return {"notes": [f"looked at {state['city']}"]}

    async def write(state: State) -> dict[str, Any]:
        return {"messages": [("ai", f"Go to {state['city']} for {state['days']} days.")]}

    builder = StateGraph(State).add_sequence([choose, look, write]).add_edge(START, "choose")
    return builder.compile(checkpointer=InMemorySaver())


def by_header(request: Any) -> str | None:
    return request.headers.get("x-user") or None


def own(user: str, action: str, agent: str, thread_id: str | None) -> Any:
    """Each user has threads of their own, and eve only reads."""
    return {"owner": "ada"} if user != "bob" and (user != "eve" or action == "read") else {"owner": user}


@asynccontextmanager
async def client_of(source: Any, *, state: Any = ("city",), **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    agent = source if isinstance(source, Agent) else Agent(source, intake=Intake(state=state))
    app = agui_app({"trip": agent}, **how)
    async with served(app) as server, server.client() as client:
        yield client


async def ran(client: httpx.AsyncClient, thread: str, *texts: str, **more: Any) -> list[dict[str, Any]]:
    """The events of a run."""
    wire = posted(thread, *texts, run_id=str(uuid.uuid4())) | more
    answer = await client.post("/trip", json=wire)
    assert answer.status_code == 200, answer.text
    return events_of(answer.text)


def back_to(checkpoint: Any) -> dict[str, Any]:
    """What an input has that asks to run from a checkpoint."""
    return {"messages": [], "forwardedProps": {"command": {"checkpointId": checkpoint["id"]}}}


async def checkpoints_of(client: httpx.AsyncClient, thread: str, **query: Any) -> dict[str, Any]:
    answer = await client.get(f"/threads/{thread}/checkpoints", params=query)
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page


async def before(client: httpx.AsyncClient, thread: str, node: str) -> Any:
    """The oldest checkpoint after which this node runs."""
    page = await checkpoints_of(client, thread, limit=100)
    return next(each for each in reversed(page["checkpoints"]) if each["next"] == [node])


def said(events: list[dict[str, Any]]) -> list[Any]:
    return [message["content"] for message in check_stream(events).messages]


async def test_the_checkpoints_of_a_thread_are_listed_in_pages_with_the_state_that_clients_see() -> None:
    async with client_of(trip()) as client:
        run_id = (await ran(client, "t", "hi"))[0]["runId"]
        whole = await checkpoints_of(client, "t")
        assert (whole["next"], whole["writable"]) == (None, ["city"])
        listed = whole["checkpoints"]
        assert [each["next"] for each in listed] == [[], ["write"], ["look"], ["choose"], ["__start__"]]
        assert [each["source"] for each in listed] == ["loop"] * 4 + ["input"]
        assert {each["runId"] for each in listed} == {run_id}
        assert [each["parentId"] for each in listed] == [each["id"] for each in listed[1:]] + [None]
        assert [each["state"] for each in listed[:3]] == [
            {"city": "Porto", "days": 1, "notes": ["chosen", "looked at Porto"]},
            {"city": "Porto", "days": 1, "notes": ["chosen", "looked at Porto"]},
            {"city": "Porto", "days": 1, "notes": ["chosen"]},
        ]
        page = await checkpoints_of(client, "t", limit=2)
        pages = page["checkpoints"]
        while page["next"] is not None:
            page = await checkpoints_of(client, "t", limit=2, before=page["next"])
            pages += page["checkpoints"]
        assert pages == listed
        for path, status in (
            ("/threads/other/checkpoints", 404),
            ("/threads/t/checkpoints?agent=other", 404),
            ("/threads/t/checkpoints?limit=0", 422),
            ("/threads/t/checkpoints?before=", 422),
        ):
            assert (await client.get(path)).status_code == status, path


async def test_a_checkpoint_says_what_a_node_raised_as_far_as_clients_may_know_it() -> None:
    async def pay(state: State) -> dict[str, Any]:
        raise KeyError("a rate for GPB")

    graph = StateGraph(State).add_sequence([pay]).add_edge(START, "pay").compile(checkpointer=InMemorySaver())
    shown = dict[str, Any]()
    for detail in typing.get_args(ErrorDetail):
        async with client_of(Agent(graph, options=Options(error_detail=detail))) as client:
            if not shown:
                await ran(client, "t", "pay")
            listed = (await checkpoints_of(client, "t"))["checkpoints"]
        assert [each["error"] for each in listed[1:]] == [None]
        shown[detail] = listed[0]["error"]
    assert shown.pop("full") == shown["message"]
    assert shown == {
        "none": {"message": "The run failed.", "code": None},
        "code": {"message": "The run failed.", "code": "KeyError"},
        "message": {"message": "a rate for GPB", "code": "KeyError"},
    }


async def test_a_page_of_checkpoints_ends_when_their_states_are_large() -> None:
    async with client_of(trip()) as client:
        await ran(client, "t", "hi")
        point = await before(client, "t", "look")
        await ran(client, "t", **back_to(point), state={"city": "x" * 2_100_000})
        whole, sizes, page = list[Any](), list[int](), dict[str, Any](next=None)
        while not sizes or page["next"] is not None:
            page = await checkpoints_of(client, "t", limit=100, **({"before": page["next"]} if sizes else {}))
            sizes.append(len(page["checkpoints"]))
            whole += page["checkpoints"]
        assert sizes == [2, 6]
        assert len({each["id"] for each in whole}) == 8
        assert [len(each["state"].get("city", "")) > 5 for each in whole] == [True] * 3 + [False] * 5


async def test_a_run_from_a_checkpoint_is_the_newest_branch_with_the_state_that_it_was_given() -> None:
    async with client_of(trip()) as client:
        await ran(client, "t", "hi")
        point = await before(client, "t", "look")
        for city in ("Braga", "Faro"):  # each from the checkpoint as it was, whatever ran from there before
            events = await ran(client, "t", **back_to(point), state={"city": city})
            assert events[-1]["outcome"] == {"type": "success"}
            assert said(events) == ["hi", f"Go to {city} for 1 days."]
            assert check_stream(events).state == {"city": city, "days": 1, "notes": ["chosen", f"looked at {city}"]}
        assert said(await ran(client, "t", **back_to(point))) == ["hi", "Go to Porto for 1 days."]
        assert said(events_of((await client.post("/trip/connect", json=posted("t"))).text))[-1].startswith(
            "Go to Porto"
        )
        listed = (await checkpoints_of(client, "t", limit=100))["checkpoints"]
        assert sum(each["parentId"] == point["id"] for each in listed) >= 2
        refused = await ran(client, "t", **back_to(point), state={"days": 7})
        assert [event["value"] for event in refused if event["type"] == "CUSTOM"] == [{"channels": ["days"]}]
        assert said(refused)[-1] == "Go to Porto for 1 days."


async def test_what_cannot_run_from_a_checkpoint_is_refused_and_who_may_not_run_does_not() -> None:
    async with client_of(trip(), authenticate=by_header, authorize=own) as client:
        ada, bob, eve = ({"x-user": name} for name in ("ada", "bob", "eve"))
        client.headers.update(ada)
        await ran(client, "t", "hi")
        page = await checkpoints_of(client, "t")
        point, end = page["checkpoints"][2], page["checkpoints"][0]
        answer = {"resume": [{"interruptId": "i", "status": "resolved", "payload": 1}]}
        asked: list[tuple[Any, Any, int, str]] = [
            (back_to(end), ada, 422, "a run had ended"),
            (back_to({"id": "none"}), ada, 422, "no checkpoint with this id"),
            (back_to({"id": 1}), ada, 422, "expected the id of a checkpoint"),
            (back_to({"id": "x" * 201}), ada, 422, "expected the id of a checkpoint"),
            (back_to(point) | answer, ada, 422, "got both"),
            (back_to(point), bob, 404, ""),
            (back_to(point), eve, 404, ""),
        ]
        for wire, user, status, text in asked:
            refused = await client.post("/trip", json=posted("t", run_id=str(uuid.uuid4())) | wire, headers=user)
            assert (refused.status_code, text in refused.text) == (status, True), refused.text
            assert "x" * 201 not in refused.text
        assert (await client.get("/threads/t/checkpoints", headers=eve)).status_code == 200
        assert (await client.get("/threads/t/checkpoints", headers=bob)).status_code == 404
        assert (await client.get("/threads/t/checkpoints", headers={"x-user": ""})).status_code == 401
        assert await checkpoints_of(client, "t") == page


async def test_a_request_that_is_sent_twice_runs_once_from_its_checkpoint() -> None:
    async with client_of(trip()) as client:
        await ran(client, "t", "hi")
        wire = back_to(await before(client, "t", "look")) | {"runId": "once", "state": {"city": "Faro"}}
        assert said(await ran(client, "t", **wire))[-1] == "Go to Faro for 1 days."
        listed = await checkpoints_of(client, "t")
        assert said(await ran(client, "t", **wire))[-1] == "Go to Faro for 1 days."
        assert await checkpoints_of(client, "t") == listed


async def test_a_run_from_a_checkpoint_of_a_platform(dev_server: str) -> None:
    async with (
        get_client(url=dev_server) as platform,
        client_of(Platform(platform, "state_counters"), state=("label",)) as client,
    ):
        thread = str(uuid.uuid4())
        first = await ran(client, thread, "hi")
        page = await checkpoints_of(client, thread, limit=100)
        assert page["writable"] == ["label"]
        assert {each["runId"] for each in page["checkpoints"]} == {first[0]["runId"]}
        assert page["checkpoints"][0]["next"] == []
        point = await before(client, thread, "two")
        for label in ("mine", "yours"):
            again = await ran(client, thread, **back_to(point), state={"label": label})
            assert again[-1]["outcome"] == {"type": "success"}
            assert check_stream(again).state == {"count": 3, "seen": ["one", "two"], "label": label, "done": True}
        assert check_stream(await ran(client, thread, **back_to(point))).state["label"] == "one"
        listed = (await checkpoints_of(client, thread, limit=100))["checkpoints"]
        assert [each["state"]["label"] for each in listed if not each["next"]] == ["one", "yours", "mine", "one"]
        unknown = str(uuid.uuid4())
        assert (await client.get(f"/threads/{unknown}/checkpoints")).status_code == 404
        refused = await client.post("/trip", json=posted(unknown, run_id=str(uuid.uuid4())) | back_to(point))
        assert refused.status_code == 422
