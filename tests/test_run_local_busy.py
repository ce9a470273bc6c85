"""A second input for a thread on which a run is running, in a graph of this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs, run

from .chats import said
from .listening import turns, until
from .paced import Point, speaking

WORDS = "one two three four"


def asked(text: str, run_id: str, *held: dict[str, Any]) -> RunAgentInput:
    """What a client sends that says this."""
    said = {"id": f"user-{run_id}", "role": "user", "content": text}
    return RunAgentInput.model_validate({"threadId": "t", "runId": run_id, "messages": [*held, said]})


class Asker:
    """A client whose run is read in a task of its own."""

    def __init__(self, source: Local, given: RunAgentInput, intake: Intake | None = None) -> None:
        self.kinds: list[str] = []
        self.events: list[dict[str, Any]] = []
        self._stream = run(source, given, intake=intake)
        self.task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        async with aclosing(self._stream) as stream:
            async for event in stream:
                self.kinds.append(event.type.value)
                self.events.append(event.model_dump(by_alias=True, exclude_none=True))

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@asynccontextmanager
async def held_up() -> AsyncIterator[tuple[Local, Point, Asker]]:
    """A run that waits in the middle of what it says, and who asked for it."""
    point = Point()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver(), WORDS), runs=runs)
        first = Asker(source, asked("hello", "first"))
        await point.reached.wait()
        yield source, point, first
        point.open.set()
        await first.leave()


async def test_a_second_run_is_refused() -> None:
    async with held_up() as (source, _, _):
        second = Asker(source, asked("again", "second"))
        await second.task
        assert [(event["type"], event["code"]) for event in second.events] == [("RUN_ERROR", "conflict")]


async def test_the_same_request_that_comes_again_is_told_the_run() -> None:
    async with held_up() as (source, point, first):
        again = Asker(source, asked("hello", "first"))
        await until(lambda: "TEXT_MESSAGE_START" in again.kinds)
        point.open.set()
        await asyncio.gather(first.task, again.task)
        assert (await said(source.graph), again.kinds[-1]) == (["hello", WORDS], "RUN_FINISHED")


async def test_two_equal_requests_at_once_are_one_run() -> None:
    point = Point()
    point.open.set()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver(), WORDS), runs=runs)
        both = [Asker(source, asked("hello", "first")) for _ in range(2)]
        await asyncio.gather(*(each.task for each in both))
        assert (await said(source.graph), [each.kinds[-1] for each in both]) == (["hello", WORDS], ["RUN_FINISHED"] * 2)


async def test_a_queued_run_comes_after_the_one_before() -> None:
    async with held_up() as (source, point, _):
        second = Asker(source, asked("again", "second"), Intake(busy="queue"))
        await turns()
        assert second.kinds == []
        point.open.set()
        await second.task
        assert await said(source.graph) == ["hello", WORDS, "again", WORDS]


async def test_queued_runs_come_one_after_the_other() -> None:
    async with held_up() as (source, point, _):
        queued = [Asker(source, asked(name, name), Intake(busy="queue")) for name in ("second", "third")]
        await turns()
        point.open.set()
        await asyncio.gather(*(each.task for each in queued))
        assert sorted((await said(source.graph))[::2]) == ["hello", "second", "third"]


async def test_a_queued_run_happens_though_nobody_reads_any_more() -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("again", "second"), Intake(busy="queue"))
        await turns()
        await second.leave()
        point.open.set()
        await first.task
        await until(lambda: (going := source.runs.going(source.graph, "t")) is not None and going.run_id == "second")
        going = source.runs.going(source.graph, "t")
        assert going is not None
        assert await going.wait() == "finished"


async def test_a_queued_run_is_given_up_with_its_reader_if_the_owner_says_so() -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("again", "second"), Intake(busy="queue", on_disconnect="cancel"))
        await turns()
        await second.leave()
        point.open.set()
        await first.task
        await turns(20)
        assert (source.runs.going(source.graph, "t"), await said(source.graph)) == (None, ["hello", WORDS])


async def test_a_run_may_take_the_others_place() -> None:
    async with held_up() as (source, point, first):
        second = Asker(source, asked("instead", "second"), Intake(busy="cancel"))
        await first.task
        point.open.set()
        await second.task
        assert (first.events[-1].get("code"), second.kinds[-1], (await said(source.graph))[-2:]) == (
            "cancelled",
            "RUN_FINISHED",
            ["instead", WORDS],
        )


async def test_a_queued_run_ends_with_its_registry() -> None:
    point = Point()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver(), WORDS), runs=runs)
        first = Asker(source, asked("hello", "first"))
        await point.reached.wait()
        second = Asker(source, asked("again", "second"), Intake(busy="queue"))
        await turns()
    await asyncio.gather(first.task, second.task, return_exceptions=True)
    assert second.task.done()


async def test_a_run_goes_on_without_its_reader() -> None:
    async with held_up() as (source, point, first):
        await first.leave()
        going = source.runs.going(source.graph, "t")
        assert going is not None
        point.open.set()
        assert await going.wait() == "finished"


async def test_a_run_ends_with_its_last_reader_if_the_owner_says_so() -> None:
    point = Point()
    async with Runs() as runs:
        source = Local(speaking(point, InMemorySaver(), WORDS), runs=runs)
        asker = Asker(source, asked("hello", "first"), Intake(on_disconnect="cancel"))
        await point.reached.wait()
        going = source.runs.going(source.graph, "t")
        assert going is not None
        await asker.leave()
        assert await going.wait() == "cancelled"
