"""What a platform says of one thread: questions and their answers, asked again while the server can't be reached.

Never what is told of an answer (`platform`, `attach`), and no streams (`joined`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from langgraph_sdk.client import LangGraphClient

from ..translator import Cancelled, Finished
from .ended import ACTIVE, ended, is_of
from .idle import Ended
from .patience import Patience, Policy
from .wire import Cut, PlatformError, asked

_Answer = TypeVar("_Answer")
Answered = Mapping[str, Any]

NOT_FOUND = 404
_FEW = 20


class Look(NamedTuple):
    """A thread at one moment, as far as one round of questions can see one."""

    thread: Answered
    state: Answered
    active: Answered | None
    """The run that is going on, or else the one that has waited longest."""
    last: Answered | None
    """The newest run, whatever became of it."""

    @property
    def checkpoint_id(self) -> str | None:
        """The newest checkpoint, None where nothing was ever written."""
        found = self.state.get("checkpoint_id") or (self.state.get("checkpoint") or {}).get("checkpoint_id")
        return None if found is None else str(found)

    @property
    def was_written(self) -> bool:
        """Whether the newest checkpoint is no run's, but somebody's who wrote the state (`update_state`)."""
        return (self.state.get("metadata") or {}).get("source") in ("update", "fork")


class PlatformThread:
    """One thread of a platform. Raises `PlatformError` for what the server refuses, `Cut` when it stays away."""

    def __init__(self, client: LangGraphClient, thread_id: str, policy: Policy) -> None:
        self.client = client
        self.id = thread_id
        self.policy = policy

    async def look(self, run_id: str | None = None) -> Look | None:
        """How the thread stands; with `run_id`, as if this were its only run. None if there is no such thread.

        Raises `PlatformError` (404) if the thread has no run of this id.
        """
        runs = self._runs() if run_id is None else self._one_run(run_id)
        found, thread, state = await asyncio.gather(runs, self._found(self._thread), self._found(self.state))
        return None if found is None or thread is None or state is None else Look(thread, state, *found)

    async def state(self) -> Answered:
        """The thread's newest state."""
        state: Answered = await self._asked(lambda: self.client.threads.get_state(self.id))
        return state

    async def run(self, run_id: str) -> Answered | None:
        """A run of this thread; None if it has none of this id (any more)."""
        return await self._found(lambda: self._asked(lambda: self.client.runs.get(self.id, run_id)))

    async def ended(self, run_id: str) -> Ended:
        """How a run ended that is not active any more. One that is gone was rolled back: its thread is as before it;
        where the thread is gone too, it went with it, as a stateless run's does."""
        look = await self._found(lambda: self.look(run_id))
        if look is None:
            state = await self._found(self.state)
            values = None if state is None else state.get("values") or {}
            return Ended(run_id, values, Finished() if state is None else Cancelled(), is_undone=state is not None)
        return await self.ended_as(look, run_id)

    async def ended_as(self, look: Look, run_id: str) -> Ended:
        """How the run that is `look.last` ended."""
        state, thread = look.state, look.thread
        if not is_of(state, run_id):
            state, thread = await self._state_after(run_id) or state, {}
        return ended(look.last, state, thread, run_id=run_id)

    async def cancel(self, run_id: str | None) -> None:
        """Stops this run, or every run that is going on or waiting; returns when they have stopped. Raises
        `LookupError` if there is none."""
        if run_id is None:
            asked = (self._listed(_FEW, status=status) for status in ("running", "pending"))
            running, pending = await asyncio.gather(*asked)
            wanted = [str(run["run_id"]) for run in [*(pending or ()), *(running or ())]]
        else:
            wanted = [run_id]
        stopped = [await self._found(lambda each=each: self._stopped(each)) for each in wanted]  # type: ignore[misc]
        if not any(stopped):
            raise LookupError(f"thread {self.id!r} has no run to stop" + (f" with the id {run_id!r}" if run_id else ""))

    async def _stopped(self, run_id: str) -> bool:
        async def stopped() -> bool:
            await self.client.runs.cancel(self.id, run_id, wait=True)
            return True

        return bool(await self._asked(stopped))

    async def _state_after(self, run_id: str) -> Answered | None:
        """The newest state that this run made; None if it made none, or none is left."""
        which = {"run_id": run_id}
        found = await self._asked(lambda: self.client.threads.get_history(self.id, limit=1, metadata=which))
        return found[0] if found else None

    async def _thread(self) -> Answered:
        thread: Answered = await self._asked(lambda: self.client.threads.get(self.id))
        return thread

    async def _one_run(self, run_id: str) -> tuple[Answered | None, Answered | None]:
        run = await self._asked(lambda: self.client.runs.get(self.id, run_id))
        return (run if run.get("status") in ACTIVE else None), run

    async def _runs(self) -> tuple[Answered | None, Answered | None] | None:
        """The active run and the last; None if there is no such thread."""
        running, pending, newest = await asyncio.gather(
            self._listed(_FEW, status="running"), self._listed(_FEW, status="pending"), self._listed(1)
        )
        active = next(reversed(running or pending or []), None)
        return None if newest is None else (active, next(iter(newest), None))

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


async def answer(question: Callable[[], Awaitable[_Answer]], policy: Policy) -> _Answer:
    """The answer to a question, asked again while the server can't be reached."""
    patience = Patience(policy)
    while True:
        try:
            return await asked(question())
        except Cut as cut:
            await patience.pause(cut)
