"""The commands `record` and `replay`: runs of graphs and of a server become files, and these are served to clients."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_agui.connect.testing import Recording, check_stream
from langgraph_agui.translator import ClientView, Failed, Finished, same_json
from langgraph_sdk import get_client

from fixtures.recordings import REPORTED
from tests.support.clients.platform.recorded_run import Recorded
from tests.support.servers.platforms.fault_server import faulty
from tests.support.servers.platforms.scripted_platform import ScriptedPlatform
from tests.support.servers.processes.command import asking, command, one_line, serving
from tests.support.servers.serving import events_of

GRAPHS = """
from fixtures import FIXTURES
graphs = ("model_raises_mid_text", "plain_text", "review_approved")
globals().update({name: FIXTURES[name].build(None) for name in graphs})
"""
"""A module with some of the fixtures: to build all takes longer than a run."""
NONE = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `GRAPHS`, in which the command is run."""
    (tmp_path / "some.py").write_text(GRAPHS)
    return tmp_path


def view_of(recording: Recording) -> ClientView:
    """What a client has that has the recorded events."""
    return check_stream(list(recording.events), may_remove=True)


def test_a_run_of_a_graph_is_recorded_however_it_ends(folder: Path) -> None:
    project = {"dependencies": ["."], "graphs": {"team": "some:review_approved"}}
    (folder / "langgraph.json").write_text(json.dumps(project))
    file, threads = folder / "run.jsonl", ("--sqlite", "threads.db", "--thread", "one", "--output")
    ran = command("record", "--message", "go", *threads, "run.jsonl", cwd=folder)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "run.jsonl: the run waits for an answer\n", "")
    recording = Recording.read(file)
    assert recording.thread_id == "one"
    assert len(recording.parts) > 5
    assert recording.translate() == list(recording.events)
    interrupts = (view_of(recording).terminal or {})["outcome"]["interrupts"]
    assert len(interrupts) == 1

    with serving("--sqlite", "threads.db", cwd=folder) as server:
        [listed] = httpx.get(f"{server.url}/threads", headers=server.bearer).json()["threads"]
    assert (listed["id"], listed["status"]) == ("one", "waiting")
    with sqlite3.connect(folder / "threads.db") as kept:
        owners = kept.execute("SELECT DISTINCT json_extract(metadata, '$.agui_agent') FROM checkpoints").fetchall()
    assert owners == [("team",)]
    other = "other=some:review_approved"
    ran = command("record", other, "--message", "go", *threads, "other.jsonl", cwd=folder)
    assert one_line(ran) == "thread 'one' belongs to another agent"

    decided = json.dumps({"decisions": [{"type": "approve"}] * 2})
    ran = command("record", "--resume", decided, *threads, "answered.jsonl", cwd=folder)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "answered.jsonl: the run ended\n", "")
    messages = view_of(Recording.read(folder / "answered.jsonl")).messages or []
    assert messages[-1]["content"] == "It has been decided."

    fails = command("record", "some:model_raises_mid_text", "--message", "hi", "--output", "f", cwd=folder)
    assert (fails.returncode, fails.stderr) == (0, "")
    assert ": the run failed with " in fails.stdout
    assert isinstance(Recording.read(folder / "f").ending, Failed)


def without(event: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != name}


def test_a_run_is_recorded_as_a_page_with_what_was_chosen(folder: Path) -> None:
    def page(*arguments: str) -> dict[str, Any]:
        graph = ("--sqlite", "threads.db", "--message", "go</script>", *arguments)
        ran = command("record", "team=some:review_approved", *graph, cwd=folder)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.endswith("run.html: the run waits for an answer\n")
        text = (folder / "run.html").read_text(encoding="utf-8")
        (folder / "run.html").unlink()
        [data] = re.findall('<script type="application/json" id="run">(.*?)</script>', text)
        run: dict[str, Any] = json.loads(data)
        return run

    run = page("--html", "run.html")
    assert (run["title"], run["agent"], run["left"]) == ("go</script>", "team", ["tools"])
    assert [path.name for path in folder.glob("*.jsonl")] == []
    assert check_stream(run["events"]).terminal is not None
    whole = page("--html", "run.html", "--output", "run.jsonl", "--include", "tools")
    assert whole["left"] == []
    recorded = Recording.read(folder / "run.jsonl").events
    assert [without(event, "timestamp") for event in whole["events"]] == list(recorded)
    assert [event["type"] for event in run["events"]] == [event["type"] for event in recorded]


def test_what_cannot_be_recorded_or_replayed_is_one_line(folder: Path) -> None:
    (folder / "there").write_text("x")
    graph, platform = "some:plain_text", "http://127.0.0.1:1"
    for arguments, said in (
        ((graph,), "record runs your own graph: expected"),
        ((graph, "--message", "a", "--input", "1"), "expected only one of --message, --input and --resume"),
        ((graph, "--input", "{"), "--input: expected JSON"),
        ((graph, "--message", "a", "--output", str(folder / "there")), "the file already exists"),
        ((graph, "--message", "a", "--output", str(folder / "no/where")), "No such file"),
        ((graph, "--message", "a", "--html", str(folder / "there")), "the file already exists"),
        ((graph, "--message", "a", "--include", "state"), "--include chooses what is in the page"),
        ((graph, "--message", "a", "--assistant", "b"), "--assistant is only for a server"),
        ((graph, "--resume", "1"), "name the thread with --thread"),
        ((platform, "--message", "a"), "with --assistant"),
        ((platform,), "expected --thread"),
        ((platform, "--run", "a", "--message", "b"), "--run names a run that exists"),
        ((platform, "--thread", "a", "--sqlite", "b"), "--sqlite is only for your own graphs"),
    ):
        ran = command("record", "--output", str(folder / "new"), *arguments, cwd=folder)
        assert said in one_line(ran), arguments
        assert ran.returncode in (1, 2)
        assert not (folder / "new").exists()
    for given, said in (
        ((str(folder / "there"),), "there, line 1: expected a recording of"),
        ((str(folder / "none"),), "none can't be read: No such file"),
        ((str(folder / "there"), "--speed", "2", "--instant"), "expected --speed or --instant, not both"),
    ):
        ran = command("replay", *given)
        assert said in one_line(ran)
        assert ran.returncode in (1, 2)


def test_a_file_that_cannot_be_written_any_more_is_named(folder: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
    file = folder / "run.jsonl"
    ran = command("record", "some:plain_text", "--message", "hi", "--output", str(file), cwd=folder, before=limit)
    assert one_line(ran).endswith(f"--output {file}: File too large")
    assert ran.returncode == 1
    lines = file.read_bytes().splitlines(keepends=True)
    assert sum(map(len, lines)) == 4096
    with serving(str(file), "--instant", by="replay") as replaying:
        said = f"{file}, line {len(lines)}: The recording's last line is incomplete, and left out."
        assert any(line.endswith(said) for line in replaying.said)


async def test_a_run_of_a_server_is_recorded_while_it_runs_and_after_it(dev_server: str, tmp_path: Path) -> None:
    def record(name: str, *arguments: str) -> Recording:
        ran = command("record", dev_server, *arguments, "--output", str(tmp_path / name))
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout == f"{tmp_path / name}: the run ended\n"
        return Recording.read(tmp_path / name)

    first = await asyncio.to_thread(record, "one", "--assistant", "agent_one_tool", "--message", "go")
    again = await asyncio.to_thread(record, "two", "--thread", first.thread_id, "--run", first.run_id)
    assert first.translate() == list(first.events) == list(again.events)
    assert isinstance(first.ending, Finished)
    async with get_client(url=dev_server) as client:
        values = (await client.threads.get_state(first.thread_id))["values"]
        assert isinstance(values, dict)
        assert [message["id"] for message in values["messages"]] == [m["id"] for m in view_of(first).messages or []]
        unkept = await client.runs.create(first.thread_id, "plain_text", input={"messages": []})
        await client.runs.join(first.thread_id, unkept["run_id"])
    place = (dev_server, "--thread", first.thread_id, "--output", str(tmp_path / "none"))
    for arguments, said in (((), "has no active run"), (("--run", unkept["run_id"]), "has no stream of run")):
        assert said in one_line(await asyncio.to_thread(command, "record", *place, *arguments))
    assert not (tmp_path / "none").exists()


async def test_what_a_server_sends_twice_is_recorded_once(recorded_chat: Recorded, tmp_path: Path) -> None:
    """A server that begins to listen before it sends what it has kept sends again what came meanwhile."""
    platform = ScriptedPlatform(recorded_chat, present=12, overlap=4)
    async with faulty(platform.answers()) as server:
        ids = ("--thread", platform.thread_id, "--run", platform.run_id)
        ran = await asyncio.to_thread(command, "record", server.url, *ids, "--output", str(tmp_path / "run"))
    assert (ran.returncode, ran.stderr) == (0, "")
    sent = [(each.data.event, each.data.data) for each in Recording.read(tmp_path / "run").parts]
    assert sent == [event for event in recorded_chat.events if event[0] != "end"]


def events_alone(file: Path) -> Iterator[str]:
    """The lines of a recording that the inspector would save of it."""
    return (line for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if "type" in json.loads(line))


@pytest.mark.parametrize("is_of_events", [False, True], ids=["parts", "events"])
@pytest.mark.parametrize("file", sorted(REPORTED.glob("*.jsonl")), ids=lambda file: file.stem)
def test_a_recording_is_served_to_clients_as_its_run_was(file: Path, is_of_events: bool, tmp_path: Path) -> None:
    recording = Recording.read(file)
    if is_of_events:
        lines = "".join(events_alone(file))
        file = tmp_path / "saved.jsonl"
        file.write_text(lines, encoding="utf-8")
    then = view_of(recording)
    with serving(str(file), "--instant", "--agent", "planner", by="replay") as replaying:
        url = f"{replaying.url}/?agent=planner&thread={recording.thread_id}"
        assert any(url in line for line in replaying.said)
        assert "<!doctype html>" in httpx.get(url).text.lower()
        given = {**asking("", recording.thread_id), "messages": []}
        answer = httpx.post(f"{replaying.url}/planner/connect", json=given, timeout=30)
        view = check_stream(events_of(answer.text), may_remove=True)
        assert same_json(view.messages, then.messages)
        assert same_json(view.state, then.state)
        asked = replaying.run("planner", "Something else", "mine", "r")
        assert re.fullmatch("RUN_(FINISHED|ERROR)", str((asked.terminal or {})["type"]))
        assert (asked.thread_id, asked.run_id) == ("mine", "r")
