"""Processes one prompt, from its blocks to its stop reason: `Turn`. It starts a run, asks the questions at which the
run stops, and starts a run with the answers, until a run ends without questions.

    run --ends------------------> end_turn, max_tokens, refusal
        --fails-----------------> an error; max_turn_requests at the recursion limit
        --waits--> questions --answered--------> run
                             --asked in chat---> end_turn; the next prompt is the answer
        --cancel----------------> cancelled, in any state

Rules:

1. A cancellation takes effect as soon as the turn exists, even before its run has started. The stop reason is then
   `cancelled`, however the run ends.
2. When a turn is over, all of its tool calls have ended, except those that wait for an answer in the chat.
3. When a turn is cancelled at a question, its interrupts are answered as cancelled. The run that continues then is
   stopped as soon as the node that asked has ended. This way the thread remains a conversation that a model accepts.
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
from .mapping.questions import Asking, Emit, InChat, Permission, cancel_all

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_Result = TypeVar("_Result")

_AT_LIMIT: Final = "GraphRecursionError"
_REFUSALS: Final = ("content_filter", "refusal")
_ANSWER_WAIT: Final = 1.0
"""How many seconds the editor may take to answer a question after the turn is cancelled."""
_END_WAIT: Final = 2.0
"""How many seconds a cancelled run may take to end."""


class RunFailedError(Exception):
    """The run of a prompt has failed. `code` is the class of the error, or one of our codes. `message` is the text of
    the error, or empty if it must not be displayed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class _CancelledTurn(Exception):  # noqa: N818 - not an error
    pass


class Turn:
    """One prompt of a session. It is created before anything is awaited, and `run` is called once. `request` is the id
    of the editor's request."""

    def __init__(self, conversation: Conversation, request: object) -> None:
        self._conversation, self.request = conversation, request
        self._is_cancelled = asyncio.Event()
        self._prompt_id: str | None = None
        self.is_over = asyncio.Event()
        """Set once the prompt is answered."""

    def cancel(self) -> None:
        """Cancels the turn."""
        self._is_cancelled.set()

    async def run(self, blocks: Sequence[dict[str, Any]]) -> StopReason:
        """Runs a prompt, and returns why it ended. `blocks` are those of the prompt, as JSON. Raises `RunFailedError`
        if the run failed, `AguiError` if it could not start, and `ConnectionError` if the editor has closed the
        connection."""
        waiting: set[str] = set()
        try:
            reason = await self._reason(blocks)
            if self._conversation.in_chat is not None:
                waiting = {card.id for card in self._conversation.updates.open_cards()}
        except _CancelledTurn:
            await self._drop()
            reason = "cancelled"
        except RunFailedError:
            if not self._is_cancelled.is_set():
                raise
            reason = "cancelled"
        finally:
            with suppress(ConnectionError):
                await self._conversation.emit(self._conversation.updates.give_up(waiting))
        return "cancelled" if self._is_cancelled.is_set() else reason

    async def _reason(self, blocks: Sequence[dict[str, Any]]) -> StopReason:
        set_current_session(self._conversation.session)
        if self._conversation.is_followed:
            await self._unless_cancelled(self._conversation.wait_for_followed(), stops=True)
        message: list[dict[str, Any]] = []
        answers: list[dict[str, Any]] | None = None
        if self._conversation.in_chat is not None:
            answers = await self._ask(self._conversation.in_chat, text_of(blocks))
            if answers is None:
                return "end_turn"
        else:
            message = [self._message(blocks)]
            if self._conversation.interrupts:
                answers = await self._ask(self._conversation.ask())
                if answers is None:
                    return "end_turn"
        while True:
            self._check()
            await self._read(await self._submit(message, answers))
            if not self._conversation.interrupts:
                return self._stop_reason()
            answers = await self._ask(self._conversation.ask())
            if answers is None:
                return "end_turn"

    def _message(self, blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Returns the prompt as a message: a new one, or one that replaces a message that a model refused."""
        message_id = self._conversation.refused or str(uuid4())
        self._conversation.refused = None
        self._conversation.updates.note_prompt(message_id)
        return {"id": message_id, "role": "user", "content": to_parts(blocks)}

    # --- the run ------------------------------------------------------------------------------------------------------

    async def _submit(self, messages: list[dict[str, Any]], answers: list[dict[str, Any]] | None) -> Batches:
        run_input = RunAgentInput.model_validate(
            {
                "threadId": self._conversation.session.id,
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
        self._conversation.terminal, self._conversation.is_new = None, False
        self._prompt_id = messages[-1]["id"] if messages else None
        batches = await self._conversation.thread.run(
            run_input, options=await self._conversation.options(), intake=self._conversation.intake()
        )
        self._conversation.interrupts = []
        return batches

    async def _read(self, batches: Batches) -> None:
        try:
            await self._unless_cancelled(self._conversation.read(batches), stops=True)
        finally:
            self._conversation.interrupts = interrupts_of(self._conversation.terminal)

    def _stop_reason(self) -> StopReason:
        """Returns why the turn ends, given the last event of its run. Raises `RunFailedError`."""
        terminal = self._conversation.terminal or {}
        if terminal.get("type") == "RUN_ERROR":
            if terminal.get("code") == _AT_LIMIT:
                return "max_turn_requests"
            options = self._conversation.agent.options
            detail = "code" if options is None else options.error_detail
            message = str(terminal["message"]) if detail in ("message", "full") else ""
            raise RunFailedError(str(terminal.get("code") or "error"), message)
        if (terminal.get("outcome") or {}).get("type") == "cancelled":
            return "cancelled"
        reason = self._conversation.updates.finish_reason
        if reason in _REFUSALS:
            self._conversation.refused = self._prompt_id
            return "refusal"
        return "max_tokens" if reason == "length" else "end_turn"

    # --- the questions ------------------------------------------------------------------------------------------------

    async def _ask(self, asking: Asking, answer: Any = None) -> list[dict[str, Any]] | None:
        """Returns the answers to all questions, or None once one is asked in the chat. `answer` answers the question
        that was asked in the chat before."""
        self._conversation.in_chat = None
        try:
            while True:
                try:
                    request = asking.send(answer)
                except StopIteration as end:
                    answers: list[dict[str, Any]] = end.value
                    return answers
                if isinstance(request, InChat):
                    await self._conversation.emit([question_update(request)])
                    self._conversation.in_chat = asking
                    return None
                answer = await self._answer(request)
        except (_CancelledTurn, CancelledByUser):
            self._is_cancelled.set()
            asking.close()
            raise _CancelledTurn from None

    async def _answer(self, request: Permission | Form | Emit) -> Any:
        editor, session = self._conversation.editor, self._conversation.session
        if isinstance(request, Emit):
            await self._conversation.emit(list(request.updates))
            return None
        answer = (
            editor.form(session.id, request) if isinstance(request, Form) else editor.permission(session.id, request)
        )
        return await self._unless_cancelled(answer, stops=False)

    async def _drop(self) -> None:
        """Answers the thread's interrupts as cancelled, and stops the run that continues then as soon as the node that
        asked has ended. An interrupt that can't be cancelled is asked again with the next prompt."""
        try:
            interrupts = await self._read_interrupts()
            if not interrupts:
                return
            self._conversation.interrupts = interrupts
            batches = await self._submit([], cancel_all(interrupts))
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_WAIT):
                    await self._read_node(batches)
            await self._conversation.stop_run()
        except AguiError as error:
            log_failure(error, self._conversation.label)

    async def _read_interrupts(self) -> list[dict[str, Any]]:
        """Returns the thread's interrupts after a cancelled run. Emits messages that the run has saved but not
        emitted."""
        thread = await self._conversation.thread.state(await self._conversation.options())
        if thread is None:
            return []
        await self._conversation.emit(
            self._conversation.updates.of({"type": "MESSAGES_SNAPSHOT", "messages": thread.view.messages})
        )
        return interrupts_of(thread.view.terminal)

    async def _read_node(self, batches: Batches) -> None:
        """Emits events until a node has ended, or the stream ends."""
        async with aclosing(batches):
            async for batch in batches:
                for encoded in batch:
                    await self._conversation.emit(self._conversation.updates.of(encoded.event))
                if any(encoded.event["type"] == "STEP_FINISHED" for encoded in batch):
                    return

    # --- cancelling ---------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._is_cancelled.is_set():
            raise _CancelledTurn

    async def _unless_cancelled(self, work: Coroutine[Any, Any, _Result], *, stops: bool) -> _Result:
        """Returns the result of `work`. If the turn is cancelled before, raises `_CancelledTurn`. With `stops`, it
        stops the run first and waits until `work` ends, for `_END_WAIT` seconds at most; else for `_ANSWER_WAIT`
        seconds."""
        task = asyncio.ensure_future(work)
        cancellation = asyncio.ensure_future(self._is_cancelled.wait())
        try:
            await asyncio.wait([task, cancellation], return_when=asyncio.FIRST_COMPLETED)
            if self._is_cancelled.is_set():
                if stops and not task.done():
                    await self._conversation.stop_run()
                await asyncio.wait([task], timeout=_END_WAIT if stops else _ANSWER_WAIT)
                raise _CancelledTurn
            return task.result()
        finally:
            for pending in (task, cancellation):
                if not pending.done():
                    pending.cancel()
            await asyncio.gather(task, cancellation, return_exceptions=True)
