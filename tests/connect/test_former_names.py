"""Arguments that were renamed, or that functions do not take any more, are taken with a warning."""

import inspect
from dataclasses import replace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Runs, RunSummary, start
from langgraph_agui.translator import ClientView

from tests.support.clients.batch_readers import BatchReader
from tests.support.streams.pausing_graphs import HELLO, on, quick


def _answer(value: Any) -> Any:
    return value


def test_an_intake_takes_the_former_name_of_its_function() -> None:
    with pytest.warns(DeprecationWarning, match="Intake: on_cancelled is called answer_cancelled now") as warned:
        intake = Intake(busy="queue", on_cancelled=_answer)  # type: ignore[call-arg]
    assert warned[0].filename == __file__
    assert replace(intake, roles={"user"}) == Intake(busy="queue", roles={"user"}, answer_cancelled=_answer)
    with pytest.warns(DeprecationWarning, match="answer_cancelled"):
        assert intake.on_cancelled is _answer
    with pytest.raises(TypeError, match="on_cancelled is called answer_cancelled now"):
        Intake(on_cancelled=_answer, answer_cancelled=_answer)  # type: ignore[call-arg]
    assert {"answer_cancelled", "on_cancelled"} & inspect.signature(Intake).parameters.keys() == {"answer_cancelled"}


async def test_runs_take_the_former_name_of_their_hook() -> None:
    summaries: list[RunSummary] = []
    with pytest.warns(DeprecationWarning, match="Runs: on_run_end is called after_run now"):
        runs = Runs(on_run_end=summaries.append)  # type: ignore[call-arg]
    async with runs:
        await (await runs.start(quick(), HELLO, on("t"), run_id="r")).wait()
    assert [summary.run_id for summary in summaries] == ["r"]


async def test_a_start_takes_the_view_of_a_client_with_a_warning() -> None:
    view = ClientView(messages=[{"id": "user-1", "role": "user", "content": "hello"}], state={})
    async with Runs() as runs:
        with pytest.warns(DeprecationWarning, match="start: view: will not be taken any more") as by_function:
            first = await start(quick(), HELLO, on("t"), runs=runs, view=view)
        with pytest.warns(DeprecationWarning, match="start: view: will not be taken any more") as by_method:
            second = await runs.start(quick(), HELLO, on("u"), view=view)
        assert [warned[0].filename for warned in (by_function, by_method)] == [__file__] * 2
        for run in (first, second):
            listener = BatchReader(view)
            await listener.hear(run.attach(listener.reader))
            assert "MESSAGES_SNAPSHOT" not in listener.kinds


async def test_runs_start_what_only_inputs_say_with_a_warning() -> None:
    async with Runs() as runs:
        with pytest.warns(DeprecationWarning, match="start: on_cancel, parent_run_id, stamp: will not be taken"):
            run = await runs.start(
                quick(InMemorySaver()), HELLO, on("t"), parent_run_id="parent", stamp={"team": "a"}, on_cancel="save"
            )
        events = [event async for event in run]
        assert events[0].parent_run_id == "parent"  # type: ignore[union-attr]
        assert run.metadata == {"team": "a"}


async def test_an_unknown_argument_is_refused() -> None:
    async with Runs() as runs:
        with pytest.raises(TypeError, match="on_disconect"):
            await runs.start(quick(), HELLO, on("t"), on_disconect="cancel")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="viewer"):
            await start(quick(), HELLO, on("t"), runs=runs, viewer=None)  # type: ignore[call-arg]
        assert runs.active == ()
