"""One open session, `Conversation`: its thread, what the editor has of the thread, and what the thread waits for. What
one prompt does is in `turn`.

Rules:

1. A session is a thread, and its id the thread's. All that a session shows is read from the thread: loading one emits
   its state, resuming one only notes what the editor has already.
2. A run that is active when a session is loaded is followed to its end. A prompt waits for that.
3. What the thread waits for is asked with the next prompt, not while the thread is loaded. Only a question in the chat
   is emitted at the end of the load, and the next prompt is its answer.
4. A session has the mode and the settings that its user has chosen, or those of its thread's last prompt. A change
   applies at once to tools and approvals. The graph has the same mode and settings for a whole prompt, since its later
   steps may depend on them.
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
from .mapping.questions import Approvals, Asking, InChat, asking
from .mapping.updates import Event, Updates
from .mcp import McpServers, kinds_of

ORIGIN: Final = "agui_origin"
CWD: Final = "agui_cwd"

_CANCEL_WAIT: Final = 0.5
"""Seconds that a cancelled graph has to stop; if it takes longer, the next prompt waits for it."""
_LARGEST_FILE: Final = 1024 * 1024
"""Bytes of the largest file whose text is read before a tool changes it."""

_log = logging.getLogger(__name__)


class Conversation:
    """A session and its thread. `backend`: where its runs are. `servers`: the MCP servers of its tools."""

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
        """What the last run waits for."""
        self.in_chat: Asking | None = None
        """The questions, if one of them waits for its answer in the chat."""
        self.choices = choices
        self.graph_choices = choices.metadata
        """The choices that the graph has: those at the beginning of the last prompt."""
        self.is_new = True
        """Whether it has had no prompt yet."""
        self.refused: str | None = None
        """The message that a model refused: the next prompt takes its place."""
        self.terminal: Mapping[str, Any] | None = None
        """The end of the last run."""
        self._following: asyncio.Task[None] | None = None
        self.label = log_context(backend.name, session.id)
        """The agent and the thread, as log lines name them."""

    @property
    def thread(self) -> OpenThread:
        """Its thread. Raises `InvalidThreadIdError`."""
        return OpenThread(self.backend, self.session.id)

    async def options(self) -> Options:
        """How its runs become events."""
        if self.agent.options is not None:
            return self.agent.options
        options = await self.backend.options()
        plans = frozenset(name for name in PLANS if options.shows_channel(name))
        return replace(options, state_include=plans, error_detail="code", first_state="delta")

    def intake(self) -> Intake:
        """How its prompts reach the graph: a second run waits, users' messages are taken, and the thread is marked as
        the session's. A run of this process ends with its turn; one of a platform continues without the editor."""
        given = self.agent.intake
        config = dict(given.config)
        config["metadata"] = {**(config.get("metadata") or {}), ORIGIN: "acp", CWD: self.session.cwd}
        if self.graph_choices:
            config["configurable"] = {**(config.get("configurable") or {}), **configurable(self.graph_choices)}
            config["metadata"] |= self.graph_choices
        leaves: OnDisconnect = "cancel" if self.backend.is_local else "continue"
        return replace(given, config=config, roles={"user"}, busy="queue", on_disconnect=leaves)

    async def take(self, choices: dict[str, str]) -> None:
        """Gives the graph these choices. A LangGraph server has a thread's metadata from its creation, so later choices
        are written to it. Errors are logged."""
        if choices == self.graph_choices:
            return
        self.graph_choices = choices
        if not self.backend.is_local and not self.is_new:
            try:
                await self.thread.change(choices)
            except AguiError as error:
                log_failure(error, self.label)

    async def emit(self, updates: list[Update]) -> None:
        """Sends updates, in their order."""
        for update in updates:
            await self.editor.update(self.session.id, update)

    async def read(self, batches: Batches) -> None:
        """Emits a stream of events, to its end."""
        async with aclosing(batches):
            async for batch in batches:
                for each in batch:
                    await self.emit(self._updates_of(each.event))

    def _updates_of(self, event: Event) -> list[Update]:
        """The updates of the next event, which is noted if it is the end of a run."""
        if event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
            self.terminal = event
        return self.updates.of(event)

    # --- a thread that exists -----------------------------------------------------------------------------------------

    async def open(self, *, emits: bool) -> bool:
        """Reads the thread. `emits`: emits it; else only notes that the editor has it. Returns whether there is one. An
        active run is followed to its end. Raises what `OpenThread.connect` raises, and `AguiError` for a platform's."""
        batches = await self.thread.connect(options=await self.options())
        first = await anext(batches, None)
        if first is None:
            return False
        self.is_new, self.updates.emits_users = False, True
        if self.graph_choices:
            with suppress(ThreadNotFoundError):
                self.choices.restore((await self.thread.info()).metadata)
        for each in first:
            updates = self._updates_of(each.event)
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
        except Exception as error:  # of the owner's functions too; no caller waits for this task
            log_failure(error, self.label)

    async def _end_load(self, *, emits: bool) -> None:
        self.updates.emits_users = False
        self.interrupts = interrupts_of(self.terminal)
        updates = [] if self.interrupts else self.updates.given_up()
        if emits:
            await self.emit(updates)
        question = self.asking()
        first = next(question, None)
        if isinstance(first, InChat):
            self.in_chat = question
            if emits:
                await self.emit([question_update(first)])

    def asking(self) -> Asking:
        """Begins the questions about what the thread waits for."""
        mode = self.session.mode
        self.approvals.by_mode = frozenset() if mode is None else mode.approved_tools
        return asking(self.interrupts, self.updates, forms=self.editor.has_forms, approvals=self.approvals)

    async def followed(self) -> None:
        """Waits until no run is followed any more."""
        if self._following is not None:
            await asyncio.wait([self._following])

    @property
    def is_followed(self) -> bool:
        """Whether a run is followed that no prompt of this session has started."""
        return self._following is not None and not self._following.done()

    async def stop_run(self) -> None:
        """Stops the thread's active run. Errors are logged."""
        try:
            await self.thread.stop(wait=_CANCEL_WAIT)
        except RunNotFoundError:
            pass
        except AguiError as error:
            log_failure(error, self.label)

    async def stop_following(self) -> None:
        """Ends following a run; the run continues."""
        if self._following is not None:
            self._following.cancel()
            await self.followed()


def question_update(question: InChat) -> Update:
    """A question in the chat, as a message of the agent."""
    return {
        "sessionUpdate": "agent_message_chunk",
        "messageId": question.message_id,
        "content": text_block(question.text),
    }


def interrupts_of(terminal: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What a run waits for, by its last event."""
    outcome = (terminal or {}).get("outcome") or {}
    return list(outcome.get("interrupts") or ()) if outcome.get("type") == "interrupt" else []


def _text_before(path: str) -> str | None:
    """The text of a file that is about to be written; None if there is none, or it is large or no text."""
    file = Path(path)
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_FILE:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
