"""What clients are told that agents can do, as `/info` says it: what can be seen of the graph, and no more."""

import warnings
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities, ToolsCapabilities
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.serve.copilotkit.info import capabilities, describe
from langgraph_agui.connect.testing import ScriptedChatModel
from langgraph_agui.translator import Options
from langgraph_sdk import get_client
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from fixtures.gated import GATED, look_up
from tests.support.servers.serving import posted, served

KEPT = InMemorySaver()


class FrontEnd(AgentState[Any]):
    copilotkit: dict[str, Any]


def agent(**how: Any) -> Any:
    return create_agent(ScriptedChatModel(turns=[[]]), **{"checkpointer": KEPT, **how})


def seen(source: Any, *path: str, **how: Any) -> Any:
    """One of the capabilities that are declared; None if it is left open."""
    found: Any = capabilities(Agent(source=source, **how))
    for name in path:
        found = found.get(name, {})
    return None if found == {} else found


def test_a_graph_streams() -> None:
    expected = {"streaming": True, "websocket": False, "resumable": True}
    assert seen(GATED["gated_chat"](KEPT), "transport") == expected
    declared = capabilities(Agent(GATED["gated_chat"](KEPT)), has_sockets=True)
    assert declared["transport"] == {**expected, "websocket": True}


@pytest.mark.parametrize("checkpointer", [KEPT, None])
def test_threads_are_kept_where_there_is_a_checkpointer(checkpointer: Any) -> None:
    keeps = checkpointer is not None
    graph = GATED["gated_chat"](checkpointer)
    assert seen(graph, "state", "persistentState") is keeps
    assert seen(graph, "humanInTheLoop") == {"supported": keeps, "interrupts": keeps}


async def test_a_platform_keeps_threads_and_tells_nothing_of_tools() -> None:
    async with get_client(url="http://localhost") as client:
        assert seen(client, "state", "persistentState") is True
        assert seen(client, "tools") is None
        assert seen(client, "transport", "resumable") is False


@pytest.mark.parametrize(
    ("state", "snapshots", "deltas"),
    [("deltas", True, True), ("all", True, False), ("final", True, False), ("none", False, False)],
)
def test_the_state_is_told_as_the_options_have_it(state: Any, snapshots: bool, deltas: bool) -> None:
    told = seen(GATED["gated_chat"](KEPT), "state", options=Options(state=state))
    assert (told["snapshots"], told["deltas"]) == (snapshots, deltas)


def test_reasoning_is_open_unless_the_options_leave_it_out() -> None:
    assert seen(GATED["gated_chat"](KEPT), "reasoning") is None
    assert seen(GATED["gated_chat"](KEPT), "reasoning", options=Options(reasoning=False)) == {"supported": False}


def test_a_graph_without_tools_declares_none() -> None:
    assert seen(GATED["gated_chat"](KEPT), "tools") is None


def test_a_graph_that_runs_tools_declares_that_and_not_which() -> None:
    assert seen(agent(tools=[look_up]), "tools") == {"supported": True, "clientProvided": False}


def test_a_graph_with_a_place_for_the_clients_tools_takes_them() -> None:
    assert seen(agent(state_schema=FrontEnd), "tools") == {"supported": True, "clientProvided": True}


def test_approvals_are_those_of_the_middleware() -> None:
    approves = [HumanInTheLoopMiddleware(interrupt_on={"look_up": True})]
    assert seen(agent(tools=[look_up], middleware=approves), "humanInTheLoop", "approvals") is True
    assert seen(agent(tools=[look_up]), "humanInTheLoop", "approvals") is None


def test_a_store_is_memory() -> None:
    assert seen(agent(store=InMemoryStore()), "state", "memory") is True
    assert seen(agent(), "state", "memory") is None


def test_deep_agents_delegate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from deepagents import create_deep_agent

        graph = create_deep_agent(model=ScriptedChatModel(turns=[[]]), checkpointer=KEPT)
    assert seen(graph, "multiAgent") == {"supported": True, "delegation": True}
    assert seen(agent(tools=[look_up]), "multiAgent") is None


def test_an_owners_own_take_the_place_of_what_is_seen() -> None:
    own = AgentCapabilities(tools=ToolsCapabilities(supported=False))
    assert capabilities(Agent(source=agent(tools=[look_up]), capabilities=own)) == {"tools": {"supported": False}}


def test_an_agent_is_described_by_its_owner() -> None:
    told = describe("chat", Agent(source=agent(), name="Chat", description="Talks."))
    assert (told["name"], told["description"]) == ("Chat", "Talks.")
    assert describe("chat", Agent(source=agent()))["name"] == "chat"


@pytest.mark.parametrize("store", [InMemoryStore(), None])
@pytest.mark.parametrize("websocket", [True, False])
async def test_what_info_says_can_be_done_can_be(store: Any, websocket: bool) -> None:
    graph = GATED["gated_chat"](KEPT).copy(update={"store": store})
    app = agui_app({"chat": graph}, token="secret", websocket=websocket)
    async with served(app, ws="websockets-sansio") as server:
        for headers in ({"Authorization": "Bearer secret"}, {}):
            async with server.client(headers=headers) as client:
                assert (await client.post("/chat", json=posted("t", "hi"))).status_code == 200
                info = (await client.get("/info")).json()
                may_list = (await client.get("/threads")).status_code == 200
                renames = (await client.patch("/threads/t", json={"name": "x"})).status_code == 200
                assert (info["threadEndpoints"]["list"], info["threadEndpoints"]["mutations"]) == (may_list, renames)
                assert renames is (store is not None and bool(headers))
            declared = info["agents"]["chat"]["capabilities"]["transport"]["websocket"]
            try:
                async with connect(f"ws://127.0.0.1:{server.port}/chat/ws?thread=t", proxy=None):
                    assert declared is websocket is True
            except InvalidStatus:
                assert declared is websocket is False
