"""A recorded run: what its file has, and what comes of it when it is translated and served again."""

import asyncio
import json
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_agui.connect import connect_sse, options_for, threads
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import Recording, Replay, check_stream
from langgraph_agui.connect.testing.recording import record_stream
from langgraph_agui.translator import Cancelled, ClientView, Ending, Failed, Finished, Lost, Options, same_json

from fixtures import FIXTURES
from fixtures.record import SAMPLE
from fixtures.run import Conversation
from tests.support.servers.processes.command import asking
from tests.support.servers.serving import BEARER, TOKEN, events_of

MORE = ("ids_one_for_two_calls", "self_reporting_model", "citations_standard", "review_rejected", "finish_length")
"""Whether their chunks are objects, and which of them share their metadata, makes a difference. In that of
`state_edited_without_update` it cannot be kept: a value that is the same object says that no node has returned it."""


async def recorded(file: Path, conversation: Conversation, place: int = 0) -> Recording:
    """A turn of a fixture, recorded."""
    with file.open("wb") as out:
        await record_stream(
            conversation.stream(conversation.fixture.turns[place]),
            out.write,
            thread_id="thread-1",
            run_id=f"run-{place}",
            options=options_for(conversation.graph),
        )
    return Recording.read(file)


async def replayed(source: Replay) -> list[dict[str, Any]]:
    """What a client gets that connects to the recorded thread."""
    frames = connect_sse(source, source.recording.thread_id, heartbeat=None)
    return events_of(b"".join([frame async for frame in frames]).decode())


async def test_a_run_becomes_the_events_again_that_it_was(tmp_path: Path) -> None:
    for fixture in (FIXTURES[name] for name in (*SAMPLE, *MORE)):
        conversation = Conversation(fixture)
        for place in range(len(fixture.turns)):
            recording = await recorded(tmp_path / "run.jsonl", conversation, place)
            assert recording.translate() == list(recording.events), fixture.name
            for view in (None, ClientView([], {})):
                check_stream(recording.translate(view=view), before=view, may_remove=True)


def of_events(file: Path, events: Iterable[dict[str, Any]]) -> Recording:
    """The recording that has these events, and nothing else."""
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    return Recording.read(file)


async def test_events_alone_are_a_recording_of_their_last_run(tmp_path: Path) -> None:
    """The inspector saves such files, and `watch --json` prints them without times."""
    for name in ("plain_text", "agent_two_rounds", "subagents_in_parallel", "review_approved", "model_raises_mid_text"):
        conversation = Conversation(FIXTURES[name])
        saved: list[dict[str, Any]] = []
        seen = ClientView([], {})
        for place in range(len(conversation.fixture.turns)):
            whole = await recorded(tmp_path / "run.jsonl", conversation, place)
            saved += whole.events
            for event in whole.events:
                seen.apply(event)
            times = [{**event, "timestamp": 1_000 + 20 * number} for number, event in enumerate(saved)]
            for events in (saved, times):
                recording = of_events(tmp_path / "events.jsonl", events)
                assert (recording.thread_id, recording.run_id) == (whole.thread_id, whole.run_id)
                assert (type(recording.ending), recording.events) == (type(whole.ending), tuple(saved))
                assert [part.at for part in recording.parts] == sorted(part.at for part in recording.parts)
                seconds = (0.02 if events is times else 0.05) * (len(whole.events) - 2)
                assert recording.parts[-1].at == pytest.approx(seconds)
                again = recording.translate()
                assert (again[0]["type"], again[3:]) == ("RUN_STARTED", list(whole.events[1:]))
                got = await replayed(Replay(recording, speed=None))
                view = check_stream(got, may_remove=True)
                assert same_json(view.messages, seen.messages), name
                assert same_json(view.state, seen.state), name
                assert got[-1] == whole.events[-1]
                listed = await threads(Replay(recording)).get(recording.thread_id)
                assert listed is not None
                asks = got[-1].get("outcome", {}).get("type") == "interrupt"
                assert listed.status == ("failed" if got[-1]["type"] == "RUN_ERROR" else "waiting" if asks else "idle")


def test_events_that_are_no_run_are_no_recording(tmp_path: Path) -> None:
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "timestamp": 1}
    text = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    cases: list[tuple[list[dict[str, Any]], str]] = [
        ([text], "line 1: expected the events of a run"),
        ([started, {"recording": {}}], "line 2: expected an AG-UI event"),
        ([started, {"type": 3}], "line 2: expected an AG-UI event"),
    ]
    for events, said in cases:
        with pytest.raises(ValueError, match=said):
            of_events(tmp_path / "no.jsonl", events)
    stops = of_events(tmp_path / "stops.jsonl", [started, text])
    assert isinstance(stops.ending, Lost)
    last = stops.translate()[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "lost")
    check_stream(stops.translate())


@pytest.mark.parametrize(
    "name", ["plain_text", "agent_parallel_tools", "subagents_in_parallel", "review_approved", "model_raises_mid_text"]
)
async def test_a_replay_gives_each_client_what_the_run_gave(tmp_path: Path, name: str) -> None:
    recording = await recorded(tmp_path / "run.jsonl", Conversation(FIXTURES[name]))
    then = view_of(recording)
    view = check_stream(await replayed(Replay(recording, speed=None)), may_remove=True)
    assert same_json(view.messages, then.messages)
    assert same_json(view.state, then.state)
    assert (view.thread_id, view.run_id) == (recording.thread_id, recording.run_id)
    assert view.terminal is not None
    assert then.terminal is not None
    assert view.terminal.get("code") == then.terminal.get("code")
    assert same_json(view.terminal.get("outcome"), then.terminal.get("outcome"))


async def test_every_input_is_answered_with_the_run_on_its_own_thread(tmp_path: Path) -> None:
    recording = await recorded(tmp_path / "run.jsonl", Conversation(FIXTURES["agent_parallel_tools"]))
    app = agui_app({"fault": Replay(recording, speed=None)})
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            view = ClientView([], {})
            for run_id in ("one", "two"):
                given = asking("What else?", "mine", run_id)
                given["messages"] = [*(view.messages or []), *given["messages"]]
                answer = await client.post("/fault", json={**given, "state": view.state})
                before = ClientView(given["messages"], view.state)
                view = check_stream(events_of(answer.text), before=before, may_remove=True)
                assert (view.thread_id, view.run_id) == ("mine", run_id)
                assert (view.messages or [])[-1]["content"] == recording_end(recording)


@pytest.mark.parametrize(
    ("name", "status"),
    [("agent_parallel_tools", "idle"), ("review_approved", "waiting"), ("model_raises_mid_text", "failed")],
)
async def test_the_thread_of_a_recording_is_listed_before_and_after_its_run(
    tmp_path: Path, name: str, status: str
) -> None:
    recording = await recorded(tmp_path / "run.jsonl", Conversation(FIXTURES[name]))
    view = check_stream(recording.translate(), may_remove=True)
    path = f"/threads/{recording.thread_id}"
    app = agui_app({"fault": Replay(recording, speed=None)}, token=TOKEN)
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=BEARER) as client:
            for _ in range(2):
                listed = (await client.get("/threads")).json()
                [thread] = listed["threads"]
                opening = str((view.messages or [])[0]["content"])
                assert (thread["id"], thread["name"], thread["status"]) == (recording.thread_id, opening, status)
                assert (await client.get(path)).json() == thread
                assert (await client.get("/threads?status=running")).json()["threads"] == []
                messages, state = [(await client.get(f"{path}/{each}")).json()[each] for each in ("messages", "state")]
                assert same_json(messages, view.messages)
                assert same_json(state, view.state)
                await client.post("/fault/connect", json={**asking("", recording.thread_id), "messages": []})
            assert (await client.get("/threads/none")).status_code == 404
            assert (await client.get("/threads?cursor=1")).status_code == 422
            assert (await client.delete(path)).status_code == 501
            assert (await client.patch(path, json={"name": "Lunch"})).status_code == 501
    assert await threads(Replay(recording)).history(recording.thread_id) == []
    assert await threads(Replay(recording)).runs(recording.thread_id) == []


def view_of(recording: Recording) -> ClientView:
    """What a client had at the end of the recorded run."""
    view = ClientView()
    for event in recording.events:
        view.apply(event)
    return view


def recording_end(recording: Recording) -> str:
    """The last text of the recorded run."""
    return str((view_of(recording).messages or [])[-1]["content"])


async def test_an_answer_to_a_recorded_interrupt_ends_at_once(tmp_path: Path) -> None:
    recording = await recorded(tmp_path / "run.jsonl", Conversation(FIXTURES["review_approved"]))
    app = agui_app({"fault": Replay(recording, speed=None)})
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            waiting = events_of((await client.post("/fault", json=asking("Go.", "mine", "one"))).text)[-1]
            resume = [
                {"interruptId": each["id"], "status": "resolved", "payload": {"decisions": [{"type": "approve"}]}}
                for each in waiting["outcome"]["interrupts"]
            ]
            assert resume
            given = {**asking("Go.", "mine", "two"), "messages": [], "resume": resume}
            ended = events_of((await client.post("/fault", json=given)).text)
            assert [event["type"] for event in ended] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_a_replay_takes_the_time_that_the_run_took(tmp_path: Path) -> None:
    fixture = Conversation(FIXTURES["plain_text"])
    recording = await recorded(tmp_path / "run.jsonl", fixture)
    path, lines = tmp_path / "slow.jsonl", (tmp_path / "run.jsonl").read_text().splitlines()
    late = re.sub(r'"timestamp":(\d+)', lambda found: f'"timestamp":{int(found[1]) + 500}', lines[-4])
    path.write_text("\n".join([*lines[:-4], late, *lines[-3:]]) + "\n")
    source = Replay(Recording.read(path), speed=2)
    clock = asyncio.get_running_loop().time
    began = clock()
    assert len(await replayed(source)) >= len(recording.events) - 1
    assert clock() - began >= max(part.at for part in source.recording.parts) / 2 - 0.02
    with pytest.raises(ValueError, match="speed: expected more than 0, got 0"):
        Replay(recording, speed=0)


async def test_each_ending_is_kept(tmp_path: Path) -> None:
    interrupt = {"id": "i", "value": "Go on?"}
    endings: list[tuple[Ending, str]] = [
        (Finished([interrupt], {"messages": [], "notes": 1}), "interrupt"),
        (Finished([], {"messages": [], "notes": 1}, at_breakpoint=True), "breakpoint"),
        (Failed({"error": "ValueError", "message": "boom"}), "ValueError"),
        (Cancelled(), "cancelled"),
        (Lost("gone"), "lost"),
    ]
    for ending, said in endings:

        async def stream() -> AsyncIterator[Any]:
            yield {"event": "values", "data": {"messages": []}, "id": "1"}

        async def at_end(ending: Ending = ending) -> Ending:
            return ending

        path = tmp_path / f"{said}.jsonl"
        with path.open("wb") as out:
            ids = {"thread_id": "t", "run_id": "r"}
            await record_stream(stream(), out.write, **ids, options=Options(), at_end=at_end)
        recording = Recording.read(path)
        assert recording.ending == ending
        assert recording.translate() == list(recording.events)
        for last in (recording.events[-1], (await replayed(Replay(recording, speed=None)))[-1]):
            outcome = last.get("outcome") or {}
            reasons = [item["reason"].removeprefix("langgraph:") for item in outcome.get("interrupts", ())]
            assert said in (last.get("code"), outcome.get("type"), *reasons), last
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
        assert isinstance(Recording.read(path).ending, Lost)


async def test_a_last_line_that_is_incomplete_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.jsonl"
    whole = await recorded(path, Conversation(FIXTURES["plain_text"]))
    lines = path.read_bytes().splitlines(keepends=True)
    for edited in (b"".join(lines).removesuffix(b"\n"), BOM_UTF8 + b"".join(lines).replace(b"\n", b"\r\n")):
        path.write_bytes(edited)
        assert Recording.read(path) == whole
    for kept in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:kept]))
        assert not caplog.messages
        expected = Recording.read(path)
        for end in (lines[kept][:1], lines[kept][:-2], b"\0" * 9):
            path.write_bytes(b"".join([*lines[:kept], end]))
            assert Recording.read(path) == expected
            assert caplog.messages == [
                f"{path}, line {kept + 1}: The recording's last line is incomplete, and left out."
            ]
            caplog.clear()
    check_stream(expected.translate())


async def test_a_message_that_langchain_cannot_read_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    whole = await recorded(path, Conversation(FIXTURES["plain_text"]))
    for odd in ({"tool_calls": "x"}, {"additional_kwargs": "x"}, {"content": 5}):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        chunk = next(line for line in lines if line.get("mode") == "messages")
        chunk["data"][0].update(odd)
        (tmp_path / "odd.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        view = check_stream(Recording.read(tmp_path / "odd.jsonl").translate(), may_remove=True)
        assert view.messages == view_of(whole).messages


async def test_a_part_that_cannot_be_read_ends_a_translation_as_it_ended_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def stream() -> AsyncIterator[Any]:
        yield ("values", {"messages": []})
        yield ("messages", 5)

    path = tmp_path / "run.jsonl"
    with path.open("wb") as out:
        await record_stream(stream(), out.write, thread_id="t", run_id="r", options=Options())
    recording = Recording.read(path)
    assert recording.translate() == list(recording.events)
    assert recording.translate()[-1]["code"] == "UnreadablePartError"
    assert "A part of the recording can't be read (thread 't', run 'r'): expected (message" in caplog.text
    assert (await replayed(Replay(recording, speed=None)))[-1]["code"] == "UnreadablePartError"


def test_what_is_no_recording_is_refused_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "no.jsonl"
    shown = {"state_include": None, "messages_key": "messages"}
    about = {"format": 1, "thread_id": "t", "run_id": "r", "options": shown, "libraries": {}}
    first = json.dumps({"recording": about}) + "\n"
    odd: list[dict[str, Any]] = [{"state_include": [{}]}, {"state_include": [1]}, {"messages_key": ""}]
    for content, said in (
        ("", "expected a recording of"),
        ("hello\n", "line 1: expected a recording of"),
        ('{"type": "RUN_STARTED"}\n', "line 1: expected a RUN_STARTED with the ids of thread and run"),
        ('{"recording": {"format": 2}}\n', "expected a recording of format 1, got 2"),
        ('{"recording": {"format": 1}}\n', "line 1: expected a recording of"),
        *(
            (json.dumps({"recording": {**about, "options": {**shown, **wrong}}}), "line 1: expected names of channels")
            for wrong in odd
        ),
        (f"{first}[]\n", "line 2: expected a part"),
        (f'{first}{{"mode": "values", "data": 1}}\n', "line 2: expected a part"),
        (f'{first}{{"mode": "messages", "data": [{{}}, 3], "timestamp": 1}}\n', "line 2: expected a part"),
        (f'{first}{{"par\n', "line 2: "),
        (f'{first}{{"par\n{{}}', "line 2: "),
        (first[:-2], "line 1: expected a recording of"),
    ):
        path.write_text(content)
        with pytest.raises(ValueError, match=re.escape(str(path))) as refused:
            Recording.read(path)
        assert said in str(refused.value)
