"""The runs of a thread that have ended, over HTTP: their list, and the events of each with their times."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_agui.connect import MemoryRunStore, Retention
from langgraph_agui.connect.local.store.sqlite.finished import MemoryRunStoreWithFile
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import check_stream

from tests.connect.local.index.places import conversation
from tests.support.servers.serving import BEARER, TOKEN, events_of, posted, served


def by_header(request: Any) -> str | None:
    name: str | None = request.headers.get("x-user")
    return name


def own(user: str, action: str, agent: str, thread_id: str | None) -> dict[str, str]:
    """Each user has threads of their own."""
    return {"owner": user}


def by(name: str) -> dict[str, str]:
    return {"x-user": name}


@asynccontextmanager
async def client_of(saver: Any, store: MemoryRunStore, **how: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with served(agui_app({"chat": conversation(saver)}, store=store, **how)) as server, server.client() as client:
        yield client


async def says(client: httpx.AsyncClient, run_id: str, said: str, **more: Any) -> list[dict[str, Any]]:
    """The events of a run, as whoever started it gets them."""
    message = {"id": f"message of {run_id}", "role": "user", "content": said}
    return events_of((await client.post("/chat", json=posted("t", run_id=run_id, messages=[message]), **more)).text)


async def runs_of(client: httpx.AsyncClient, **more: Any) -> list[dict[str, Any]]:
    answer = await client.get("/threads/t/runs", **more)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["runs"])


def untimed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events without their times, which rise."""
    times = [event["timestamp"] for event in events]
    assert times == sorted(times)
    return [{name: value for name, value in event.items() if name != "timestamp"} for event in events]


async def test_the_events_of_finished_runs_are_there_for_everyone_who_may_read_the_thread() -> None:
    store = MemoryRunStore(retention=Retention())
    async with client_of(InMemorySaver(), store, token=TOKEN) as client:
        emitted = {name: await says(client, name, said) for name, said in (("r1", "hi"), ("r2", "ask"))}
        assert (await says(client, "r3", "raise"))[-1]["type"] == "RUN_FINISHED"  # the question waits
        listed = await runs_of(client)
        assert [(run["runId"], run["status"], run["kept"]) for run in listed] == [
            ("r2", "interrupted", True),
            ("r1", "finished", True),
        ]
        for run in listed:
            assert run["startedAt"] < run["endedAt"]
            answer = await client.get("/threads/t/events", params={"run": run["runId"]})
            events = untimed(events_of(answer.text))
            assert len(events) == run["events"]
            assert [e for e in events if e["type"] != "MESSAGES_SNAPSHOT"] == [
                e for e in emitted[run["runId"]] if e["type"] != "MESSAGES_SNAPSHOT"
            ]
            lines = await client.get(
                "/threads/t/events", params={"run": run["runId"]}, headers={"accept": "application/x-ndjson"}
            )
            assert [json.loads(line) for line in lines.text.splitlines()] == events_of(answer.text)
        assert await runs_of(client, params={"limit": 1}) == listed[:1]
        for path, status in (
            ("/threads/t/events?run=other", 404),
            ("/threads/other/events?run=r1", 404),
            ("/threads/other/runs", 404),
            ("/threads/t/events", 422),
            ("/threads/t/runs?limit=0", 422),
            ("/threads/t/runs?agent=other", 404),
        ):
            assert (await client.get(path)).status_code == status, path
        assert (await client.delete("/threads/t", headers=BEARER)).status_code == 204
        assert (await client.get("/threads/t/events?run=r1")).status_code == 404
    await store.aclose()


async def test_nobody_else_reads_the_runs_of_a_thread_also_if_its_checkpoints_are_gone() -> None:
    saver, store = InMemorySaver(), MemoryRunStore(retention=Retention())
    users: dict[str, Any] = {"authenticate": by_header, "authorize": own}
    async with client_of(saver, store, **users) as client:
        await says(client, "r1", "hi", headers=by("ada"))
        async with client_of(saver, store, **users) as other:  # this app does not know whose thread it was
            for reads in (client, other):
                assert [run["runId"] for run in await runs_of(reads, headers=by("ada"))] == ["r1"]
                assert (await reads.get("/threads/t/events?run=r1", headers=by("ada"))).status_code == 200
                for path in ("/threads/t/runs", "/threads/t/events?run=r1"):
                    assert (await reads.get(path, headers=by("bob"))).status_code == 404, path
                    assert (await reads.get(path)).status_code == 401, path
                await saver.adelete_thread("t")


@pytest.mark.parametrize("store", [MemoryRunStore(), MemoryRunStore(retention=Retention(run_bytes=1))])
async def test_a_run_whose_events_are_not_kept_is_read_from_its_checkpoints(store: MemoryRunStore) -> None:
    async with client_of(InMemorySaver(), store) as client:
        for name, said in (("r1", "hi"), ("r2", "there")):
            await says(client, name, said)
        listed = await runs_of(client)
        assert [(run["runId"], run["status"], run["kept"]) for run in listed] == [
            ("r2", "finished", False),
            ("r1", "finished", False),
        ]
        for run, said in zip(listed, ("there", "hi"), strict=True):
            events = events_of((await client.get(f"/threads/t/events?run={run['runId']}")).text)
            steps = [(event["type"], event["stepName"]) for event in untimed(events) if "stepName" in event]
            assert steps == [("STEP_STARTED", "answer"), ("STEP_FINISHED", "answer")]
            view = check_stream(events)
            assert [message["content"] for message in view.messages][-2:] == [said, f"I heard {said}."]
    await store.aclose()


async def test_a_run_that_is_not_kept_shows_where_it_asked_or_failed_and_where_it_went_on() -> None:
    async with client_of(InMemorySaver(), MemoryRunStore()) as client:
        await says(client, "asked", "ask")
        (interrupt,) = (await says(client, "again", "ask"))[-1]["outcome"]["interrupts"]
        answer = [{"interruptId": interrupt["id"], "status": "resolved", "payload": "yes"}]
        await client.post("/chat", json=posted("t", run_id="answered", resume=answer))
        await says(client, "failed", "raise")
        assert [(run["runId"], run["status"]) for run in await runs_of(client)] == [
            ("failed", "failed"),
            ("answered", "finished"),
            ("asked", "interrupted"),
        ]
        read = {
            name: events_of((await client.get("/threads/t/events", params={"run": name})).text)
            for name in ("asked", "answered", "failed")
        }
        for events in read.values():
            check_stream(events)
            steps = [(event["type"], event["stepName"]) for event in untimed(events) if "stepName" in event]
            assert steps == [("STEP_STARTED", "answer"), ("STEP_FINISHED", "answer")]
        assert read["asked"][-1]["outcome"]["interrupts"][0]["id"] == interrupt["id"]
        assert read["answered"][-1]["outcome"] == {"type": "success"}
        assert check_stream(read["answered"]).messages[-1]["content"] == "yes"
        assert (read["failed"][-1]["type"], read["failed"][-1]["code"]) == ("RUN_ERROR", "ValueError")


def read_all(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("runs.db*"))


@pytest.mark.parametrize("key", [None, b"0123456789abcdef"])
async def test_finished_runs_in_a_file_are_there_after_a_restart_and_encrypted_if_the_threads_are(
    tmp_path: Path, key: bytes | None
) -> None:
    serde = None if key is None else EncryptedSerializer.from_pycryptodome_aes(key=key)
    async with aiosqlite.connect(tmp_path / "threads.db") as connection:
        saver = AsyncSqliteSaver(connection, serde=serde)
        emitted: list[list[dict[str, Any]]] = []
        for run_id in ("r1", "r2"):
            store = MemoryRunStoreWithFile(tmp_path / "runs.db", saver, Retention())
            async with client_of(saver, store, token=TOKEN) as client:
                emitted.append(await says(client, run_id, "artichoke"))
                assert [run["runId"] for run in await runs_of(client)] == ["r2", "r1"][-len(emitted) :]
                events = untimed(events_of((await client.get("/threads/t/events?run=r1")).text))
                assert events[-1] == emitted[0][-1]
                if run_id == "r2":
                    stored = await asyncio.to_thread(read_all, tmp_path)
                    assert (b"agui_agent" in stored) == (key is None)
                    assert (await client.delete("/threads/t", headers=BEARER)).status_code == 204
                    assert (await client.get("/threads/t/runs")).status_code == 404
            await store.aclose()


@pytest.mark.parametrize("limits", [{"runs": 0}, {"age": -1.0}, {"bytes": 0}, {"run_bytes": 0}])
def test_limits_that_keep_nothing_are_refused(limits: Any) -> None:
    with pytest.raises(ValueError, match="expected more than 0"):
        Retention(**limits)
