"""What a platform says of one thread: questions and their answers, asked again while the server can't be reached.

Never what is told of an answer (`platform`, `attach`), and no streams (`joined`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from langgraph.constants import END
from langgraph_sdk.client import LangGraphClient

from ...translator import Cancelled, Finished
from ..errors import ConnectionLost, PlatformError, RunConflictError, RunNotFoundError
from ..run_outcome import RunOutcome
from .http import asked
from .outcome import ACTIVE, ended, is_of, paused
from .retry import Retries, RetryPolicy

_Answer = TypeVar("_Answer")
Answered = Mapping[str, Any]

NOT_FOUND = 404
_CONFLICT = 409
_UNFIT = 422
RUN_ID = "agui_run_id"
"""Under which name a run's metadata have the id that its client asked for: platforms make run ids of their own."""
_FEW = 20
_PAGES = 5


def tells_how(run: Answered) -> bool:
    """Whether a run says how it was started. Where runs do not (Aegra), the server keeps the events of all of them, and
    refuses to look for states by their metadata."""
    kwargs = run.get("kwargs")
    return isinstance(kwargs, Mapping) and bool(kwargs)


def told_id(run: Answered) -> str:
    """The id that a run is told under: its client's, or else the platform's. (Aegra shows no metadata of a run but
    those of its config.)"""
    for holder in (run, run.get("config")):
        metadata = holder.get("metadata") if isinstance(holder, Mapping) else None
        wanted = metadata.get(RUN_ID) if isinstance(metadata, Mapping) else None
        if isinstance(wanted, str) and wanted:
            return wanted
    return str(run["run_id"])


class Look(NamedTuple):
    """A thread at one moment, as far as one round of questions can see one."""

    thread: Answered
    state: Answered
    active: Answered | None
    """The run that is going on, or else the one that has waited longest."""
    recent: Sequence[Answered]
    """The newest runs, whatever became of them, the newest first."""

    @property
    def last(self) -> Answered | None:
        """The newest run."""
        return next(iter(self.recent), None)

    @property
    def checkpoint_id(self) -> str | None:
        """The newest checkpoint, None where nothing was ever written."""
        found = self.state.get("checkpoint_id") or (self.state.get("checkpoint") or {}).get("checkpoint_id")
        return None if found is None else str(found)


class PlatformThread:
    """One thread of a platform. Raises `PlatformError` for what the server refuses, `ConnectionLost` when it stays
    away."""

    def __init__(self, client: LangGraphClient, thread_id: str, policy: RetryPolicy) -> None:
        self.client = client
        self.id = thread_id
        self.policy = policy

    async def look(self, run_id: str | None = None) -> Look | None:
        """How the thread stands; with `run_id`, as if this were its only run. None if there is no such thread.

        The runs are asked for first: the state of one that was over by then is its last. If the state turns out to be
        that of a run which came after they were asked for, it is looked again.

        Raises `PlatformError` (404) if the thread has no run of this id.
        """
        look = await self._look(run_id)
        if run_id is None and look is not None and await self._was_overtaken(look):
            look = await self._look(None)
        return look

    async def _look(self, run_id: str | None) -> Look | None:
        found = await (self._runs() if run_id is None else self._one_run(run_id))
        if found is None:
            return None
        async with _together() as asked:
            asked_thread = asked.create_task(self._found(self._thread))
            asked_state = asked.create_task(self._found(self.state))
        thread, state = asked_thread.result(), asked_state.result()
        return None if thread is None or state is None else Look(thread, state, *found)

    async def _was_overtaken(self, look: Look) -> bool:
        """Whether the state is that of a run which is not among those of the look. (A copied thread's is that of a run
        on another thread.)"""
        maker = (look.state.get("metadata") or {}).get("run_id")
        known = [run["run_id"] for run in (look.active, *look.recent) if run is not None]
        return maker is not None and maker not in known and await self.run(str(maker)) is not None

    async def state(self) -> Answered:
        """The thread's newest state, with those of the subgraphs that have begun and not ended."""
        state: Answered = await self._asked(lambda: self.client.threads.get_state(self.id, subgraphs=True))
        return state

    async def run(self, run_id: str) -> Answered | None:
        """A run of this thread; None if it has none of this id (any more)."""
        return await self._found(lambda: self._asked(lambda: self.client.runs.get(self.id, run_id)))

    async def run_id_of(self, told: str) -> str:
        """The platform's id of the run that is told under this id: the newest such, of the newest runs. The id itself
        if there is none: then it is the platform's."""
        runs = await self._listed(_FEW) or ()
        return next((str(run["run_id"]) for run in runs if told_id(run) == told), told)

    async def history(self) -> AsyncGenerator[Answered, None]:
        """The thread's states, of all branches, the newest first."""
        before: Any = None
        while True:
            found = await self._states(_FEW, before=before)
            for state in found:
                yield state
            if len(found) < _FEW:
                return
            before = found[-1]["checkpoint"]

    async def drop(self) -> None:
        """Gives up what the thread's last run left undone."""
        await self._asked(lambda: self.client.threads.update_state(self.id, None, as_node=END))

    async def start(self, assistant_id: str, **how: Any) -> Answered:
        """Starts a run, as `runs.create` does. A connection that is lost meanwhile is not made again: it may have been
        started. Raises `RunConflictError` where the server has another one that it may not start beside."""
        try:
            run: Answered = await asked(self.client.runs.create(self.id, assistant_id, **how))
        except PlatformError as error:
            if error.status == _CONFLICT:
                raise RunConflictError(f"thread {self.id!r} has a run that is running") from error
            raise
        return run

    async def ended(self, run_id: str) -> RunOutcome:
        """How a run ended that is not active any more. One that is gone was rolled back: its thread is as before it;
        where the thread is gone too, it went with it, as a stateless run's does."""
        look = await self._found(lambda: self.look(run_id))
        if look is None:
            state = await self._found(self.state)
            values = None if state is None else state.get("values") or {}
            return RunOutcome(run_id, values, Finished() if state is None else Cancelled(), is_undone=state is not None)
        return await self.ended_as(look, look.recent[0])

    async def ended_as(self, look: Look, run: Answered) -> RunOutcome:
        """How one of the runs of a look ended."""
        state, thread, run_id = look.state, look.thread, str(run["run_id"])
        if not is_of(state, run_id):
            made = await self._state_after(run)
            if made is None and run is look.last and (left := paused(run, state, thread)) is not None:
                return left
            state, thread = made or state, {}
        return ended(run, state, thread, run_id=run_id)

    async def cancel(self, run_id: str | None) -> None:
        """Stops this run, or every run that is going on or waiting; returns when they have stopped. Raises
        `RunNotFoundError` if there is none."""
        if run_id is None:
            running, pending = await self._active()
            wanted = [str(run["run_id"]) for run in [*pending, *running]]
        else:
            wanted = [await self.run_id_of(run_id)]
        stopped = [await self._stopped(each) for each in wanted]
        if not any(stopped):
            raise RunNotFoundError(
                f"thread {self.id!r} has no run to stop" + (f" with the id {run_id!r}" if run_id else "")
            )

    async def stop(self, run_id: str) -> None:
        """Asks for a run's end, once, and waits for nothing: it may have ended, or the server be gone."""
        with suppress(PlatformError, ConnectionLost):
            await asked(self.client.runs.cancel(self.id, run_id, wait=False))

    async def _stopped(self, run_id: str) -> bool:
        async def stopped() -> bool:
            await self.client.runs.cancel(self.id, run_id, wait=True)
            return True

        try:
            return await answer(stopped, self.policy, hurries=False)  # it takes what the run takes to stop
        except PlatformError as error:
            if error.status in (NOT_FOUND, _UNFIT):  # no run has this id, or can have it
                return False
            raise

    async def _state_after(self, run: Answered) -> Answered | None:
        """The newest state that this run made; None if it made none, or none is left."""
        run_id = str(run["run_id"])
        if tells_how(run):
            found = await self._states(1, metadata={"run_id": run_id})
            return found[0] if found else None
        async with aclosing(self.history()) as states:
            seen = 0
            async for state in states:
                if (state.get("metadata") or {}).get("run_id") == run_id:
                    return state
                seen += 1
                if seen == _FEW * _PAGES:
                    break
        return None

    async def _states(self, limit: int, **which: Any) -> list[Answered]:
        """States of the thread, the newest first."""
        return list(await self._asked(lambda: self.client.threads.get_history(self.id, limit=limit, **which)))

    async def _thread(self) -> Answered:
        thread: Answered = await self._asked(lambda: self.client.threads.get(self.id))
        return thread

    async def _one_run(self, run_id: str) -> tuple[Answered | None, Sequence[Answered]]:
        run = await self._asked(lambda: self.client.runs.get(self.id, run_id))
        return (run if run.get("status") in ACTIVE else None), [run]

    async def _runs(self) -> tuple[Answered | None, Sequence[Answered]] | None:
        """The active run and the newest ones; None if there is no such thread."""
        newest = await self._listed(_FEW)
        if newest is None:
            return None
        running, pending = ([run for run in newest if run.get("status") == status] for status in ("running", "pending"))
        if len(newest) == _FEW and not running:  # it may be older than all of these
            older = await self._active()
            running, pending = older[0] or running, older[1] or pending
        return next(reversed(running or pending), None), newest

    async def _active(self) -> list[list[Any]]:
        """The runs that are going on, and those that wait."""
        async with _together() as asked:
            lists = [asked.create_task(self._listed(_FEW, status=status)) for status in ("running", "pending")]
        return [each.result() or [] for each in lists]

    async def _listed(self, limit: int, **which: Any) -> list[Any] | None:
        """Runs, the newest first; None if there is no such thread."""
        return await self._found(lambda: self._asked(lambda: self.client.runs.list(self.id, limit=limit, **which)))

    async def _found(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        try:
            return await question()
        except PlatformError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def _asked(self, question: Callable[[], Awaitable[Any]]) -> Any:
        return await answer(question, self.policy)


async def answer(question: Callable[[], Awaitable[_Answer]], policy: RetryPolicy, *, hurries: bool = True) -> _Answer:
    """The answer to a question, asked again while the server can't be reached, or, if it `hurries`, does not answer."""
    retry = Retries(policy)
    while True:
        try:
            async with asyncio.timeout(policy.read_timeout if hurries else None):
                return await asked(question())
        except TimeoutError:
            await retry.pause(ConnectionLost(f"no answer came for {policy.read_timeout:g} seconds"))
        except ConnectionLost as cut:
            await retry.pause(cut)


@asynccontextmanager
async def _together() -> AsyncIterator[asyncio.TaskGroup]:
    """Questions that are asked at once. When one fails the others are given up, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
