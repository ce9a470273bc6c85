"""Updates of an editor from the events of real graphs: the order, the ids, and live like loaded."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph_agui.connect import start
from langgraph_agui.connect.acp.mapping.calls import absolute_in
from langgraph_agui.connect.acp.mapping.updates import Updates
from langgraph_agui.connect.backend import backend_of
from langgraph_agui.connect.events.readers import Reader
from langgraph_agui.connect.open_thread import OpenThread
from langgraph_agui.translator import Options

from fixtures import FIXTURES
from fixtures.run import Conversation
from tests.support.clients.editors.view import EditorView, differences, view_of
from tests.support.sweeps import SWEEP

CHECKPOINTED = [
    pytest.param(name, marks=SWEEP if fixture.composed or number % 3 else ())
    for number, (name, fixture) in enumerate(FIXTURES.items())
    if fixture.checkpointed
]
"""Composed fixtures have parts that are fixtures too: they are of the sweep, as are two thirds of the others."""
DIRECT = Options(first_state="delta")
THREAD = "thread-1"


async def live_events(conversation: Conversation) -> AsyncIterator[dict[str, Any]]:
    """The events of all turns of a fixture, as a reader gets them."""
    for turn in conversation.fixture.turns:
        run = await start(conversation.graph, await conversation.given(turn), conversation.config)
        async for batch in run.attach(Reader(DIRECT)):
            for each in batch:
                yield each.event
        await run.wait()


async def loaded_events(conversation: Conversation) -> AsyncIterator[dict[str, Any]]:
    async for batch in await OpenThread(backend_of(conversation.graph), THREAD).connect():
        for each in batch:
            yield each.event


def updates() -> Updates:
    return Updates(absolute_in("/work"))


async def collected(events: AsyncIterator[dict[str, Any]], session: Updates) -> list[dict[str, Any]]:
    found = [update async for event in events for update in session.of(event)]
    return [*found, *session.give_up()]


@pytest.mark.parametrize("name", CHECKPOINTED)
async def test_live_and_loaded_sessions_display_the_same(name: str) -> None:
    """For everything that a checkpoint has; and no call stays open when its turn is over."""
    conversation = Conversation(FIXTURES[name])
    live = view_of(await collected(live_events(conversation), updates()))
    loaded = view_of(await collected(loaded_events(conversation), updates()))
    assert differences(live, loaded) == []
    assert not live.open
    assert not loaded.open


async def test_a_snapshot_of_what_the_editor_has_emits_nothing() -> None:
    conversation, session = Conversation(FIXTURES["agent_two_rounds"]), updates()
    assert await collected(live_events(conversation), session)
    assert await collected(loaded_events(conversation), session) == []


async def test_calls_are_announced_by_name_then_get_arguments_then_run_then_end() -> None:
    session = updates()
    found = await collected(live_events(Conversation(FIXTURES["agent_one_tool"])), session)
    of_call = [update for update in found if "toolCallId" in update]
    kinds = [update["sessionUpdate"] for update in of_call]
    assert kinds == ["tool_call", "tool_call_update", "tool_call_update", "tool_call_update"]
    announced, arguments, begun, ended = of_call
    assert announced["status"] == "pending"
    assert "rawInput" not in announced
    assert arguments["rawInput"] == {"a": 1, "b": 2}
    assert begun["status"] == "in_progress"
    assert ended["status"] == "completed"
    assert ended["rawOutput"] == "3"
    assert ended["content"] == [{"type": "content", "content": {"type": "text", "text": "3"}}]
    assert found.index(ended) < len(found) - 1  # the result comes before what the model says of it


async def test_ids_that_a_model_uses_again_are_numbered() -> None:
    live = view_of(await collected(live_events(Conversation(FIXTURES["agent_repeated_call_ids"])), updates()))
    first, second = live.calls
    assert second == f"{first}-2"


async def test_thoughts_come_before_the_answer_and_under_their_own_id() -> None:
    found = await collected(live_events(Conversation(FIXTURES["reasoning_anthropic"])), updates())
    chunks = [(update["sessionUpdate"], update["messageId"]) for update in found if "messageId" in update]
    kinds = list(dict.fromkeys(chunks))
    assert [kind for kind, _ in kinds][:2] == ["agent_thought_chunk", "agent_message_chunk"]
    assert kinds[0][1] != kinds[1][1]


async def test_a_failed_tool_is_failed() -> None:
    live = view_of(await collected(live_events(Conversation(FIXTURES["tool_error_handled"])), updates()))
    assert [call["status"] for call in live.calls.values()] == ["failed"]


async def test_a_subagent_is_the_content_of_its_call_until_it_ends() -> None:
    found = await collected(live_events(Conversation(FIXTURES["subagent"])), updates())
    live = view_of(found)
    (call,) = live.calls.values()
    assert (call["name"], call["kind"], call["title"]) == ("task", "think", "find birds")
    assert call["status"] == "completed"
    spoken = [
        update["content"][0]["content"]["text"]
        for update in found
        if update.get("content") and "status" not in update and "toolCallId" in update
    ]
    assert spoken
    assert not any(text.strip() in said for said in live.texts.values() for text in spoken)


async def test_todos_are_a_plan() -> None:
    live = view_of(await collected(live_events(Conversation(FIXTURES["todo_middleware"])), updates()))
    assert live.plan
    assert {entry["priority"] for entry in live.plan} == {"medium"}


async def test_users_messages_are_emitted_where_they_are_wanted() -> None:
    conversation = Conversation(FIXTURES["three_turns"])
    live = view_of(await collected(live_events(conversation), updates()))
    session = updates()
    session.emits_users = True
    loaded = view_of(await collected(loaded_events(conversation), session))
    assert not [key for key in live.texts if key[0] == "user_message"]
    assert len([key for key in loaded.texts if key[0] == "user_message"]) == 3


def streamed(name: str, arguments: str, result: str = "done", **session: Any) -> EditorView:
    """What an editor has after one call and its result."""
    feed = Updates(absolute_in("/work"), **session)
    events: list[dict[str, Any]] = [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": name, "parentMessageId": "m"},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": letter} for letter in arguments),
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": result},
    ]
    return view_of(update for event in events for update in feed.of(event))


CALLS = [
    ("read_file", '{"path": "src/a.py", "line": 3}', "read", "Read src/a.py", [{"path": "/work/src/a.py", "line": 3}]),
    ("edit_file", '{"file_path": "/a", "old_string": "x", "new_string": "y"}', "edit", "Edit /a", [{"path": "/a"}]),
    ("write_todos", '{"todos": []}', "think", "write_todos", None),
    ("runShell", '{"command": "ls -l"}', "execute", "ls -l", None),
    ("web_search", '{"query": "x"}', "fetch", "web_search", None),
    ("grep", '{"pattern": "x", "path": "src"}', "search", "grep", [{"path": "/work/src"}]),
    ("delete_file", '{"path": "../b"}', "delete", "Delete ../b", [{"path": "/b"}]),
    ("weather", "", "other", "weather", None),
]


@pytest.mark.parametrize(("name", "arguments", "kind", "title", "locations"), CALLS)
def test_a_call_has_a_kind_a_title_and_locations(
    name: str, arguments: str, kind: str, title: str, locations: Any
) -> None:
    call = streamed(name, arguments).calls["c"]
    assert (call["kind"], call["title"], call.get("locations")) == (kind, title, locations)


def test_owners_name_the_kinds_of_their_tools() -> None:
    assert streamed("weather", "{}", kinds={"weather": "fetch"}).calls["c"]["kind"] == "fetch"


def test_the_change_of_an_edit_stays_beside_its_result() -> None:
    call = streamed("edit_file", '{"path": "a", "old_string": "x", "new_string": "y"}').calls["c"]
    diff, result = call["content"]
    assert diff == {"type": "diff", "path": "/work/a", "oldText": "x", "newText": "y"}
    assert result["content"] == {"type": "text", "text": "done"}


def test_a_written_file_has_its_text_from_before() -> None:
    call = streamed("write_file", '{"path": "a", "content": "new"}', before={"/work/a": "old"}.get).calls["c"]
    assert call["content"][0] == {"type": "diff", "path": "/work/a", "oldText": "old", "newText": "new"}
    call = streamed("write_file", '{"path": "b", "content": "new"}', before={"/work/a": "old"}.get).calls["c"]
    assert "oldText" not in call["content"][0]


def reported(name: str, contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The updates of a call while its tool says these contents, one after the other, and then has its result."""
    feed = Updates(absolute_in("/work"))
    for event in (
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": name, "parentMessageId": "m"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ):
        feed.of(event)
    activity = {"type": "ACTIVITY_SNAPSHOT", "messageId": "c-progress", "activityType": "tool_progress"}
    events = [{**activity, "content": {"toolCallId": "c", "status": "running", **each}} for each in contents]
    events.append({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "done"})
    return [update for event in events for update in feed.of(event)]


def texts(update: dict[str, Any]) -> list[str]:
    return [each["content"]["text"] for each in update["content"]]


async def test_a_tools_progress_is_the_content_of_its_call_until_it_ends() -> None:
    found = await collected(live_events(Conversation(FIXTURES["tools_report_progress"])), updates())
    of_call = [update for update in found if update.get("toolCallId") == "call_b" and update.get("content")]
    assert [(update["status"], *texts(update)) for update in of_call] == [
        ("in_progress", "page: 1, of: 3"),
        ("in_progress", "page: 2, of: 3"),
        ("in_progress", "page: 3, of: 3"),
        ("completed", "Read 3 pages."),
    ]


def test_the_output_of_a_tool_is_the_content_of_its_call_until_it_ends() -> None:
    lines = ["first\n", "second\n"]
    found = reported("bash", [{"output": lines[:1]}, {"output": lines[:1]}, {"output": lines, "progress": 0.5}])
    assert [texts(update) for update in found] == [
        ["```\nfirst\n\n```"],
        ["```\nfirst\nsecond\n\n```", "0.5"],
        ["```\ndone\n```"],
    ]
    assert [update["status"] for update in found] == ["in_progress", "in_progress", "completed"]


def test_a_tools_output_costs_an_editor_in_proportion() -> None:
    """Of a long output the end is displayed; letters that come one by one do not repeat it each time."""
    letters = [chr(0x4E00 + number) for number in range(5_000)]
    found = reported("weather", [{"output": letters[:end]} for end in range(1, len(letters) + 1)])
    sent = [text for update in found[:-1] for text in texts(update)]
    assert sum(map(len, sent)) < 15 * len(letters)
    assert max(map(len, sent)) == 2_000
    assert "".join(letters).index(sent[-1]) + 2_000 > 4_800
    stopped: list[dict[str, Any]] = [{"output": letters}, {"output": [*letters, "x"], "status": "stopped"}]
    assert texts(reported("weather", stopped)[1])[0].endswith("x")


def test_output_of_commands_is_fenced_beyond_its_own_fences() -> None:
    call = streamed("bash", '{"command": "cat a"}', "```\ncode\n```").calls["c"]
    assert call["content"][0]["content"]["text"] == "````\n```\ncode\n```\n````"
    assert call["rawOutput"] == "```\ncode\n```"


@pytest.mark.parametrize("arguments", ['{"a": 1', "[1]", "no"])
def test_arguments_that_are_no_object_are_left_out(arguments: str) -> None:
    call = streamed("weather", arguments).calls["c"]
    assert "rawInput" not in call
    assert call["status"] == "completed"


def test_the_file_of_a_call_that_may_have_run_is_not_read() -> None:
    feed = Updates(absolute_in("/work"), before={"/work/a": "new"}.get)
    function = {"name": "write_file", "arguments": '{"path": "a", "content": "new"}'}
    message = {"id": "m", "role": "assistant", "toolCalls": [{"id": "c", "type": "function", "function": function}]}
    call = view_of(feed.of({"type": "MESSAGES_SNAPSHOT", "messages": [message]})).calls["c"]
    assert call["content"] == [{"type": "diff", "path": "/work/a", "newText": "new"}]
