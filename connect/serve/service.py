"""Performs the operations of clients, whatever their protocol: `Service.perform`. Paths, bodies and bytes are handled
elsewhere.

An operation on a thread first opens the thread (`Service.open`), which validates the agent and the thread's id and
authorizes the user. Then it reserves capacity. Only after that is anything of the thread read. A refusal is raised as
one of the exceptions that `errors` answers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, aclosing
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import orjson

from ...translator import PROTOCOL_VERSION, Options
from ...translator import events as agui
from ..backend import Backend
from ..errors import (
    AguiError,
    RunNotFoundError,
    ThreadNotFoundError,
    brief,
    checked_run_id,
    checked_thread_id,
    failed,
    log_context,
    log_failure,
)
from ..events.encoded import Batch, Batches
from ..events.readers import direct_options
from ..events.relay import Relayed, relaying
from ..finished_runs import failure_after, state_at
from ..inputs import Intake
from ..inputs.channels import writable
from ..inputs.input_schemas import client_schemas
from ..local.backend import Local
from ..open_thread import OpenThread, with_errors
from ..thread_info import ARCHIVED, Checkpoint, ThreadInfo, ThreadPage
from .agents import Agent, AgentNames
from .errors import Refusal, label_request, log_refusal, refusal_of
from .limits import Capacity, Limits
from .operations import (
    AgentList,
    ChangeThread,
    CheckpointList,
    Connect,
    Decline,
    Declined,
    Deleted,
    DeleteThread,
    DescribeAgents,
    DescribeGraph,
    DescribeInput,
    GraphDescription,
    InputDescription,
    ListCheckpoints,
    ListRuns,
    ListThreads,
    NothingRuns,
    OneThread,
    OnThread,
    Operation,
    ReadRun,
    ReadState,
    ReadThread,
    Result,
    Run,
    RunList,
    ShownCheckpoint,
    Stop,
    Stopped,
    ThreadList,
    Watch,
)
from .readiness import Readiness
from .requests.bodies import Bodies
from .requests.users import Action, Caller, Users, forbidden
from .streams.endings import answers, unbegun, with_run_finished
from .streams.sender import ServerConnection
from .streams.shutdown import Closing
from .streams.transmission import Stream

_PAGES: Final = 8
"""How many pages of a backend are read for one answer at most, if archived threads are left out."""
_MOST_STATE: Final = 8_000_000
"""Bytes of the states in one answer with checkpoints: each has the whole state, and there may be a hundred."""
_WITHOUT_ACCESS: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""The statuses of refusals after which nothing of the thread may be sent."""
_ENDS_HERE = "The server is shutting down, and with it this run."
_CONTINUES = "This server is shutting down. The run continues, or keeps its place in the queue: connect to it again."

_NO_LIFESPAN = (
    "The lifespan of the routes of agents %s was never entered, so streams and runs do not end with the server: %s. "
    "In a test: with TestClient(app) as client."
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentThread:
    """An agent, and a thread that a user may use with it. `name`: the name of the agent. `server`: the connection to
    the server that has the thread; None if it is a thread of this process."""

    name: str
    agent: Agent
    thread: OpenThread
    server: ServerConnection | None

    async def options(self, version: str | None) -> Options:
        """Returns the options for a client of this protocol version. Raises what `Platform.options` raises."""
        return await self.agent.options_for(self.thread.backend, version)


class Service:
    """Performs operations on the agents of one app. It is `app.state.service`."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        users: Users,
        limits: Limits,
        heartbeat: float | None,
        closing: Closing,
    ) -> None:
        self.agents = dict(agents)
        self.names = AgentNames(tuple(agents), are_shown=not users.are_known)
        self.users = users
        self.limits = limits
        self.closing = closing
        backends = [agent.backend for agent in agents.values()]
        self.locals = [backend for backend in backends if isinstance(backend, Local)]
        """The backends whose graphs are in this process."""
        self.capacity = Capacity(limits, backends)
        self.bodies = Bodies(limits)
        self.readiness = Readiness({name: agent.backend for name, agent in agents.items()}, limits.ready_timeout)
        self.has_sockets = False
        """Whether the app serves WebSockets."""
        self.has_lifespan = False
        """Whether the lifespan of the routes was entered."""
        self.enter_lifespan = ""
        """The code that enters the lifespan, for the error that is logged if it was not entered."""
        self.continue_none: Callable[[], None] = lambda: None
        """Ends the continuation of lost runs by this app, before its own runs are handed over."""
        self._has_warned = False
        self.heartbeat = heartbeat
        closing.at_begin = self._begin_to_end

    def check_lifespan(self) -> None:
        """Logs an error at the first request if the lifespan of the routes was never entered. Otherwise nobody would
        notice before the server ends. The request is served all the same: a test client that is not used as a context
        manager does not run the lifespan either, and its requests look like any others."""
        self.closing.reopen_elsewhere()
        if not (self.has_lifespan or self._has_warned):
            self._has_warned = True
            _log.error(_NO_LIFESPAN, ", ".join(self.agents), self.enter_lifespan)

    async def perform(self, operation: Operation, caller: Caller) -> Result:
        """Performs an operation, if the caller may do that. Raises `Refusal`, and other errors that `errors`
        answers."""
        match operation:
            case DescribeAgents():
                return await self._list_agents(caller)
            case DescribeInput():
                return await self._describe_input(operation, caller)
            case DescribeGraph():
                return await self._describe_graph(operation, caller)
            case ListThreads():
                return ThreadList(operation.agent, await self._list_threads(operation, caller))
            case Run(shows_refusals=True) if answers(operation.input):
                return await self._run_or_show(operation, caller)
        return await self._perform_on(await self._open_for(operation, operation.action, caller), operation, caller)

    async def open(
        self, caller: Caller, action: Action, agent: str, thread_id: str, run_id: str | None = None
    ) -> AgentThread:
        """Opens a thread for an action of this user. There is no other way to get a thread, so none is read, run or
        changed without authorization.

        Raises `Refusal` if the user may not do this, and `InvalidThreadIdError`. Whether the thread matches the user's
        filter is checked when the thread is read."""
        served = self._agent(agent)
        label_request(caller.request, agent, thread_id, run_id)
        checked_thread_id(thread_id, in_url=served.backend.ids_in_url)
        source, server = await self._source_for(caller, action, agent, thread_id, run_id), None
        if not source.is_local:
            server = ServerConnection()
            source = source.reporting(server.report, thread_id)
        return AgentThread(agent, served, OpenThread(source, thread_id), server)

    async def _open_for(self, operation: OnThread, action: Action, caller: Caller) -> AgentThread:
        run_id = operation.run_id if isinstance(operation, Run | Decline | Stop | ReadRun) else None
        return await self.open(caller, action, operation.agent, operation.thread_id, run_id)

    async def _perform_on(self, opened: AgentThread, operation: OnThread, caller: Caller) -> Result:
        thread = opened.thread
        match operation:
            case Run():
                return await self._run(opened, operation, caller)
            case Decline(input=run_input):
                started = agui.run_started(thread.id, run_input.run_id, run_input.protocol_version)
                return Declined([started, agui.run_finished(thread.id, run_input.run_id, {"type": "success"})])
            case Connect():
                return await self._connect(opened, operation, caller)
            case Watch():
                return await self._watch(opened, operation, caller)
            case Stop():
                try:  # a synchronous node cannot be interrupted, but the run's readers receive its end at once
                    return Stopped(await thread.stop(operation.run_id, wait=self.limits.stop_timeout))
                except RunNotFoundError:
                    return Stopped(None)
            case ReadThread():
                return OneThread(opened.name, await thread.info())
            case ReadState():
                state = await thread.state(await opened.options(PROTOCOL_VERSION))
                if state is None:
                    raise ThreadNotFoundError
                return state
            case ListRuns():
                return RunList(await thread.runs(operation.limit))
            case ListCheckpoints():
                return await self._list_checkpoints(opened, operation, caller)
            case ReadRun():
                return await self._read_run(opened, operation, caller)
            case ChangeThread():
                return OneThread(opened.name, await thread.change(operation.metadata))
            case DeleteThread():
                await thread.delete()
                return Deleted()

    async def _run_or_show(self, operation: Run, caller: Caller) -> Stream:
        """Streams the run. If it is refused, streams the refusal as an event, followed by the interrupts that the
        thread waits for."""
        try:
            return await self._run(await self._open_for(operation, operation.action, caller), operation, caller)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None or refusal.status in _WITHOUT_ACCESS:
                raise
            log_refusal(error, caller.request)
            why = failed(refusal)
        opened = await self._open_for(operation, "read", caller)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            batches = with_run_finished(
                unbegun(why, self._connect_again(opened)), operation.input, partial(self._connect_again, opened)
            )
            return self._stream(opened, batches, None, taken.pop_all(), has_offsets=False)

    async def _run(self, opened: AgentThread, operation: Run, caller: Caller) -> Stream:
        run_input, source, version = operation.input, opened.thread.backend, operation.input.protocol_version
        checked_run_id(run_input.run_id, in_url=source.ids_in_url)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            start = taken.enter_context(ExitStack())
            start.enter_context(self.capacity.run(caller.identity, source, opened.thread.id))
            options = await opened.options(version)
            if operation.is_direct:
                options = direct_options(options)
            intake = await self._intake_for(opened.agent, caller)
            if operation.waits and intake.busy == "reject":
                intake = replace(intake, busy="queue")
            batches = await opened.thread.run(
                run_input, options=options, intake=intake, past_errors=operation.past_errors, queue=self.limits.queue
            )
            if source.runs is not None:
                start.close()  # from here on `Runs` counts it
            if answers(run_input):
                batches = with_run_finished(batches, run_input, partial(self._connect_again, opened))
            return self._stream(opened, batches, version, taken.pop_all(), has_offsets=not answers(run_input))

    async def _connect(self, opened: AgentThread, operation: Connect, caller: Caller) -> Stream | NothingRuns:
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            batches = await opened.thread.connect(
                options=await opened.options(operation.version),
                view=operation.view,
                after=operation.after,
                past_errors=operation.past_errors,
            )
            if operation.only_active:
                first = await anext(batches, None)
                if first is None or (first and first[-1].event["type"] == "RUN_FINISHED"):  # the end of its last run
                    await batches.aclose()
                    return NothingRuns()
                batches = _again(first, batches)
            return self._stream(opened, batches, operation.version, taken.pop_all())

    async def _watch(self, opened: AgentThread, operation: Watch, caller: Caller) -> Stream:
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            options = await opened.options(PROTOCOL_VERSION)
            batches = await opened.thread.watch(options=options, after=operation.after)
            return self._stream(opened, batches, PROTOCOL_VERSION, taken.pop_all(), stays=True)

    async def _read_run(self, opened: AgentThread, operation: ReadRun, caller: Caller) -> Stream:
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            batches = await opened.thread.recorded(operation.run_id, await opened.options(PROTOCOL_VERSION))
            return self._stream(opened, batches, PROTOCOL_VERSION, taken.pop_all(), has_offsets=False)

    async def _list_checkpoints(
        self, opened: AgentThread, operation: ListCheckpoints, caller: Caller
    ) -> CheckpointList:
        thread, options = opened.thread, await opened.options(PROTOCOL_VERSION)
        page = await thread.checkpoints(operation.limit, operation.before)
        intake = await opened.agent.intake_for(caller.request)
        _, channels = await thread.backend.input_schemas(options)
        shown = await asyncio.to_thread(_shown_of, thread.id, page, options)
        older = shown[-1].checkpoint.id if len(page) == operation.limit or len(shown) < len(page) else None
        return CheckpointList(shown, older, sorted(writable(channels, intake)))

    async def _list_threads(self, operation: ListThreads, caller: Caller) -> ThreadPage:
        """Returns a page of the threads that the user may list."""
        label_request(caller.request, operation.agent)
        self.users.check_token(caller)
        threads = (await self._source_for(caller, "list", operation.agent)).threads
        listed, cursor = list[ThreadInfo](), operation.cursor
        metadata = {ARCHIVED: True} if operation.archived == "only" else None
        try:
            for _ in range(_PAGES):
                page = await threads.search(
                    metadata=metadata,
                    status=operation.status,
                    text=operation.text,
                    limit=operation.limit - len(listed),
                    after=cursor,
                )
                listed += [info for info in page.threads if operation.archived != "left_out" or not info.is_archived]
                cursor = page.next
                if cursor is None or len(listed) == operation.limit:
                    break
        except ValueError:
            message = "cursor: expected the nextCursor of the page before."
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message) from None
        return ThreadPage(listed, cursor)

    async def _list_agents(self, caller: Caller) -> AgentList:
        """Returns the agents that the user may list. Raises `Refusal` (403) if there are none."""
        agents = {}
        for name, agent in self.agents.items():
            try:
                await self.users.authorize(caller, "list", name, None)
            except Exception as error:
                refusal = refusal_of(error)
                if refusal is None or refusal.status != HTTPStatus.FORBIDDEN:
                    raise
            else:
                agents[name] = agent
        if not agents:
            raise forbidden()
        return AgentList(agents, self.names.only, self.users.may_manage(caller), self.has_sockets)

    async def _describe_input(self, operation: DescribeInput, caller: Caller) -> InputDescription:
        """Returns what the user may send to an agent, if the user may list it."""
        label_request(caller.request, operation.agent)
        agent, source = self._agent(operation.agent), await self._source_for(caller, "list", operation.agent)
        intake = await agent.intake_for(caller.request)
        schemas, channels = await source.input_schemas(await agent.options_for(source, PROTOCOL_VERSION))
        return InputDescription(client_schemas(schemas, channels, intake), self.users.has_token(caller))

    async def _describe_graph(self, operation: DescribeGraph, caller: Caller) -> GraphDescription:
        """Returns how the graph of an agent looks, if the user may list the agent's threads."""
        label_request(caller.request, operation.agent)
        self.users.check_token(caller)
        agent, source = self._agent(operation.agent), await self._source_for(caller, "list", operation.agent)
        structure = await source.graph_structure()
        if structure is None:
            raise Refusal(HTTPStatus.NOT_IMPLEMENTED, "not_supported", "The server does not say how its graphs look.")
        return GraphDescription(structure, (await self._intake_for(agent, caller)).breakpoints)

    async def _intake_for(self, agent: Agent, caller: Caller) -> Intake:
        """Returns the intake for a request. Whoever has the app's token may set breakpoints."""
        intake = await agent.intake_for(caller.request)
        return replace(intake, breakpoints=True) if self.users.has_token(caller) else intake

    def _agent(self, name: str) -> Agent:
        """Returns the agent of this name. Raises `Refusal` (404) if there is none."""
        return self.agents[self.names.checked(name)]

    async def _source_for(
        self, caller: Caller, action: Action, name: str, thread_id: str | None = None, run_id: str | None = None
    ) -> Backend:
        grant = await self.users.authorize(caller, action, name, thread_id)
        agent = self._agent(name)
        try:
            source = agent.backend.for_user(caller.user, *grant)
        except ValueError as error:
            label = log_context(name, thread_id, run_id)
            _log.error("authorize returned an invalid filter, and %r is refused: %s (%s).", action, error, label)
            raise forbidden() from None
        return source.with_headers(self.users.headers_of(caller), agent.headers)

    async def prepare(self) -> None:
        """Makes the first graph of each agent whose graphs are made per request. Makes this process the only one that
        runs on the threads of its agents: if another process already runs on the threads of an agent, that is logged,
        and requests that need these threads are refused. Raises what `Agent.prepare` raises."""
        for name, agent in self.agents.items():
            await agent.prepare(name)
        for source in self.locals:
            try:
                await source.hold_threads(waits=False)
            except AguiError as error:
                log_failure(error, log_context(source.name, None))

    @relaying
    async def _connect_again(self, opened: AgentThread) -> Relayed:
        """Yields the events of a connection to the thread, for a client that declares no protocol version. Past
        failures are custom events."""
        options = await opened.options(None)
        begin = partial(opened.thread.connect, options=options, past_errors="custom")
        yield with_errors(begin, options, partial(log_context, opened.name, opened.thread.id))

    def _begin_to_end(self) -> None:
        """Prepares the runs for the end of the server. Runs and queued inputs that other processes can read continue
        without readers here. Other queued inputs are cancelled, and their readers receive a terminal event."""
        self.continue_none()  # other processes do
        for source in self.locals:
            if source.outlives_server:
                source.runs.keep(source.agent_key)  # the server sends the readers away, and they read elsewhere
            else:
                source.runs.stop_queued(source.agent_key)

    def _stream(
        self,
        opened: AgentThread,
        batches: Batches,
        version: str | None,
        taken: AbstractContextManager[Any],
        *,
        stays: bool = False,
        has_offsets: bool = True,
    ) -> Stream:
        return Stream(
            batches=batches,
            version=version,
            taken=taken,
            farewell=_CONTINUES if opened.thread.backend.outlives_server else _ENDS_HERE,
            agent=opened.name,
            thread_id=opened.thread.id,
            stays=stays,
            has_offsets=has_offsets,
            server=opened.server,
        )


def _shown_of(thread_id: str, page: Sequence[Checkpoint], options: Options) -> list[ShownCheckpoint]:
    """Returns the checkpoints of a page as a client sees them, up to the one at which their states together exceed
    `_MOST_STATE`."""
    shown, size = list[ShownCheckpoint](), 0
    for checkpoint in page:
        state, failure = state_at(thread_id, checkpoint, options), failure_after(checkpoint)
        error = None if failure is None else brief(failure, options)
        said = None if error is None else {"message": error["message"], "code": error["error"]}
        shown.append(ShownCheckpoint(checkpoint, state, said))
        size += len(orjson.dumps(state))
        if size > _MOST_STATE:
            break
    return shown


@relaying
async def _again(first: Batch, batches: Batches) -> Relayed:
    """Yields a batch that was already read, and the others."""
    async with aclosing(batches):
        yield first
        yield batches
