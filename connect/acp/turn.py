"""One prompt, from its blocks to its stop reason: `Turn`. The run, the questions that it stops at, and the run that
continues with their answers, until one ends.

    run --ends------------------> end_turn, max_tokens, refusal
        --fails-----------------> an error; max_turn_requests at the recursion limit
        --waits--> questions --answered--------> run
                             --asked in chat---> end_turn; the next prompt is the answer
        --cancel----------------> cancelled, from wherever it is

Rules:

1. A cancel counts from the moment in which the turn is made, even before its run has begun. The stop reason is then
   `cancelled`, however the run ends.
2. When a turn is over, none of its calls is open, except those that wait for an answer in the chat.
3. When a turn is cancelled at a question, its interrupts are answered as cancelled. The run that continues then is
   stopped when the node that asked has ended. So the thread stays a conversation that a model accepts.
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
"""Seconds that the editor has to answer a question when the turn is cancelled."""
_END_WAIT: Final = 2.0
"""Seconds that a cancelled run has to end."""


class RunFailedError(Exception):
    """The run of a prompt failed. `code`: the class of the error, or one of ours. `message`: its text, if it is to be
    displayed, else empty."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


class _CancelledTurn(Exception):  # noqa: N818 - not an error
    pass


class Turn:
    """One prompt of a session. Made before anything is awaited; `run` is called once. `request`: the id of the editor's
    request."""

    def __init__(self, conversation: Conversation, request: object) -> None:
        self._conversation, self.request = conversation, request
        self._is_cancelled = asyncio.Event()
        self._prompt_id: str | None = None
        self.is_over = asyncio.Event()
        """Set when its prompt is answered."""

    def cancel(self) -> None:
        """Cancels the turn."""
        self._is_cancelled.set()

    async def run(self, blocks: Sequence[dict[str, Any]]) -> StopReason:
        """Runs a prompt, and returns why it ended. `blocks`: of the prompt, as their JSON. Raises `RunFailedError` for
        a run that failed, `AguiError` for one that could not start, and `ConnectionError` when the editor is gone."""
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
                await self._conversation.emit(self._conversation.updates.given_up(waiting))
        return "cancelled" if self._is_cancelled.is_set() else reason

    async def _reason(self, blocks: Sequence[dict[str, Any]]) -> StopReason:
        set_current_session(self._conversation.session)
        if self._conversation.is_followed:
            await self._unless_cancelled(self._conversation.followed(), stops=True)
        message: list[dict[str, Any]] = []
        answers: list[dict[str, Any]] | None = None
        if self._conversation.in_chat is not None:
            answers = await self._asked(self._conversation.in_chat, text_of(blocks))
            if answers is None:
                return "end_turn"
        else:
            message = [self._message(blocks)]
            if self._conversation.interrupts:
                answers = await self._asked(self._conversation.asking())
                if answers is None:
                    return "end_turn"
        while True:
            self._check()
            await self._read(await self._submitted(message, answers))
            if not self._conversation.interrupts:
                return self._ended()
            answers = await self._asked(self._conversation.asking())
            if answers is None:
                return "end_turn"

    def _message(self, blocks: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The prompt as a message: a new one, or one that replaces a refused one."""
        message_id = self._conversation.refused or str(uuid4())
        self._conversation.refused = None
        self._conversation.updates.note_prompt(message_id)
        return {"id": message_id, "role": "user", "content": to_parts(blocks)}

    # --- the run ------------------------------------------------------------------------------------------------------

    async def _submitted(self, messages: list[dict[str, Any]], answers: list[dict[str, Any]] | None) -> Batches:
        given = RunAgentInput.model_validate(
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
            given, options=await self._conversation.options(), intake=self._conversation.intake()
        )
        self._conversation.interrupts = []
        return batches

    async def _read(self, batches: Batches) -> None:
        try:
            await self._unless_cancelled(self._conversation.read(batches), stops=True)
        finally:
            self._conversation.interrupts = interrupts_of(self._conversation.terminal)

    def _ended(self) -> StopReason:
        """Why the turn ends, by the last event of its run. Raises `RunFailedError`."""
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

    async def _asked(self, asking: Asking, answer: Any = None) -> list[dict[str, Any]] | None:
        """The answers to all questions; None when one is asked in the chat. `answer`: to the question in the chat."""
        self._conversation.in_chat = None
        try:
            while True:
                try:
                    request = asking.send(answer)
                except StopIteration as end:
                    found: list[dict[str, Any]] = end.value
                    return found
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
        asked = (
            editor.form(session.id, request) if isinstance(request, Form) else editor.permission(session.id, request)
        )
        return await self._unless_cancelled(asked, stops=False)

    async def _drop(self) -> None:
        """Answers the thread's interrupts as cancelled, and stops the run that continues then when the node that asked
        has ended. An interrupt that can't be cancelled is asked again with the next prompt."""
        try:
            interrupts = await self._left()
            if not interrupts:
                return
            self._conversation.interrupts = interrupts
            batches = await self._submitted([], cancelled(interrupts))
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_WAIT):
                    await self._read_node(batches)
            await self._conversation.stop_run()
        except AguiError as error:
            log_failure(error, self._conversation.label)

    async def _left(self) -> list[dict[str, Any]]:
        """The thread's interrupts after a cancelled run. Messages that it saved and did not emit are emitted."""
        thread = await self._conversation.thread.state(await self._conversation.options())
        if thread is None:
            return []
        await self._conversation.emit(
            self._conversation.updates.of({"type": "MESSAGES_SNAPSHOT", "messages": thread.view.messages})
        )
        return interrupts_of(thread.view.terminal)

    async def _read_node(self, batches: Batches) -> None:
        """Emits events until a node has ended."""
        async with aclosing(batches):
            async for batch in batches:
                for each in batch:
                    await self._conversation.emit(self._conversation.updates.of(each.event))
                if any(each.event["type"] == "STEP_FINISHED" for each in batch):
                    return

    # --- cancelling ---------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        if self._is_cancelled.is_set():
            raise _CancelledTurn

    async def _unless_cancelled(self, work: Coroutine[Any, Any, _Made], *, stops: bool) -> _Made:
        """Returns the result of the work. When the turn is cancelled, the run is stopped (`stops`), or the work has a
        second to end by itself; then `_CancelledTurn` is raised."""
        doing = asyncio.ensure_future(work)
        waiting = asyncio.ensure_future(self._is_cancelled.wait())
        try:
            await asyncio.wait([doing, waiting], return_when=asyncio.FIRST_COMPLETED)
            if self._is_cancelled.is_set():
                if stops and not doing.done():
                    await self._conversation.stop_run()
                await asyncio.wait([doing], timeout=_END_WAIT if stops else _ANSWER_WAIT)
                raise _CancelledTurn
            return doing.result()
        finally:
            for task in (doing, waiting):
                if not task.done():
                    task.cancel()
            await asyncio.gather(doing, waiting, return_exceptions=True)
