"""The routes of threads: what each answers, to whom, and in which shape."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect.serve import Action, agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.servers.serving import BEARER, TOKEN, kinds_of, posted, served
from tests.support.streams.pausing_graphs import speaking


def answering(*, store: bool = True) -> Any:
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"I heard {state['messages'][-1].content}.")]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    return graph.compile(checkpointer=InMemorySaver(), store=InMemoryStore() if store else None)


@asynccontextmanager
async def serving(agents: Mapping[str, Any], **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app with these agents; where there is no `authorize`, the app has a token, and the client too."""
    headers = {} if "authorize" in how else BEARER
    app = agui_app(agents, **how, token=None if "authorize" in how else TOKEN)
    async with served(app) as server, server.client(headers=headers) as client:
        yield client


async def ran(client: httpx.AsyncClient, *threads: str, agent: str = "chat", **headers: str) -> None:
    for thread in threads:
        answer = await client.post(f"/{agent}", json=posted(thread, thread), headers=headers)
        assert kinds_of(answer.content)[-1] == "RUN_FINISHED"


async def ids(client: httpx.AsyncClient, query: str = "", **headers: str) -> list[str]:
    answer = await client.get(f"/threads?{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["threads"]]


async def test_threads_are_listed_page_by_page_the_newest_first() -> None:
    async with serving({"chat": answering()}) as client:
        assert (await client.get("/threads")).json() == {"threads": [], "nextCursor": None}
        await ran(client, "one", "two", "three")
        again = posted("one", "one", "one again", run_id="run-2")
        assert kinds_of((await client.post("/chat", json=again)).content)[-1] == "RUN_FINISHED"
        first = (await client.get("/threads?limit=2&agentId=default")).json()
        assert [each["id"] for each in first["threads"]] == ["one", "three"]
        second = (await client.get(f"/threads?limit=2&agent=chat&cursor={first['nextCursor']}")).json()
        assert [each["id"] for each in second["threads"]] == ["two"]
        assert second["nextCursor"] is None
        newest = first["threads"][0]
        assert newest["createdAt"] < second["threads"][0]["createdAt"] < newest["updatedAt"]
        assert {name: newest[name] for name in ("name", "agentId", "archived", "status")} == {
            "name": "one",
            "agentId": "chat",
            "archived": False,
            "status": "idle",
        }


@pytest.mark.parametrize("thread", ["a", "a/b", "a/messages", "a/messages/", "/state", "a/archive"])
async def test_a_thread_is_read_renamed_archived_and_deleted(thread: str) -> None:
    """Also one whose id has slashes, and looks like a path below a thread."""
    async with serving({"chat": answering()}) as client:
        await ran(client, thread, "c")
        path = f"/threads/{quote(thread, safe='')}"
        renamed = await client.patch(path, json={"agentId": "chat", "name": "Lunch"})
        assert (renamed.status_code, renamed.json()["name"]) == (200, "Lunch")
        assert (await client.get(path)).json() == (await client.get(f"{path}/")).json() == renamed.json()
        assert (await client.get(f"{path}/state")).json() == {"state": {}}
        messages = (await client.get(f"{path}/messages")).json()["messages"]
        assert [each["content"] for each in messages] == [thread, f"I heard {thread}."]
        assert (await client.post(f"{path}/archive", json={"agentId": "chat"})).json()["archived"] is True
        assert await ids(client) == ["c"]
        assert await ids(client, "includeArchived=true") == ["c", thread]
        assert (await client.patch(path, json={"archived": False})).json()["archived"] is False
        assert await ids(client, "limit=1&status=idle") == ["c"]
        assert await ids(client) == ["c", thread]
        gone = await client.request("DELETE", path, json={"agentId": "chat"})
        assert (gone.status_code, gone.content) == (204, b"")
        assert await ids(client, "includeArchived=true") == ["c"]
        assert (await client.delete("/threads/c")).status_code == 204


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        (
            [("system", "You are kind."), ("user", "Plan me a day\n in Lisbon."), ("user", "Now.")],
            "Plan me a day in Lisbon.",
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "What is this?"}]}], "What is this?"),
        ("word " * 20, "word " * 11 + "word…"),
        ([("user", "x" * 80)], "x" * 59 + "…"),
        ([("ai", "Welcome!")], None),
    ],
    ids=["several", "blocks", "long", "one word", "no user"],
)
async def test_a_thread_without_a_title_is_named_by_what_its_user_wrote_first(messages: Any, name: str | None) -> None:
    """Also after the conversation was summarised, and where its state was only updated."""

    def forget(state: MessagesState) -> dict[str, Any]:
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), AIMessage("Done.")]}

    builder = StateGraph(MessagesState).add_node("forget", forget).add_edge(START, "forget")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    await graph.ainvoke({"messages": messages}, {"configurable": {"thread_id": "run"}})
    await graph.aupdate_state({"configurable": {"thread_id": "updated"}}, {"messages": messages})
    async with serving({"chat": graph}) as client:
        listed = (await client.get("/threads")).json()["threads"]
        assert [(each["id"], each["name"]) for each in listed] == [("updated", name), ("run", name)]


async def test_archived_threads_leave_no_short_page() -> None:
    async with serving({"chat": answering()}) as client:
        await ran(client, *"abcdef")
        for thread in "bce":
            await client.post(f"/threads/{thread}/archive", json={})
        assert await ids(client, "limit=3") == ["f", "d", "a"]


async def test_a_running_thread_is_running_and_is_not_deleted() -> None:
    point = Pause()
    graph = speaking(point, InMemorySaver())
    async with serving({"chat": graph}) as client, client.stream("POST", "/chat", json=posted("t", "hello")) as run:
        await point.reached.wait()
        assert (await client.get("/threads/t")).json()["status"] == "running"
        assert await ids(client, "status=running") == ["t"]
        shown = (await client.get("/threads/t/messages")).json()["messages"]
        assert shown[-1]["role"] == "assistant"
        refused = await client.delete("/threads/t")
        assert (refused.status_code, refused.json()["error"]) == (409, "conflict")
        point.open.set()
        await run.aread()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "error"),
    [
        ("GET", "/threads", None, 400, "agent_expected"),
        ("GET", "/threads?agent=nobody", None, 404, "unknown_agent"),
        ("GET", "/threads?agent=chat&limit=0", None, 422, "invalid_input"),
        ("GET", "/threads?agent=chat&cursor=none", None, 422, "invalid_input"),
        ("GET", "/threads?agent=chat&limit=many", None, 422, "invalid_input"),
        ("GET", "/threads?agent=chat&limit=0000019999", None, 422, "invalid_input"),
        ("GET", "/threads?agent=chat&status=odd", None, 422, "invalid_input"),
        ("GET", "/threads/none?agent=chat", None, 404, "not_found"),
        ("GET", "/threads/none/messages?agent=chat", None, 404, "not_found"),
        ("GET", "/threads/none/state?agent=chat", None, 404, "not_found"),
        ("PATCH", "/threads/none", {"agent": "chat", "name": "x"}, 404, "not_found"),
        ("PATCH", "/threads/mine", {"agent": "chat"}, 422, "invalid_input"),
        ("PATCH", "/threads/mine", {"agent": "chat", "archived": "yes"}, 422, "invalid_input"),
        ("PATCH", "/threads/mine", {"agent": "chat", "name": "a\0b"}, 422, "invalid_input"),
        ("PATCH", "/threads/mine", {"agent": "chat", "name": "a" * 1_001}, 422, "invalid_input"),
        ("PATCH", "/threads/mine", ["chat"], 422, "invalid_input"),
        ("DELETE", "/threads/none", {"agent": "chat"}, 404, "not_found"),
        ("PUT", "/threads/mine", {}, 405, "method_not_allowed"),
        ("PATCH", "/threads/mine", {"agent": "bare", "name": "x"}, 404, "not_found"),
        ("PATCH", "/threads/theirs", {"agent": "bare", "name": "x"}, 501, "not_supported"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_its_reason(
    method: str, path: str, body: Any, status: int, error: str
) -> None:
    async with serving({"chat": answering(), "bare": answering(store=False)}) as client:
        await ran(client, "mine")
        await ran(client, "theirs", agent="bare")
        answer = await client.request(method, path, json=body)
        assert (answer.status_code, answer.json()["error"]) == (status, error)


def by_header(request: Any) -> str | None:
    name: str | None = request.headers.get("x-user")
    return name


def own(user: str, action: Action, agent: str, thread_id: str | None) -> bool | Mapping[str, Any]:
    """Each user has threads of their own, and guests can only look."""
    if user == "guest" and action in ("update", "delete"):
        return False
    return {"owner": user}


async def test_a_user_has_the_threads_alone_that_authorize_allows() -> None:
    async with serving({"chat": answering()}, authenticate=by_header, authorize=own) as client:
        await ran(client, "t", **{"x-user": "ada"})
        await ran(client, "g", **{"x-user": "guest"})
        assert await ids(client, **{"x-user": "ada"}) == ["t"]
        assert await ids(client, **{"x-user": "bob"}) == []
        assert (await client.get("/threads")).status_code == 401
        for method, path, body in (
            ("GET", "/threads/t", None),
            ("GET", "/threads/t/messages", None),
            ("GET", "/threads/t/state", None),
            ("PATCH", "/threads/t", {"name": "mine now"}),
            ("POST", "/threads/t/archive", {}),
            ("DELETE", "/threads/t", None),
        ):
            answer = await client.request(method, path, json=body, headers={"x-user": "bob"})
            assert answer.status_code == 404, (method, path)
        for method, path, body in (("PATCH", "/threads/g", {"name": "x"}), ("DELETE", "/threads/g", None)):
            answer = await client.request(method, path, json=body, headers={"x-user": "guest"})
            assert answer.status_code == 403, method
        assert (await client.get("/threads/t", headers={"x-user": "ada"})).json()["name"] == "t"


async def test_threads_are_searched_by_title_and_id_and_archived_ones_are_listed_alone() -> None:
    async with serving({"chat": answering()}) as client:
        await ran(client, "lunch-in-lisbon", "dinner", "breakfast")
        await client.patch("/threads/dinner", json={"name": "Lissabon, Dîner"})
        assert await ids(client, "search=LIS") == ["dinner", "lunch-in-lisbon"]
        assert await ids(client, "search=lis%20lunch") == ["lunch-in-lisbon"]
        assert await ids(client, "search=D%C3%8ENER") == ["dinner"]
        assert await ids(client, "search=%20") == ["breakfast", "dinner", "lunch-in-lisbon"]
        assert await ids(client, "search=breakfast&status=waiting") == []
        await client.patch("/threads/dinner", json={"archived": True})
        assert await ids(client, "search=lis") == ["lunch-in-lisbon"]
        assert await ids(client, "archived=only") == ["dinner"]
        assert await ids(client, "archived=only&search=lunch") == []
        assert await ids(client, "includeArchived=true&search=lis") == ["dinner", "lunch-in-lisbon"]
        for query in (f"search={'x' * 201}", "archived=true"):
            assert (await client.get(f"/threads?{query}")).status_code == 422
        described = (await client.get("/info")).json()["agents"]["chat"]
        assert described["threads"] == {"search": True, "changes": True}
    async with serving({"chat": answering(store=False)}) as client:
        assert not (await client.get("/info")).json()["agents"]["chat"]["threads"]["changes"]
