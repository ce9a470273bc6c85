"""Where a client's state, tools and context go into a graph, on real compiled graphs."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from ag_ui.core import RunAgentInput
from langchain_anthropic.chat_models import convert_to_anthropic_tool
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from langgraph_agui.connect.errors import InvalidInputError
from langgraph_agui.connect.inputs import Intake
from langgraph_agui.connect.inputs.channels import (
    channel_values,
    context_of,
    input_channels_of_schemas,
    json_of,
)
from langgraph_agui.connect.local.channels import input_channels_of
from langgraph_agui.translator.jsonable.to_json import to_json
from pydantic import BaseModel, Field

TOOL = {"name": "paint", "description": "Paints.", "parameters": {"type": "object", "properties": {"hue": {}}}}
CONTEXT = {"description": "page", "value": "/home"}
MESSAGES = "messages"
CONFIG: Any = {"configurable": {"thread_id": "t"}}


def given(state: Any = None, **more: Any) -> RunAgentInput:
    return RunAgentInput.model_validate({"threadId": "t", "runId": "r", "messages": [], "state": state, **more})


FRONT_END = {"tools": [TOOL], "context": [CONTEXT]}


def either(left: list[str] | None, right: list[str] | None) -> list[str]:
    return (left or []) + (right or [])


class State(MessagesState):
    items: Annotated[list[str], operator.add]
    late: Annotated[list[str] | None, either]
    total: Annotated[int, operator.add]
    label: str
    todos: list[dict[str, Any]]


Conventions = TypedDict(
    "Conventions", {"tools": list[Any], "copilotkit": dict[str, Any], "ag-ui": dict[str, Any]}, total=False
)


async def idle(state: Any) -> None:
    """Writes nothing."""


def graph_of(schema: Any, node: Any = idle, **more: Any) -> Any:
    graph = StateGraph(schema, **more).add_node("node", node).add_edge(START, "node")
    return graph.compile(checkpointer=InMemorySaver())


class Thread:
    """A thread of a graph, to which inputs are given one after another."""

    def __init__(self, graph: Any, *channels: str) -> None:
        self.graph = graph
        self.intake = Intake(state=frozenset(channels))
        self.channels = input_channels_of(graph, MESSAGES)

    async def held(self) -> dict[str, Any]:
        return (await self.graph.aget_state(CONFIG)).values  # type: ignore[no-any-return]

    async def written(self, sent: RunAgentInput) -> dict[str, Any]:
        """What the input writes; the graph is run with it."""
        values = channel_values(self.channels, sent, self.intake, await self.held())
        await self.graph.ainvoke({MESSAGES: [], **values}, CONFIG)
        return values


# --- state


async def test_nothing_of_a_clients_state_is_written_unless_it_is_named() -> None:
    assert await Thread(graph_of(State)).written(given({"items": ["a"], "label": "x"})) == {}


async def test_a_channel_with_a_reducer_is_replaced_by_what_a_client_changed() -> None:
    thread = Thread(graph_of(State), "items", "late", "total", "label")
    for state in (
        {"items": ["a"], "late": ["b"], "total": 3, "label": "x"},
        {"items": ["c"], "late": ["d"], "total": 4, "label": "y"},
    ):
        await thread.written(given(state))
        assert {name: (await thread.held())[name] for name in state} == state


async def test_a_state_that_is_sent_back_three_times_changes_nothing() -> None:
    thread = Thread(graph_of(State), "items", "late", "total", "label")
    await thread.written(given({"items": ["a"], "late": ["b"], "total": 3, "label": "x"}))
    before = await thread.held()
    for _ in range(3):
        assert await thread.written(given(to_json(before))) == {}
    assert await thread.held() == before


async def test_what_a_node_adds_after_a_client_wrote_is_reduced_as_ever() -> None:
    async def add(state: State) -> dict[str, Any]:
        return {"items": ["node"]}

    thread = Thread(graph_of(State, add), "items")
    for item in ("a", "b"):
        await thread.written(given({"items": [item]}))
    assert (await thread.held())["items"] == ["b", "node"]


async def test_a_channel_that_is_not_sent_stays() -> None:
    thread = Thread(graph_of(State), "items", "label")
    await thread.written(given({"items": ["a"], "label": "x"}))
    assert await thread.written(given({"label": "y"})) == {"label": "y"}
    assert (await thread.held())["items"] == ["a"]


async def test_a_channel_is_the_same_as_a_client_sees_it() -> None:
    class Point(BaseModel):
        x: int

    class Drawn(TypedDict, total=False):
        points: Any
        seen: Any

    thread = Thread(graph_of(Drawn), "points", "seen")
    await thread.graph.ainvoke({"points": [Point(x=1)], "seen": {"b", "a"}}, CONFIG)
    assert await thread.written(given({"points": [{"x": 1}], "seen": ["a", "b"]})) == {}


async def test_true_is_not_the_same_as_one() -> None:
    thread = Thread(graph_of(State), "label")
    await thread.graph.ainvoke({"label": 1}, CONFIG)
    assert await thread.written(given({"label": True})) == {"label": True}


@pytest.mark.newest
async def test_a_channel_that_stores_its_changes_is_replaced() -> None:
    from langgraph.channels.delta import DeltaChannel

    def all_of(held: list[str], added: Any) -> list[str]:
        return [*held, *(item for items in added for item in items)]

    class Stored(TypedDict, total=False):
        items: Annotated[list[str], DeltaChannel(all_of)]

    thread = Thread(graph_of(Stored), "items")
    for item in ("a", "b"):
        await thread.written(given({"items": [item]}))
    assert (await thread.held())["items"] == ["b"]


@pytest.mark.parametrize("schema", [State, "pydantic", "dataclass"])
async def test_a_schema_of_any_kind_is_replaced(schema: Any) -> None:
    class Modelled(BaseModel):
        items: Annotated[list[str], operator.add] = Field(default_factory=list)

    @dataclass
    class Classed:
        items: Annotated[list[str], operator.add] = field(default_factory=list)

    schemas: dict[Any, Any] = {"pydantic": Modelled, "dataclass": Classed}
    graph = graph_of(schemas.get(schema, State))
    for item in ("a", "b"):
        values = channel_values(
            input_channels_of(graph, MESSAGES), given({"items": [item]}), Intake(state={"items"}), {"items": []}
        )
        assert (await graph.ainvoke(values, CONFIG))["items"] == [item]


@pytest.mark.parametrize("value", [{"__overwrite__": ["x"]}, {"type": "__overwrite__", "value": ["x"]}])
@pytest.mark.parametrize("name", ["items", "late", "label"])
def test_a_value_that_says_it_overwrites_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=name):
        channel_values(input_channels_of(graph_of(State), MESSAGES), given({name: value}), Intake(state={name}), {})


@pytest.mark.parametrize("state", [[], "secret", 7, True])
def test_a_state_that_is_no_object_is_refused_where_one_is_wanted(state: Any) -> None:
    channels = input_channels_of(graph_of(State), MESSAGES)
    with pytest.raises(InvalidInputError, match="state: expected an object") as refused:
        channel_values(channels, given(state), Intake(state={"items"}), {})
    assert "secret" not in str(refused.value)
    assert channel_values(channels, given(state), Intake(), {}) == {}


def test_no_state_writes_nothing() -> None:
    assert channel_values(input_channels_of(graph_of(State), MESSAGES), given(None), Intake(state={"items"}), {}) == {}


def test_the_conversation_cannot_be_named_as_state() -> None:
    class Talk(TypedDict, total=False):
        talk: list[Any]

    with pytest.raises(ValueError, match="conversation"):
        channel_values(input_channels_of(graph_of(Talk), "talk"), given({"talk": []}), Intake(state={"talk"}), {})


def test_messages_cannot_be_named_as_state_whatever_the_graph() -> None:
    with pytest.raises(ValueError, match="conversation"):
        Intake(state={"messages", "items"})


def test_a_channel_that_the_graph_does_not_take_cannot_be_named() -> None:
    class Asked(TypedDict):
        label: str

    channels = input_channels_of(graph_of(State, input_schema=Asked), MESSAGES)
    with pytest.raises(ValueError, match="'items', 'lable'"):
        channel_values(channels, given({"items": []}), Intake(state={"items", "lable", "label"}), {})


# --- tools and context in the state


async def test_tools_and_context_reach_each_place_that_the_graph_has() -> None:
    thread = Thread(graph_of(Conventions))
    await thread.written(given(**FRONT_END))
    assert await thread.held() == {
        "tools": [TOOL],
        "copilotkit": {"actions": [TOOL], "context": [CONTEXT]},
        "ag-ui": {"tools": [TOOL], "context": [CONTEXT]},
    }


async def test_a_graph_without_a_place_gets_none() -> None:
    assert await Thread(graph_of(State)).written(given(**FRONT_END)) == {}


async def test_the_same_tools_are_written_once() -> None:
    thread = Thread(graph_of(Conventions))
    await thread.written(given(**FRONT_END))
    assert await thread.written(given(**FRONT_END)) == {}


async def test_tools_that_are_gone_are_gone_from_the_state() -> None:
    thread = Thread(graph_of(Conventions))
    await thread.written(given(**FRONT_END))
    await thread.written(given())
    held = await thread.held()
    assert (held["tools"], held["copilotkit"]["actions"], held["ag-ui"]["tools"]) == ([], [], [])


async def test_what_the_graph_keeps_beside_tools_and_context_stays() -> None:
    thread = Thread(graph_of(Conventions))
    await thread.graph.ainvoke({"copilotkit": {"intercepted": 1}, "ag-ui": {"schema": 2}}, CONFIG)
    await thread.written(given(**FRONT_END))
    held = await thread.held()
    assert (held["copilotkit"]["intercepted"], held["ag-ui"]["schema"]) == (1, 2)


async def test_tools_in_a_channel_with_a_reducer_are_replaced() -> None:
    class Reduced(TypedDict, total=False):
        tools: Annotated[list[Any], operator.add]

    thread = Thread(graph_of(Reduced))
    for name in ("paint", "draw"):
        await thread.written(given(tools=[{**TOOL, "name": name}]))
    assert [tool["name"] for tool in (await thread.held())["tools"]] == ["draw"]


def test_a_clients_state_does_not_get_into_the_place_of_the_tools() -> None:
    values = channel_values(
        input_channels_of(graph_of(Conventions), MESSAGES), given({"tools": ["x"]}), Intake(state={"tools"}), {}
    )
    assert values["tools"] == []


@pytest.mark.parametrize("parameters", [{"parameters": TOOL["parameters"]}, {"parameters": {}}, {}])
def test_a_tool_can_be_bound_by_every_adapter(parameters: dict[str, Any]) -> None:
    tool = {"name": "paint", "description": "Paints.", **parameters}
    (told,) = channel_values(input_channels_of(graph_of(Conventions), MESSAGES), given(tools=[tool]), Intake(), {})[
        "tools"
    ]
    schema = {"type": "object", "properties": {}, **parameters.get("parameters", {})}
    assert convert_to_openai_tool(told)["function"] == {"name": "paint", "description": "Paints.", "parameters": schema}
    assert dict(convert_to_anthropic_tool(told))["input_schema"] == schema


# --- the runtime context


@dataclass
class Classed:
    user: str = ""
    tools: list[Any] = field(default_factory=list)
    copilotkit: dict[str, Any] = field(default_factory=dict)
    ag_ui: dict[str, Any] = field(default_factory=dict)
    context: list[Any] = field(default_factory=list)


class Modelled(BaseModel):
    user: str = ""
    tools: list[Any] = []
    copilotkit: dict[str, Any] = {}
    ag_ui: dict[str, Any] = Field(default={}, alias="ag-ui")
    context: list[Any] = []


ALL = {
    "tools": [TOOL],
    "copilotkit": {"actions": [TOOL], "context": [CONTEXT]},
    "ag_ui": {"tools": [TOOL], "context": [CONTEXT]},
    "context": [CONTEXT],
}


@pytest.mark.parametrize("schema", [Classed, Modelled])
async def test_the_runtime_context_has_what_its_schema_has_fields_for(schema: Any) -> None:
    seen: list[Any] = []

    async def look(state: State, runtime: Runtime[Any]) -> None:
        seen.append(runtime.context)

    graph = graph_of(State, look, context_schema=schema)
    context = context_of(input_channels_of(graph, MESSAGES), given(**FRONT_END), Intake(), {"user": "ann"})
    await graph.ainvoke({MESSAGES: []}, CONFIG, context=context)
    assert {name: getattr(seen[0], name) for name in (*ALL, "user")} == {**ALL, "user": "ann"}


def test_a_typed_dictionary_has_its_fields_and_no_others() -> None:
    class Typed(TypedDict):
        tools: list[Any]

    channels = input_channels_of(graph_of(State, context_schema=Typed), MESSAGES)
    assert context_of(channels, given(**FRONT_END), Intake(), None) == {"tools": [TOOL]}


def test_what_the_owner_says_in_the_context_wins() -> None:
    channels = input_channels_of(graph_of(State, context_schema=Classed), MESSAGES)
    assert context_of(channels, given(**FRONT_END), Intake(), {"tools": []})["tools"] == []


@pytest.mark.parametrize("base", [None, {"user": "ann"}])
def test_a_graph_without_such_fields_has_the_owners_context_alone(base: Any) -> None:
    assert context_of(input_channels_of(graph_of(State), MESSAGES), given(**FRONT_END), Intake(), base) == base


def test_an_owners_context_that_is_no_mapping_is_left_as_it_is() -> None:
    base = Classed(user="ann")
    assert (
        context_of(
            input_channels_of(graph_of(State, context_schema=Classed), MESSAGES), given(**FRONT_END), Intake(), base
        )
        is base
    )


# --- which channels a graph has


def test_a_graph_without_a_conversation_has_no_place_for_it() -> None:
    assert input_channels_of(graph_of(Conventions), MESSAGES).messages_key is None


def test_a_function_takes_what_its_type_says() -> None:
    class Asked(BaseModel):
        messages: list[Any]
        tools: list[Any]

    @entrypoint()
    async def typed(asked: Asked) -> int:
        return 1

    @entrypoint()
    async def open_to_all(asked: dict[str, Any]) -> int:
        return 1

    assert input_channels_of(typed, MESSAGES).names == frozenset({"messages", "tools"})
    assert (
        input_channels_of(open_to_all, MESSAGES).names,
        input_channels_of(open_to_all, MESSAGES).messages_key,
    ) == (
        None,
        MESSAGES,
    )


def test_schemas_tell_the_same_places_as_the_graph() -> None:
    graph = graph_of(State, context_schema=Classed)
    schemas = {"input_schema": graph.get_input_jsonschema(), "context_schema": graph.get_context_jsonschema()}
    of_graph, of_schemas = input_channels_of(graph, MESSAGES), input_channels_of_schemas(schemas, MESSAGES)
    assert (of_schemas.names, of_schemas.context) == (of_graph.names, of_graph.context)
    assert (of_schemas.messages_key, of_schemas.reducers) == (MESSAGES, None)


@pytest.mark.parametrize("schemas", [None, {}, {"input_schema": None, "context_schema": None}, {"input_schema": "x"}])
def test_of_a_graph_without_schemas_the_owner_is_believed(schemas: Any) -> None:
    channels = input_channels_of_schemas(schemas, MESSAGES)
    assert channel_values(channels, given({"label": "x"}, **FRONT_END), Intake(state={"label"}), {}) == {"label": "x"}
    assert context_of(channels, given(**FRONT_END), Intake(), None) is None


def test_values_are_told_a_platform_in_its_json() -> None:
    values = {"messages": [HumanMessage("hi", id="1"), AIMessage("ho", id="2")], "a": Overwrite([1]), "b": {2}, "c": 3}
    assert json_of(values) == {
        "messages": [{"type": "human", "content": "hi", "id": "1"}, {"type": "ai", "content": "ho", "id": "2"}],
        "a": {"__overwrite__": [1]},
        "b": [2],
        "c": 3,
    }
