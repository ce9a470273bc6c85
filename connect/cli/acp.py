"""Implements the command `acp`: makes an agent from the arguments, and connects it to an editor. What the agent answers
is decided in `connect.acp`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..acp.agent import AcpAgent, is_factory
from ..acp.stdio import take_stdio
from ..platform.backend import Platform
from .errors import Failure, Misuse
from .sources.checkpointers import Threads, open_threads
from .sources.graphs import build, import_target
from .sources.platforms import open_client, platform_agents
from .sources.project import Project, project_of, read_project
from .sources.targets import Target, is_url

_LAST_MOMENT: Final = 2.0
"""How many seconds tools in threads may continue after everything else has ended."""
_SESSION: Final = "session"
"""A function with a parameter of this name makes a graph for each session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpSettings:
    """The arguments of the command `acp`: the agent that the editor talks to."""

    target: str | None
    config: Path | None
    assistant: str | None
    name: str | None
    sqlite: Path | None
    postgres: str | None
    api_key: str | None
    log_level: str


async def speak(settings: AcpSettings) -> None:
    """Answers an editor until it closes the connection, or a signal arrives. Raises `Misuse` for arguments that
    contradict each other."""
    _check(settings)
    pipes = take_stdio()  # before any module of the user is imported, because it may print
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    from ..acp.server import serve

    async with AsyncExitStack() as lifetime:
        loader = _AgentLoader(settings, lifetime)
        with suppress(NotImplementedError):  # event loops on Windows have no signal handlers
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, _own_task().cancel)
        await serve(loader.load, loader.name, pipes)
    _end_soon()


def _own_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _end_soon() -> None:
    """Ends the process in a moment, unless it has ended by then. Everything is closed at this point, but a tool in a
    thread can't be stopped, and Python would wait for it."""
    timer = threading.Timer(_LAST_MOMENT, os._exit, [0])
    timer.daemon = True
    timer.start()


class _AgentLoader:
    """Imports the agent of the settings when it is needed. Everything that is opened for the agent is closed with
    `lifetime`."""

    def __init__(self, settings: AcpSettings, lifetime: AsyncExitStack) -> None:
        self._settings, self._lifetime = settings, lifetime
        self._project = None if is_url(settings.target) else _project(settings)
        self.name = settings.name or self._own_name()

    def _own_name(self) -> str:
        if self._project is None:
            return self._settings.assistant or str(self._settings.target)
        return self._project.only(self._settings.assistant).name

    async def load(self) -> AcpAgent:
        """Imports and returns the agent. Raises `Misuse` and `Failure`."""
        return await (self._of_platform() if self._project is None else self._of_project(self._project))

    async def _of_platform(self) -> AcpAgent:
        settings = self._settings
        client = await self._lifetime.enter_async_context(open_client(str(settings.target), settings.api_key))
        if settings.assistant is not None:
            return AcpAgent(Platform(client, settings.assistant), name=self.name)
        agents = await platform_agents(client)
        if len(agents) > 1:
            raise Misuse(f"the server has several assistants: name one with --assistant ({', '.join(sorted(agents))})")
        ((name, (source, _)),) = agents.items()
        return AcpAgent(source, name=self._settings.name or name)

    async def _of_project(self, project: Project) -> AcpAgent:
        settings, target = self._settings, project.only(self._settings.assistant)
        project.enter()
        variable = await asyncio.to_thread(import_target, project, target)
        threads = await self._lifetime.enter_async_context(open_threads(settings.sqlite, settings.postgres))
        return await self._agent(target, variable, threads)

    async def _agent(self, target: Target, variable: Any, threads: Threads) -> AcpAgent:
        if isinstance(variable, AcpAgent):
            agent = variable
            if agent.checkpointer is None:
                agent.checkpointer, agent.store = threads.checkpointer, agent.store or threads.store
            return agent
        try:
            if _makes_sessions(variable):
                return AcpAgent(variable, name=self.name, checkpointer=threads.checkpointer, store=threads.store)
            return AcpAgent(await build(target, variable, threads, self._lifetime), name=self.name)
        except TypeError as error:
            raise Failure(f"{target.written}: {error}") from error


def _makes_sessions(variable: Any) -> bool:
    code = getattr(variable, "__code__", None)
    return is_factory(variable) and code is not None and _SESSION in code.co_varnames[: code.co_argcount]


def _check(settings: AcpSettings) -> None:
    if settings.target is not None and settings.config is not None:
        raise Misuse("acp: expected a graph or --config, not both")
    if settings.sqlite is not None and settings.postgres is not None:
        raise Misuse("acp: expected --sqlite or --postgres, not both")
    if is_url(settings.target):
        for option, value in (("--sqlite", settings.sqlite), ("--postgres", settings.postgres)):
            if value is not None:
                raise Misuse(f"{option} is only for your own graphs; a server keeps its own threads")
    elif settings.assistant is not None and settings.target is not None:
        raise Misuse("--assistant is only for a server, or to choose a graph in langgraph.json")


def _project(settings: AcpSettings) -> Project:
    return read_project(settings.config) if settings.target is None else project_of([settings.target])
