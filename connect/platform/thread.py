"""The requests about one thread of a platform: its runs, its state, the outcome of a run, and stopping a run.

It has no streams (`run_stream`), and makes no events (`connect`, `attach`). `outcome` combines several answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final, TypeVar

from langgraph.constants import END, START
from langgraph_sdk.client import LangGraphClient

from ...translator import Cancelled, Finished
from ..access import MARK, Access, Metadata, owner_of
from ..errors import (
    AguiError,
    ConnectionLost,
    PlatformError,
    RunConflictError,
    RunNotFoundError,
    ThreadNotFoundError,
    log_context,
    log_failure,
)
from ..run_outcome import RunOutcome, Subgraph
from ..thread_info import Checkpoint
from .calls import Contact, Retries, at_once, sdk_call
from .look import JsonObject, Look, ThreadRuns, as_state, checkpoint_of, client_run_id, has_kwargs, run_metadata
from .outcome import ACTIVE, interrupts_of, is_of, paused, run_outcome, unfinished_subgraphs
from .settings import ThreadSettings

_Answer = TypeVar("_Answer")

NOT_FOUND: Final = 404
_CONFLICT: Final = 409
UNFIT: Final = 422
CANCEL_TIMEOUT: Final = 10.0
"""Seconds within which a cancelled run must have stopped. A node that does not await runs on for longer."""
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_FEW: Final = 20
_BAD_REQUEST: Final = 400
_FAILED: Final = 500
_STATE_ATTEMPTS: Final = 2
"""How many times the server may fail with a thread's state until its newest checkpoint is requested instead."""
_PAGES: Final = 5

_NOT_COMPUTED = (
    "The server can't compute the state of a thread in the middle of a step, so its newest checkpoint is used, without "
    "what the finished tasks of the step have written (%s)."
)
_log = logging.getLogger(__name__)


class PlatformThread:
    """One thread of a platform. Its methods raise `PlatformError` for what the server refuses, and `ConnectionLost`
    when it can't be reached for as long as the policy of `contact` says.

    - `client`: from the SDK. It is never closed.
    - `thread_id`: allowed in the path of a URL.
    - `access`: decides which threads may be used, by their metadata on the server. A thread that may not be used counts
      as one that does not exist. If the metadata of its runs name its owner, these save a request, because an owner
      never changes.
    """

    def __init__(
        self,
        client: LangGraphClient,
        thread_id: str,
        contact: Contact,
        access: Access | None = None,
        saving_nodes: MutableMapping[str, frozenset[str]] | None = None,
    ) -> None:
        self.client = client
        self.id = thread_id
        self.contact = contact
        """The contact with the server during the operation that this object is for."""
        self.is_hidden = False
        """Whether the thread exists, but may not be used."""
        self.saving_nodes: MutableMapping[str, frozenset[str]] = {} if saving_nodes is None else saving_nodes
        """By assistant: the nodes whose text is not held (`Translator.saving_nodes`)."""
        self._access = access or Access()
        self._is_known = False
        """Whether the thread is known to exist, and may be used."""
        self._owner: str | None = None
        """The agent that owns the thread, once it is known."""

    async def exists(self, runs: Sequence[JsonObject] | None = None) -> bool:
        """Returns whether the thread exists and may be used. If every thread may be used, this makes no request, and
        returns True. `runs`: its newest runs, if they are known."""
        if self._is_known or not self._access.keys:
            return True
        if runs is None and (runs := await self._list_runs(_FEW)) is None:
            return False
        self._owner = next((owner for run in runs if (owner := owner_of(run_metadata(run)))), None)
        metadata: Metadata | None = {MARK: self._owner}
        if self._owner is None or self._access.where:
            if (metadata := await self._own_metadata()) is None:
                return False
            self._owner = owner_of(metadata)
        self._is_known = self._access.allows(metadata)
        self.is_hidden = not self._is_known
        return self._is_known

    async def claim(self, settings: ThreadSettings, metadata: Metadata, *, is_new: bool) -> dict[str, Any]:
        """Makes the agent the owner of the thread, if it has none, before a run is started on it. Returns the metadata
        to start the run with.

        `is_new`: whether the thread does not exist. It is created first, with these settings, so that if two users
        create it at the same time, one of them gets it. Raises `ThreadNotFoundError` for the other. A thread that a run
        creates has all metadata of that run, and gives them to every later run that has none, its id among them. So a
        thread that is created here has only those that the owner gives to its runs: `metadata`.
        """
        access, stamp, threads = self._access, self._access.stamp, self.client.threads
        if is_new:
            if access.creates is False and await self._own_metadata() is None:
                raise ThreadNotFoundError
            new: dict[str, Any] = {**settings, "metadata": {**metadata, **settings.get("metadata", {}), **stamp}}
            try:
                made = await self._request(lambda: threads.create(thread_id=self.id, if_exists="do_nothing", **new))
            except PlatformError as error:
                if error.status == _CONFLICT:  # the thread of another user of the platform, which hides it
                    raise ThreadNotFoundError from error
                raise
            if not access.allows(made.get("metadata") or {}):
                raise ThreadNotFoundError
            self._owner, self._is_known = owner_of(made.get("metadata")), True
        if access.agent is not None:
            if self._owner is None:
                await self._request(lambda: threads.update(self.id, metadata={MARK: access.agent}))
            stamp[MARK] = self._owner = self._owner or access.agent
        return {
            key: value for key, value in stamp.items() if not isinstance(value, list)
        }  # Aegra accepts no lists in a run

    async def runs(self, run_id: str | None = None) -> ThreadRuns | None:
        """Returns the thread's runs, or only the run `run_id`. None if the thread does not exist or may not be used.

        Raises `PlatformError` (404) if the thread has no run of this id.
        """
        if run_id is not None:
            run = await self._request(lambda: self.client.runs.get(self.id, run_id))
            return ThreadRuns(run if run.get("status") in ACTIVE else None, [run]) if await self.exists([run]) else None
        newest = await self._list_runs(_FEW)
        if newest is None or not await self.exists(newest):
            return None
        running, pending = ([run for run in newest if run.get("status") == status] for status in ("running", "pending"))
        if len(newest) == _FEW and not running:  # the running one may be older than all of these
            older = await self._active()
            running, pending = older[0] or running, older[1] or pending
        return ThreadRuns(next(reversed(running or pending), None), newest)

    async def all_runs(self, limit: int) -> list[JsonObject] | None:
        """Returns the thread's runs, the newest first, at most `limit`. None if the thread does not exist or may not be
        used."""
        runs = await self._list_runs(limit)
        return runs if runs is not None and await self.exists(runs) else None

    async def look(self, runs: ThreadRuns | None = None) -> Look | None:
        """Returns the thread with its state; None if there is no such thread.

        `runs`: the runs, if they have been listed already. The list must come before the state: only then is the state
        of a run that has ended its last one. If the state turns out to belong to a run that came after the list,
        everything is requested again.
        """
        runs = runs or await self.runs()
        look = None if runs is None else await self.look_at(runs)
        if look is not None and await self._was_overtaken(look):
            runs = await self.runs()
            look = None if runs is None else await self.look_at(runs)
        return look

    async def look_at(self, runs: ThreadRuns) -> Look | None:
        """Returns the thread with its state and these runs; None if there is no such thread."""
        last = next((run for run in runs.recent if run.get("status") not in ACTIVE), None)
        if last is not None and last.get("status") == "success":
            state = await self._or_none(self.state)
            if state is None or is_of(state, str(last["run_id"])):
                return None if state is None else Look(runs, state, {})
            thread = await self._or_none(self.metadata)
        else:
            async with at_once() as calls:
                state_call, thread_call = (
                    calls.create_task(self._or_none(call)) for call in (self.state, self.metadata)
                )
            state, thread = state_call.result(), thread_call.result()
        return None if thread is None or state is None else Look(runs, state, thread)

    async def _was_overtaken(self, look: Look) -> bool:
        """Returns whether the state was made by a run of the thread that is not in the look. (The state of a copied
        thread was made by a run of another thread.)"""
        maker = (look.state.get("metadata") or {}).get("run_id")
        return maker is not None and look.runs.with_id(maker) is None and await self.run(str(maker)) is not None

    async def state(self) -> JsonObject:
        """Returns the thread's newest state, with the states of the subgraphs that have begun and not ended.

        While tasks of a step are to be done, the server adds what the others have written, by the graph's reducers.
        `langgraph dev` passes JSON to them: a reducer for objects fails, and the server answers 400 or 500 until the
        step ends, even if that waits for a person. Then the newest checkpoint is returned, without the writes of its
        tasks and the states of its subgraphs. (After 500, `langgraph dev` closes the connection a moment later, and so
        fails the next request on it. So that is not made at once.)
        """
        failures = list[AguiError]()

        async def read() -> JsonObject:
            if len(failures) < _STATE_ATTEMPTS:
                try:
                    return await sdk_call(self.client.threads.get_state(self.id, subgraphs=True))
                except (ConnectionLost, PlatformError) as error:
                    if error.status in (_BAD_REQUEST, _FAILED):
                        failures.append(error)
                    if error.status != _BAD_REQUEST:
                        raise
            checkpoints: Sequence[JsonObject] = ()
            with suppress(PlatformError):
                checkpoints = await sdk_call(self.client.threads.get_history(self.id, limit=1))
            if not checkpoints:
                raise failures[-1]
            _log.warning(_NOT_COMPUTED, log_context(None, self.id))
            return as_state(checkpoints[0])

        state: JsonObject = await self._request(read)
        return state

    async def run(self, run_id: str) -> JsonObject | None:
        """Returns a run of this thread; None if the thread has no run with this id, or has it no longer."""
        return await self._or_none(lambda: self._request(lambda: self.client.runs.get(self.id, run_id)))

    async def run_id_of(self, run_id: str) -> str:
        """Returns the platform's id of the newest run that is emitted under this id. Returns the id itself if the
        newest runs have no such run: then it is already the platform's."""
        runs = await self._list_runs(_FEW) or ()
        return next((str(run["run_id"]) for run in runs if client_run_id(run) == run_id), run_id)

    async def history(self, page: int = _FEW, before: str | None = None) -> AsyncGenerator[Checkpoint, None]:
        """Yields the thread's checkpoints, of all branches, the newest first. `page`: the number that is requested at a
        time. `before`: the id of a checkpoint; only older ones are yielded."""
        async with aclosing(self._pages(page, before)) as pages:
            async for states in pages:
                for state in states:
                    yield checkpoint_of(state)

    async def subgraphs_before(self, state: JsonObject, run_id: str) -> list[Subgraph]:
        """Returns the subgraphs that waited when a run began, as they were then. `state`: the state of the thread while
        the run continues the step in which they waited."""
        waited: list[Subgraph] = []
        for subgraph, inner in unfinished_subgraphs(state):
            if not is_of(inner, run_id):
                waited.append(subgraph)
                continue
            at: Any = {"checkpoint_ns": "|".join(subgraph.ns)}
            request = partial(self.client.threads.get_history, self.id, limit=_FEW, checkpoint=at)
            states: Sequence[JsonObject] = await self._request(request)
            if (before := next((each for each in states if not is_of(each, run_id)), None)) is not None:
                waited.append(Subgraph(subgraph.ns, before.get("values"), tuple(interrupts_of(before))))
        return waited

    async def copy_checkpoint(self, checkpoint_id: str) -> str:
        """Copies a checkpoint. Returns the id of the copy, which is the newest checkpoint of the thread."""
        at = {"checkpoint_id": checkpoint_id, "checkpoint_ns": ""}
        threads = self.client.threads
        copy = await self._request(  # "__copy__" is LangGraph's name for a copy
            lambda: threads.update_state(self.id, None, as_node="__copy__", checkpoint=at)  # type: ignore[arg-type]
        )
        return str(copy["checkpoint"]["checkpoint_id"])

    async def drop(self) -> None:
        """Gives up the unfinished work of the thread's last run."""
        await self._request(lambda: self.client.threads.update_state(self.id, None, as_node=END))

    async def write(self, values: Mapping[str, Any]) -> None:
        """Writes values to channels, as the input of a run would, and gives up the work that would follow."""
        await self._request(lambda: self.client.threads.update_state(self.id, dict(values), as_node=START))
        await self.drop()

    async def start(self, assistant_id: str, **arguments: Any) -> JsonObject:
        """Starts a run, and returns it. `arguments`: those of `runs.create`. The request is not repeated, because after
        a lost connection the run may have been started. Raises `RunConflictError` if another run is in the way."""
        try:
            async with self.contact.attempt(self.contact.policy.read_timeout, is_only=True):
                run: JsonObject = await sdk_call(self.client.runs.create(self.id, assistant_id, **arguments))
        except PlatformError as error:
            if error.status == _CONFLICT:
                raise RunConflictError(f"thread {self.id!r} has an active run") from error
            raise
        return run

    async def outcome(self, run_id: str) -> RunOutcome:
        """Returns how a run ended that is no longer active; see `outcome_of`."""
        run = await self.run(run_id)
        if run is not None and await self.has_waited_for_end(run):
            run = await self.run(run_id)
        look = None if run is None else await self.look_at(ThreadRuns(None, [run]))
        return await self.outcome_of(run_id, run, look)

    async def outcome_of(self, run_id: str, run: JsonObject | None, look: Look | None) -> RunOutcome:
        """Returns how a run ended that is no longer active, by a look at its thread after its end.

        `run`: one of the look's; None for a run that is gone because it was rolled back, so that its thread is as it
        was before. If the thread is gone too (`look` is None), the run was deleted with it, as a stateless run is.
        """
        if run is None or look is None:
            state = look.state if look is not None else await self._or_none(self.state)
            values = None if state is None else state.get("values") or {}
            return RunOutcome(run_id, values, Finished() if state is None else Cancelled(), is_undone=state is not None)
        state, thread = look.state, look.thread
        if not is_of(state, run_id):
            made = await self._state_after(run)
            if made is None and run is look.last and (left := paused(run, state, thread)) is not None:
                return left
            state, thread = made or state, {}
        return run_outcome(run, state, thread, run_id=run_id)

    async def has_waited_for_end(self, run: JsonObject, timeout: float = CANCEL_TIMEOUT) -> bool:  # noqa: ASYNC109
        """Waits until a cancelled run has ended. Returns False at once for a run that was not cancelled; True means
        that what was requested of the thread before may be out of date.

        `langgraph dev` calls a run `interrupted`, and closes its stream, as soon as it is asked to cancel it. The nodes
        of the run have yet to stop, and then what they have written may be rolled back. Until then the thread is busy.
        If it still is after `timeout` seconds, or if another run of it is active, nothing more is waited for.
        """
        if run.get("status") != "interrupted":
            return False
        loop = asyncio.get_running_loop()
        pause, until = _FIRST_PAUSE, loop.time() + timeout
        while (thread := await self._or_none(self.metadata)) is not None and thread.get("status") == "busy":
            if (runs := await self.runs()) is None or runs.active is not None:
                break
            if loop.time() > until:
                self._log_not_stopped(str(run["run_id"]), timeout)
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    async def cancel(self, run_id: str | None, timeout: float = CANCEL_TIMEOUT) -> bool:  # noqa: ASYNC109
        """Stops this run, or every run that is running or queued. Returns whether all have stopped within `timeout`
        seconds. A run that has not, because its node does not await, stops when the node returns, and is logged.

        `run_id`: the client's or the platform's. Raises `RunNotFoundError` if there is no such run, or the thread may
        not be used.
        """
        if not await self.exists():
            running, pending = [], []
        elif run_id is None:
            running, pending = await self._active()
        else:
            running, pending = [{"run_id": await self.run_id_of(run_id)}], []
        is_known, has_stopped = False, True
        for run in [*pending, *running]:  # one after the other: the next may not begin when this one has stopped
            try:
                is_known |= await self._cancel_and_wait(str(run["run_id"]), timeout)
            except TimeoutError:
                is_known, has_stopped = True, False
                self._log_not_stopped(str(run["run_id"]), timeout)
        if not is_known:
            named = f" with the id {run_id!r}" if run_id else ""
            raise RunNotFoundError(f"thread {self.id!r} has no run to stop{named}")
        return has_stopped

    async def stop(self, run_id: str) -> None:
        """Requests the end of a run, once, without waiting for it. Errors are only logged."""
        try:
            await sdk_call(self._cancel(run_id, wait=False))
        except (PlatformError, ConnectionLost) as error:
            log_failure(error, log_context(None, self.id, run_id))

    async def _cancel_and_wait(self, run_id: str, timeout: float) -> bool:  # noqa: ASYNC109
        """Stops a run, and waits for its end. Returns False if no run has this id, or can have it. Raises
        `TimeoutError` if the run has not stopped within `timeout` seconds after the request."""
        retries = Retries(self.contact)
        while True:
            try:
                async with asyncio.timeout(timeout):
                    return await sdk_call(self._cancel(run_id, wait=True))
            except ConnectionLost as lost:
                await retries.pause(lost)
            except PlatformError as error:
                if error.status in (NOT_FOUND, UNFIT):
                    return False
                raise

    def _log_not_stopped(self, run_id: str, timeout: float) -> None:
        label = log_context(None, self.id, run_id)
        _log.warning("A cancelled run has not stopped within %g seconds (%s).", timeout, label)

    async def _cancel(self, run_id: str, *, wait: bool) -> bool:
        """Requests the end of a run. Returns True, because the SDK returns None, which `sdk_call` takes as a lost
        connection."""
        await self.client.runs.cancel(self.id, run_id, wait=wait)
        return True

    async def _state_after(self, run: JsonObject) -> JsonObject | None:
        """Returns the newest state that this run made; None if it made none, or if none is left."""
        run_id = str(run["run_id"])
        if has_kwargs(run):
            states = await self._states(1, metadata={"run_id": run_id})
            return states[0] if states else None
        read = 0
        async with aclosing(self._pages(_FEW)) as pages:
            async for states in pages:
                read += 1
                made = next((state for state in states if (state.get("metadata") or {}).get("run_id") == run_id), None)
                if made is not None or read == _PAGES:
                    return made
        return None

    async def _pages(self, page: int, before: str | None = None) -> AsyncGenerator[list[JsonObject], None]:
        """Yields pages of the thread's states, the newest first. Servers read `before` in two forms, and both are sent:
        a checkpoint, and the config of one, without which `langgraph dev` fails."""
        while True:
            key = {"checkpoint_id": before, "checkpoint_ns": ""}
            older = {} if before is None else {"before": {**key, "configurable": key}}
            states = await self._states(page, **older)
            yield states
            if len(states) < page:
                return
            before = str(states[-1]["checkpoint"]["checkpoint_id"])

    async def _states(self, limit: int, **which: Any) -> list[JsonObject]:
        """Returns states of the thread, the newest first."""
        return list(await self._request(lambda: self.client.threads.get_history(self.id, limit=limit, **which)))

    async def metadata(self) -> JsonObject:
        """Returns the thread itself, as the server describes it."""
        thread: JsonObject = await self._request(lambda: self.client.threads.get(self.id))
        return thread

    async def _own_metadata(self) -> Metadata | None:
        """Returns the thread's metadata; None if there is no such thread. The values of the thread are not requested,
        if the server can leave them out."""
        try:
            threads = await self._request(
                lambda: self.client.threads.search(ids=[self.id], select=["thread_id", "metadata"], limit=1)
            )
        except PlatformError:  # Aegra can't
            threads = ()
        thread = next((thread for thread in threads if thread.get("thread_id") == self.id), None)
        thread = thread or await self._or_none(self.metadata)
        return None if thread is None else thread.get("metadata") or {}

    async def _active(self) -> list[list[Any]]:
        """Returns the runs that are running, and those that are queued."""
        async with at_once() as calls:
            lists = [calls.create_task(self._list_runs(_FEW, status=status)) for status in ("running", "pending")]
        return [runs.result() or [] for runs in lists]

    async def _list_runs(self, limit: int, **which: Any) -> list[Any] | None:
        """Returns runs, the newest first; None if there is no such thread."""
        return await self._or_none(lambda: self._request(lambda: self.client.runs.list(self.id, limit=limit, **which)))

    async def _or_none(self, call: Callable[[], Awaitable[_Answer]]) -> _Answer | None:
        """Returns the answer of a call; None if what it asks for does not exist."""
        try:
            return await call()
        except PlatformError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    async def _request(self, call: Callable[[], Awaitable[Any]]) -> Any:
        return await self.contact.retried(call)
