"""A client's input as a run of this process: the thread is read, the run planned, started, and told.

Which run an input asks for, `intake.plan` says; what goes into the graph, `intake.inputs`. Here is the order of things:

1. A run that is running is looked for first, and again when another one has taken the place meanwhile: one with the
   input's own id is that very request, come again, and is told from where it is; any other is in the way, and the
   intake says what then.
2. What waits for another run's end (a queued run, the messages that came along with an answer) belongs to the registry,
   not to the request: it happens also when nobody reads any more, unless the intake stops runs that nobody reads.
3. LangGraph takes an input under the run id of the thread's last checkpoint for that run going on, and ignores what is
   in it. So an id that comes again with something new gets a number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any, NamedTuple

from ag_ui.core import RunAgentInput
from langgraph.constants import END
from langgraph.types import Command, StateSnapshot

from ..translator import ClientView, Failed, Options
from ..translator import events as agui
from ..translator.channels import channels
from ..translator.failure import failure
from .failures import InvalidIdError, InvalidInputError, RunConflictError, checked_run_id, checked_thread_id, failed
from .idle import Ended, PastErrors
from .intake import Intake
from .intake.choices import Prepared, prepared
from .intake.history import Checkpoint, Search
from .intake.inputs import Going, going_in, merged
from .intake.places import Places, places_of
from .intake.plan import Again, Begin, Drop, Fork, GoOn, Nothing, Plan, Resume, Wait, plan
from .intake.standing import Standing
from .local import UNREADABLE, ended_at
from .local_ended import pending
from .reader import Reader
from .run import Run
from .runs import agent_of, has_checkpointer
from .sources import Local
from .told import Batches, closing, tell
from .waiting import told_unchanged, told_waiting


async def begin_local(
    source: Local, given: RunAgentInput, options: Options | None, intake: Intake, past_errors: PastErrors
) -> Batches:
    """See `running.begin`. What the checkpointer raises is told as `RUN_ERROR`."""
    checked_thread_id(given.thread_id, in_url=False)
    checked_run_id(given.run_id, in_url=False)
    chosen = replace(options or await source.options(), protocol_version=given.protocol_version)
    view = ClientView(given.messages, given.state, given.protocol_version)
    added = await prepared(intake, given)
    return await _Beginning(source, given, chosen, intake, added, past_errors, view).begun()


class _Read(NamedTuple):
    """A thread as its checkpointer has it."""

    standing: Standing
    run_id: str | None = None
    """The run that its newest checkpoint is of."""
    ended: Ended | None = None
    """How its last run ended; None for a thread without a checkpoint."""
    checkpoint_id: str | None = None
    """The checkpoint to start from; None is the newest."""


class _Beginning:
    """One input, on its way to a run."""

    def __init__(
        self,
        source: Local,
        given: RunAgentInput,
        options: Options,
        intake: Intake,
        added: Prepared,
        past_errors: PastErrors,
        view: ClientView,
    ) -> None:
        self._source, self._graph, self._runs = source, source.graph, source.runs
        self._given = given
        self._options = options
        self._intake = intake
        self._added = added
        self._past_errors = past_errors
        self._reader = Reader(options, view)
        self._view = view
        self._places: Places = places_of(source.graph, options.messages_key)
        self._config = merged(intake.config, added.config, {"configurable": {"thread_id": given.thread_id}})

    async def begun(self) -> Batches:
        """What the client is told; the run has started, or waits for another's end."""
        while True:
            going = self._going()
            if going is None:
                try:
                    return await self._begin()
                except RunConflictError:  # another one was faster
                    continue
            if going.run_id == self._given.run_id:
                return going.attach(self._reader)
            if self._intake.busy == "reject":
                raise RunConflictError(
                    f"thread {going.thread_id!r} has a run that is running, {going.run_id!r}; expected to be called "
                    "when it has ended"
                )
            if self._intake.busy == "queue":
                return self._told_later(self._runs.own(self._when_free()))
            await going.cancel()

    def _going(self) -> Run | None:
        return self._runs.going(agent_of(self._graph, self._source.agent), self._given.thread_id)

    async def _begin(self) -> Batches:
        try:
            read, wanted = await self._planned()
        except InvalidInputError:
            raise
        except Exception as error:  # whatever a checkpointer raises
            return _once(agui.run_error(failure(error, self._options.error_detail).message, UNREADABLE))
        if isinstance(wanted, Drop):
            await self._graph.aupdate_state(self._config, None, as_node=END)
            if wanted.more:
                return await self._following().begun()
            wanted, read = Nothing(), await self._read()
        if isinstance(wanted, Wait):
            return _once(*told_waiting(self._given, wanted, read.standing, self._options, self._reader))
        if isinstance(wanted, Nothing):
            told_now = told_unchanged(self._given, read.ended, self._options, self._reader, self._past_errors)
            return _once(*told_now)
        run = self._start(wanted, read)
        if isinstance(wanted, Resume | GoOn) and wanted.more:
            return self._told_both(run, self._runs.own(self._when_ended(run)))
        return run.attach(self._reader)

    async def _planned(self) -> tuple[_Read, Plan]:
        """What is to be done, and the thread where it is done: now, or at an earlier checkpoint."""
        now, unedited = await self._read(), list[str]()
        while True:
            wanted = plan(self._given, now.standing, self._intake, unedited=unedited)
            if not isinstance(wanted, Fork | Again):
                return now, wanted
            search = await self._searched(wanted)
            if search.found is not None:
                return _at(search.found, now), wanted
            if not (search.is_no_edit and isinstance(wanted, Fork)):
                raise InvalidInputError(
                    "the thread keeps no checkpoint from before the message that is to be run again"
                )
            unedited.append(wanted.before)

    async def _read(self) -> _Read:
        if not has_checkpointer(self._graph):
            return _Read(Standing())
        state = await self._graph.aget_state(self._config)
        if state.metadata is None and state.created_at is None:
            return _Read(Standing())
        last = self._runs.last(agent_of(self._graph, self._source.agent), self._given.thread_id)
        ended = await ended_at(self._graph, state, last)
        values = channels(state.values) or {}
        standing = Standing(
            messages=values.get(self._options.messages_key) or (),
            values=values,
            interrupts=pending(state),
            is_stopped=ended.stopped,
            is_unfinished=bool(state.next),
            has_failed=isinstance(ended.ending, Failed),
            run_id=ended.run_id,
        )
        return _Read(standing, (state.metadata or {}).get("run_id"), ended)

    async def _searched(self, wanted: Fork | Again) -> Search:
        search = Search(wanted)
        async with closing(self._graph.aget_state_history(self._config)) as history:
            async for state in history:
                search.feed(self._checkpoint(state))
                if search.is_settled:
                    break
        return search

    def _checkpoint(self, state: StateSnapshot) -> Checkpoint:
        values = channels(state.values) or {}
        parent = (state.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        return Checkpoint(
            id=str(state.config["configurable"]["checkpoint_id"]),
            parent_id=parent,
            messages=values.get(self._options.messages_key) or (),
            values=values,
            is_unfinished=bool(state.next),
            run_id=(state.metadata or {}).get("run_id"),
        )

    def _start(self, wanted: Begin | Resume | GoOn | Fork | Again, read: _Read) -> Run:
        new = wanted.messages if isinstance(wanted, Begin | Fork) else None
        goes_in = going_in(self._given, new, read.standing, self._places, self._intake, self._added)
        config = self._config
        if read.checkpoint_id is not None:
            config = merged(config, {"configurable": {"checkpoint_id": read.checkpoint_id, "checkpoint_ns": ""}})
        return self._runs.start(
            self._graph,
            _input(wanted, goes_in),
            config,
            run_id=_free(self._given.run_id, read.run_id) if new is not None else self._given.run_id,
            options=self._options,
            view=self._view,
            agent=self._source.agent,
            on_disconnect=self._intake.on_disconnect,
            context=goes_in.context,
            parent_run_id=self._given.parent_run_id,
        )

    async def _when_free(self) -> Batches:
        while (going := self._going()) is not None:
            await going.wait()
        return await self.begun()

    async def _when_ended(self, first: Run) -> Batches | None:
        """The run of the messages that came along with an answer, if the answered one ended well."""
        if await first.wait() != "finished":
            return None
        return await self._following(first.view.copy()).begun()

    def _following(self, view: ClientView | None = None) -> _Beginning:
        """The same input without its answers."""
        forwarded = self._given.forwarded_props
        if isinstance(forwarded, Mapping):
            forwarded = {name: value for name, value in forwarded.items() if name != "command"}
        given = self._given.model_copy(
            update={"resume": None, "forwarded_props": forwarded, "run_id": f"{self._given.run_id}-messages"}
        )
        intake = replace(self._intake, shortened="continue", busy="queue")
        return _Beginning(
            self._source, given, self._options, intake, self._added, self._past_errors, view or self._view
        )

    async def _told_both(self, first: Run, second: asyncio.Task[Batches | None]) -> Batches:
        async with aclosing(first.attach(self._reader)) as batches:
            async for batch in batches:
                yield batch
        async with closing(self._told_later(second)) as later:
            async for batch in later:
                yield batch

    async def _told_later(self, begun: asyncio.Task[Any]) -> Batches:
        """What comes when another run has ended; an error of it as `RUN_ERROR`."""
        try:
            told: Batches | None = await asyncio.shield(begun)
        except (InvalidInputError, InvalidIdError, RunConflictError) as error:
            told = _once(failed(error, self._options).copy())
        except asyncio.CancelledError:
            if self._intake.on_disconnect == "cancel":
                begun.cancel()
            raise
        if told is not None:
            async with closing(told) as batches:
                async for batch in batches:
                    yield batch


def _input(wanted: Plan, goes_in: Going) -> Any:
    if isinstance(wanted, Begin | Fork):
        return goes_in.values
    if isinstance(wanted, Resume):
        return Command(resume=wanted.values, update=goes_in.values or None)
    return Command(update=goes_in.values) if goes_in.values else None


def _at(found: Checkpoint, now: _Read) -> _Read:
    """The thread as it was at an earlier checkpoint."""
    standing = Standing(messages=found.messages, values=found.values, is_unfinished=found.is_unfinished)
    return _Read(standing, found.run_id, now.ended, found.id)


def _free(run_id: str, last: str | None) -> str:
    return f"{run_id}-2" if run_id == last else run_id


async def _once(*events: dict[str, Any]) -> Batches:
    yield tell(events)
