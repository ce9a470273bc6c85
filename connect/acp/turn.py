"""One prompt, from its blocks to its stop reason: `Turn`. The run, the questions that it stops at, and the run that
continues with their answers, until one ends.

    run --ends------------------> end_turn, max_tokens, refusal
        --fails-----------------> an error; max_turn_requests at the recursion limit
        --waits--> questions --answered--------> run
                             --asked in chat---> end_turn; the next prompt is the answer
        --cancel----------------> cancelled, from wherever it is

Rules:

1. A cancel counts from the moment in which the turn is made, also before its run has begun, and whatever the run does
   because of it.
2. When a turn is over no call of it is open, but those that wait for an answer in the chat.
3. A turn that is cancelled at a question answers it: the interrupts are cancelled, and what runs then is stopped when
   the node that asked has ended. So the thread is a conversation that a model takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final, Literal, TypeVar
from uuid import uuid4

from ag_ui.core import RunAgentInput

from ...translator import PROTOCOL_VERSION
from ..errors import AguiError, log_failure
from ..events.encoded import Batches
from .agent import set_current_session
from .client import CancelledByUser
from .conversation import Conversation, interrupts_of, question_update
from .mapping.content import text_of, to_parts
from .mapping.forms import Form
from .mapping.questions import Asking, Emit, InChat, Permission, cancelled

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_Made = TypeVar("_Made")

_AT_LIMIT: Final = "GraphRecursionError"
_REFUSALS: Final = ("content_filter", "refusal")
_ANSWER_WAIT: Final = 1.0
"""Seconds for which the answer to a question is waited for when the turn is cancelled."""
_END_WAIT: Final = 2.0
"""Seconds for which the end of a run is waited for that is cancelled."""


class RunFailedError(Exception):
    """The run of a prompt failed. `code`: the class of the error, or one of ours. `message`: its text, if it is to be
    displayed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message


class _CancelledTurn(Exception):  # noqa: N818 - not an error
    pass


class Turn:
    """One prompt of a session. Made before anything is awaited; `run` is called once. `request`: the id of the editor's
    request."""

    def __init__(self, conversation: Conversation, request: object) -> None:
        self._of, self.request = conversation, request
        self._is_cancelled = asyncio.Event()
        self._prompt_id: str | None = None
        self.is_over = asyncio.Event()
        """Set when its prompt is answered."""

    def cancel(self) -> None:
        """The user cancels it."""
        self._is_cancelled.set()

    async def run(self, blocks: Sequence[dict[str, Any]]) -> StopReason:
        """Runs a prompt, and returns why it ended. `blocks`: of the prompt, as their JSON. Raises `RunFailedError` for
        a run that failed, `AguiError` for one that could not start, and `ConnectionError` when the editor is gone."""
        waiting: set[str] = set()
        try:
            reason = await self._reason(blocks)
            waiting = {card.id for card in self._of.updates.open_cards()} if self._of.in_chat is not None else set()
        except _CancelledTurn:
            await self._drop()
            reason = "cancelled"
        except RunFailedError:
            if not self._is_cancelled.is_set():
                raise
            reason = "cancelled"
        finally:
            with suppress(ConnectionError):
                await self._of.emit(self._of.updates.given_up(waiting))
        return "cancelled" if self._is_cancelled.is_set() else reason

    async def _reason(self, blocks: Sequence[dict[str, Any]]) -> StopReason:
        set_current_session(self._of.session)
        if self._of.is_followed:
            await self._unless_cancelled(self._of.followed(), stops=True)
        message: list[dict[str, Any]] = []
        answers: list[dict[str, Any]] | None = None
        if self._of.in_chat is not None:
            answers = await self._asked(self._of.in_chat, text_of(blocks))
            if answers is None:
                return "end_turn"
        else:
            message = [self._message(blocks)]
            if self._of.interrupts:
                answers = await self._asked(self._of.asking())
                if answers is None:
                    return "end_turn"
        while True:
            self._check()
            await self._read(await self._submitted(message, answers))
            if not self._of.interrupts:
                return self._ended()
            answers = await self._asked(self._of.asking())
            if answers is None:
                return "end_turn"

    def _message(self, blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The prompt as a message: a new one, or in the place of one that was refused."""
        message_id = self._of.refused or str(uuid4())
        self._of.refused = None
        self._of.updates.has_prompt(message_id)
        return {"id": message_id, "role": "user", "content": to_parts(blocks)}

    # --- the run ------------------------------------------------------------------------------------------------------

    async def _submitted(self, messages: list[dict[str, Any]], answers: list[dict[str, Any]] | None) -> Batches:
        given = RunAgentInput.model_validate(
            {
                "threadId": self._of.session.id,
                "runId": str(uuid4()),
                "protocolVersion": PROTOCOL_VERSION,
                "messages": messages,
                "resume": answers,
                "state": {},
                "tools": [],
                "context": [],
                "forwardedProps": {},
            }
        )
        self._of.terminal, self._of.is_new = None, False
        self._prompt_id = messages[-1]["id"] if messages else None
        batches = await self._of.backend.submit(given, options=await self._of.options(), intake=self._of.intake())
        self._of.interrupts = []
        return batches

    async def _read(self, batches: Batches) -> None:
        try:
            await self._unless_cancelled(self._of.read(batches), stops=True)
        finally:
            self._of.interrupts = interrupts_of(self._of.terminal)

    def _ended(self) -> StopReason:
        """How the run ended."""
        terminal = self._of.terminal or {}
        if terminal.get("type") == "RUN_ERROR":
            if terminal.get("code") == _AT_LIMIT:
                return "max_turn_requests"
            detail = self._of.agent.options.error_detail if self._of.agent.options is not None else "code"
            message = str(terminal["message"]) if detail in ("message", "full") else ""
            raise RunFailedError(str(terminal.get("code") or "error"), message)
        if (terminal.get("outcome") or {}).get("type") == "cancelled":
            return "cancelled"
        reason = self._of.updates.finish_reason
        if reason in _REFUSALS:
            self._of.refused = self._prompt_id
            return "refusal"
        return "max_tokens" if reason == "length" else "end_turn"

    # --- the questions ------------------------------------------------------------------------------------------------

    async def _asked(self, asking: Asking, answer: Any = None) -> list[dict[str, Any]] | None:
        """The answers to all questions; None if one is asked in the chat. `answer`: to that one."""
        self._of.in_chat = None
        try:
            while True:
                try:
                    request = asking.send(answer)
                except StopIteration as end:
                    found: list[dict[str, Any]] = end.value
                    return found
                if isinstance(request, InChat):
                    await self._of.emit([question_update(request)])
                    self._of.in_chat = asking
                    return None
                answer = await self._answer(request)
        except (_CancelledTurn, CancelledByUser):
            self._is_cancelled.set()
            asking.close()
            raise _CancelledTurn from None

    async def _answer(self, request: Permission | Form | Emit) -> Any:
        editor, session = self._of.editor, self._of.session
        if isinstance(request, Emit):
            await self._of.emit(list(request.updates))
            return None
        asked = (
            editor.form(session.id, request) if isinstance(request, Form) else editor.permission(session.id, request)
        )
        return await self._unless_cancelled(asked, stops=False)

    async def _drop(self) -> None:
        """Cancels what the thread waits for, and stops what runs then at the end of the node that asked. What can't be
        cancelled is asked again with the next prompt."""
        try:
            interrupts = await self._left()
            if not interrupts:
                return
            self._of.interrupts = interrupts
            batches = await self._submitted([], cancelled(interrupts))
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_WAIT):
                    await self._read_node(batches)
            await self._of.stop_run()
        except AguiError as error:
            log_failure(error, self._of.label)

    async def _left(self) -> list[dict[str, Any]]:
        """What the thread waits for, after a run that was cancelled. What it has saved and not emitted is emitted."""
        thread = await self._of.backend.thread(self._of.session.id, await self._of.options())
        if thread is None:
            return []
        await self._of.emit(self._of.updates.of({"type": "MESSAGES_SNAPSHOT", "messages": thread.view.messages}))
        return interrupts_of(thread.view.terminal)

    async def _read_node(self, batches: Batches) -> None:
        """Emits what comes until a node has ended."""
        async with aclosing(batches):
            async for batch in batches:
                for each in batch:
                    await self._of.emit(self._of.updates.of(each.event))
                if any(each.event["type"] == "STEP_FINISHED" for each in batch):
                    return

    # --- cancelling ---------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._is_cancelled.is_set():
            raise _CancelledTurn

    async def _unless_cancelled(self, work: Coroutine[Any, Any, _Made], *, stops: bool) -> _Made:
        """What the work gives. When the turn is cancelled, the run is stopped (`stops`), or the work has a second to
        end by itself; then `_CancelledTurn` is raised."""
        doing = asyncio.ensure_future(work)
        waiting = asyncio.ensure_future(self._is_cancelled.wait())
        try:
            await asyncio.wait([doing, waiting], return_when=asyncio.FIRST_COMPLETED)
            if self._is_cancelled.is_set():
                if stops and not doing.done():
                    await self._of.stop_run()
                await asyncio.wait([doing], timeout=_END_WAIT if stops else _ANSWER_WAIT)
                raise _CancelledTurn
            return doing.result()
        finally:
            for task in (doing, waiting):
                if not task.done():
                    task.cancel()
            await asyncio.gather(doing, waiting, return_exceptions=True)
