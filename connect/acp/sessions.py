"""Begins, lists, closes and deletes the sessions of a connection: `Sessions`. Only open sessions are held in memory;
any other session exists only as a thread."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from langgraph.checkpoint.memory import InMemorySaver

from ...translator import Options
from ..backend import Backend, backend_of
from ..errors import InvalidIdError, InvalidInputError, NotSupportedError, ThreadNotFoundError, log_context
from ..local.backend import Local
from ..local.channels import input_channels_of
from ..local.checkpointers import with_threads
from ..local.run.runs import Runs
from ..open_thread import OpenThread
from .agent import AcpAgent, Session
from .choices import Choices
from .client import Editor
from .conversation import CWD, ORIGIN, Conversation
from .mapping.calls import Update
from .mapping.content import text_block, text_of
from .mcp import McpServers

_TITLE: Final = 60
"""The maximum length of a title, in characters."""

_CLOSE_WAIT: Final = 3.0
"""How many seconds graphs may take to stop after the editor has closed the connection."""

_log = logging.getLogger(__name__)


class Sessions:
    """The sessions of one editor with one agent."""

    def __init__(self, agent: AcpAgent, editor: Editor) -> None:
        self.agent, self._editor = agent, editor
        self.open: dict[str, Conversation] = {}
        self._runs = Runs(close_wait=_CLOSE_WAIT)
        self._saver = agent.checkpointer or InMemorySaver()
        self._all: Backend | None = None

    async def begin(
        self, session_id: str, cwd: str, directories: tuple[str, ...], servers: Sequence[dict[str, Any]]
    ) -> Conversation:
        """Opens a session, whose thread may already exist. Raises what the agent's factory raises, and
        `NotSupportedError` if the graph does not take messages."""
        session = Session(id=session_id, cwd=cwd, additional_directories=directories)
        choices = Choices(session, self.agent)
        mcp, label = McpServers(), log_context(self.agent.name, session_id)
        try:
            session.tools = await mcp.open(servers, cwd, label)
            backend = await self._backend_for(session)
        except BaseException:
            await mcp.aclose()
            raise
        if servers and not backend.is_local:
            _log.warning("The editor's MCP servers are not reached from the graph's server (%s).", label)
        self.open[session_id] = conversation = Conversation(session, choices, self.agent, backend, self._editor, mcp)
        return conversation

    async def prepare(self, conversation: Conversation, blocks: Sequence[dict[str, Any]]) -> None:
        """Prepares for a prompt: makes a new graph if the user has chosen another mode or setting, and emits the title
        of a new session."""
        choices = conversation.choices.metadata
        if choices != conversation.graph_choices and self.agent.is_per_session:
            conversation.backend = await self._backend_for(conversation.session)
        await conversation.take(choices)
        if conversation.is_new and (title := " ".join(text_of(blocks).split())[:_TITLE]):
            await conversation.emit([{"sessionUpdate": "session_info_update", "title": title}])

    async def run_command(self, conversation: Conversation, blocks: Sequence[dict[str, Any]]) -> bool:
        """Runs the command in a prompt and emits its answer. Returns False if the prompt is not a command."""
        first = blocks[0].get("text", "") if blocks[0]["type"] == "text" else ""
        name, _, rest = first.removeprefix("/").partition(" ")
        command = self.agent.commands.get(name.strip()) if first.startswith("/") else None
        if command is None or command.run is None:
            return False
        answer = command.run(conversation.session, rest.strip())
        text = await answer if inspect.isawaitable(answer) else answer
        if text:
            content = text_block(str(text))
            chunk = {"sessionUpdate": "agent_message_chunk", "messageId": str(uuid4()), "content": content}
            await conversation.emit([chunk])
        return True

    async def list_page(self, cwd: str | None, cursor: str | None) -> dict[str, Any]:
        """Returns a page of sessions in the protocol's format. Raises `InvalidInputError` for an invalid cursor."""
        metadata = {ORIGIN: "acp"} | ({} if cwd is None else {CWD: cwd})
        threads = (await self._backend()).threads
        try:
            page = await threads.search(metadata=metadata, after=cursor)
        except ValueError as error:
            raise InvalidInputError(f"cursor: expected the nextCursor of a list, got {cursor!r:.64}") from error
        sessions = [
            {
                "sessionId": thread.thread_id,
                "cwd": str(thread.metadata.get(CWD) or "/"),
                "updatedAt": thread.updated_at.isoformat(),
                **({} if thread.title is None else {"title": thread.title}),
            }
            for thread in page.threads
        ]
        return {"sessions": sessions, **({} if page.next is None else {"nextCursor": page.next})}

    async def close(self, session_id: str) -> None:
        """Closes a session. If its run is in this process, it is stopped; a run of a platform continues."""
        conversation = self.open.pop(session_id, None)
        if conversation is None:
            return
        await conversation.stop_following()
        if conversation.backend.runs is not None:
            await conversation.stop_run()
        await conversation.servers.aclose()

    async def delete(self, session_id: str) -> None:
        """Deletes the thread of a session, if it exists."""
        try:
            await OpenThread(await self._backend(), session_id).delete()
        except (ThreadNotFoundError, InvalidIdError):
            return

    async def aclose(self) -> None:
        """Closes all sessions, and stops all runs in this process."""
        await asyncio.gather(*(self.close(session_id) for session_id in list(self.open)))
        await self._runs.aclose()

    # --- where threads are --------------------------------------------------------------------------------------------

    async def _backend(self) -> Backend:
        """Returns a backend that has the threads of all sessions. If each session has its own graph, the backend of any
        session will do."""
        if self._all is None:
            for conversation in self.open.values():
                return conversation.backend
            self._all = await self._backend_for(self._placeholder_session())
        return self._all

    def _placeholder_session(self) -> Session:
        """Returns a session without an editor, to make a graph that reads the threads of all sessions."""
        session = Session(id="", cwd="/")
        Choices(session, self.agent)
        return session

    async def _backend_for(self, session: Session) -> Backend:
        backend = backend_of(await self.agent.source_for(session))
        if isinstance(backend, Local):
            graph = with_threads(backend.graph, self._saver, self.agent.store)
            key = (self.agent.options or Options()).messages_key
            if self.agent.intake.prepare is None and input_channels_of(graph, key).messages_key is None:
                raise NotSupportedError(f"The graph can't take prompts: its input has no channel {key!r}.")
            if backend.agent is None or graph is not backend.graph:
                return Local(graph, agent=backend.agent or self.agent.name, runs=self._runs, timeout=backend.timeout)
        return backend


def commands_of(agent: AcpAgent) -> list[Update]:
    """Returns the update that lists the agent's commands, or an empty list if it has none."""
    commands = [
        {
            "name": command.name,
            "description": command.description,
            **({} if command.hint is None else {"input": {"hint": command.hint}}),
        }
        for command in agent.commands.values()
    ]
    return [{"sessionUpdate": "available_commands_update", "availableCommands": commands}] if commands else []
