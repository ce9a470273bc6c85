"""Serves what the inspector is tried on: `python -m tests.browser.inspector_server PORT GATE [SECRET]`.

It lists threads for the token of AGUI_TOKEN. With a secret it is for the one user who sends that, and lists none. The
agents:

planner    the browser tests' planner, whose pace the gates set
queued     the same, which takes messages while it runs, for later
day        the example's day planner: reasoning, parallel tools, a state that grows
approval   two tools that wait for approval
form       a question with a schema
joke       a graph without messages, as in LangGraph's docs: a topic, and what its nodes make of it
trip       a graph without messages, whose input is a model: groups, lists, numbers within limits, dates
toned      a chat whose context pages may set
team       subagents in parallel
hostile    an answer that would be markup, scripts and requests, were it not shown as text
long       an answer of as many words as the message says; its threads can be renamed and archived
"""

import asyncio
import os
import sys
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Any, Literal, TypedDict

import uvicorn
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import interrupt
from langgraph_agui.connect import Intake
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_agui.connect.testing import ScriptedChatModel
from pydantic import BaseModel, Field, field_validator
from starlette.requests import Request

from examples.agent import day_planner
from fixtures import FIXTURES
from fixtures.fixture import Graph

from .planner import planner

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "seats": {"type": "integer", "default": 2},
        "class": {"type": "string", "enum": ["first", "second"], "default": "second"},
        "window": {"type": "boolean", "title": "At the window"},
    },
    "required": ["name", "seats", "class"],
}
HOSTILE = """<script>window.hurt = "script"</script>
<img src=x onerror="window.hurt = 'image'"> <svg onload="window.hurt = 'svg'">
<a href="javascript:window.hurt=1">x</a></svg>

[run](javascript:window.hurt='link') [data](data:text/html,<script>window.hurt=2</script>) [file](file:///etc/passwd)
![beacon](https://beacon.example/pixel.png) ![svg](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)
<iframe src="https://beacon.example"></iframe> <style>body { display: none }</style> <base href="https://beacon.example">

| a | b |
|---|---|
| <form action="https://beacon.example"><input name=q></form> | [ok](https://example.org/) |
"""


def _saying(content: str) -> Graph:
    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await ScriptedChatModel(turns=[content]).ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())


def _long() -> Graph:
    async def answer(state: MessagesState) -> dict[str, Any]:
        words = int(str(state["messages"][-1].content))
        model = ScriptedChatModel(turns=[" ".join(f"word{number}" for number in range(words))], delay=0.005)
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    return graph.compile(InMemorySaver(), store=InMemoryStore())


def _form() -> Graph:
    async def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"question": "Who travels?", "responseSchema": SCHEMA})
        return {"messages": [AIMessage(f"Booked for {answer}.")]}

    return StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile(InMemorySaver())


class Joke(TypedDict):
    topic: str
    joke: str
    improved_joke: str
    tone: Literal["dry", "warm"]


def _joke() -> Graph:
    """https://docs.langchain.com/oss/python/langgraph/workflows-agents#prompt-chaining, with a scripted model."""

    async def generate_joke(state: Joke) -> dict[str, Any]:
        return {"joke": f"A {state.get('tone', 'plain')} joke about {state['topic']}."}

    async def improve_joke(state: Joke) -> dict[str, Any]:
        return {"improved_joke": f"{state['joke']} Boom."}

    builder = StateGraph(Joke).add_node(generate_joke).add_node(improve_joke)
    return builder.add_edge(START, "generate_joke").add_edge("generate_joke", "improve_joke").compile(InMemorySaver())


class Traveller(BaseModel):
    name: str
    age: int = Field(30, ge=0, le=120)


class Hotel(BaseModel):
    kind: Literal["hotel"] = "hotel"
    stars: Annotated[int, Field(ge=1, le=5)] = 3


class Tent(BaseModel):
    kind: Literal["tent"] = "tent"
    place: str


class Trip(BaseModel):
    town: str = Field(description="Where the trip goes.", min_length=2)
    day: date | None = None
    traveller: Traveller
    others: list[Traveller] = []
    tags: list[str] = []
    night: Annotated[Hotel | Tent, Field(default_factory=lambda: Hotel())]
    options: dict[str, int] = Field(default_factory=dict)
    booked: str = ""

    @field_validator("town")
    @classmethod
    def _is_no_secret(cls, town: str) -> str:
        if town == "Atlantis":
            raise ValueError("nobody finds Atlantis")
        return town


def _trip() -> Graph:
    async def book(state: Trip) -> dict[str, Any]:
        names = ", ".join([state.traveller.name, *(other.name for other in state.others)])
        night = type(state.night).__name__
        return {"booked": f"{names} to {state.town}, {night}, {state.day}, {state.tags}, {state.options}"}

    return StateGraph(Trip).add_node("book", book).add_edge(START, "book").compile(InMemorySaver())


@dataclass
class Tone:
    tone: Literal["dry", "warm"] = "warm"
    words: int = 3


def _toned() -> Graph:
    async def answer(state: MessagesState, runtime: Runtime[Tone]) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{runtime.context.tone}, in {runtime.context.words} words")]}

    graph = StateGraph(MessagesState, context_schema=Tone).add_node("answer", answer).add_edge(START, "answer")
    return graph.compile(InMemorySaver())


async def serve(port: int, gate: int, secret: str | None) -> None:
    """Serves until a signal comes."""
    gated = Intake(config={"configurable": {"gate": {"port": gate, "run": ""}}})
    day = day_planner(0.01).copy({"checkpointer": InMemorySaver()})
    agents: dict[str, Agent | Graph] = {
        "planner": Agent(planner(InMemorySaver()), intake=gated),
        "queued": Agent(planner(InMemorySaver()), intake=replace(gated, busy="queue")),
        "day": day,
        "approval": FIXTURES["review_approved"].build(InMemorySaver()),
        "form": _form(),
        "joke": Agent(_joke(), intake=Intake(state="without_messages")),
        "trip": Agent(_trip(), intake=Intake(state={"town", "day", "traveller", "others", "tags", "night", "options"})),
        "toned": Agent(_toned(), intake=Intake(context_fields="all")),
        "team": FIXTURES["subagents_in_parallel"].build(InMemorySaver()),
        "hostile": _saying(HOSTILE),
        "long": _long(),
    }

    def authenticate(request: Request) -> str | None:
        return "ada" if secret is None or request.headers.get("authorization") == f"Bearer {secret}" else None

    if secret is not None:
        del os.environ["AGUI_TOKEN"]
    app = agui_app(agents, authenticate=authenticate, inspector=True)
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")).serve()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]), next(iter(sys.argv[3:]), None)))
