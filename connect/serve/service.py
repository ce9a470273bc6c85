"""What is done for clients, whatever their protocol: `Service.perform`. Never paths, bodies or bytes.

An operation on a thread opens it first (`Service.open`): the agent and the thread's id are validated, and the user is
authorized. Then capacity is reserved; only then is anything of the thread read. What is refused is raised as in
`errors`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from ...translator import PROTOCOL_VERSION, Options
from ...translator import events as agui
from ..backend import Backend
from ..errors import (
    AguiError,
    RunNotFoundError,
    ThreadNotFoundError,
    checked_run_id,
    checked_thread_id,
    failed,
    log_context,
    log_failure,
)
from ..events.encoded import Batches
from ..events.readers import direct_options
from ..events.relay import Relayed, relaying
from ..local.backend import Local
from ..open_thread import OpenThread, with_errors
from ..thread_info import ThreadInfo, ThreadPage
from .agents import Agent, AgentNames
from .errors import Refusal, label_request, log_refusal, refusal_of
from .limits import Capacity, Limits
from .operations import (
    AgentList,
    ChangeThread,
    Connect,
    Decline,
    Declined,
    Deleted,
    DeleteThread,
    DescribeAgents,
    ListThreads,
    OneThread,
    OnThread,
    Operation,
    ReadState,
    ReadThread,
    Result,
    Run,
    Stop,
    Stopped,
    ThreadList,
    Watch,
)
from .readiness import Readiness
from .requests.bodies import Bodies
from .requests.users import Action, Caller, Users, forbidden
from .streams.endings import answered, answers, unbegun
from .streams.shutdown import Closing
from .streams.transmission import Stream

_PAGES: Final = 8
"""Pages of a backend that one answer is gathered from, where archived threads are left out."""
_KEPT_OUT: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
"""Refusals after which nothing of the thread is sent."""
_ENDS_HERE = "The server is shutting down, and with it this run."
_CONTINUES = "This server is shutting down. The run continues, or keeps its place in the queue: connect to it again."

_NO_LIFESPAN = (
    "The lifespan of the routes of agents %s was never entered, so streams and runs do not end with the server: %s. "
    "In a test: with TestClient(app) as client."
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A thread that a user may use, as an agent has it. `name`: of the agent."""

    name: str
    agent: Agent
    thread: OpenThread

    @property
    def source(self) -> Backend:
        """The agent's source for this user."""
        return self.thread.backend

    async def options(self, version: str | None) -> Options:
        """The options for a client of this protocol version. Raises as `Platform.options`."""
        return await self.agent.options_for(self.source, version)


class Service:
    """The agents of one app, and what is done with them. `app.state.service` is the app's."""

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
        """Whether the lifespan of its routes was entered."""
        self.enter_lifespan = ""
        """What has to be written for that, where it was forgotten."""
        self._has_warned = False
        self.heartbeat = heartbeat
        closing.at_begin = self._begin_to_end

    def check_lifespan(self) -> None:
        """Logs an error at the first request, if the lifespan of the routes was never entered. Otherwise nobody would
        notice before the server ends. The request is served: a test client that is no context runs no lifespan either,
        and nothing distinguishes its requests from others."""
        self.closing.reopen_elsewhere()
        if not (self.has_lifespan or self._has_warned):
            self._has_warned = True
            _log.error(_NO_LIFESPAN, ", ".join(self.agents), self.enter_lifespan)

    async def perform(self, operation: Operation, caller: Caller) -> Result:
        """Does what an operation says, if the caller may. Raises `Refusal` and other errors that `errors` answers."""
        match operation:
            case DescribeAgents():
                return await self._listed(caller)
            case ListThreads():
                return ThreadList(operation.agent, await self._page(operation, caller))
            case Run(shows_refusals=True) if answers(operation.input):
                return await self._run_or_show(operation, caller)
        return await self._perform_on(await self._open_for(operation, operation.action, caller), operation, caller)

    async def open(
        self, caller: Caller, action: Action, agent: str, thread_id: str, run_id: str | None = None
    ) -> Opened:
        """The thread for an action of this user. Nothing else gives one: no thread is read, run or changed without it.

        Raises `Refusal` where the user may not do this, and `InvalidThreadIdError`. Whether the thread matches the
        user's filter is found where it is read."""
        served = self._agent(agent)
        label_request(caller.request, agent, thread_id, run_id)
        checked_thread_id(thread_id, in_url=served.backend.ids_in_url)
        source = await self._source_for(caller, action, agent, thread_id, run_id)
        return Opened(agent, served, OpenThread(source, thread_id))

    async def _open_for(self, operation: OnThread, action: Action, caller: Caller) -> Opened:
        run_id = operation.run_id if isinstance(operation, Run | Decline | Stop) else None
        return await self.open(caller, action, operation.agent, operation.thread_id, run_id)

    async def _perform_on(self, opened: Opened, operation: OnThread, caller: Caller) -> Result:
        thread = opened.thread
        match operation:
            case Run():
                return await self._run(opened, operation, caller)
            case Decline(input=given):
                started = agui.run_started(thread.id, given.run_id, given.protocol_version)
                return Declined([started, agui.run_finished(thread.id, given.run_id, {"type": "success"})])
            case Connect():
                return await self._connect(opened, operation, caller)
            case Watch():
                return await self._watch(opened, operation, caller)
            case Stop():
                await thread.hold(operation.run_id)  # a run of another process could not be found
                try:  # a synchronous function cannot be interrupted, but the run's readers have its end at once
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
            case ChangeThread():
                return OneThread(opened.name, await thread.change(operation.metadata))
            case DeleteThread():
                await thread.hold()  # the thread may have a run in another process
                await thread.delete()
                return Deleted()

    async def _run_or_show(self, operation: Run, caller: Caller) -> Stream:
        """The run; if it is refused, the refusal as an event, and what the thread waits for."""
        try:
            return await self._run(await self._open_for(operation, operation.action, caller), operation, caller)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal is None or refusal.status in _KEPT_OUT:
                raise
            log_refusal(error, caller.request)
            why = failed(refusal)
        opened = await self._open_for(operation, "read", caller)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            batches = answered(unbegun(why, self._connected(opened)), operation.input, partial(self._connected, opened))
            return self._stream(opened, batches, None, taken.pop_all(), has_offsets=False)

    async def _run(self, opened: Opened, operation: Run, caller: Caller) -> Stream:
        given, source, version = operation.input, opened.source, operation.input.protocol_version
        checked_run_id(given.run_id, in_url=source.ids_in_url)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            start = taken.enter_context(ExitStack())
            start.enter_context(self.capacity.run(caller.identity, source, opened.thread.id))
            options = await opened.options(version)
            if operation.is_direct:
                options = direct_options(options)
            intake = await opened.agent.intake_for(caller.request)
            await opened.thread.hold(given.run_id)
            batches = await opened.thread.run(
                given, options=options, intake=intake, past_errors=operation.past_errors, queue=self.limits.queue
            )
            if source.runs is not None:
                start.close()  # `Runs` counts it from here on
            if answers(given):
                batches = answered(batches, given, partial(self._connected, opened))
            return self._stream(opened, batches, version, taken.pop_all(), has_offsets=not answers(given))

    async def _connect(self, opened: Opened, operation: Connect, caller: Caller) -> Stream:
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            batches = await opened.thread.connect(
                options=await opened.options(operation.version),
                view=operation.view,
                after=operation.after,
                past_errors=operation.past_errors,
            )
            return self._stream(opened, batches, operation.version, taken.pop_all())

    async def _watch(self, opened: Opened, operation: Watch, caller: Caller) -> Stream:
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(caller.identity))
            options = await opened.options(PROTOCOL_VERSION)
            batches = opened.thread.watch(options=options, after=operation.after)
            return self._stream(opened, batches, PROTOCOL_VERSION, taken.pop_all(), stays=True)

    async def _page(self, operation: ListThreads, caller: Caller) -> ThreadPage:
        """A page of the threads that the user may list."""
        label_request(caller.request, operation.agent)
        self.users.check_token(caller)
        threads = (await self._source_for(caller, "list", operation.agent)).threads
        listed, cursor = list[ThreadInfo](), operation.cursor
        try:
            for _ in range(_PAGES):
                page = await threads.search(status=operation.status, limit=operation.limit - len(listed), after=cursor)
                listed += [info for info in page.threads if operation.archived or not info.is_archived]
                cursor = page.next
                if cursor is None or len(listed) == operation.limit:
                    break
        except ValueError:
            message = "cursor: expected the nextCursor of the page before."
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message) from None
        return ThreadPage(listed, cursor)

    async def _listed(self, caller: Caller) -> AgentList:
        """The agents that the user may list; raises `Refusal` (403) if there is none."""
        found = {}
        for name, agent in self.agents.items():
            try:
                await self.users.authorize(caller, "list", name, None)
            except Exception as error:
                refusal = refusal_of(error)
                if refusal is None or refusal.status != HTTPStatus.FORBIDDEN:
                    raise
            else:
                found[name] = agent
        if not found:
            raise forbidden()
        return AgentList(found, self.names.only, self.users.may_manage(caller), self.has_sockets)

    def _agent(self, name: str) -> Agent:
        """The agent of this name; raises `Refusal` (404)."""
        return self.agents[self.names.checked(name)]

    async def _source_for(
        self, caller: Caller, action: Action, name: str, thread_id: str | None = None, run_id: str | None = None
    ) -> Backend:
        grant = await self.users.authorize(caller, action, name, thread_id)
        try:
            return self._agent(name).source_for(caller.user, grant, self.users.headers_of(caller))
        except ValueError as error:
            label = log_context(name, thread_id, run_id)
            _log.error("authorize returned an invalid filter, and %r is refused: %s (%s).", action, error, label)
            raise forbidden() from None

    async def prepare(self) -> None:
        """Makes the first graphs of agents whose graphs are made for each request. Raises `ValueError` as `Agent`."""
        for name, agent in self.agents.items():
            await agent.prepare(name)

    async def hold_threads(self) -> None:
        """Makes this process the one that runs on the threads of its agents. If another process has those of an agent,
        that is logged, and requests that need them are refused."""
        for name, agent in self.agents.items():
            try:
                await agent.backend.hold_threads(waits=False)
            except AguiError as error:
                log_failure(error, log_context(name, None))

    async def release_threads(self) -> None:
        """Lets other processes run on the threads of its agents."""
        for source in self.locals:
            await source.release_threads()

    @relaying
    async def _connected(self, opened: Opened) -> Relayed:
        """The thread for a client that declares no protocol version, past failures as custom events."""
        options = await opened.options(None)
        begin = partial(opened.thread.connect, options=options, past_errors="custom")
        yield with_errors(begin, options, partial(log_context, opened.name, opened.thread.id))

    def _begin_to_end(self) -> None:
        """When the server begins to stop, runs and queued inputs that are read elsewhere need no readers here any more.
        Other queued inputs are cancelled; their readers get a terminal event."""
        for source in self.locals:
            if source.outlives_server:
                source.keep_runs()
            else:
                source.stop_queued()

    def _stream(
        self,
        opened: Opened,
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
            farewell=_CONTINUES if opened.source.outlives_server else _ENDS_HERE,
            agent=opened.name,
            thread_id=opened.thread.id,
            stays=stays,
            has_offsets=has_offsets,
        )
