"""What a client's inputs write into a thread whose run has not ended a step since: each replaces what the one before
wrote, the thread stays readable, and its tasks and interrupts are the same. Real runs, on three checkpointers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

import pytest
from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect import Intake, Local, Prepared, Runs, cancel, run, thread, threads

from tests.support.streams.chats import Graph

USER = {"id": "u", "role": "user", "content": "go"}
INTAKE = Intake(state={"mood", "notes"})


def gathered(kept: list[str], new: list[str]) -> list[str]:
    return [*kept, *new]


class State(MessagesState):
    tools: list[Any]
    mood: str
    notes: Annotated[list[str], gathered]
    ran: Annotated[list[str], gathered]


@asynccontextmanager
async def memory() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    yield InMemorySaver()


@asynccontextmanager
async def sqlite() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        yield saver


SAVERS = pytest.mark.parametrize("opened", [memory, sqlite])


def sent(number: int, **more: Any) -> RunAgentInput:
    """An input, with tools, a mood and notes of its own."""
    state = {"mood": f"mood {number}", "notes": [f"note {number}"]}
    tools = [{"name": f"tool_{number}", "description": "", "parameters": {}}]
    fields = {"threadId": "t", "runId": f"run-{number}", "messages": [USER], "context": [], "forwardedProps": {}}
    return RunAgentInput.model_validate({**fields, "state": state, "tools": tools, **more})


async def told(source: Local, given: RunAgentInput, intake: Intake = INTAKE) -> list[dict[str, Any]]:
    events = run(source, given, intake=intake)
    return [event.model_dump(by_alias=True, exclude_none=True) async for event in events]


def has(state: Any, number: int) -> bool:
    """Whether the state has what this input brought, and nothing of others."""
    tools = [tool["name"] for tool in state["tools"]]
    return (tools, state["mood"], state["notes"]) == ([f"tool_{number}"], f"mood {number}", [f"note {number}"])


def failing(saver: BaseCheckpointSaver[Any], times: int) -> Graph:
    """Two nodes at once: one runs once, the other fails so often. And one after them."""
    tries: list[int] = []

    def fails(state: State) -> dict[str, Any]:
        tries.append(len(tries))
        if len(tries) <= times:
            raise ValueError("not yet")
        assert has(state, len(tries))
        return {"ran": ["fails"]}

    graph = StateGraph(State).add_node("sibling", lambda _: {"ran": ["sibling"]}).add_node("fails", fails)
    graph.add_node("after", lambda _: {"messages": [AIMessage("done")]}).add_edge(START, "sibling")
    return graph.add_edge(START, "fails").add_edge(["sibling", "fails"], "after").compile(saver)


@SAVERS
async def test_a_failed_run_is_tried_again_with_other_tools_and_another_state(opened: Callable[[], Any]) -> None:
    async with opened() as saver, Runs() as runs:
        graph = failing(saver, 3)
        source = Local(graph, runs=runs)
        for number in (1, 2, 3):
            assert (await told(source, sent(number)))[-1]["type"] == "RUN_ERROR"
            found = await thread(source, "t")
            assert found is not None
            assert has(found.values, number)
        assert (await told(source, sent(4)))[-1]["type"] == "RUN_FINISHED"
        state = await graph.aget_state({"configurable": {"thread_id": "t"}})
        assert has(state.values, 4)
        assert (sorted(state.values["ran"]), state.values["messages"][-1].content) == (["fails", "sibling"], "done")
        (listed,) = (await threads(source).search()).threads
        assert listed.status == "idle"


@SAVERS
async def test_a_stopped_run_goes_on_with_another_state(opened: Callable[[], Any]) -> None:
    reached, goes_on = asyncio.Event(), asyncio.Event()

    async def waits(state: State) -> dict[str, Any]:
        reached.set()
        await goes_on.wait()
        return {"messages": [AIMessage(state["mood"])]}

    async with opened() as saver, Runs() as runs:
        source = Local(StateGraph(State).add_node("waits", waits).add_edge(START, "waits").compile(saver), runs=runs)
        for number in (1, 2, 3):
            reached.clear()
            reading = asyncio.ensure_future(told(source, sent(number)))
            await reached.wait()
            await cancel(source, "t")
            await reading
        goes_on.set()
        assert (await told(source, sent(4)))[-1]["type"] == "RUN_FINISHED"
        found = await thread(source, "t")
        assert found is not None
        assert (found.messages[-1].content, has(found.values, 4)) == ("mood 4", True)


def asking(saver: BaseCheckpointSaver[Any], fails: list[int]) -> Graph:
    """Two subgraphs that speak, ask at once, and fail as often as `fails` has entries."""

    def ask(state: State) -> dict[str, Any]:
        answer = interrupt({"question": "?"})
        if fails:
            fails.pop()
            raise ValueError("not yet")
        return {"ran": [f"asked {answer} {state['mood']}"]}

    inner = StateGraph(State).add_node("before", lambda _: {"ran": ["before"]}).add_node("ask", ask)
    child = inner.add_edge(START, "before").add_edge("before", "ask").compile()

    async def calls(state: State) -> dict[str, Any]:
        result = await child.ainvoke({**state, "ran": []})
        return {"ran": result["ran"]}

    graph = StateGraph(State).add_node("left", calls).add_node("right", calls).add_edge(START, "left")
    return graph.add_edge(START, "right").compile(saver)


@SAVERS
async def test_interrupts_keep_their_ids_whatever_an_answer_writes(opened: Callable[[], Any]) -> None:
    """One of two is answered, with another state; then the other, which fails once."""
    fails: list[int] = []
    async with opened() as saver, Runs() as runs:
        source = Local(asking(saver, fails), runs=runs)
        waiting = (await told(source, sent(1)))[-1]["outcome"]["interrupts"]
        entries = [{"interruptId": each["id"], "status": "resolved", "payload": "yes"} for each in waiting]
        left = (await told(source, sent(2, resume=entries[:1])))[-1]["outcome"]["interrupts"]
        assert [each["id"] for each in left] == [waiting[1]["id"]]
        fails.append(1)
        assert (await told(source, sent(3, resume=entries[1:])))[-1]["type"] == "RUN_ERROR"
        assert (await told(source, sent(4, resume=entries[1:])))[-1]["type"] == "RUN_FINISHED"
        found = await thread(source, "t")
        assert found is not None
        assert has(found.values, 4)
        assert sorted(found.values["ran"])[2:] == ["before", "before"]


@SAVERS
async def test_what_the_owners_hook_writes_breaks_no_thread(opened: Callable[[], Any]) -> None:
    """A hook writes the same value for each input, and one through a reducer."""
    intake = Intake(prepare=lambda given: Prepared(values={"mood": "hook", "notes": [given.run_id]}))
    async with opened() as saver, Runs() as runs:
        tries: list[int] = []

        def fails(state: State) -> dict[str, Any]:
            tries.append(1)
            if len(tries) < 3:
                raise ValueError("not yet")
            return {"messages": [AIMessage(state["mood"])]}

        source = Local(StateGraph(State).add_node("fails", fails).add_edge(START, "fails").compile(saver), runs=runs)
        for number in (1, 2, 3):
            await told(source, sent(number), intake)
        found = await thread(source, "t")
        assert found is not None
        assert found.messages[-1].content == "hook"
        assert found.values["notes"] == ["run-1", "run-2", "run-3"]


@SAVERS
async def test_a_question_is_answered_again_with_other_tools(opened: Callable[[], Any]) -> None:
    async with opened() as saver, Runs() as runs:
        node: Any = lambda state: {"messages": [AIMessage(state["mood"], id="a")]}  # noqa: E731
        graph = StateGraph(State).add_node("says", node).add_edge(START, "says").compile(saver)
        source = Local(graph, runs=runs)
        for number in (1, 2, 3):
            assert (await told(source, sent(number)))[-1]["type"] == "RUN_FINISHED"
        found = await thread(source, "t")
        assert found is not None
        assert has(found.values, 3)


@SAVERS
async def test_a_thread_that_others_have_broken_costs_no_other_and_can_be_deleted(opened: Callable[[], Any]) -> None:
    """Two updates of one channel at one checkpoint, as a run of LangGraph's own API leaves them."""
    async with opened() as saver, Runs() as runs:
        graph = failing(saver, 3)
        source = Local(graph, runs=runs)
        await told(source, sent(1))
        for mood in ("one", "other"):
            with pytest.raises(ValueError if mood == "one" else InvalidUpdateError):
                await graph.ainvoke(Command(update={"mood": mood}), {"configurable": {"thread_id": "t"}})
        await told(source, sent(2, threadId="well"))
        listed = {info.thread_id: info.status for info in (await threads(source).search()).threads}
        assert listed == {"t": "unreadable", "well": "failed"}
        await threads(source).delete("t")
        assert [info.thread_id for info in (await threads(source).search()).threads] == ["well"]
        assert (await told(source, sent(4)))[-1]["type"] == "RUN_FINISHED"
