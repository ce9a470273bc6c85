"""What clients may send to an agent is described to them, and what the graph would refuse is refused before it runs."""

import operator
import typing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph_agui.connect import Intake
from langgraph_agui.connect.local.schemas import input_schema_of
from langgraph_agui.connect.serve import Agent, agui_app
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from tests.support.servers.serving import BEARER, TOKEN, served
from tests.support.streams.chats import Graph


class Joke(typing.TypedDict):  # pydantic can't describe it as a whole before Python 3.12
    topic: str
    joke: str
    tone: Literal["dry", "warm"]
    lines: Annotated[list[str], operator.add]
    maker: operator.itemgetter  # type: ignore[type-arg]  # no schema describes it
    note: NotRequired[str]
    _secret: str


class Traveller(BaseModel):
    name: str
    age: int = Field(30, ge=0)


class Trip(BaseModel):
    town: str
    who: Traveller
    others: list[Traveller] = []
    booked: str = ""

    @field_validator("town")
    @classmethod
    def is_found(cls, town: str) -> str:
        if town == "Atlantis":
            raise ValueError(f"{town} is not found")
        return town


class Plain(TypedDict):
    topic: str
    joke: str


@dataclass
class Tone:
    tone: Literal["dry", "warm"] = "warm"
    words: int = 3
    secret: str = "none"


def joking(schema: Any = Plain) -> Graph:
    async def joke(state: Any) -> dict[str, Any]:
        return {"joke": f"About {state.get('topic')}."}

    return StateGraph(schema).add_node("joke", joke).add_edge(START, "joke").compile(InMemorySaver())


def booking() -> Graph:
    async def book(state: Trip) -> dict[str, Any]:
        return {"booked": f"{state.who.name} to {state.town}"}

    return StateGraph(Trip).add_node("book", book).add_edge(START, "book").compile(InMemorySaver())


def toned() -> Graph:
    async def answer(state: MessagesState, runtime: Runtime[Tone]) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{runtime.context.tone} {runtime.context.words} {runtime.context.secret}")]}

    graph = StateGraph(MessagesState, context_schema=Tone).add_node("answer", answer).add_edge(START, "answer")
    return graph.compile(InMemorySaver())


def posted(state: Any = None, **more: Any) -> dict[str, Any]:
    return {"threadId": "t", "runId": "r", "messages": [], "state": state, "tools": [], "context": [], **more}


async def test_a_graph_without_messages_describes_its_input_and_is_run_with_it() -> None:
    agents: dict[str, Any] = {
        "joke": Agent(joking(Joke), intake=Intake(state="without_messages")),
        "shut": joking(),
        "chat": Agent(toned(), intake=Intake(state="without_messages")),
    }
    async with served(agui_app(agents, authorize=lambda *_: True)) as server, server.client() as client:
        assert "closed" not in (await client.get("/shut/schemas")).json()  # though they may list threads
    async with served(agui_app(agents, token=TOKEN)) as server, server.client() as client:
        described = (await client.get("/joke/schemas")).json()
        assert described == {
            "input": {
                "type": "object",
                "properties": {
                    "topic": {"title": "Topic", "type": "string"},
                    "joke": {"title": "Joke", "type": "string"},
                    "tone": {"title": "Tone", "type": "string", "enum": ["dry", "warm"]},
                    "lines": {"title": "Lines", "type": "array", "items": {"type": "string"}},
                    "maker": {"title": "Maker"},
                    "note": {"title": "Note", "type": "string"},
                },
            },
            "context": None,
            "messages": False,
        }
        shut = (await client.get("/shut/schemas")).json()
        assert shut == {"input": {"type": "object", "properties": {}}, "context": None, "messages": False}
        managed = (await client.get("/shut/schemas", headers=BEARER)).json()
        assert managed["closed"] == {"input": ["joke", "topic"], "context": []}
        chat = (await client.get("/chat/schemas", headers=BEARER)).json()
        assert chat["messages"]
        assert chat["input"] == {"type": "object", "properties": {}}
        assert chat["closed"] == {"input": [], "context": ["secret", "tone", "words"]}
        assert (await client.get("/nobody/schemas")).status_code == 404

        answer = await client.post("/joke", json=posted({"topic": "cats", "_secret": "x"}))
        assert "About cats." in answer.text
        again = await client.post("/joke", json=posted({"topic": "cats"}, runId="again"))
        assert "RUN_FINISHED" in again.text
        assert (await client.get("/threads/t/state?agent=joke")).json()["state"]["topic"] == "cats"


async def test_values_that_a_model_refuses_are_refused_by_their_places_without_a_run() -> None:
    agent = Agent(booking(), intake=Intake(state={"town", "who", "others"}))
    async with served(agui_app(agent, token=TOKEN)) as server, server.client() as client:
        described = (await client.get("/default/schemas")).json()
        assert described["input"]["required"] == ["town", "who"]
        assert list(described["input"]["$defs"]) == ["Traveller"]
        bad = {"town": "Atlantis", "who": {"age": "old"}, "others": [{"name": "Bo"}, {"name": "Di", "age": -1}]}
        answer = await client.post("/default", json=posted(bad))
        assert answer.status_code == 422
        assert answer.json() == {
            "error": "invalid_input",
            "message": "state.town: expected another value; state.who.name: expected a value; state.who.age: expected "
            "a valid integer, unable to parse string as an integer; state.others[1].age: expected greater than or "
            "equal to 0",
        }
        assert (await client.get("/threads/t?agent=default")).status_code == 404
        good = await client.post("/default", json=posted({"town": "Oslo", "who": {"name": "Ada"}}))
        assert "Ada to Oslo" in good.text


def appended(kept: list[Any], new: Any) -> list[Any]:
    """A reducer that takes None, and changes what it gets."""
    kept = [] if kept is None else kept
    kept.append(new)
    return kept


class Notes(TypedDict):
    lines: Annotated[list[str], operator.add]
    score: Annotated[int, operator.add]
    log: Annotated[list[Any], appended]
    town: str


async def test_a_value_that_a_reducer_does_not_take_is_refused_and_the_thread_stays_readable() -> None:
    async def look(state: Notes) -> dict[str, Any]:
        return {"lines": ["looked"], "score": 1, "log": "looked"}

    graph = StateGraph(Notes).add_node("look", look).add_edge(START, "look").compile(InMemorySaver())
    async with served(agui_app(Agent(graph, intake=Intake(state="all")))) as server, server.client() as client:
        await client.post("/default", json=posted({"town": "Oslo"}))
        wrong: dict[str, list[Any]] = {"lines": [None, "text", 5, {"a": 1}], "score": [None, "5", []]}
        for name, values in wrong.items():
            for value in values:
                answer = await client.post("/default", json=posted({name: value}, runId="again"))
                assert (answer.status_code, answer.json()["message"]) == (422, f"state.{name}: expected another value")
        assert (await client.post("/default/connect", json=posted())).status_code == 200
        taken = {"lines": ["mine"], "score": 2.5, "log": None, "town": None}
        assert "RUN_FINISHED" in (await client.post("/default", json=posted(taken, runId="taken"))).text
        state = (await client.get("/threads/t/state?agent=default")).json()["state"]
        assert state == {"lines": ["mine", "looked"], "score": 3.5, "log": ["looked"], "town": None}


async def test_clients_set_the_fields_of_the_context_that_are_open_to_them() -> None:
    def asked(context: Any, run_id: str) -> dict[str, Any]:
        messages = [{"id": run_id, "role": "user", "content": "Say it."}]
        return posted(messages=messages, runId=run_id, forwardedProps={"context": context})

    intake = Intake(context_fields={"tone", "words"}, context={"words": 7})
    async with served(agui_app(Agent(toned(), intake=intake))) as server, server.client() as client:
        assert list((await client.get("/default/schemas")).json()["context"]["properties"]) == ["tone", "words"]
        answer = await client.post("/default", json=asked({"tone": "dry", "words": 9, "secret": "seen"}, "r1"))
        assert "dry 7 none" in answer.text
        refused = await client.post("/default", json=asked({"tone": 5}, "r2"))
        assert refused.json()["message"] == "context.tone: expected a string"
        assert "forwardedProps" in (await client.get("/info")).json()["agents"]["default"]["dropped"]
    shut = agui_app(Agent(toned()))
    async with served(shut) as server, server.client() as client:
        assert "warm 3 none" in (await client.post("/default", json=asked({"tone": "dry"}, "r1"))).text


async def test_a_graph_that_reads_the_config_gets_there_what_clients_set_and_nothing_else() -> None:
    read: list[dict[str, Any]] = []

    class Settings(TypedDict):
        tone: str
        words: int
        level: int
        secret: str
        checkpoint_id: str
        langgraph_auth_user: str

    async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        read.append({name: config["configurable"].get(name) for name in Settings.__annotations__})
        return {"messages": [AIMessage("Done.")]}

    builder = StateGraph(MessagesState, context_schema=Settings).add_node("answer", answer).add_edge(START, "answer")
    graph = builder.compile(InMemorySaver())
    fields = {"tone", "words", "level", "checkpoint_id", "langgraph_auth_user"}
    intake = Intake(context_fields=fields, context={"words": 7}, config={"configurable": {"level": 1}})
    sent = {"tone": "dry", "words": 9, "level": 9, "secret": "x", "checkpoint_id": "x", "langgraph_auth_user": "x"}
    body = posted(messages=[{"id": "m", "role": "user", "content": "Say it."}], forwardedProps={"context": sent})
    got = {"tone": "dry", "words": None, "level": 1, "secret": None, "checkpoint_id": None, "langgraph_auth_user": None}
    sources: list[Any] = [graph, lambda config: graph]
    for source in sources:
        async with served(agui_app(Agent(source, intake=intake))) as server, server.client() as client:
            answered = await client.post("/default", json={**body, "threadId": f"thread-{len(read)}"})
            assert "RUN_FINISHED" in answered.text
    assert read == [got, got]


async def test_who_may_not_list_an_agent_gets_no_schemas() -> None:
    app = agui_app(Agent(booking()), authorize=lambda user, action, agent, thread: action != "list")
    async with served(app) as server, server.client() as client:
        assert (await client.get("/default/schemas")).status_code == 403


def test_fields_of_the_context_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="context has no fields 'tome'"):
        Agent(toned(), intake=Intake(context_fields={"tome"}))
    with pytest.raises(ValueError, match="expected a collection of fields"):
        Intake(context_fields="tone")


def test_an_input_that_is_no_object_has_no_form() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    async def echo(text: str) -> str:
        return text

    described = input_schema_of(echo)
    assert described is not None
    assert "properties" not in described
