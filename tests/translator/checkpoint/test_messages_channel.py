"""A graph's conversation is found by the channel's reducer, whatever the channel is called."""

from functools import partial, wraps
from typing import Annotated, Any

import pytest
from ag_ui.core import RunAgentInput, UserMessage
from langchain_core.messages import AIMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from langgraph_agui.connect import options_for, run
from langgraph_agui.translator import ClientView
from typing_extensions import TypedDict

from fixtures.graphs.speech import said


def _calls_it(left: Any, right: Any) -> Any:
    return add_messages(left, [*right])


def _encloses(reducer: Any) -> Any:
    def reduce(left: Any, right: Any) -> Any:
        return reducer(left, right)

    return reduce


def _wraps(reducer: Any) -> Any:
    @wraps(reducer)
    def reduce(*given: Any) -> Any:
        return reducer(*given)

    return reduce


def _in_batches(held: Any, writes: Any) -> Any:
    for write in writes:
        held = add_messages(held, write)
    return held


def _limited(left: Any, right: Any, *, most: int) -> Any:
    reduced: Any = add_messages(left, right)
    return reduced[-most:]


class _Reducer:
    def __call__(self, left: Any, right: Any) -> Any:
        return add_messages(left, right)

    def reduce(self, left: Any, right: Any) -> Any:
        return add_messages(left, right)


def _appended(left: list[Any], right: list[Any]) -> list[Any]:
    return [*left, *right]


REDUCERS: dict[str, Any] = {
    "itself": add_messages,
    "with arguments": add_messages(format="langchain-openai"),  # type: ignore[call-arg]
    "called by name": _calls_it,
    "in a closure": _encloses(add_messages),
    "two deep": _encloses(_calls_it),
    "wrapped": _wraps(add_messages),
    "bound": partial(_limited, most=9),
    "an object": _Reducer(),
    "a method": _Reducer().reduce,
    "a delta channel": DeltaChannel(_in_batches),
}


def _graph(node: Any = lambda state: {}, **channels: Any) -> Any:
    schema = TypedDict("schema", {name: Annotated[list, how] for name, how in channels.items()})  # type: ignore[misc]
    builder: Any = StateGraph(schema).add_node("answer", node).add_edge(START, "answer")
    return builder.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("reducer", REDUCERS.values(), ids=REDUCERS)
def test_the_messages_channel_is_found_by_its_reducer(reducer: Any) -> None:
    options = options_for(_graph(chat=reducer, notes=_appended))
    assert options.messages_key == "chat"
    assert options.shows_channel("notes")
    assert not options.shows_channel("chat")


@pytest.mark.parametrize(
    "channels",
    [
        {"chat": _appended},
        {"messages": add_messages, "chat": _appended},
        {"messages": add_messages, "chat": add_messages},
        {"one": add_messages, "other": add_messages},
        {"messages": _appended, "notes": _appended},
        {"_scratch": add_messages, "notes": _appended},
    ],
)
def test_without_exactly_one_such_reducer_it_is_the_channel_called_messages(channels: Any) -> None:
    assert options_for(_graph(**channels)).messages_key == "messages"


def test_a_plain_channel_called_messages_is_not_preferred() -> None:
    assert options_for(_graph(messages=_appended, chat=add_messages)).messages_key == "chat"


def test_a_given_messages_key_wins() -> None:
    assert options_for(_graph(chat=add_messages, notes=_appended), messages_key="notes").messages_key == "notes"


async def test_a_graph_with_another_messages_channel_is_served_as_any_other() -> None:
    async def answer(state: Any) -> dict[str, Any]:
        return {"chat": [await said("One two three.").ainvoke(state["chat"])], "notes": ["noted"]}

    graph = _graph(answer, chat=add_messages, notes=_appended)
    held: list[dict[str, Any]] = []
    for turn in (1, 2):
        asked = UserMessage(id=f"user-{turn}", role="user", content="hi")
        held.append(asked.model_dump(exclude_none=True))
        given = RunAgentInput(
            thread_id="t", run_id=f"r{turn}", messages=held, state={}, tools=[], context=[], forwarded_props={}  # type: ignore[arg-type]
        )  # fmt: skip
        view = ClientView(held, {})
        pieces = 0
        async for event in run(graph, given):
            pieces += event.type == "TEXT_MESSAGE_CONTENT"
            view.apply(event)
        held = view.messages
        assert pieces == 3
        assert [message["content"] for message in held] == ["hi", "One two three."] * turn
        assert view.state == {"notes": ["noted"] * turn}
    stored = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values["chat"]
    assert [message.id for message in stored] == [message["id"] for message in held]
    assert isinstance(stored[-1], AIMessage)
