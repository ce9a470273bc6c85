"""No value in a state, message, payload or error raises out of the translator or makes a frame no client reads."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.types import Interrupt
from langgraph_agui.translator import Cancelled, ClientView, Failed, Finished, Lost, encode
from langgraph_agui.translator.endings import Ending

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.random.examples import examples
from tests.support.random.odd_values import json_values, values
from tests.support.streams.translator_runs import TranslatorRun, options_for

SETTINGS = settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
FREE_FIELDS = ["additional_kwargs", "response_metadata", "artifact", "example"]
"""Fields of a message that take any value; pydantic checks the others, so that they hold JSON at worst."""
CHECKED_FIELDS = ["id", "name", "type", "status", "tool_call_id", "chunk_position", "usage_metadata"]
CALLS = ["tool_calls", "invalid_tool_calls", "tool_call_chunks"]
KEYS = [
    *("langgraph_node", "langgraph_checkpoint_ns", "checkpoint_ns", "langgraph_step", "langgraph_path", "tags"),
    *("ls_provider", "ls_model_name", "ls_model_type", "lc_agent_name", "lc_source", "predict_state"),
    *("emit-messages", "emit-tool-calls", "run_id", "attempt"),
]
BLOCKS = ["text", "thinking", "redacted_thinking", "reasoning", "tool_use", "image", "image_url", "file", "audio"]
MORE_BLOCKS = ["refusal", "server_tool_use", "web_search_tool_result", "function_call", "citations", "input_json_delta"]
MAKES: list[Any] = [kind.model_construct for kind in (AIMessage, AIMessageChunk, HumanMessage, ToolMessage)]
MAKES.append(None)
odd = values()
block = st.fixed_dictionaries(
    {"type": st.sampled_from([*BLOCKS, *MORE_BLOCKS])},
    optional={
        name: st.sampled_from(["x", "", None, 0]) | odd
        for name in ("text", "thinking", "reasoning", "summary", "data", "id", "index", "signature", "source", "url")
    },
)
ids = st.sampled_from(["m", "lc_run--1", "resp_1", ""])
content = st.text(max_size=3) | st.lists(block | odd, max_size=3) | odd
call = st.fixed_dictionaries({}, optional={name: st.text(max_size=2) | odd for name in ("id", "name", "args", "index")})


@st.composite
def messages(draw: st.DrawFn) -> Any:
    """A message object or its JSON, some fields of which hold anything."""
    fields: dict[str, Any] = {"id": draw(ids), "content": draw(content)}
    fields |= draw(st.dictionaries(st.sampled_from(FREE_FIELDS), st.dictionaries(st.text(max_size=2), odd) | odd))
    fields |= draw(st.dictionaries(st.sampled_from(CHECKED_FIELDS), json_values(), max_size=2))
    fields |= draw(st.dictionaries(st.sampled_from(CALLS), st.lists(call | json_values(), max_size=2), max_size=2))
    make = draw(st.sampled_from(MAKES))
    if make is None:
        return {"type": draw(st.sampled_from(["ai", "AIMessageChunk", "tool", "human", "system"])), **fields}
    fields.pop("type", None)
    return make(**fields)


@st.composite
def parts(draw: st.DrawFn) -> Any:
    """A part of the right outer shape, with anything in it."""
    ns = draw(st.sampled_from([(), ("child:1",), ("child:1", "tools:2")]))
    mode = draw(st.sampled_from(["messages", "values", "updates", "custom", "tasks", "checkpoints", "debug", "error"]))
    named = st.dictionaries(st.sampled_from(["messages", "a", "b", "__interrupt__", "structured_response"]), odd)
    if mode == "messages":
        metadata = draw(st.dictionaries(st.sampled_from(KEYS), st.text(max_size=3) | json_values(), max_size=5))
        return ns, mode, (draw(messages()), metadata)
    if mode == "values":
        stored = {"messages": draw(st.lists(messages() | odd, max_size=3)), **draw(named)}
        return ns, mode, draw(st.just(stored) | named | odd)
    if mode == "updates":
        interrupts = st.lists(odd | st.builds(lambda one: Interrupt(one, id="i"), odd), max_size=2).map(tuple)
        update = st.dictionaries(st.sampled_from(["node", "__metadata__"]), named | odd, max_size=2)
        return ns, mode, draw(update | st.fixed_dictionaries({"__interrupt__": interrupts}) | odd)
    if mode == "tasks":
        task = ["id", "name", "input", "triggers", "error", "result", "interrupts", "metadata"]
        return ns, mode, draw(st.dictionaries(st.sampled_from(task), odd) | odd)
    return ns, mode, draw(odd)


def endings() -> st.SearchStrategy[Ending | None]:
    state = st.dictionaries(st.sampled_from(["messages", "a"]), odd)
    return st.one_of(
        st.none(),
        st.builds(Failed, odd | st.builds(lambda one: ValueError(one), odd)),
        st.builds(Lost, odd),
        st.just(Cancelled()),
        st.builds(Finished, st.lists(odd, max_size=2), st.none() | state, odd),
    )


@pytest.mark.parametrize("version", VERSIONS)
@SETTINGS
@given(stream=st.lists(parts(), max_size=6), ending=endings(), known=st.booleans())
def test_no_value_raises_or_makes_a_frame_the_client_refuses(
    agui_client: AguiClient, version: str, stream: list[Any], ending: Ending | None, known: bool
) -> None:
    options = options_for(version, interrupts="both", error_detail="full", raw_events=True)
    view = ClientView([], {}, version=options.protocol_version) if known else None
    telling = TranslatorRun(options, view)
    for part in stream:
        telling.feed(part)
    telling.finish(ending)
    said = agui_client.play(frames=b"".join(map(encode, telling.events)), version=version)
    assert (said.error, said.warnings) == (None, [])
    if known:
        assert as_numbers(telling.view.messages) == as_numbers(said.messages)
        assert as_numbers(telling.view.state) == as_numbers(said.state)


def as_numbers(value: Any) -> Any:
    """JSON in which all numbers are floats, as they are in JavaScript."""
    return json.loads(json.dumps(value), parse_int=float)
