"""Defines `Conversation`, an open session: its thread, what the editor already has of the thread, and the interrupts
that the thread waits at. `turn` processes a single prompt.

Rules:

1. A session and its thread have the same id. Everything that a session displays is read from the thread. Loading a
   session emits the thread; resuming it only notes that the editor already has it.
2. If a run is active when a session is loaded, it is followed to its end. A prompt waits until then.
3. Questions at which the thread waits are asked with the next prompt, and not while the thread is loaded. The exception
   is a question in the chat: it is emitted at the end of loading, and the next prompt is its answer.
4. A session has the mode and the settings that its user has chosen, or else those of the thread's last prompt. Tools
   and approvals follow a change at once. The graph keeps its mode and settings during a prompt, since its later steps
   may depend on them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...translator import Options
from ..backend import Backend
from ..errors import AguiError, RunNotFoundError, ThreadNotFoundError, log_context, log_failure
from ..events.encoded import Batches
from ..inputs import Intake
from ..inputs.intake import OnDisconnect
from ..open_thread import OpenThread
from .agent import AcpAgent, Session
from .choices import Choices, configurable
from .client import Editor
from .mapping.calls import Update, absolute_in
from .mapping.content import text_block
from .mapping.plans import PLANS
from .mapping.questions import Approvals, Asking, InChat, ask
from .mapping.updates import Event, Updates
from .mcp import McpServers, kinds_of

ORIGIN: Final = "agui_origin"
CWD: Final = "agui_cwd"

_CANCEL_WAIT: Final = 0.5
"""How many seconds a cancelled graph may take to stop. If it takes longer, the next prompt waits for it."""
_LARGEST_FILE: Final = 1024 * 1024
"""The size in bytes of the largest file that is read before a tool changes it."""

_log = logging.getLogger(__name__)


class Conversation:
    """A session and its thread. Its runs are in `backend`; `servers` are the MCP servers that provide its tools."""

    def __init__(
        self,
        session: Session,
        choices: Choices,
        agent: AcpAgent,
        backend: Backend,
        editor: Editor,
        servers: McpServers,
    ) -> None:
        self.session, self.agent, self.backend, self.editor = session, agent, backend, editor
        self.servers = servers
        kinds = {**kinds_of(session.tools), **agent.kinds}
        before = _text_before if backend.is_local else None
        self.updates = Updates(agent.locate or absolute_in(session.cwd), kinds=kinds, before=before)
        self.approvals = Approvals()
        self.interrupts: list[dict[str, Any]] = []
        """The interrupts at which the last run stopped."""
        self.in_chat: Asking | None = None
        """The questions of the last run, if one of them waits for its answer in the chat."""
        self.choices = choices
        self.graph_choices = choices.metadata
        """The choices that the graph works with, which are those at the beginning of the last prompt."""
        self.is_new = True
        """Whether the session has had no prompt yet."""
        self.refused: str | None = None
        """The id of the message that a model refused to answer. The next prompt replaces it."""
        self.terminal: Mapping[str, Any] | None = None
        """The last event of the last run."""
        self._following: asyncio.Task[None] | None = None
        self.label = log_context(backend.name, session.id)
        """The names of the agent and the thread, for log lines."""

    @property
    def thread(self) -> OpenThread:
        """The session's thread. Raises `InvalidThreadIdError`."""
        return OpenThread(self.backend, self.session.id)

    async def options(self) -> Options:
        """Returns the options by which runs become events."""
        if self.agent.options is not None:
            return self.agent.options
        options = await self.backend.options()
        plans = frozenset(name for name in PLANS if options.shows_channel(name))
        return replace(options, state_include=plans, error_detail="code", first_state="delta")

    def intake(self) -> Intake:
        """Returns how prompts become runs: a second run waits, only messages of users are accepted, and the thread is
        marked as belonging to the session. A run in this process ends with its turn, and a run of a platform continues
        without the editor."""
        intake = self.agent.intake
        config = dict(intake.config)
        config["metadata"] = {**(config.get("metadata") or {}), ORIGIN: "acp", CWD: self.session.cwd}
        if self.graph_choices:
            config["configurable"] = {**(config.get("configurable") or {}), **configurable(self.graph_choices)}
            config["metadata"] |= self.graph_choices
        on_disconnect: OnDisconnect = "cancel" if self.backend.is_local else "continue"
        return replace(intake, config=config, roles={"user"}, busy="queue", on_disconnect=on_disconnect)

    async def take(self, choices: dict[str, str]) -> None:
        """Passes the choices on to the graph. A LangGraph server sets a thread's metadata only when it creates the
        thread, so later choices are written to the thread here. Errors are logged."""
        if choices == self.graph_choices:
            return
        self.graph_choices = choices
        if not self.backend.is_local and not self.is_new:
            try:
                await self.thread.change(choices)
            except AguiError as error:
                log_failure(error, self.label)

    async def emit(self, updates: list[Update]) -> None:
        """Sends updates to the editor, in order."""
        for update in updates:
            await self.editor.update(self.session.id, update)

    async def read(self, batches: Batches) -> None:
        """Emits a stream of events to its end."""
        async with aclosing(batches):
            async for batch in batches:
                for encoded in batch:
                    await self.emit(self._updates_of(encoded.event))

    def _updates_of(self, event: Event) -> list[Update]:
        """Returns the updates for an event. Remembers the event if it ends a run."""
        if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            self.terminal = event
        return self.updates.of(event)

    # --- a thread that exists -----------------------------------------------------------------------------------------

    async def open(self, *, emits: bool) -> bool:
        """Reads the thread, and returns whether it exists. With `emits`, emits it; otherwise only notes that the editor
        has it. If a run is active, it is followed to its end in the background. Raises what `OpenThread.connect`
        raises, and `AguiError` for errors of a platform."""
        batches = await self.thread.connect(options=await self.options())
        first = await anext(batches, None)
        if first is None:
            return False
        self.is_new, self.updates.emits_users = False, True
        if self.graph_choices:
            with suppress(ThreadNotFoundError):
                self.choices.restore((await self.thread.info()).metadata)
        for encoded in first:
            updates = self._updates_of(encoded.event)
            if emits:
                await self.emit(updates)
        if self.terminal is None:
            self._following = asyncio.create_task(self._follow(batches), name=f"session {self.session.id} follows")
            return True
        await batches.aclose()
        await self._end_load(emits=emits)
        return True

    async def _follow(self, batches: Batches) -> None:
        try:
            await self.read(batches)
            await self._end_load(emits=True)
        except ConnectionError:
            pass
        except Exception as error:  # functions of the owner may raise anything, and no caller awaits this task
            log_failure(error, self.label)

    async def _end_load(self, *, emits: bool) -> None:
        self.updates.emits_users = False
        self.interrupts = interrupts_of(self.terminal)
        updates = [] if self.interrupts else self.updates.give_up()
        if emits:
            await self.emit(updates)
        question = self.ask()
        first = next(question, None)
        if isinstance(first, InChat):
            self.in_chat = question
            if emits:
                await self.emit([question_update(first)])

    def ask(self) -> Asking:
        """Returns the generator of the questions at which the thread waits."""
        mode = self.session.mode
        self.approvals.by_mode = frozenset() if mode is None else mode.approved_tools
        return ask(self.interrupts, self.updates, forms=self.editor.has_forms, approvals=self.approvals)

    async def wait_for_followed(self) -> None:
        """Waits until the run that is followed has ended."""
        if self._following is not None:
            await asyncio.wait([self._following])

    @property
    def is_followed(self) -> bool:
        """Whether a run is being followed that no prompt of this session has started."""
        return self._following is not None and not self._following.done()

    async def stop_run(self) -> None:
        """Stops the active run of the thread. Errors are logged."""
        try:
            await self.thread.stop(wait=_CANCEL_WAIT)
        except RunNotFoundError:
            pass
        except AguiError as error:
            log_failure(error, self.label)

    async def stop_following(self) -> None:
        """Stops following a run. The run itself continues."""
        if self._following is not None:
            self._following.cancel()
            await self.wait_for_followed()


def question_update(question: InChat) -> Update:
    """Returns a question in the chat as a message of the agent."""
    return {
        "sessionUpdate": "agent_message_chunk",
        "messageId": question.message_id,
        "content": text_block(question.text),
    }


def interrupts_of(terminal: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Returns the interrupts at which a run stopped, given its last event."""
    outcome = (terminal or {}).get("outcome") or {}
    return list(outcome.get("interrupts") or ()) if outcome.get("type") == "interrupt" else []


def _text_before(path: str) -> str | None:
    """Returns the text of a file that a tool is about to write. Returns None if it does not exist, is too large, or is
    not text."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_FILE:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
