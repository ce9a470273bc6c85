"""The tools of a page next to those of the server (`PageTools`), with the real client: each call runs once, and the
model sees the true results, in whatever order and from whichever tab they come, or if they never come.
`test_page_matrix.py` has every combination."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph_agui.connect import Platform, thread, threads
from langgraph_agui.connect.page_tools import PageState, PageTools
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing.expected import comparable
from langgraph_agui.translator import PAGE_CALLS

from fixtures.page_agents import ObedientModel, Shape, page_agent
from tests.support.clients.live_client import Ended, LiveAgent, LiveClients
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import events_of, posted, served

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "description": "A tool of the page.", "parameters": NOTHING} for name in ("ask", "show")]
NOT_RUN = "This call was not run: the user continued without it."


class Case(NamedTuple):
    """What the user says, and the tools that the run leaves to the page; what the agent says when they have answered,
    and which of the server's tools have run."""

    said: str
    pending: Sequence[str]
    answer: str
    ran: Sequence[str] = ()


CASES = [
    Case("weather", (), "weather: sunny", ["weather"]),
    Case("ask", ["ask"], "ask: from the page"),
    Case("weather ask show", ["ask", "show"], "weather: sunny | ask: from the page | show: from the page", ["weather"]),
    Case("research(weather ask)", ["ask"], "research: (weather: sunny | ask: from the page)", ["weather", "research"]),
    Case(
        "ask research(ask) research(show)",
        ["ask", "ask", "show"],
        "ask: from the page | research: (ask: from the page) | research: (show: from the page)",
        ["research", "research"],
    ),
]


def result(call_id: str, content: str = "from the page", name: str = "result") -> dict[str, Any]:
    return {"id": f"{name}-{call_id}", "role": "tool", "toolCallId": call_id, "content": content}


def pending(ended: Ended) -> list[str]:
    """The calls that the run left to the page, as it says itself."""
    outcome = ended.last["outcome"]
    assert (ended.last["type"], outcome["type"], ended.interrupts) == ("RUN_FINISHED", "success", [])
    return list(outcome.get("pendingToolCallIds", ()))


def names(ended: Ended) -> list[str]:
    """The names of these calls. The page has all of them, without a result."""
    calls = {call["id"]: call["function"]["name"] for each in ended.messages for call in each.get("toolCalls", ())}
    answered = {each["toolCallId"] for each in ended.messages if each["role"] == "tool"}
    assert answered.isdisjoint(pending(ended))
    return [calls[call_id] for call_id in pending(ended)]


async def is_the_same_after_a_reload(live: LiveClients, url: str, thread_id: str, ended: Ended) -> None:
    """A page that connects has the same messages, and the same calls wait for it."""
    again = await (await live.agent(url, thread_id)).connects()
    assert comparable(again.messages) == comparable(ended.messages)
    assert pending(again) == pending(ended)


async def answered(page: LiveAgent, ended: Ended, **more: Any) -> Ended:
    """The page answers the calls until none waits. Its results stay where it has put them."""
    while calls := pending(ended):
        ended = await page.runs(*map(result, calls), tools=TOOLS, **more)
        results = [event["toolCallId"] for event in ended.events if event["type"] == "TOOL_CALL_RESULT"]
        assert set(results).isdisjoint(calls)
    return ended


@pytest.mark.parametrize(
    ("shape", "cases", "reloads"),
    [
        pytest.param("agent", CASES[1:3], [False], id="agent"),
        pytest.param("agent", CASES[3:], [False], id="nested"),
        pytest.param("node", CASES[2:4], [True], id="nested-node"),
    ],
)
async def test_each_call_runs_once_where_it_belongs(
    shape: Shape, cases: Sequence[Case], reloads: Sequence[bool], live: LiveClients
) -> None:
    ran: list[str] = []
    async with served(agui_app({"a": page_agent(InMemorySaver(), shape, ran=ran.append)})) as server:
        url = f"{server.url}/a"
        for case, is_reloaded in product(cases, reloads):
            ran.clear()
            thread_id = str(uuid4())
            page = await live.agent(url, thread_id)
            ended = await page.says(case.said, tools=TOOLS)
            assert sorted(names(ended)) == sorted(case.pending), case
            await is_the_same_after_a_reload(live, url, thread_id, ended)
            if is_reloaded:
                page = await live.agent(url, thread_id, messages=ended.messages)
            ended = await answered(page, ended)
            assert (ended.texts[-1], ran) == (case.answer, list(case.ran)), (case, is_reloaded)
            await is_the_same_after_a_reload(live, url, thread_id, ended)
            later = await page.says("thanks", tools=TOOLS)
            assert later.texts[-1] == "You said thanks"


def user(text: str) -> dict[str, Any]:
    return {"id": str(uuid4()), "role": "user", "content": text}


@pytest.mark.parametrize("shape", ["agent", "node"])
async def test_a_page_that_never_answers_blocks_nothing(shape: Shape, live: LiveClients) -> None:
    """The user goes on, with one result or none, also where an agent that a tool has called waits. What comes later is
    too late."""
    cases = [
        ("ask", [NOT_RUN], []),
        ("weather ask show", ["sunny", "from the page", NOT_RUN], ["ask"]),
        ("research(ask)", [f"(ask: {NOT_RUN})"], []),
    ]
    async with served(agui_app({"a": page_agent(InMemorySaver(), shape)})) as server:
        url = f"{server.url}/a"
        for said, results, answers in cases:
            thread_id = str(uuid4())
            page = await live.agent(url, thread_id)
            ended = await page.says(said, tools=TOOLS)
            calls = pending(ended)
            given = [result(call_id) for call_id in calls if any(name in call_id for name in answers)]
            ended = await page.runs(*given, user("never mind"), tools=TOOLS)
            assert ended.texts[-1] == "You said never mind"
            assert ended.kinds.count("RUN_STARTED") == (1 if shape == "agent" and "research" not in said else 2)
            assert [each["content"] for each in ended.messages if each["role"] == "tool"] == results
            assert pending(ended) == []
            await is_the_same_after_a_reload(live, url, thread_id, ended)
            late = await page.runs(*(result(call_id, "late", "late") for call_id in calls), tools=TOOLS)
            assert (late.messages, pending(late)) == (ended.messages, [])


async def test_results_of_any_tab_count_once(live: LiveClients) -> None:
    """From a tab that declares no tools, one by one, twice, and with one of a call that nobody made or that the server
    runs."""
    ran: list[str] = []
    graph = page_agent(InMemorySaver(), ran=ran.append)
    async with served(agui_app({"a": graph})) as server:
        url, thread_id = f"{server.url}/a", str(uuid4())
        page = await live.agent(url, thread_id)
        first = await page.says("weather ask show", tools=TOOLS)
        ask, show = pending(first)
        state = await thread(graph, thread_id)
        assert state is not None
        assert (state.status, state.interrupts, [*state.page_calls]) == ("idle", [], [ask, show])
        weather = first.messages[1]["toolCalls"][0]["id"]
        other = await live.agent(url, thread_id, messages=first.messages)
        half = await other.runs(result(show), result("nobodys"), result(weather, "snow", "forged"))
        assert pending(half) == [ask]
        await is_the_same_after_a_reload(live, url, thread_id, half)
        done = await page.runs(result(ask, "wrong"), result(ask, "right", "second"), tools=TOOLS)
        assert done.texts[-1] == "weather: sunny | ask: right | show: from the page"
        assert sorted(each["toolCallId"] for each in done.messages if each["role"] == "tool") == [ask, show, weather]
        again = await other.runs(result(ask, "once more", "third"))
        assert (comparable(again.messages), ran) == (comparable(done.messages), ["weather"])
        await is_the_same_after_a_reload(live, url, thread_id, again)


async def test_results_with_one_id_are_results_of_their_calls() -> None:
    async with served(agui_app({"a": page_agent(InMemorySaver(), "agent")})) as server, server.client() as client:
        said = {"id": "u", "role": "user", "content": "ask show"}
        asked = events_of(
            (await client.post("/a", json=posted("t", run_id="r1") | {"messages": [said], "tools": TOOLS})).text
        )
        calls = [event["toolCallId"] for event in asked if event["type"] == "TOOL_CALL_START"]
        results = [result(call_id, call_id) | {"id": "result"} for call_id in calls]
        wire = posted("t", run_id="r2") | {"messages": [said, *results], "tools": TOOLS}
        for run_id in ("r2", "r3"):  # sent again, they are no others
            assert (
                events_of((await client.post("/a", json=wire | {"runId": run_id})).text)[-1]["type"] == "RUN_FINISHED"
            )
            messages = (await client.get("/threads/t/messages?agent=a")).json()["messages"]
            stored = {message["toolCallId"]: message["content"] for message in messages if message["role"] == "tool"}
            assert stored == {call_id: call_id for call_id in calls}
            assert messages[-1]["content"] == f"ask: {calls[0]} | show: {calls[1]}"


async def test_a_page_is_not_asked_to_approve(live: LiveClients) -> None:
    """A person is asked next to the page: the outcome has that question alone. Results come with the answer, or before
    it, or after it."""
    ran: list[str] = []
    async with served(agui_app({"a": page_agent(InMemorySaver(), ran=ran.append)})) as server:
        for comes in ("with", "before", "after"):
            ran.clear()
            url, thread_id = f"{server.url}/a", str(uuid4())
            page = await live.agent(url, thread_id)
            ended = await page.says("refund ask weather", tools=TOOLS)
            refund, ask, _ = (call["id"] for call in ended.messages[1]["toolCalls"])
            assert [each.get("toolCallId") for each in ended.interrupts] == [refund]
            entries = [{"interruptId": ended.interrupts[0]["id"], "status": "resolved", "payload": "yes"}]
            if comes == "before":  # an older client may run a thread whose question it does not know
                older = await live.agent(url, thread_id, messages=ended.messages)
                ended = await older.runs(result(ask))
                assert [each["id"] for each in ended.interrupts] == [entries[0]["interruptId"]]
                assert (await (await live.agent(url, thread_id)).connects()).interrupts == ended.interrupts
            given = [result(ask)] if comes == "with" else []
            ended = await page.runs(*given, resume=entries, tools=TOOLS)
            if comes == "after":
                assert pending(ended) == [ask]
                ended = await page.runs(result(ask), tools=TOOLS)
            assert ended.texts[-1] == "refund: refunded: yes | ask: from the page | weather: sunny"
            assert (sorted(ran), pending(ended)) == (["refund", "weather"], [])
            await is_the_same_after_a_reload(live, url, thread_id, ended)


async def test_a_person_who_is_asked_before_the_calls_run(live: LiveClients) -> None:
    """The result may come with the answer, although the call does not wait for it yet."""
    human = HumanInTheLoopMiddleware({"weather": True})
    graph = create_agent(ObedientModel(), [weather], middleware=[PageTools(), human], checkpointer=InMemorySaver())
    async with served(agui_app({"a": graph})) as server:
        page = await live.agent(f"{server.url}/a", str(uuid4()))
        asked = await page.says("weather ask", tools=TOOLS)
        ask = asked.messages[1]["toolCalls"][1]["id"]
        (question,) = asked.interrupts
        entry = {"interruptId": question["id"], "status": "resolved", "payload": {"decisions": [{"type": "approve"}]}}
        done = await page.runs(result(ask), resume=[entry], tools=TOOLS)
        assert (done.texts[-1], pending(done)) == ("weather: sunny | ask: from the page", [])
        outcomes = [event["outcome"] for event in done.events if event["type"] == "RUN_FINISHED"]
        assert outcomes == [{"type": "success"}, {"type": "success"}]


async def test_the_servers_tool_wins(live: LiveClients, caplog: pytest.LogCaptureFixture) -> None:
    """Also if a middleware withholds it from the model: then nobody runs it."""

    class Withholding(AgentMiddleware[Any, Any, Any]):
        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return await handler(request.override(tools=[]))

    declared = [{**TOOLS[0], "name": "weather"}]
    agents = {
        "offered": create_agent(ObedientModel(), [weather], middleware=[PageTools()], checkpointer=InMemorySaver()),
        "withheld": create_agent(
            ObedientModel(), [weather], middleware=[Withholding(), PageTools()], checkpointer=InMemorySaver()
        ),
    }
    async with served(agui_app(agents)) as server:
        for name, answer, line in (
            ("offered", "weather: sunny", "which the agent has itself"),
            ("withheld", "weather: weather is not available.", "because only a page has offered it"),
        ):
            page = await live.agent(f"{server.url}/{name}", str(uuid4()))
            ended = await page.says("weather", tools=declared)
            assert (ended.texts[-1], pending(ended)) == (answer, [])
            assert line in caplog.text


async def test_a_node_that_runs_all_calls_in_one_task_is_refused() -> None:
    """It would run the server's tool again when the page has answered. `create_agent` makes a task of each call."""
    page, calls = PageTools(), ["weather", "ask"]

    def ask(state: PageState) -> dict[str, Any]:
        made = [{"name": name, "args": {}, "id": name} for name in calls]
        return {"messages": [AIMessage("", tool_calls=made, response_metadata={PAGE_CALLS: ["ask"]})]}

    graph = StateGraph(PageState).add_node("ask", ask)
    graph.add_node("tools", ToolNode([weather], awrap_tool_call=page.awrap_tool_call))
    graph.add_edge(START, "ask").add_edge("ask", "tools")
    compiled = graph.compile(InMemorySaver())
    with pytest.raises(RuntimeError, match="PageTools: the page's tool 'ask' was called beside another tool"):
        await compiled.ainvoke({"messages": []}, {"configurable": {"thread_id": "1"}})
    calls[:] = ["ask"]
    waits = await compiled.ainvoke({"messages": []}, {"configurable": {"thread_id": "2"}})
    assert [each.value["name"] for each in waits["__interrupt__"]] == ["ask"]


@pytest.mark.parametrize("name", ["page_agent", "page_node"])
async def test_a_server_waits_for_the_page(name: str, backend: Backend, live: LiveClients) -> None:
    """A LangGraph server: its threads say what waits, next to an approval too, and a user goes on."""
    async with backend.client() as client, served(agui_app({"a": Platform(client, name)})) as server:
        url = f"{server.url}/a"
        for case in CASES[2:4]:
            thread_id = str(uuid4())
            page = await live.agent(url, thread_id)
            ended = await page.says(case.said, tools=TOOLS)
            assert sorted(names(ended)) == sorted(case.pending), case
            await is_the_same_after_a_reload(live, url, thread_id, ended)
            for threads_of in (None, "idle", "waiting"):
                listed = await threads(Platform(client, name)).search(status=threads_of, limit=10)
                assert (thread_id in [each.thread_id for each in listed.threads]) == (threads_of != "waiting")
            page = await live.agent(url, thread_id, messages=ended.messages)
            ended = await answered(page, ended)
            assert ended.texts[-1] == case.answer
            await is_the_same_after_a_reload(live, url, thread_id, ended)
        page = await live.agent(url, thread_id)
        ended = await page.says("refund ask", tools=TOOLS)
        _, ask = (call["id"] for call in ended.messages[-1]["toolCalls"])
        (question,) = ended.interrupts
        entry = {"interruptId": question["id"], "status": "resolved", "payload": "yes"}
        assert pending(await page.runs(resume=[entry], tools=TOOLS)) == [ask]
        gone = await page.says("never mind", tools=TOOLS)
        results = [each["content"] for each in gone.messages if each["role"] == "tool"][-2:]
        assert (results, gone.texts[-1]) == (["refunded: yes", NOT_RUN], "You said never mind")


@tool
def weather() -> str:
    """Tells the weather."""
    return "sunny"
