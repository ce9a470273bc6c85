"""A project's graphs, found from its `langgraph.json` by LangGraph's own server and by the command: the same agents,
and the same answers."""

import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect.cli.sources.checkpointers import Threads
from langgraph_agui.connect.cli.sources.graphs import build
from langgraph_agui.connect.cli.sources.project import project_of
from langgraph_agui.connect.cli.sources.targets import Target
from langgraph_sdk import get_client

from tests.support.servers.platforms.dev_server import running_project
from tests.support.servers.processes.command import Serving, serving

AGENTS = """
import os
from contextlib import asynccontextmanager, contextmanager

from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_sdk.runtime import ServerRuntime

from wording import greeting  # found in a dependency's folder


def built(what):
    async def node(state):
        await get_store().aput(("said",), "last", {"what": what})
        kept = await get_store().aget(("said",), "last")
        return {"messages": [("ai", f"{greeting} {what}, {os.environ['TOWN']}, {kept.value['what']}")]}

    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")


compiled = built("compiled").compile()
builder = built("builder")


def function():
    return built("function")


def of_config(config):
    return built(f"config {config['configurable'].get('model')} {config['tags']}").compile()


async def coroutine():
    return built("coroutine").compile()


open_now = 0


@asynccontextmanager
async def open_for_runs(config):
    global open_now
    if not config["configurable"]["__is_for_execution__"]:
        yield built("read").compile()
        return
    open_now += 1
    try:
        yield built(f"{open_now} open, run {'run_id' in config['configurable']}").compile()
    finally:
        open_now -= 1


def of_thread(config):
    return built(f"thread {len(config['configurable'].get('thread_id', ''))}").compile()


def of_runtime(runtime: ServerRuntime):
    return built(f"{runtime.access_context} {runtime.user} {runtime.store is None}").compile()


def of_both(runtime: "ServerRuntime[dict]", config):
    is_run = runtime.execution_runtime is not None
    return built(f"{is_run} {config['configurable']['__is_for_execution__']}").compile()


@asynccontextmanager
async def context():
    yield built("context").compile()


@contextmanager
def plain_context():
    yield built("plain context").compile()
"""

GRAPHS: dict[str, Any] = {
    "compiled": "./agents/many.py:compiled",
    "described": {"path": "./agents/many.py:compiled", "description": "What it is good for."},
    "builder": "agents.many:builder",
    "function": "./agents/many.py:function",
    "of_config": "./agents/many.py:of_config",
    "coroutine": "./agents/many.py:coroutine",
    "context": "./agents/many.py:context",
    "open_for_runs": "./agents/many.py:open_for_runs",
    "of_thread": "./agents/many.py:of_thread",
    "of_runtime": "./agents/many.py:of_runtime",
    "of_both": "./agents/many.py:of_both",
    "plain_context": "./agents/many.py:plain_context",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("agents", "shared"):
        (folder / name).mkdir()
    (folder / "agents" / "many.py").write_text(AGENTS)
    (folder / "shared" / "wording.py").write_text("greeting = 'I am'")
    (folder / "towns.env").write_text("# where it is\nexport TOWN='Lisbon'\n")
    said = {"dependencies": [".", "./shared", "langchain-core"], "graphs": GRAPHS, "env": "./towns.env"}
    (folder / "langgraph.json").write_text(json.dumps(said))
    return folder


@pytest.fixture(scope="module")
def ours(project: Path) -> Iterator[Serving]:
    """The project, served by the command from its folder."""
    with serving(cwd=project) as served:
        yield served


@pytest.fixture(scope="module")
def theirs(project: Path) -> Iterator[str]:
    """The project, served by LangGraph's own server."""
    with running_project(project) as url:
        yield url


async def test_both_have_the_same_agents(ours: Serving, theirs: str) -> None:
    async with get_client(url=theirs) as client:
        found = await client.assistants.search(limit=100)
    served = [line.partition("  ")[0] for line in ours.said if f"  {ours.url}/" in line]
    assert sorted(served) == sorted(each["graph_id"] for each in found) == sorted(GRAPHS)


@pytest.mark.parametrize("agent", GRAPHS)
async def test_both_answer_alike(ours: Serving, theirs: str, agent: str) -> None:
    async with get_client(url=theirs) as client:
        thread = await client.threads.create()
        given: Any = {"messages": [{"role": "user", "content": "hi"}]}
        values: Any = await client.runs.wait(thread["thread_id"], agent, input=given)
    told = [message["content"] for message in ours.run(agent, thread_id=thread["thread_id"]).messages]
    assert told == [message["content"] for message in values["messages"]]
    assert "Lisbon" in told[-1]


def test_modules_are_found_from_here_and_beside_each_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path.resolve()
    monkeypatch.chdir(here)
    (here / "apart").mkdir()
    written = ["./apart/agent.py:graph", "other=./apart/agent.py:graph", "./here.py:graph", "package.module:graph"]
    assert [*project_of(written).first] == [here, here / "apart"]


async def test_a_graph_is_given_what_it_has_none_of() -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    threads = Threads(InMemorySaver(), InMemoryStore())
    target = Target("agent", "graphs.py", "graph", is_file=True, written="graphs.py:graph")
    builder = StateGraph(MessagesState).add_node("node", lambda state: {}).add_edge(START, "node")
    given: list[tuple[Any, Any]] = [
        (builder, (threads.checkpointer, threads.store, "agent")),
        (builder.compile(checkpointer=False), (False, threads.store, "agent")),
        (builder.compile(checkpointer=True), (threads.checkpointer, threads.store, "agent")),
        (builder.compile(checkpointer=saver, store=store, name="mine"), (saver, store, "mine")),
    ]
    for graph, kept in given:
        async with AsyncExitStack() as lifetime:
            made = await build(target, graph, threads, lifetime)
            assert (made.checkpointer, made.store, made.name) == kept
