"""Interrupts of tasks that run at once come in one order: the order of the stream, and of every later checkpoint."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send, StateSnapshot, interrupt
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.translator import ClientView, Finished, Options

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.subagents import deep, task
from fixtures.run import Conversation
from fixtures.scripts import end
from tests.support.streams.translator_runs import Event, TranslatorRun
from tests.support.sweeps import SWEEP

NAMES = ("a", "b", "c")


class _Turns:
    """Lets tasks that run at once ask one after the other."""

    def __init__(self, order: Sequence[str]) -> None:
        self._order = list(order)
        self._changed = asyncio.Condition()

    async def ask(self, name: str, value: Any) -> Any:
        async with self._changed:
            await self._changed.wait_for(lambda: self._order[0] == name)
            if len(self._order) > 1:
                del self._order[0]
            self._changed.notify_all()
        return interrupt(value)


def _nodes(order: Sequence[str], checkpointer: Any = None) -> Any:
    """Nodes that ask at once; added in another order than that of their names."""
    turns = _Turns(order)
    graph: Any = StateGraph(MessagesState)
    for name in NAMES[::-1]:

        async def node(_: Any, name: str = name) -> None:
            await turns.ask(name, {"question": f"{name}?"})

        graph.add_node(name, node).add_edge(START, name)
    return graph.compile(checkpointer)


def _fan_out(order: Sequence[str], checkpointer: Any) -> Any:
    """Runs of one node that ask at once."""
    turns = _Turns(order)

    async def node(given: dict[str, str]) -> None:
        await turns.ask(given["name"], given["name"])

    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_conditional_edges(START, lambda _: [Send("node", {"name": name}) for name in NAMES], ["node"])
    return graph.compile(checkpointer)


def _subgraphs(order: Sequence[str], checkpointer: Any) -> Any:
    """A subgraph whose state a checkpoint has, and one that LangGraph does not find: both ask the same."""
    inner = {"inner": _nodes(order)}

    async def calls(state: MessagesState) -> Any:
        return await inner["inner"].ainvoke(state)

    graph = StateGraph(MessagesState).add_node("known", _nodes(order)).add_node("called", calls)
    return graph.add_edge(START, "known").add_edge(START, "called").compile(checkpointer)


def _subagents(order: Sequence[str], checkpointer: Any) -> Any:
    """Subagents that ask at once, each about a call of its own; the calls are in another order than the values."""
    turns = _Turns(order)

    def asker(name: str, position: int) -> dict[str, Any]:
        asked = {"question": f"{position}?"}

        @tool
        async def ask(question: str) -> str:
            """Asks a person."""
            return str(await turns.ask(name, {"action_requests": [{"name": "ask", "args": asked}]}))

        @tool
        def add(number: int) -> int:
            """Adds one."""
            return number + 1

        first = [tool_call("add", {"number": at}, f"{name}-{at}", index=at) for at in range(position)]
        turn = [*first, tool_call("ask", asked, f"{name}-ask", index=position), end("tool_calls")]
        model = ScriptedChatModel(turns=[[chunk for chunks in turn for chunk in chunks]])
        return {"name": name, "description": name, "system_prompt": "", "model": model, "tools": [ask, add]}

    tasks = [task(name, f"for {name}", f"call_{name}", at) for at, name in enumerate(NAMES)]
    turn = [chunk for chunks in tasks for chunk in chunks] + end("tool_calls")
    specialists = [asker(name, len(NAMES) - at) for at, name in enumerate(NAMES)]
    return deep(turn, text("Done."), subagents=specialists)(checkpointer)


def _fixture(build: Callable[[Sequence[str], Any], Any], order: Sequence[str]) -> Fixture:
    return Fixture("asking", lambda saver: build(order, saver), (says("go", "interrupt"),))


async def _both(fixture: Fixture, options: Options) -> tuple[TranslatorRun, StateSnapshot]:
    conversation = Conversation(fixture)
    run = TranslatorRun(options)
    async for part in conversation.stream(fixture.turns[0]):
        run.feed(part)
    run.finish()
    return run, await conversation.graph.aget_state(conversation.config, subgraphs=True)


def _reloaded(state: StateSnapshot, interrupts: Sequence[Any], options: Options, *, inside: bool) -> TranslatorRun:
    """A run that ends at this state. `inside`: the states of its subgraphs are read too."""
    run = TranslatorRun(options, ClientView([], {}))
    run.feed(("values", state.values))
    for each in state.tasks if inside else ():
        if isinstance(each.state, StateSnapshot):
            ns = tuple(each.state.config["configurable"]["checkpoint_ns"].split("|"))
            run.translator.apply_checkpoint(each.state.values, ns, each.state.interrupts)
    run.finish(Finished(interrupts, state.values))
    return run


def _asked(run: TranslatorRun) -> tuple[list[str], list[str]]:
    items: list[Event] = run.events[-1]["outcome"]["interrupts"]
    custom = [event["value"] for event in run.events if event["type"] == "CUSTOM"]
    return [item["id"] for item in items], custom


@pytest.mark.parametrize(
    ("build", "subagents"),
    [
        *((_nodes, "attributed"), (_fan_out, "inline"), (_subgraphs, "attributed"), (_subagents, "attributed")),
        *(pytest.param(*each, marks=SWEEP) for each in ((_nodes, "inline"), (_fan_out, "attributed"))),
        *(pytest.param(*each, marks=SWEEP) for each in ((_subgraphs, "inline"), (_subagents, "inline"))),
    ],
)
async def test_a_checkpoint_gives_the_order_of_the_stream(build: Any, subagents: Any) -> None:
    options = Options(interrupts="both", subagents=subagents)
    values = set()
    for order in permutations(NAMES):
        run, state = await _both(_fixture(build, order), options)
        wanted = _asked(run)
        for inside in (False, True):
            for interrupts in (state.interrupts, state.interrupts[::-1]):
                assert _asked(_reloaded(state, interrupts, options, inside=inside)) == wanted
        values.add(tuple(wanted[1]))
    assert len(values) == 1


@pytest.mark.newest
async def test_reviews_come_in_the_order_of_their_calls() -> None:
    def build(checkpointer: Any) -> Any:
        from langchain.agents import create_agent
        from langchain.agents.middleware import HumanInTheLoopMiddleware

        from fixtures.graphs.toolbox import add

        calls = [tool_call("add", {"a": at, "b": 0}, f"call-{9 - at}", index=at) for at in range(3)]
        turn = [chunk for chunks in calls for chunk in chunks] + end("tool_calls")
        review: Any = HumanInTheLoopMiddleware({"add": True}, interrupt_mode="per_call")
        return create_agent(ScriptedChatModel(turns=[turn]), [add], middleware=[review], checkpointer=checkpointer)

    options = Options(interrupts="both")
    run, state = await _both(Fixture("reviews", build, (says("go", "interrupt"),)), options)
    assert [item["toolCallId"] for item in run.events[-1]["outcome"]["interrupts"]] == ["call-9", "call-8", "call-7"]
    assert len(state.interrupts) == 3
    for interrupts in permutations(state.interrupts):
        assert _asked(_reloaded(state, interrupts, options, inside=True)) == _asked(run)
