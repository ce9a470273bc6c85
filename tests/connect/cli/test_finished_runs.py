"""The command `serve`: which finished runs it keeps with their events, and for how long (`--keep-runs`)."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.servers.processes.command import Serving, serving
from tests.support.servers.serving import WITHIN, events_of, posted

AGENT = """
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel


async def answer(state):
    return {"messages": [await ScriptedChatModel(turns=["One two three."]).ainvoke("go on")]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an agent."""
    (tmp_path / "planner.py").write_text(AGENT)
    return tmp_path


def runs(server: Serving, *run_ids: str) -> None:
    """Runs these turns on a thread, one after the other."""
    for run_id in run_ids:
        message = {"id": f"message of {run_id}", "role": "user", "content": run_id}
        answer = httpx.post(
            f"{server.url}/planner", json=posted("t", run_id=run_id, messages=[message]), timeout=WITHIN
        )
        assert events_of(answer.text)[-1]["type"] == "RUN_FINISHED"


def listed(server: Serving) -> list[tuple[str, bool]]:
    """The runs of the thread, the newest first, and whether the events of each are kept."""
    answer = httpx.get(f"{server.url}/threads/t/runs", timeout=WITHIN)
    return [(run["runId"], run["kept"]) for run in answer.json()["runs"]]


def pieces(server: Serving, run_id: str) -> list[Any]:
    """The pieces of the answer of a run that has ended: it streamed in three, and a checkpoint has the whole."""
    answer = httpx.get(f"{server.url}/threads/t/events", params={"run": run_id}, timeout=WITHIN)
    assert answer.status_code == 200
    return [event["delta"] for event in events_of(answer.text) if event["type"] == "TEXT_MESSAGE_CONTENT"]


def test_serve_keeps_finished_runs_with_their_events_and_in_a_file_they_outlive_it(folder: Path) -> None:
    with serving("planner.py:graph", "--sqlite", "threads.db", cwd=folder) as server:
        runs(server, "r1", "r2")
        assert listed(server) == [("r2", True), ("r1", True)]
    with serving("planner.py:graph", "--sqlite", "threads.db", cwd=folder) as server:
        assert listed(server) == [("r2", True), ("r1", True)]
        assert pieces(server, "r1") == ["One ", "two ", "three."]


@pytest.mark.parametrize(("keeps", "kept"), [("1", [True, False]), ("0", [False, False])])
def test_of_runs_that_serve_does_not_keep_the_checkpoints_show_what_is_left(
    folder: Path, keeps: str, kept: list[bool]
) -> None:
    with serving("planner.py:graph", "--sqlite", "threads.db", "--keep-runs", keeps, cwd=folder) as server:
        runs(server, "r1", "r2")
        assert listed(server) == list(zip(("r2", "r1"), kept, strict=True))
        assert pieces(server, "r1") == ["One two three."]
    assert (folder / "threads.db-runs").exists() == (keeps != "0")
