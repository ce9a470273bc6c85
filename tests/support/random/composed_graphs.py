"""Graphs put together at random of stock parts: `plans()`, a hypothesis strategy, and `built`, which makes the graph.

A plan is a value whose repr is the graph to build again: parts in a row, some of which hold parts themselves. Each text
names the part that says it, and every call id is new, unless the plan numbers its calls anew. Here: parts and graphs.
Never here: running them, or anything of ours that is tested.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Any

from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt
from langgraph_agui.connect.testing import ScriptedChatModel, text, tool_call
from langgraph_agui.connect.testing.scripts import Script
from pydantic import BaseModel

from fixtures.fixture import Checkpointer, Graph, user
from fixtures.graphs.toolbox import add
from fixtures.models import by_answers_of
from fixtures.scripts import end, interleaved


@dataclass(frozen=True)
class Speak:
    """A node whose model says some words; stored, or hidden and not stored."""

    words: int = 3
    kept: bool = True


@dataclass(frozen=True)
class Quiet:
    """A node without a model: `none` does nothing, `custom` writes events, `made` makes a message, `state` writes
    channels, `remove` takes the last answer away."""

    does: str = "none"


@dataclass(frozen=True)
class Ask:
    """A node that interrupts, and makes a message of the answer."""


@dataclass(frozen=True)
class Loop:
    """A node that asks its model again and again, and runs the tools by hand."""

    rounds: int = 1


@dataclass(frozen=True)
class Agent:
    """An agent of `create_agent`: rounds of calls (names of tools, or agents behind tools), then its answer."""

    rounds: tuple[tuple["str | Agent", ...], ...] = ()
    answer: str = "text"
    """`text`, or structured: by a `tool`, or by the `provider`."""
    middleware: str = "none"
    """`review`: a person approves each `add`. `todo`: the stock middleware with its own tool."""


@dataclass(frozen=True)
class Sub:
    """A subgraph."""

    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Together:
    """Parts that run at once."""

    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Fan:
    """An agent that is sent several topics at once."""

    agent: Agent
    topics: int = 2


@dataclass(frozen=True)
class HandOff:
    """A node that speaks and says by `Command` where to go; from inside a subgraph to its parent's node, if `up`."""

    up: bool = False


Part = Speak | Quiet | Ask | Loop | Agent | Sub | Together | Fan | HandOff


@dataclass(frozen=True)
class Plan:
    """A whole graph, and how often its user speaks."""

    parts: tuple[Part, ...]
    turns: int = 1
    numbers_anew: bool = False
    """Whether every message's calls are call_0, call_1..."""


MUTTERS = "mutters"
"""What only those say whose words are kept nowhere."""

# --- drawing ----------------------------------------------------------------------------------------------------------

_LEAVES: st.SearchStrategy[Part] = st.one_of(
    st.builds(Speak, st.integers(1, 4), st.booleans()),
    st.builds(Quiet, st.sampled_from(["none", "custom", "made", "state", "remove"])),
    st.builds(HandOff, st.booleans()),
    st.builds(Loop, st.integers(0, 2)),
    st.just(Ask()),
)
_TOOLS = st.sampled_from(["add", "fails", "note", "ask", "slow"])


def _agents(tools: st.SearchStrategy[Any]) -> st.SearchStrategy[Agent]:
    rounds = st.lists(st.lists(tools, min_size=1, max_size=2).map(tuple), max_size=2).map(tuple)
    answers = st.sampled_from(["text", "text", "tool", "provider"])
    return st.builds(Agent, rounds, answers, st.sampled_from(["none", "none", "review", "todo"]))


_AGENTS = _agents(st.one_of(_TOOLS, _agents(_TOOLS)))


def _rows(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[tuple[Part, ...]]:
    return st.lists(parts, min_size=1, max_size=3).map(tuple)


def _nested(parts: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    return st.one_of(st.builds(Sub, _rows(parts)), st.builds(Together, _rows(parts).map(_removing_once)))


def _removing_once(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Of parts that run at once, one removes: LangGraph refuses to remove a message twice."""
    removing = Quiet("remove")
    return tuple(Quiet("made") if one == removing and removing in parts[:at] else one for at, one in enumerate(parts))


def plans() -> st.SearchStrategy[Plan]:
    """Graphs of up to three parts in a row, nested up to three levels deep."""
    fans = st.builds(Fan, _agents(st.sampled_from(["add", "note"])).map(_unreviewed), st.integers(1, 3))
    # at the root only: what a waiting subgraph sent to its own agents counts as its input, with all before it
    parts = st.one_of(st.recursive(st.one_of(_LEAVES, _AGENTS), _nested, max_leaves=5), fans)
    return st.builds(Plan, _rows(parts), st.integers(1, 2), st.sampled_from([False, False, False, True]))


def _unreviewed(agent: Agent) -> Agent:
    return replace(agent, middleware="none")


# --- building ---------------------------------------------------------------------------------------------------------


class State(MessagesState):
    notes: Annotated[list[str], operator.add]
    numbers: Annotated[dict[str, int], operator.or_]


class AgentWithNotes(AgentState[Any]):
    notes: Annotated[list[str], operator.add]


class Finding(BaseModel):
    """What was found."""

    found: str


class Cycling(ScriptedChatModel):
    """A model that begins its turns anew when they are over; the ids of its calls are those of `numbered`."""

    makes: Callable[[int, str], Script]

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        """The turn for this input: by how many answers of its own it holds, and what was asked last."""
        asked = [str(message.id) for message in messages if message.type == "human"]
        return self.makes(self.turn_of(messages), asked[-1] if asked else "none")


def built(plan: Plan, checkpointer: Checkpointer) -> Graph:
    """The graph of a plan."""
    return _Builder(plan).row(plan.parts).compile(checkpointer=checkpointer)


class _Builder:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.numbers: Iterator[int] = count()

    def row(self, parts: Sequence[Part]) -> StateGraph[Any]:
        """A graph of these parts, one after the other; a last node is where hand-offs go that have nowhere else."""
        graph: StateGraph[Any] = StateGraph(State)
        before: list[str] = [START]
        entries = [f"part_{next(self.numbers)}" for _ in parts]
        for place, (part, name) in enumerate(zip(parts, entries, strict=True)):
            following = [*entries, "last"][place + 1]
            before = self.add(graph, name, part, before, following)
        graph.add_node("last", _quiet("none", "last"))
        _join(graph, before, "last")
        return graph

    def add(self, graph: StateGraph[Any], name: str, part: Part, before: list[str], following: str) -> list[str]:
        """Adds a part behind these nodes; the nodes behind which the next one comes. It may go on by itself."""
        match part:
            case Together(parts):
                graph.add_node(name, _quiet("none", name))
                _join(graph, before, name)
                inner = [f"{name}_{place}" for place in range(len(parts))]
                for one, each in zip(inner, parts, strict=True):
                    graph.add_node(one, self.node(each, one))
                    graph.add_edge(name, one)
                return inner
            case Fan(agent, topics):
                graph.add_node(name, _quiet("none", name)).add_node(f"{name}_one", self.agent(agent, f"{name}_one"))
                _join(graph, before, name)
                graph.add_conditional_edges(name, _sends(name, topics), [f"{name}_one"])
                return [f"{name}_one"]
            case HandOff(up):
                going = self.handing(name, following, up=up)
                graph.add_node(name, going, destinations=(following,))
                _join(graph, before, name)
                return []
        graph.add_node(name, self.node(part, name))
        _join(graph, before, name)
        return [name]

    def node(self, part: Part, name: str) -> Any:
        """What runs as one node."""
        match part:
            case Speak(words, kept):
                return _speaking(f"{name} {'says' if kept else MUTTERS} {' '.join(['on'] * words)}.", kept=kept)
            case Quiet(does):
                return _quiet(does, name)
            case Ask():
                return _asking(name)
            case Loop(rounds):
                return self.looping(rounds, name)
            case Agent():
                return self.agent(part, name)
            case Sub(parts):
                return self.row(parts).compile()
            case _:
                return self.row([part]).compile()

    def handing(self, name: str, following: str, *, up: bool) -> Any:
        """A node that speaks and goes on, or a subgraph whose node says where its parent goes on."""

        async def go(state: State) -> Command[Any]:
            answer = await _said(f"{name} hands over.").ainvoke(state["messages"])
            if up:
                return Command(graph=Command.PARENT, goto=following, update={"messages": [answer]})
            return Command(goto=following, update={"messages": [answer]})

        return StateGraph(State).add_node("go", go).add_edge(START, "go").compile() if up else go

    def agent(self, agent: Agent, name: str) -> Graph:
        """A stock agent."""
        tools: dict[str, BaseTool] = {}
        rounds: list[list[str]] = []
        for one in agent.rounds:
            rounds.append([])
            for used in one:
                made = _TOOLBOX[used] if isinstance(used, str) else self.expert(used, f"{name}_expert_{len(tools)}")
                tools[made.name] = made
                rounds[-1].append(made.name)
        if agent.middleware == "todo":
            rounds.insert(0, ["write_todos"])
        model = self.model(name, rounds, agent.answer)
        formats: dict[str, Any] = {"tool": ToolStrategy(Finding), "provider": ProviderStrategy(Finding), "text": None}
        middlewares: dict[str, Any] = {
            "none": [],
            "review": [HumanInTheLoopMiddleware({"add": True})],
            "todo": [TodoListMiddleware()],
        }
        return create_agent(
            model,
            list(tools.values()),
            name=name,
            middleware=middlewares[agent.middleware],
            response_format=formats[agent.answer],
            state_schema=AgentWithNotes,
        )

    def expert(self, agent: Agent, name: str) -> BaseTool:
        """A tool that asks an agent."""
        made = self.agent(agent, name)

        async def ask(question: str) -> str:
            state: Any = await made.ainvoke({"messages": [user(question, f"{name}-asked")]})
            return str(state["messages"][-1].text)

        return StructuredTool.from_function(coroutine=ask, name=name, description="Asks an agent.")

    def model(self, name: str, rounds: Sequence[Sequence[str]], answer: str) -> Cycling:
        """The model of an agent: its rounds of calls, then its answer, and again from the beginning."""

        def makes(turn: int, asked: str) -> Script:
            place = turn % (len(rounds) + 1)
            ids = (f"call_{at}" if self.plan.numbers_anew else f"{name}-{asked}-{turn}-{at}" for at in count())
            if place < len(rounds):
                calls = [
                    tool_call(one, _ARGS.get(one, {"question": f"{name} asks?"}), next(ids), index=at)
                    for at, one in enumerate(rounds[place])
                ]
                return text(f"{name} in round {place}. ") + interleaved(*calls) + end("tool_calls")
            if answer == "tool":
                return tool_call("Finding", {"found": name}, next(ids)) + end("tool_calls")
            return text(f'{{"found": "{name}"}}' if answer == "provider" else f"{name} has its answer.") + end()

        return Cycling(turns=[], turn_of=by_answers_of(name), makes=makes)

    def looping(self, rounds: int, name: str) -> Any:
        """A node that runs its calls itself."""
        model = self.model(name, [["add", "add"]] * rounds, "text")

        async def node(state: State) -> dict[str, Any]:
            made: list[BaseMessage] = []
            while True:
                answer = await model.ainvoke([*state["messages"], *made])
                assert isinstance(answer, AIMessage)
                answer.name = name
                made.append(answer)
                if not answer.tool_calls:
                    return {"messages": made}
                made += [ToolMessage("3", tool_call_id=str(one["id"])) for one in answer.tool_calls]

        return node


@tool
async def fails(reason: str) -> str:
    """Fails with an error that becomes its result."""
    from langchain_core.tools import ToolException

    raise ToolException(f"no {reason}")


fails.handle_tool_error = True


@tool
async def note(content: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Writes a note into the state."""
    return Command(update={"notes": [content], "messages": [ToolMessage("TrackedBatches.", tool_call_id=tool_call_id)]})


@tool
async def ask(question: str) -> str:
    """Asks a person."""
    return str(interrupt({"question": question}))


@tool
async def slow(steps: int) -> str:
    """Writes custom events while it works."""
    write = get_stream_writer()
    for step in range(steps):
        write({"name": "progress", "value": step})
    return "Worked."


_TOOLBOX: dict[str, BaseTool] = {"add": add, "fails": fails, "note": note, "ask": ask, "slow": slow}
_ARGS: dict[str, dict[str, Any]] = {
    "add": {"a": 1, "b": 2},
    "fails": {"reason": "rain"},
    "note": {"content": "milk"},
    "ask": {"question": "Really?"},
    "slow": {"steps": 2},
    "write_todos": {"todos": [{"content": "look", "status": "in_progress"}]},
}


def _join(graph: StateGraph[Any], before: list[str], name: str) -> None:
    if len(before) > 1:
        graph.add_edge(before, name)
    for one in before if len(before) == 1 else ():
        graph.add_edge(one, name)


def _sends(name: str, topics: int) -> Callable[[State], list[Send]]:
    def spread(state: State) -> list[Send]:
        told = len(state["messages"])
        return [Send(f"{name}_one", {"messages": [user(f"Topic {at}", f"{name}-{told}-{at}")]}) for at in range(topics)]

    return spread


def _said(content: str) -> ScriptedChatModel:
    return ScriptedChatModel(turns=[text(content) + end()], turn_of=lambda messages: 0)


def _speaking(content: str, *, kept: bool) -> Any:
    async def node(state: State) -> dict[str, Any]:
        answer = await _said(content).ainvoke(state["messages"])
        return {"messages": [answer]} if kept else {}

    return node


def _asking(name: str) -> Any:
    async def node(state: State) -> dict[str, Any]:
        answer = interrupt({"question": name})
        return {"messages": [AIMessage(f"{name} heard {answer}.", id=f"{name}-{len(state['messages'])}")]}

    return node


def _quiet(does: str, name: str) -> Any:
    async def node(state: State) -> dict[str, Any] | None:
        place = len(state["messages"])
        if does == "custom":
            get_stream_writer()({"name": name, "value": place})
        if does == "made":
            return {"messages": [AIMessage(f"{name} made this.", id=f"{name}-{place}")]}
        if does == "state":
            return {"notes": [name], "numbers": {name: place}}
        answers = [str(message.id) for message in state["messages"] if _plain(message)]
        return {"messages": [RemoveMessage(id=answers[-1])]} if does == "remove" and answers else None

    return node


def _plain(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls
