"""The input of a run that was killed is submitted again with the same run id: LangGraph takes what it does not have
yet, and nothing twice. The runs are killed at every write to a real checkpointer."""

import operator
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels import Topic
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite, Send, interrupt
from langgraph_agui.connect.access import AuthUser
from langgraph_agui.connect.local.checkpoints.progress import read_progress
from langgraph_agui.connect.local.run.configs import run_config
from langgraph_agui.connect.local.run.run_input import NotJsonError, RunInput, UnreadableInputError

from tests.support.servers.databases.postgres import running_postgres
from tests.support.streams.mortal_runs import Database, Death, postgres_database, run_until_death, sqlite_database

Did = Callable[[str], None]
ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What was done, in order, and what clients wrote."""

    done: Annotated[list[str], operator.add]
    noted: Annotated[list[str], Topic(str, accumulate=True)]


def node(did: Did, name: str) -> Any:
    async def do(state: State) -> State:
        did(name)
        return {"done": [name]}

    return do


def asker(did: Did, name: str, *questions: str) -> Any:
    """A node that asks all of its questions, one after the other."""

    async def ask(state: State) -> State:
        answers = [f"{question} {interrupt(question)}" for question in questions]
        did(name)
        return {"done": answers}

    return ask


def graph_of(did: Did, nodes: dict[str, Any], *edges: tuple[str, str]) -> StateGraph[Any]:
    graph = StateGraph(State)
    for name, function in nodes.items():
        graph.add_node(name, function)
    for edge in edges:
        graph.add_edge(*edge)
    return graph


def in_a_row(did: Did) -> StateGraph[Any]:
    return graph_of(did, {name: node(did, name) for name in "ab"}, (START, "a"), ("a", "b"))


def beside(did: Did) -> StateGraph[Any]:
    nodes = {name: node(did, name) for name in "abcd"}
    return graph_of(did, nodes, (START, "a"), ("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))


def sending(did: Did) -> StateGraph[Any]:
    async def work(number: Any) -> State:
        did(f"work {number}")
        return {"done": [f"work {number}"]}

    graph = graph_of(did, {"a": node(did, "a"), "work": work, "d": node(did, "d")}, (START, "a"), ("work", "d"))
    graph.add_conditional_edges("a", lambda _: [Send("work", number) for number in (1, 2, 3)])
    return graph


def nesting(did: Did) -> StateGraph[Any]:
    inner = graph_of(did, {name: node(did, name) for name in ("x", "y")}, (START, "x"), ("x", "y")).compile()
    return graph_of(
        did, {"a": node(did, "a"), "in": inner, "b": node(did, "b")}, (START, "a"), ("a", "in"), ("in", "b")
    )


def calling(did: Did, *questions: str) -> StateGraph[Any]:
    nodes = {"x": node(did, "x"), "y": asker(did, "y", *questions), "z": node(did, "z")}
    inner = graph_of(did, nodes, (START, "x"), ("x", "y"), ("y", "z")).compile()

    async def call(state: State) -> State:
        done = (await inner.ainvoke({"done": []}))["done"]
        return {"done": done}

    return graph_of(did, {"in": call, "b": node(did, "b")}, (START, "in"), ("in", "b"))


def asking(did: Did, *questions: str) -> StateGraph[Any]:
    nodes = {"a": node(did, "a"), "ask": asker(did, "ask", *questions), "b": node(did, "b")}
    return graph_of(did, nodes, (START, "a"), ("a", "ask"), ("ask", "b"))


def asking_twice(did: Did) -> StateGraph[Any]:
    return asking(did, "pay 10?", "pay 1000?")


def asking_in_a_subgraph(did: Did) -> StateGraph[Any]:
    nodes = {"x": node(did, "x"), "y": asker(did, "y", "really?", "surely?"), "z": node(did, "z")}
    inner = graph_of(did, nodes, (START, "x"), ("x", "y"), ("y", "z")).compile()
    return graph_of(did, {"in": inner, "b": node(did, "b")}, (START, "in"), ("in", "b"))


def asking_in_a_called_graph(did: Did) -> StateGraph[Any]:
    return calling(did, "really?", "surely?")


def asking_beside(did: Did) -> StateGraph[Any]:
    """Two nodes that ask twice each, and one that does not."""
    nodes = {"p": asker(did, "p", "p1?", "p2?"), "q": asker(did, "q", "q1?", "q2?"), "r": node(did, "r")}
    return graph_of(did, {**nodes, "b": node(did, "b")}, *((START, name) for name in nodes), *((n, "b") for n in nodes))


@dataclass(frozen=True)
class Case:
    """A graph, the runs before the one that is killed, and that one. A run is a function of the thread's state."""

    graph: Callable[[Did], StateGraph[Any]]
    before: Sequence[Callable[[Any], Any]] = ()
    killed: Callable[[Any], Any] = lambda _: RunInput(run_id="killed", values={"done": ["in"]})
    stops: dict[str, Any] = field(default_factory=dict)
    repeats: int = 1
    """How many nodes of one superstep may run again."""


def turn(text: str, run_id: str = "killed") -> Callable[[Any], RunInput]:
    return lambda _: RunInput(run_id=run_id, values={"done": [text]})


def answering(*answers: str, **more: Any) -> Callable[[Any], RunInput]:
    """Answers the first of the questions that wait."""

    def given(state: Any) -> RunInput:
        asked = dict(zip([each.id for each in state.interrupts], answers, strict=False))
        return RunInput(run_id="killed", is_turn=False, answers=asked, **more)

    return given


def going_on(state: Any) -> RunInput:
    return RunInput(run_id="killed", is_turn=False)


def forking(state: Any) -> RunInput:
    return RunInput(run_id="killed", values={"done": ["other"]}, checkpoint_id=state.history["first-0"])


def again(state: Any) -> RunInput:
    return RunInput(run_id="killed", is_turn=False, checkpoint_id=state.history["first-0 input"])


EARLIER = turn("earlier", "earlier")
CASES = {
    "in a row": Case(in_a_row),
    "a second turn": Case(in_a_row, [EARLIER]),
    "nodes beside each other": Case(beside, [EARLIER], repeats=2),
    "sends": Case(sending, [EARLIER], repeats=3),
    "a subgraph": Case(nesting, [EARLIER]),
    "a subgraph that a node calls": Case(lambda did: calling(did), [EARLIER]),
    "up to a question": Case(lambda did: asking(did, "really?"), [EARLIER]),
    "an answer": Case(lambda did: asking(did, "really?"), [EARLIER], answering("yes")),
    "an answer, and a second question": Case(asking_twice, [EARLIER], answering("yes")),
    "the answer to a second question": Case(
        asking_twice, [EARLIER, lambda state: answering("yes")(state)], answering("yes")
    ),
    "an answer with values": Case(
        lambda did: asking(did, "really?"), [EARLIER], answering("yes", values={"done": ["said"], "noted": ["n"]})
    ),
    "an answer in a subgraph": Case(asking_in_a_subgraph, [EARLIER], answering("yes")),
    "a second answer in a subgraph": Case(asking_in_a_subgraph, [EARLIER, answering("yes")], answering("yes")),
    "an answer in a called graph": Case(asking_in_a_called_graph, [EARLIER], answering("yes")),
    "a second answer in a called graph": Case(asking_in_a_called_graph, [EARLIER, answering("yes")], answering("yes")),
    "one of two answers": Case(asking_beside, [EARLIER], answering("yes"), repeats=3),
    "two of two answers": Case(asking_beside, [EARLIER], answering("yes", "no"), repeats=3),
    "continuing at a breakpoint": Case(in_a_row, [EARLIER], going_on, {"interrupt_before": ["b"]}),
    "continuing at a breakpoint with values": Case(
        in_a_row,
        [EARLIER],
        lambda _: RunInput(run_id="killed", is_turn=False, values={"done": ["said"], "noted": ["n"]}),
        {"interrupt_before": ["b"]},
    ),
    "a fork": Case(in_a_row, [turn("first", "first"), turn("second", "second")], forking),
    "a turn again": Case(beside, [turn("first", "first"), turn("second", "second")], again, repeats=2),
}


IN_POSTGRES = (
    "nodes beside each other",
    "an answer, and a second question",
    "an answer with values",
    "a second answer in a called graph",
    "a fork",
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_an_input_that_is_submitted_again_is_taken_once(case: Case) -> None:
    async with sqlite_database() as empty:
        await check(case, empty)


@pytest.mark.services
async def test_an_input_that_is_submitted_again_is_taken_once_in_postgres() -> None:
    with running_postgres() as server:
        for name in IN_POSTGRES:
            case = CASES[name]
            async with postgres_database(server) as empty:
                await check(case, empty)


async def check(case: Case, empty: Database) -> None:
    """Kills the case at every write, and continues it."""
    async with prepared(case, empty) as database:
        async with database.copied() as copy:
            death, whole = Death(), list[str]()
            expected = await killed_and_continued(case, copy, death, whole)
        assert death.count
        for writes in range(death.count + 1):
            async with database.copied() as copy:
                did: list[str] = []
                ended = await killed_and_continued(case, copy, Death(writes), did)
                assert ended == expected, f"killed after {writes} of {death.count} writes"
                repeated = Counter(did) - Counter(whole)
                assert not Counter(whole) - Counter(did), f"killed after {writes} of {death.count} writes"
                assert repeated.total() <= case.repeats
                assert set(repeated.values()) <= {1}


@asynccontextmanager
async def prepared(case: Case, database: Any) -> AsyncIterator[Any]:
    """The database after the runs before the one that is killed."""
    graph = case.graph(lambda _: None).compile(database.saver(), **case.stops)
    for number, before in enumerate(case.before):
        run_input = before(await state_of(graph))
        await submit(graph, run_input, f"{run_input.run_id}-{number}", Death())
    yield database


async def killed_and_continued(case: Case, database: Any, death: Death, did: list[str]) -> Any:
    """Runs the case until its death, continues it as another process does, and returns the thread's state."""

    def do(name: str) -> None:
        if not death.is_dead:
            did.append(name)

    graph = case.graph(do).compile(database.saver(death), **case.stops)
    state = await state_of(graph)
    run_input: RunInput = case.killed(state)
    before = await read_progress(database.saver(), "t", "killed", answers=True)
    stored = RunInput.from_json(run_input.before(before).to_json())
    assert stored is not None
    if not await submit(graph, run_input, "killed", death):
        fresh = case.graph(did.append).compile(database.saver(), **case.stops)
        at = stored.checkpoint_id
        progress = await read_progress(database.saver(), "t", "killed", checkpoint_id=at, answers=True)
        await submit(fresh, stored.after(progress), "killed", Death())
    state = await state_of(case.graph(do).compile(database.saver(), **case.stops))
    return state.values, state.next, sorted(each.value for each in state.interrupts)


@dataclass(frozen=True)
class Thread:
    """A thread's state, and the ids of some of its checkpoints."""

    values: Any
    next: tuple[str, ...]
    interrupts: Sequence[Any]
    history: dict[str, str]
    """By run, its last checkpoint, and that of its input."""


async def state_of(graph: Any) -> Thread:
    state = await graph.aget_state(ON)
    history: dict[str, str] = {}
    async for each in graph.aget_state_history(ON):
        run_id, source = each.metadata["run_id"], each.metadata["source"]
        history.setdefault(run_id, each.config["configurable"]["checkpoint_id"])
        if source == "input":
            history[f"{run_id} input"] = each.config["configurable"]["checkpoint_id"]
    waiting = [each for task in state.tasks if task.result is None for each in task.interrupts]
    return Thread(state.values, state.next, waiting, history)


async def submit(graph: Any, run_input: RunInput, run_id: str, death: Death) -> bool:
    at = {} if run_input.checkpoint_id is None else {"checkpoint_id": run_input.checkpoint_id, "checkpoint_ns": ""}
    config = run_config(graph, {"configurable": {**ON["configurable"], **at}}, run_id)
    return await run_until_death(graph, run_input.graph_input, config, death)


def test_an_input_is_stored_as_json() -> None:
    messages = [
        HumanMessage([{"type": "text", "text": "\ud83d hello"}], id="1"),
        AIMessage("", id="2", tool_calls=[{"name": "f", "args": {"a": [1, 2.5, None]}, "id": "c"}]),
        ToolMessage("done", tool_call_id="c", id="3"),
        RemoveMessage(id="4"),
    ]
    values = {"messages": messages, "notes": Overwrite([{"__type__": 2**70}]), "plain": {"a": {"b": [True]}}}
    run_input = RunInput(run_id="r", user={"identity": "ada"}, values=values, context={"k": "v"}, attempt=2)
    assert RunInput.from_json(run_input.to_json()) == run_input


def test_a_user_of_a_project_has_its_fields_as_attributes_again() -> None:
    stored = RunInput(run_id="r", user=AuthUser({"identity": "ada", "permissions": ["read"]})).to_json()
    read = RunInput.from_json(stored)
    assert read is not None
    assert (read.user.identity, read.user["permissions"]) == ("ada", ["read"])


@pytest.mark.parametrize("value", [object(), {1: 2}, (1, 2), float("nan"), {"__agui__": 1}, b"", {1}, HumanMessage])
@pytest.mark.parametrize("part", ["user", "values", "config", "context"])
def test_an_input_that_is_not_json_is_not_stored(part: str, value: object) -> None:
    fields: Any = {part: {"key": value}}
    with pytest.raises(NotJsonError, match=part):
        RunInput(run_id="r", **fields).to_json()


def test_an_input_of_another_version_is_not_read() -> None:
    stored = RunInput(run_id="r").to_json().replace(b'"format": 1', b'"format": 2')
    with pytest.raises(UnreadableInputError, match="another version"):
        RunInput.from_json(stored)
