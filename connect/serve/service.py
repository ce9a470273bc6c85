"""The operations on an agent, for all routes: `Service` runs, connects, watches and stops. Never paths or bodies.

Each validates the agent and the thread id, authorizes the user, then reserves capacity; only then is anything of the
thread read. What is refused is raised as in `errors`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, aclosing
from functools import partial
from http import HTTPStatus
from typing import Any

from ag_ui.core import RunAgentInput
from starlette.requests import Request
from starlette.responses import Response

from ...translator import PROTOCOL_VERSION, ClientView
from ..access import identity_of
from ..backend import Backend, connect_batches, open_thread, watch_batches
from ..errors import AguiError, RunNotFoundError, checked_run_id, checked_thread_id, log_context, log_failure
from ..events.encoded import Batches
from ..events.readers import Offset, direct_options, offset_of
from ..inputs.thread_state import ThreadState
from ..run_outcome import PastErrors
from .agents import DEFAULT, Agent
from .errors import Refusal, label_request, refusal_of, stop_response
from .limits import Capacity, Limits
from .readiness import Readiness
from .requests.bodies import Bodies
from .requests.users import Action, Users, forbidden, user_of
from .streams.boundaries import boundaries
from .streams.shutdown import Closing
from .streams.stream import LAST_EVENT_ID, EventStream, wire_of

Adapt = Callable[[Batches, Callable[[], Batches]], Batches]
"""What a route makes of the batches before they are sent. The second argument connects to the thread again, past
failures as custom events."""

_ENDS_HERE = "The server is shutting down, and with it this run."
_CONTINUES = "This server is shutting down. The run continues, or keeps its place in the queue: connect to it again."

_NO_LIFESPAN = (
    "The lifespan of the routes of agents %s was never entered, so streams and runs do not end with the server: enter "
    "it in that of the outer app (app.router.lifespan_context of a mounted agui_app, or routes.lifespan)."
)

_log = logging.getLogger(__name__)


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
        self.users = users
        self.limits = limits
        self.closing = closing
        self.capacity = Capacity(limits, [agent.backend for agent in agents.values()])
        self.locals: list[Backend] = [agent.backend for agent in agents.values() if agent.backend.graph is not None]
        """The backends whose graphs are in this process."""
        self.bodies = Bodies(limits)
        self.readiness = Readiness({name: agent.backend for name, agent in agents.items()}, limits.ready_timeout)
        self.has_sockets = False
        """Whether the app serves WebSockets."""
        self.has_lifespan = False
        """Whether the lifespan of its routes was entered."""
        self._has_warned = False
        self._heartbeat = heartbeat
        closing.at_begin = self._begin_to_end

    def check_lifespan(self) -> None:
        """Warns once, at a request, if the lifespan of the routes was never entered. Otherwise nobody would notice
        before the server ends."""
        if not (self.has_lifespan or self._has_warned):
            self._has_warned = True
            _log.warning(_NO_LIFESPAN, ", ".join(self.agents))

    @property
    def only(self) -> str | None:
        """The name of the agent, if there is only one."""
        return next(iter(self.agents)) if len(self.agents) == 1 else None

    def names(self) -> str:
        """A sentence that names the agents; nothing where users are distinguished: `listed` says who sees which."""
        return "" if self.users.are_known else f" The agents are: {', '.join(self.agents)}."

    def agent(self, name: str) -> Agent:
        """The agent of this name; raises `Refusal` (404)."""
        if name not in self.agents:
            raise Refusal(HTTPStatus.NOT_FOUND, "unknown_agent", f"There is no such agent.{self.names()}")
        return self.agents[name]

    def named(self, wanted: str | None) -> str:
        """The name of the agent that a request means; None and `default` are the only one. Raises `Refusal`."""
        only = self.only
        if only is not None and wanted in (None, DEFAULT):
            return only
        if wanted is None:
            message = f"Expected ?agent= and the name of one.{self.names()}"
            raise Refusal(HTTPStatus.BAD_REQUEST, "agent_expected", message)
        self.agent(wanted)
        return wanted

    async def admit(
        self, request: Request, action: Action, name: str, thread_id: str, run_id: str | None = None
    ) -> tuple[Agent, Backend]:
        """The agent, and its source for this request, if the user may do this with this thread. Raises `Refusal`.
        Whether the thread matches the user's filter is found where it is read."""
        agent = self.agent(name)
        label_request(request, name, thread_id, run_id)
        checked_thread_id(thread_id, in_url=agent.backend.ids_in_url)
        return agent, await self._source_for(request, action, agent, name, thread_id, run_id)

    async def listing(self, request: Request, name: str) -> Backend:
        """The source of an agent for a request of its threads: it has those that the user may list. Raises
        `Refusal`."""
        label_request(request, name)
        self.users.check_token(request)
        return await self._source_for(request, "list", self.agent(name), name)

    async def _source_for(
        self,
        request: Request,
        action: Action,
        agent: Agent,
        name: str,
        thread_id: str | None = None,
        run_id: str | None = None,
    ) -> Backend:
        grant = await self.users.authorize(request, action, name, thread_id)
        try:
            return agent.source_for(user_of(request), grant, self.users.headers_of(request))
        except ValueError as error:
            label = log_context(name, thread_id, run_id)
            _log.error("authorize returned an invalid filter, and %r is refused: %s (%s).", action, error, label)
            raise forbidden() from None

    async def listed(self, request: Request) -> dict[str, Agent]:
        """The agents that the user may list, by name; raises `Refusal` (403) if there is none."""
        found = {}
        for name, agent in self.agents.items():
            try:
                await self.users.authorize(request, "list", name, None)
            except Exception as error:
                refusal = refusal_of(error)
                if refusal is None or refusal.status != HTTPStatus.FORBIDDEN:
                    raise
            else:
                found[name] = agent
        if not found:
            raise forbidden()
        return found

    async def run(
        self,
        request: Request,
        name: str,
        given: RunAgentInput,
        *,
        past_errors: PastErrors = "error",
        adapt: Adapt | None = None,
        is_direct: bool = False,
    ) -> Response:
        """Starts the run of an input, and streams it. It continues when its client leaves, as the agent's
        intake says, also if that is before it has started. `is_direct`: the client is known to
        read the stream itself."""
        agent, source = await self.admit(request, "run", name, given.thread_id, given.run_id)
        checked_run_id(given.run_id, in_url=source.ids_in_url)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(identity_of(user_of(request))))
            start = taken.enter_context(ExitStack())
            start.enter_context(self.capacity.run(identity_of(user_of(request)), source, given.thread_id))
            options = await agent.options_for(source, given.protocol_version)
            if is_direct:
                options = direct_options(options)
            intake = await agent.intake_for(request)
            await source.hold_threads(given.thread_id, given.run_id)
            batches = await source.submit(
                given, options=options, intake=intake, past_errors=past_errors, queue=self.limits.queue
            )
            if source.runs is not None:
                start.close()  # `Runs` counts it from here on
            thread_id, version = given.thread_id, given.protocol_version
            return self._stream(request, batches, agent, source, name, thread_id, version, taken.pop_all(), adapt)

    async def connect(
        self,
        request: Request,
        name: str,
        thread_id: str,
        *,
        view: ClientView | None = None,
        version: str | None = PROTOCOL_VERSION,
        run_id: str | None = None,
        past_errors: PastErrors = "error",
        adapt: Adapt | None = None,
        refuses: bool = True,
    ) -> Response:
        """Streams the thread and what runs on it, to its end. `view`: the client's messages and state. `refuses`:
        whether an unreadable thread is refused with an HTTP status; if not, the stream has the `RUN_ERROR`."""
        agent, source = await self.admit(request, "read", name, thread_id, run_id)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(identity_of(user_of(request))))
            options = await agent.options_for(source, version)
            how: dict[str, Any] = {"run_id": run_id, "options": options, "view": view, "past_errors": past_errors}
            how["after"] = None if adapt is not None else _after(request)
            batches = (
                await open_thread(source, thread_id, **how) if refuses else connect_batches(source, thread_id, **how)
            )
            return self._stream(request, batches, agent, source, name, thread_id, version, taken.pop_all(), adapt)

    async def watch(self, request: Request, name: str, thread_id: str, *, only_boundaries: bool = False) -> Response:
        """Streams the thread, and from then on every run of it, for as long as the client stays. `only_boundaries`: the
        starts and ends of its runs, and nothing in between."""
        agent, source = await self.admit(request, "read", name, thread_id)
        with ExitStack() as taken:
            taken.enter_context(self.capacity.reader(identity_of(user_of(request))))
            version = PROTOCOL_VERSION
            options = await agent.options_for(source, version)
            batches = watch_batches(source, thread_id, options=options, after=_after(request))
            if only_boundaries:
                batches = boundaries(batches)
            return self._stream(request, batches, agent, source, name, thread_id, version, taken.pop_all(), stays=True)

    async def thread(self, request: Request, name: str, thread_id: str) -> ThreadState | None:
        """A thread as a client has it that connects; None for a thread that is unknown."""
        agent, source = await self.admit(request, "read", name, thread_id)
        return await source.thread(thread_id, await agent.options_for(source, PROTOCOL_VERSION))

    async def stop(self, request: Request, name: str, thread_id: str, run_id: str | None = None) -> Response:
        """Stops a run, or the thread's active run. 202 if it has not stopped in time: a synchronous function cannot be
        interrupted, but the run's readers have its end."""
        _, source = await self.admit(request, "stop", name, thread_id, run_id)
        await source.hold_threads(thread_id, run_id)  # a run of another process could not be found
        try:
            return stop_response(await source.cancel(thread_id, run_id, wait=self.limits.stop_timeout))
        except RunNotFoundError:
            return stop_response(None)

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

    async def _connected(self, agent: Agent, source: Backend, thread_id: str, version: str | None) -> Batches:
        """The thread of a request that was admitted, past failures as custom events."""
        options = await agent.options_for(source, version)
        state = connect_batches(source, thread_id, options=options, past_errors="custom")
        async with aclosing(state) as batches:
            async for batch in batches:
                yield batch

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
        request: Request,
        batches: Batches,
        agent: Agent,
        source: Backend,
        name: str,
        thread_id: str,
        version: str | None,
        taken: AbstractContextManager[Any],
        adapt: Adapt | None = None,
        *,
        stays: bool = False,
    ) -> EventStream:
        if adapt is not None:
            batches = adapt(batches, partial(self._connected, agent, source, thread_id, version))
        return EventStream(
            batches,
            self.closing,
            version=version,
            heartbeat=self._heartbeat,
            message=_CONTINUES if source.outlives_server else _ENDS_HERE,
            taken=taken,
            send_timeout=self.limits.send_timeout,
            agent=name,
            thread_id=thread_id,
            wire=wire_of(request, has_ids=adapt is None),
            stays=stays,
        )


def _after(request: Request) -> Offset | None:
    """Where the client of a request was, if it comes back."""
    return offset_of(request.headers.get(LAST_EVENT_ID))
