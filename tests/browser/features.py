"""What pages of CopilotKit do with a graph, feature by feature: a graph for each, and what it needs to be configured.

The features are those of AG-UI's dojo and of CopilotKit's showcase. `features.test.mjs` plays each of them in Chromium,
on the page `examples/copilotkit/features.html`; the table in `docs/migration.md` has the same rows. A model's words
depend on what the page has sent, so what a person reads shows what has reached the graph.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Annotated, Any

from ag_ui_langgraph import get_a2ui_tools
from copilotkit import CopilotKitMiddleware, CopilotKitState
from langchain.agents import AgentState, create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from langgraph_agui.connect import Intake, options_for
from langgraph_agui.connect.serve import Agent
from langgraph_agui.connect.testing import ScriptedChatModel, reasoning, tool_call
from langgraph_agui.connect.testing.scripts import Script, Turn, steps

from fixtures.fixture import Graph
from fixtures.gates import passing
from fixtures.page_agents import Shape, page_agent

STEPS = ["Dig a hole", "Plant the tree"]


class Model(ScriptedChatModel):
    """Answers what it is sent."""

    turns: Sequence[Any] = ()
    answer: Callable[[Sequence[BaseMessage]], Turn]

    def script(self, messages: Sequence[BaseMessage]) -> Script:
        return list(steps(self.answer(messages)))


def _results(messages: Sequence[BaseMessage]) -> list[str]:
    """What tools have returned since the user's last message."""
    asked = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
    return [str(message.text) for message in messages[asked:] if isinstance(message, ToolMessage)]


def _calling(name: str, args: dict[str, Any], then: Callable[[list[str]], str]) -> Model:
    """A model that calls a tool, and says something of its result."""

    def answer(messages: Sequence[BaseMessage]) -> Turn:
        if results := _results(messages):
            return then(results)
        return ["One moment. ", tool_call(name, args, f"call-{name}-{len(messages)}")]

    return Model(answer=answer)


def _agent(model: Model, *tools: Any, **settings: Any) -> Graph:
    return create_agent(model, tools, middleware=[CopilotKitMiddleware()], checkpointer=InMemorySaver(), **settings)


def _graph(node: Callable[..., Any], state: type = MessagesState) -> Graph:
    graph: Graph = StateGraph(state).add_node("chat_node", node).add_edge(START, "chat_node").compile(InMemorySaver())
    return graph


# --- what needs nothing


def agentic_chat() -> Graph:
    def answer(messages: Sequence[BaseMessage]) -> Turn:
        user = "Ada" if any("Ada" in message.text for message in messages) else "stranger"
        if results := _results(messages):
            return f"{results[-1]}, {user}."
        return ["One moment. ", tool_call("change_background", {"color": "teal"}, f"call-{len(messages)}")]

    return _agent(Model(answer=answer))


@tool
def get_weather(city: str) -> str:
    """Says what the weather is."""
    return f"21 °C in {city}"


@tool
def get_wind(city: str) -> str:
    """Says where the wind comes from."""
    return f"northerly in {city}"


def backend_tool_rendering() -> Graph:
    def answer(messages: Sequence[BaseMessage]) -> Turn:
        if _results(messages):
            return "A fine day."
        names = ("get_weather", "get_wind")
        calls = [
            tool_call(name, {"city": "Porto"}, f"{name}-{len(messages)}", index=at) for at, name in enumerate(names)
        ]
        return ["One moment. ", *calls]

    return _agent(Model(answer=answer), get_weather, get_wind)


def tool_based_generative_ui() -> Graph:
    lines = ["An old silent pond", "A frog jumps into the pond"]
    return _agent(_calling("show_haiku", {"lines": lines}, lambda results: "There it is."))


def human_in_the_loop() -> Graph:
    return _agent(_calling("confirm_steps", {"steps": STEPS}, lambda results: f"You have said {results[-1]}."))


class Log(AgentState[Any]):
    """What was asked of other agents, and answered."""

    delegations: Annotated[list[str], add]


def subagents() -> Graph:
    researcher = create_agent(Model(answer=lambda messages: "Trees need water."), [])

    @tool
    async def research(task: str, runtime: ToolRuntime) -> Command[Any]:
        """Asks an agent."""
        asked: Any = {"messages": [("user", task)]}
        said = (await researcher.ainvoke(asked))["messages"][-1].text
        message = ToolMessage(said, tool_call_id=runtime.tool_call_id or "")
        return Command(update={"delegations": [f"{task}: {said}"], "messages": [message]})

    model = _calling("research", {"task": "trees"}, lambda results: "It is researched.")
    return _agent(model, research, state_schema=Log)


def interrupts() -> Graph:
    @tool
    def schedule(topic: str) -> str:
        """Asks for a time."""
        return f"{topic} at {interrupt({'topic': topic, 'slots': ['9:00', '14:00']})['slot']}"

    return _agent(_calling("schedule", {"topic": "Planting"}, lambda results: results[-1]), schedule)


class Trip(MessagesState):
    """What the subgraphs find."""

    itinerary: Annotated[dict[str, str], lambda held, new: {**(held or {}), **new}]


def subgraphs() -> Graph:
    def finder(kind: str, options: list[str]) -> Graph:
        async def find(state: Trip) -> dict[str, Any]:
            chosen = interrupt({"topic": f"Which {kind}?", "slots": options})["slot"]
            return {"itinerary": {kind: chosen}, "messages": [AIMessage(f"{chosen} it is.")]}

        found: Graph = StateGraph(Trip).add_node(kind, find).add_edge(START, kind).compile()
        return found

    def missing(state: Trip) -> str:
        return next((kind for kind in ("flight", "hotel") if kind not in state.get("itinerary", {})), END)

    graph = StateGraph(Trip).add_node("flight", finder("flight", ["KLM", "United"]))
    graph.add_node("hotel", finder("hotel", ["Zephyr", "Zoe"]))
    for place in (START, "flight", "hotel"):
        graph.add_conditional_edges(place, missing, ["flight", "hotel", END])
    compiled: Graph = graph.compile(InMemorySaver())
    return compiled


class Draft(MessagesState):
    """A document that a tool's argument predicts."""

    document: str


def predictive_state_updates() -> Graph:
    document = "Once upon a time there was a tree."

    def answer(messages: Sequence[BaseMessage]) -> Turn:
        if results := _results(messages):
            return "It stays." if "true" in results[-1] else "It is gone."
        begin, *rest = tool_call("write_document", {"document": document}, f"call-{len(messages)}", fragments=6)
        return [begin, *rest[:4], partial(passing, "written"), *rest[4:]]

    async def chat_node(state: Draft, config: RunnableConfig) -> dict[str, Any]:
        predicted = {"state_key": "document", "tool": "write_document", "tool_argument": "document"}
        config["metadata"]["predict_state"] = [predicted]
        said = await Model(answer=answer).ainvoke(state["messages"], config)
        if not said.tool_calls:
            return {"messages": [said]}
        written = ToolMessage("Document written.", tool_call_id=said.tool_calls[0]["id"] or "")
        asked: Any = {"name": "confirm_changes", "args": {}, "id": f"confirm-{said.id}"}
        return {"messages": [said, written, AIMessage("", tool_calls=[asked])], "document": document}

    return _graph(chat_node, Draft)


def agentic_chat_reasoning() -> Graph:
    return _agent(Model(answer=lambda messages: [reasoning("They want a tree. "), "Plant an oak."]))


def agentic_chat_multimodal() -> Graph:
    def answer(messages: Sequence[BaseMessage]) -> Turn:
        content = messages[-1].content
        kinds = (
            [str(block["type"]) for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        )
        return f"I see: {', '.join(kinds)}."

    return _agent(Model(answer=answer))


def error_flow() -> Graph:
    return _agent(Model(answer=lambda messages: ["I try. ", ValueError("the nursery is closed")]))


def stop() -> Graph:
    def answer(messages: Sequence[BaseMessage]) -> Turn:
        if messages[-1].text == "again":
            return "I begin again."
        return ["One tree, ", partial(passing, "counted"), "two trees."]

    return _agent(Model(answer=answer))


def ported_interrupt() -> Graph:
    async def chat_node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You say {interrupt({'question': 'Shall I plant it?'})}.")]}

    return _graph(chat_node)


# --- what needs a line


def langgraph_interrupt() -> Graph:
    async def chat_node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(interrupt({"steps": STEPS})))]}

    return _graph(chat_node)


class Progress(MessagesState):
    """Steps, and how many of them are done."""

    done: int


def agentic_generative_ui() -> Graph:
    async def chat_node(state: Progress) -> dict[str, Any]:
        await adispatch_custom_event("manually_emit_state", {**state, "done": 1})
        await passing("one done")
        return {"done": 2, "messages": [AIMessage("The tree is planted.")]}

    return _graph(chat_node, Progress)


class Shared(MessagesState):
    """What the page writes."""

    recipe: dict[str, str]


def shared_state() -> Graph:
    async def chat_node(state: Shared) -> dict[str, Any]:
        recipe = state.get("recipe") or {}
        title = recipe.get("title", "nothing")
        return {"recipe": {**recipe, "time": "20 min"}, "messages": [AIMessage(f"I cook {title}.")]}

    return _graph(chat_node, Shared)


SURFACE: dict[str, Any] = {
    "surfaceId": "trees",
    "components": [
        {"id": "root", "component": "Column", "children": ["trees", "plant"]},
        {"id": "trees", "component": "List", "children": {"componentId": "tree", "path": "/items"}},
        {"id": "tree", "component": "Text", "text": {"path": "name"}},
        {"id": "plant", "component": "Button", "child": "label", "action": {"event": {"name": "plant", "context": {}}}},
        {"id": "label", "component": "Text", "text": "Plant them"},
    ],
    "data": {"items": [{"name": f"Tree number {number} of the wood"} for number in range(8)]},
}
"""More than half of it is data."""


def surfaces() -> Graph:
    """An agent whose tool asks a model for an A2UI surface, which needs CopilotKit's Node runtime. It says what was
    pressed on it."""

    def answer(messages: Sequence[BaseMessage]) -> Turn:
        if isinstance(messages[-1], ToolMessage) and "User performed action" in messages[-1].text:
            return "I plant them."
        if _results(messages):
            return "There they are."
        return ["One moment. ", tool_call("generate_a2ui", {"intent": "create"}, f"call-{len(messages)}")]

    begin, *rest = tool_call("render_a2ui", SURFACE, "call-render", fragments=8)
    artist = Model(answer=lambda messages: [begin, *rest[:6], partial(passing, "drawn"), *rest[6:]])
    return _agent(Model(answer=answer), get_a2ui_tools({"model": artist}))


@dataclass(frozen=True)
class Feature:
    """A row of the table. `words`: what the feature is. `options`, `intake`: what it needs, if it is not served with
    `compatible_with`."""

    name: str
    build: Callable[[], Graph]
    words: str
    options: Mapping[str, Any] = field(default_factory=dict)
    intake: Mapping[str, Any] = field(default_factory=dict)
    is_request: bool = False
    """Whether CopilotKit's client has a request for it. Its Node runtime, and an agent of the page, abort the run's
    request instead; with `compatible_with` that stops the run, unless the request has a page's header `Origin`."""

    @property
    def needs(self) -> str:
        """The same in Python; nothing for a feature that needs nothing."""
        configured = {"Options": self.options, "Intake": self.intake}
        return ", ".join(
            f"{name}({key}={value!r})".replace("'", '"')
            for name, fields in configured.items()
            for key, value in fields.items()
        )

    @property
    def row(self) -> str:
        """The row in the documentation."""
        needs = f"`compatible_with`, or `{self.needs}`" if self.needs else "nothing"
        if self.is_request:
            needs = f"nothing; behind the Node runtime {needs}; in a page that reads the agent by itself the latter"
        return f"| {self.words} | {needs} |"


FEATURES = (
    Feature("agentic_chat", agentic_chat, "chat, with a tool of the page and context from it"),
    Feature("backend_tool_rendering", backend_tool_rendering, "cards for tools of the server, one for all others"),
    Feature("tool_based_generative_ui", tool_based_generative_ui, "interface by a tool of the page (`useComponent`)"),
    Feature("human_in_the_loop", human_in_the_loop, "human in the loop by a tool of the page (`useHumanInTheLoop`)"),
    Feature("interrupts", interrupts, "human in the loop by an interrupt (`useInterrupt`)"),
    Feature(
        "ported_interrupt",
        ported_interrupt,
        "human in the loop: an interrupt in `useLangGraphInterrupt`, read from both places",
    ),
    Feature("subgraphs", subgraphs, "subgraphs with interrupts (`useInterrupt`), and their state"),
    Feature("subagents", subagents, "agents that tools call, with a log in the state"),
    Feature("predictive_state_updates", predictive_state_updates, "state that is predicted from a tool's arguments"),
    Feature("agentic_chat_reasoning", agentic_chat_reasoning, "reasoning"),
    Feature("agentic_chat_multimodal", agentic_chat_multimodal, "images"),
    Feature("error_flow", error_flow, "a failed run in the conversation"),
    Feature(
        "langgraph_interrupt",
        langgraph_interrupt,
        "human in the loop, subgraphs: an interrupt in `useLangGraphInterrupt`",
        options={"interrupts": "legacy"},
    ),
    Feature(
        "agentic_generative_ui",
        agentic_generative_ui,
        "state that a node dispatches (`manually_emit_state`)",
        intake={"dispatched_events": True},
    ),
    Feature(
        "shared_state",
        shared_state,
        "state that the page writes, such as the choice of a model",
        intake={"state": {"recipe"}},
    ),
    Feature("stop", stop, "the stop button", intake={"on_disconnect": "cancel"}, is_request=True),
)


def agents(gate: int) -> dict[str, Agent]:
    """Each feature's graph three times: by default, with what it needs, and for pages of `ag-ui-langgraph`; and the
    agent of surfaces."""
    gated = Intake(config={"configurable": {"gate": {"port": gate, "run": ""}}})
    served = {"surfaces": Agent(surfaces(), intake=gated)}
    for feature in FEATURES:
        graph = feature.build()
        served[feature.name] = Agent(graph, intake=gated)
        served[f"{feature.name}-compatible"] = Agent(graph, intake=gated, compatible_with="ag-ui-langgraph")
        if feature.needs:
            options = options_for(graph, error_detail="code", **feature.options)
            served[f"{feature.name}-configured"] = Agent(
                graph, intake=replace(gated, **feature.intake), options=options
            )
    return served


def page_tools(ran: Callable[[str], None]) -> dict[str, Graph]:
    """Agents with tools of a page, by what gives these to the model, and by where the agent is in its graph. `ran` gets
    the name of each tool of the server that has run."""
    ways: dict[str, dict[str, Any]] = {
        "PageTools": {},
        "CopilotKitMiddleware": {"middleware": CopilotKitMiddleware, "state": CopilotKitState},
    }
    shapes: Sequence[Shape] = ("agent", "node")
    return {
        f"page_tools-{name}-{shape}": page_agent(InMemorySaver(), shape, ran=ran, **way)
        for name, way in ways.items()
        for shape in shapes
    }
