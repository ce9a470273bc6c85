"""Whose speech is told while it streams: everyone's but tools' and middlewares' models, or whom the option names."""

from operator import itemgetter
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph_agui.translator import Options

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.speech import one_node, said
from tests.support.streams.event_lines import run_fixture, run_made, run_turn

QUIET_TOOLS = {
    "tool_calls_model": ["That is all I found."],
    "tool_runs_subgraph": ["That is all I found."],
}


@pytest.mark.parametrize("fixture", QUIET_TOOLS)
@pytest.mark.parametrize("subgraphs", [True, False])
async def test_a_model_inside_a_tool_is_silent(fixture: str, subgraphs: bool) -> None:
    told = await run_turn(fixture, subgraphs=subgraphs)
    assert list(told.texts.values()) == QUIET_TOOLS[fixture]


@pytest.mark.parametrize("fixture", QUIET_TOOLS)
async def test_a_silent_model_leaves_nothing_to_mend(fixture: str) -> None:
    assert (await run_turn(fixture)).kinds("MESSAGES_SNAPSHOT") == []


async def test_a_middlewares_model_is_silent() -> None:
    runs = await run_fixture("summarization_middleware")
    assert "They greeted each other." not in [text for run in runs for text in run.texts.values()]


def spoken_after(caller: str, *, returns: bool = False, subgraph: str = "") -> dict[str, str]:
    """What `act` may say in its second run, when in its first it spoke, and answered a call that `caller` made."""
    parts: list[Any] = [
        ("messages", (_calling("c"), _in(caller, 1))),
        ("messages", (AIMessageChunk(content="First.", id="m1"), _in("act", 2))),
        ("messages", ({"type": "tool", "id": "t", "tool_call_id": "c", "content": "r"}, _in("act", 2))),
        ("updates", {"act": {"messages": [AIMessageChunk(content="First.", id="m1")] if returns else []}}),
        ("messages", (AIMessageChunk(content="Second.", id="m2"), _in("act", 3, subgraph))),
    ]
    return run_made(parts).texts


def _in(node: str, task: int, subgraph: str = "") -> dict[str, Any]:
    path = f"{subgraph}{node}:{task}"
    return {"langgraph_node": node, "langgraph_checkpoint_ns": path, "ls_model_type": "chat"}


def _calling(call_id: str) -> Any:
    fragment = {"name": "look", "args": "{}", "id": call_id, "index": 0}
    return {"type": "AIMessageChunk", "id": "m0", "content": "", "tool_call_chunks": [fragment]}


def test_a_node_runs_tools_once_it_has_answered_another_nodes_call() -> None:
    assert spoken_after("think") == {"m1": "First."}


def test_a_node_that_answers_its_own_call_speaks_on() -> None:
    assert spoken_after("act") == {"m1": "First.", "m2": "Second."}


def test_a_node_that_returns_what_its_model_said_speaks_on() -> None:
    assert spoken_after("think", returns=True) == {"m1": "First.", "m2": "Second."}


@pytest.mark.parametrize("of_task", ["think:1", "act:2|act:9"])
def test_a_node_that_returns_a_message_of_another_task_runs_tools_all_the_same(of_task: str) -> None:
    """Of another node, or of a node of its name in another graph."""
    node = {"langgraph_node": of_task.partition(":")[0], "langgraph_checkpoint_ns": of_task, "ls_model_type": "chat"}
    returned = AIMessageChunk(content="Hm.", id="m3", chunk_position="last")
    parts: list[Any] = [
        ("messages", (_calling("c"), _in("think", 1))),
        ("messages", (returned, node)),
        ("messages", ({"type": "tool", "id": "t", "tool_call_id": "c", "content": "r"}, _in("act", 2))),
        ("updates", {"act": {"messages": [returned]}}),
        ("messages", (AIMessageChunk(content="Second.", id="m2"), _in("act", 3))),
    ]
    assert "m2" not in run_made(parts).texts


def test_a_node_of_the_same_name_in_another_graph_speaks() -> None:
    assert spoken_after("think", subgraph="writer:9|") == {"m1": "First.", "m2": "Second."}


def test_a_call_is_made_in_one_graph_and_answered_there() -> None:
    """Ids repeat over agents: a planner that answers its own `c` is not taken for the tool node of another's."""
    parts: list[Any] = [("messages", (_calling("c"), _in("model", 3, graph))) for graph in ("left:1|", "right:2|")]
    result = {"type": "tool", "id": "t", "tool_call_id": "c", "content": "r"}
    parts.append(("messages", (result, _in("model", 3, "left:1|"))))
    parts.append(("messages", (AIMessageChunk(content="On.", id="m2"), _in("model", 4, "left:1|"))))
    assert run_made(parts).texts == {"m2": "On."}


def test_a_call_that_two_nodes_make_is_each_ones_own() -> None:
    parts: list[Any] = [("messages", (_calling("c"), _in(node, 1))) for node in ("left", "right")]
    result = {"type": "tool", "tool_call_id": "c", "content": "r"}
    parts += [("messages", ({**result, "id": f"t-{node}"}, _in(node, 1))) for node in ("left", "right")]
    parts += [("messages", (AIMessageChunk(content=node, id=f"m-{node}"), _in(node, 2))) for node in ("left", "right")]
    assert run_made(parts).texts == {"m-left": "left", "m-right": "right"}


@pytest.mark.parametrize("marked", [{"type": "tool_call"}, {}])
def test_a_task_whose_input_is_a_tool_call_runs_a_tool(marked: dict[str, str]) -> None:
    """And not one whose state only has a call's field names."""
    start = {"id": "2", "name": "act", "input": {"name": "look", "args": {}, "id": "c", **marked}, "triggers": []}
    told = run_made([("tasks", start), ("messages", (AIMessageChunk(content="Hm.", id="m1"), _in("act", 2)))])
    assert told.texts == ({} if marked else {"m1": "Hm."})


@pytest.mark.parametrize("mark", [{"lc_source": "summarization"}, {"lc_internal_call": "token"}])
def test_each_mark_of_a_middlewares_call_makes_it_silent(mark: dict[str, str]) -> None:
    told = run_made([("messages", (AIMessageChunk(content="A summary.", id="m1"), {**_in("model", 1), **mark}))])
    assert told.texts == {}


@pytest.mark.parametrize(
    ("metadata", "texts"),
    [
        ({"tags": ["langsmith:nostream"]}, {}),
        ({"tags": ("seq", "nostream")}, {}),
        ({"tags": [["nostream"], "other"]}, {"m1": "Hi"}),
        ({"langgraph_node": "pre_model_hook"}, {}),
        ({"langgraph_node": "post_model_hook"}, {}),
        ({"agui_structured": "call"}, {}),
        ({"agui_structured": "text"}, {}),
        ({"agui_structured": "none"}, {"m1": "Hi"}),
        ({"agui_structured": ["call"]}, {"m1": "Hi"}),
        ({"agui_structured": "call", "agui_visibility": "stream"}, {"m1": "Hi"}),
    ],
)
def test_tags_hooks_and_marks_hide_a_call(metadata: dict[str, Any], texts: dict[str, str]) -> None:
    told = run_made([("messages", (AIMessageChunk(content="Hi", id="m1"), {**_in("model", 1), **metadata}))])
    assert told.texts == texts


class _Incomparable:
    def __eq__(self, other: object) -> bool:
        raise TypeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("source", ["retrieval", 7, None, _Incomparable()], ids=lambda source: type(source).__name__)
def test_another_source_hides_nothing(source: Any) -> None:
    told = run_made([("messages", (AIMessageChunk(content="Hi", id="m1"), {**_in("model", 1), "lc_source": source}))])
    assert told.texts == {"m1": "Hi"}


ONLY: dict[str, Any] = {
    "by node": {"loud": "stream", "*": "hide"},
    "by tag": {"shout": "stream", "*": "hide"},
    "by function": lambda metadata: "stream" if "shout" in metadata.get("tags", ()) else "hide",
}


@pytest.mark.parametrize("visibility", ONLY.values(), ids=ONLY)
async def test_only_the_named_calls_are_emitted_while_they_stream(visibility: Any) -> None:
    told = await run_turn(scratchy("loud", "Visible.", tags=["shout"]), Options(visibility=visibility))
    assert list(told.texts.values()) == ["Visible."]


@pytest.mark.parametrize("visibility", ONLY.values(), ids=ONLY)
async def test_the_others_are_hidden(visibility: Any) -> None:
    told = await run_turn(scratchy("quiet", "Hidden.", tags=["whisper"]), Options(visibility=visibility))
    assert told.lines == []


@pytest.mark.parametrize("visibility", [{"*": "hide"}, lambda metadata: "hide"])
async def test_what_the_checkpoint_has_is_emitted_though_the_call_is_hidden(visibility: Any) -> None:
    told = await run_turn("plain_text", Options(visibility=visibility))
    assert [message["content"] for message in told.view.messages] == ["hi", "Hello there, how are you?"]


@pytest.mark.parametrize("visibility", [{"tools": "stream"}, {"*": "stream"}, lambda metadata: "stream"])
async def test_a_tools_model_can_be_shown(visibility: Any) -> None:
    told = await run_turn("tool_calls_model", Options(visibility=visibility))
    assert list(told.texts.values()) == ["The expert thinks aloud.", "That is all I found."]


def test_the_first_of_the_option_the_calls_mark_and_the_rule_decides(caplog: pytest.LogCaptureFixture) -> None:
    """Node before tag before `*`; the mark if the option names nothing; without a mark the rule (a tool's model)."""
    cases: list[tuple[Any, Any, bool]] = [
        (None, None, False),
        (None, "stream", True),
        ({"other": "hide"}, "stream", True),
        (lambda metadata: None, "stream", True),
        (lambda metadata: None, None, False),
        ({"*": "hide"}, "stream", False),
        ({"*": "stream"}, "hide", True),
        ({"*": "hide", "tagged": "stream"}, None, True),
        ({"tagged": "hide", "tools": "stream"}, None, True),
        (lambda metadata: "hide", "stream", False),
        ({}, None, False),
    ]
    for visibility, mark, is_visible in cases:
        metadata = (
            _in("tools", 1) | {"tags": [["unhashable"], "tagged"]} | ({} if mark is None else {"agui_visibility": mark})
        )
        chunk = ("messages", (AIMessageChunk(content="Seen.", id="m"), metadata))
        told = run_made([chunk], Options(visibility=visibility))
        assert told.texts == ({"m": "Seen."} if is_visible else {}), (visibility, mark)
        assert caplog.records == [], (visibility, mark)


@pytest.mark.parametrize("mark", ["loud", True, ["stream"], {}, _Incomparable()], ids=lambda mark: type(mark).__name__)
def test_an_unknown_mark_is_ignored_with_one_log_line(mark: Any, caplog: pytest.LogCaptureFixture) -> None:
    chunks = [
        ("messages", (AIMessageChunk(content="Seen.", id=name), _in("talk", 1) | {"agui_visibility": mark}))
        for name in "ab"
    ]
    assert run_made(chunks).texts == {"a": "Seen.", "b": "Seen."}
    (record,) = caplog.records
    assert record.getMessage().startswith("The metadata key `agui_visibility` of a model call has an unknown value")


@pytest.mark.parametrize("fault", ["raises", "loud", True, ["hide"]])
async def test_a_function_that_fails_hides_the_calls_and_the_run_lives(
    fault: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(metadata: Any) -> Any:
        if fault == "raises":
            raise LookupError
        return fault

    told = await run_turn("router_not_saved", Options(visibility=broken))
    assert list(told.texts.values()) == ["It will rain."]
    (record,) = caplog.records
    what = "raised an exception" if fault == "raises" else f"returned {type(fault).__name__}"
    assert record.getMessage().startswith(f"The option `visibility` {what}, so model calls are hidden (thread ")


async def test_a_model_tagged_nostream_is_silent() -> None:
    assert (await run_turn("nostream_dropped")).lines == []


async def test_a_model_tagged_nostream_is_told_whole_if_its_message_is_kept() -> None:
    assert list((await run_turn("nostream_kept")).texts.values()) == ["Told to nobody while it came."]


async def test_emit_messages_false_tells_the_message_only_when_it_is_stored() -> None:
    assert list((await run_turn("emit_messages_off")).texts.values()) == [
        "Kept, but not to be emitted.",
        "Emitted.",
    ]


async def test_emit_tool_calls_false_tells_no_call_while_it_streams() -> None:
    told = await run_turn("emit_tool_calls_off")
    assert told.lines == [
        *("lc_run--#1 begins", "lc_run--#1: Calling. ", "lc_run--#1 ends"),
        "snapshot user-1 lc_run--#1",
    ]


async def test_emit_nothing_tells_the_whole_message_once_it_is_stored() -> None:
    told = await run_turn("emit_nothing")
    assert list(told.texts.values()) == ["Calling. "]
    assert [event["delta"] for event in told.kinds("TOOL_CALL_ARGS")] == ['{"at":"me"}']


@pytest.mark.parametrize("prefix", ["", "copilotkit:"])
async def test_both_spellings_of_the_metadata_keys_are_honoured(prefix: str) -> None:
    node = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
    muted = {**node, f"{prefix}emit-messages": False}
    assert run_made([("messages", (AIMessageChunk(content="Quiet.", id="m"), muted))]).lines == []


MUTED: tuple[dict[str, Any], ...] = (
    {},
    {"emit-messages": False},
    {"emit-tool-calls": False},
    {"emit-messages": False, "emit-tool-calls": False},
    {"agui_structured": "text"},
)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("marks", MUTED, ids=str)
def test_of_a_complete_message_as_much_is_hidden_as_of_a_streamed_one(marks: dict[str, Any], named: bool) -> None:
    metadata = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat", **marks}
    content: list[Any] = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Looking."}]
    name = {"name": "ann"} if named else {}
    fields: dict[str, Any] = {"id": "m", "content": content}
    if not named:
        fields["response_metadata"] = {"stop_reason": "max_tokens"}
    call: Any = {"name": "look", "args": {}, "id": "c1"}
    piece: Any = {**call, "args": "{}", "index": 0}
    whole = AIMessage(**fields, **name, tool_calls=[call])
    chunk = AIMessageChunk(**fields, tool_call_chunks=[piece], chunk_position="last")
    streamed = run_made([("messages", (chunk, {**metadata, "lc_agent_name": name.get("name")}))])
    told = run_made([("messages", (whole, metadata))])
    by_id = itemgetter("id")
    assert sorted(told.view.messages, key=by_id) == sorted(streamed.view.messages, key=by_id)
    assert any(told.texts.values()) is not any(key in marks for key in ("emit-messages", "agui_structured"))


def test_a_complete_message_of_which_nothing_may_be_seen_is_not_emitted() -> None:
    metadata = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
    parts = [("messages", (AIMessage("Quiet.", id="m", name="ann"), {**metadata, "emit-messages": False}))]
    assert run_made(parts).lines == []


def scratchy(node: str, text: str, *, tags: list[str]) -> Fixture:
    """A node that lets a model speak and keeps nothing of it."""

    async def speak(state: Any) -> None:
        await said(text).with_config(tags=tags).ainvoke(state["messages"])

    return Fixture("scratchy", one_node(speak, name=node), (says("hi"),))
