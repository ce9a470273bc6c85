"""The tools of a page, in every combination of four things: which tools are called, and where; when and from which tab
their results come; what gives them to the model; and what the page talks to. The services run every pair of these, and
a sweep all of them.

In each combination every tool runs once, the model sees the true results, a page that is loaded again has what the page
had, and the user goes on. `test_page_tools.py` and `test_mixed_calls.py` have the rules one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import combinations, product
from typing import Any, Literal, NamedTuple, get_args
from uuid import uuid4

import pytest
from copilotkit import CopilotKitMiddleware, CopilotKitState
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing.expected import comparable

from fixtures.fixture import Graph
from fixtures.page_agents import SHAPES, Shape, page_agent
from tests.support.clients.live_client import Ended, LiveAgent, LiveClients
from tests.support.servers.node_runtime import node_runtime
from tests.support.servers.serving import served

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "description": "A tool of the page.", "parameters": NOTHING} for name in ("ask", "show")]

When = Literal["together", "one by one", "after a reload", "twice", "late", "never", "wrong first", "from another tab"]
Middleware = Literal["PageTools", "CopilotKitMiddleware"]
Front = Literal["plain routes", "CopilotKit's routes", "the Node runtime"]


class Calls(NamedTuple):
    """What the user says; the page's tools that are called; what the agent says in the end, and which of the server's
    tools have run."""

    said: str
    pending: Sequence[str]
    answer: str
    ran: Sequence[str] = ()
    shape: Shape = "agent"


BOTH = Calls("weather ask", ["ask"], "weather: sunny | ask: from the page", ["weather"])
CALLS: Mapping[str, Calls] = {
    "server": Calls("weather", (), "weather: sunny", ["weather"]),
    "page": Calls("ask", ["ask"], "ask: from the page"),
    "both": BOTH,
    "two of the page": Calls("ask show", ["ask", "show"], "ask: from the page | show: from the page"),
    "parallel": Calls(
        "weather ask show", ["ask", "show"], "weather: sunny | ask: from the page | show: from the page", ["weather"]
    ),
    "in a subgraph": BOTH._replace(shape="node"),
    "in a subgraph of a subgraph": BOTH._replace(shape="node of node"),
    "in a subagent": Calls(
        "research(weather ask)",
        ["ask"],
        "research: (weather: sunny | ask: from the page)",
        ["weather", "research"],
    ),
    "in two subagents": Calls(
        "ask research(ask) research(show)",
        ["ask", "ask", "show"],
        "ask: from the page | research: (ask: from the page) | research: (show: from the page)",
        ["research", "research"],
    ),
}


class Case(NamedTuple):
    """One combination."""

    calls: str
    when: When
    middleware: Middleware
    front: Front


def exists(case: Case) -> bool:
    """Returns whether there is such a combination. CopilotKit's middleware ends an agent without the page's results, so
    that the calls of an agent that a tool has called reach no page. Without calls of the page, nothing can be late."""
    if "research" in CALLS[case.calls].said and case.middleware == "CopilotKitMiddleware":
        return False
    return bool(CALLS[case.calls].pending) or case.when in ("together", "after a reload")


ALL = [
    case
    for case in (Case(*each) for each in product(CALLS, get_args(When), get_args(Middleware), get_args(Front)))
    if exists(case)
]


def pairs(cases: Sequence[Case]) -> Iterator[Case]:
    """Yields cases in which every two values occur together that do so in any of these."""
    missing = {pair for case in cases for pair in combinations(enumerate(case), 2)}
    while missing:
        case = max(cases, key=lambda each: len(missing.intersection(combinations(enumerate(each), 2))))
        missing.difference_update(combinations(enumerate(case), 2))
        yield case


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param([*pairs(ALL)], id="pairs", marks=pytest.mark.services),
        pytest.param(ALL, id="all", marks=pytest.mark.sweep),
    ],
)
@pytest.mark.newest
@pytest.mark.parametrize("middleware", get_args(Middleware))
@pytest.mark.parametrize("front", get_args(Front))
async def test_each_tool_runs_once_and_the_model_sees_the_true_results(
    front: Front, middleware: Middleware, cases: Sequence[Case], live: LiveClients
) -> None:
    ran: list[str] = []
    agents = {shape.replace(" ", "-"): agent(middleware, shape, ran) for shape in SHAPES}
    with ExitStack() as stack:
        async with served(agui_app(agents)) as server:
            url = server.url
            if front == "the Node runtime":
                url = stack.enter_context(node_runtime({name: f"{server.url}/{name}" for name in agents}))
            for case in cases:
                if (case.middleware, case.front) == (middleware, front):
                    ran.clear()
                    try:
                        await play(case, Pages(live, url, case), ran)
                    except BaseException as error:
                        error.add_note(str(case))
                        raise


def agent(middleware: Middleware, shape: Shape, ran: list[str]) -> Graph:
    """An agent that has the page's tools by this middleware."""
    if middleware == "PageTools":
        return page_agent(InMemorySaver(), shape, ran=ran.append)
    return page_agent(InMemorySaver(), shape, ran=ran.append, middleware=CopilotKitMiddleware, state=CopilotKitState)


class Pages:
    """The pages of one thread."""

    def __init__(self, live: LiveClients, url: str, case: Case) -> None:
        name = CALLS[case.calls].shape.replace(" ", "-")
        self._live, self._case, self._thread_id = live, case, str(uuid4())
        self._loads = f"{url}/{name}" if case.front == "plain routes" else f"{url}/agent/{name}"
        self._runs = self._loads if case.front == "plain routes" else f"{self._loads}/run"

    async def open(self, messages: Sequence[Mapping[str, Any]] = ()) -> LiveAgent:
        """A page that has these messages."""
        return await self._live.agent(self._runs, self._thread_id, messages=messages)

    async def load(self) -> Ended:
        """What a page has that is loaded now."""
        return await (await self._live.agent(self._loads, self._thread_id)).connects()

    async def load_the_same(self, ended: Ended) -> None:
        """A page that is loaded has the same messages. (The runtime plays all runs again, and leaves out the results
        that it got from the page itself.)"""
        loaded = await self.load()
        assert open_calls(loaded) == open_calls(ended)
        if self._case.front != "the Node runtime":
            assert comparable(loaded.messages) == comparable(ended.messages)


def result(call_id: str, content: str = "from the page", name: str = "result") -> dict[str, Any]:
    return {"id": f"{name}-{call_id}", "role": "tool", "toolCallId": call_id, "content": content}


def open_calls(ended: Ended) -> dict[str, str]:
    """The page's calls that have no result, as a page finds them: their ids and the names of the tools."""
    calls = {call["id"]: call["function"]["name"] for each in ended.messages for call in each.get("toolCalls", ())}
    answered = {each["toolCallId"] for each in ended.messages if each["role"] == "tool"}
    return {call_id: name for call_id, name in calls.items() if call_id not in answered and name in ("ask", "show")}


async def play(case: Case, pages: Pages, ran: list[str]) -> None:
    """Plays one combination."""
    calls, when = CALLS[case.calls], case.when
    page = await pages.open()
    ended = await page.says(calls.said, tools=TOOLS)
    waiting = open_calls(ended)
    assert (sorted(waiting.values()), ended.error) == (sorted(calls.pending), None)
    await pages.load_the_same(ended)
    results = [result(call_id) for call_id in waiting]
    if when in ("after a reload", "from another tab"):
        page = await pages.open((await pages.load()).messages)
    tools = [] if (when, case.middleware) == ("from another tab", "PageTools") else TOOLS
    if when in ("late", "never"):
        ended = await page.says("never mind", tools=TOOLS)
        assert (ended.texts[-1], open_calls(ended)) == ("You said never mind", {})
    elif when == "one by one":
        for at, each in enumerate(results, 1):
            ended = await page.runs(each, tools=tools)
            assert list(open_calls(ended)) == list(waiting)[at:]
            await pages.load_the_same(ended)
    elif results:
        if when == "wrong first":
            made = {call["id"] for each in ended.messages for call in each.get("toolCalls", ())} - waiting.keys()
            forged = [result(call_id, "snow", "forged") for call_id in (*sorted(made), "nobodys")]
            ended = await page.runs(*forged, tools=tools)
            assert open_calls(ended) == waiting
        ended = await page.runs(*results, tools=tools)
    if when in ("late", "twice"):
        again = await page.runs(*(result(call_id, "once more", "again") for call_id in waiting), tools=tools)
        assert comparable(again.messages) == comparable(ended.messages)
    if when not in ("late", "never"):
        assert (ended.texts[-1], open_calls(ended), ran) == (calls.answer, {}, list(calls.ran))
    await pages.load_the_same(ended)
    ended = await page.says("thanks", tools=TOOLS)
    assert (ended.texts[-1], ran.count("weather")) == ("You said thanks", list(calls.ran).count("weather"))
