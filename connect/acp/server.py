"""The methods of the protocol: `serve` answers an editor on standard input and output until it leaves.

Rules:

1. `initialize` is answered before anything of the agent is imported; the first session waits for the rest. An agent
   that can't be loaded is an error of the first session, which names why.
2. What a handler does before its first `await` is done before the next message is handled, so that a cancel finds its
   turn.
3. `_meta` of a request is taken out: the SDK would let it replace parameters.
4. Other errors have the class of an exception, and never its text, unless the options of the agent say otherwise.
5. The first updates of a new session are sent a moment after the response that names it: editors drop updates of a
   session that they do not know yet.
6. When the editor leaves, runs are stopped so that their last checkpoint is written, and what was opened is closed.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast
from uuid import uuid4

from acp.agent.router import build_agent_router
from acp.connection import Connection
from acp.exceptions import RequestError
from acp.interfaces import Agent
from acp.schema import DeleteSessionRequest
from acp.utils import normalize_result
from pydantic import BaseModel, ValidationError

from ... import __version__
from ..errors import (
    AguiError,
    InvalidIdError,
    InvalidInputError,
    NotSupportedError,
    RunConflictError,
    ThreadNotFoundError,
    log_failure,
)
from .agent import AcpAgent
from .choices import MODE_OPTION
from .client import Editor
from .conversation import Conversation
from .mapping.calls import Update
from .sessions import Sessions, commands_of
from .stdio import Answer, Stdio, current_request, take_stdio
from .turn import RunFailedError, Turn

PROTOCOL: Final = 1
"""The version of the protocol."""
_CANCEL_REQUEST: Final = "$/cancel_request"
"""The notification that cancels any request, by its id; the SDK's router has no handler for it."""
_AFTER_RESPONSE: Final = 0.1
"""Seconds between the response that names a session and its first update."""
_CAPABILITIES: Final = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}

_log = logging.getLogger(__name__)

Load = Callable[[], Awaitable[AcpAgent]]


async def serve(load: Load, name: str, pipes: tuple[int, int] | None = None) -> None:
    """Answers an editor until it leaves, or this task is cancelled. `load`: gives the agent; it is awaited once, after
    the protocol has begun. `name`: of the agent, until it is loaded. `pipes`: the file descriptors to read from and to
    write to, as `take_stdio` returns them; None calls it."""
    stdio = Stdio(*(pipes or take_stdio()))
    handlers = Handlers(load, name)
    connection = Connection(handlers.answer, stdio, listening=False)
    handlers.connect(connection)
    try:
        await connection.main_loop()
    finally:
        await handlers.close()
        await connection.close()


class Handlers:
    """The handlers of one connection, by the names that the SDK's router gives them."""

    def __init__(self, load: Load, name: str) -> None:
        self._name = name
        self._load = load
        self._sessions: asyncio.Task[Sessions] | None = None
        self._turns: dict[str, Turn] = {}
        self._later: set[asyncio.Task[None]] = set()
        router = build_agent_router(cast(Agent, self), use_unstable_protocol=True)
        router.route_request(
            "session/delete", DeleteSessionRequest, self, "delete_session", adapt_result=normalize_result
        )
        self._router = router

    def connect(self, connection: Connection) -> None:
        """Sets the connection that calls the handlers."""
        self._editor = Editor(connection, self._name)

    async def answer(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answers one request, or takes one notification. Raises `RequestError` for a request that is refused."""
        if is_notification and method == _CANCEL_REQUEST:
            return self._cancel_request(params)
        if not is_notification:
            return await self._answer(method, params, False)
        if method != "session/cancel":
            _log.debug("The notification %r is ignored.", method)
            return None
        try:
            return await self._answer(method, params, True)
        except RequestError as error:  # a notification has no answer; the SDK would log a traceback
            _log.warning("The notification %r is ignored: %s.", method, str(error).rstrip("."))
            return None

    async def _answer(self, method: str, params: Any, is_notification: bool) -> Any:
        given = (
            {name: value for name, value in params.items() if name != "_meta"} if isinstance(params, dict) else params
        )
        try:
            return await self._router(method, {} if given is None else given, is_notification)
        except RequestError:
            raise
        except ConnectionError as error:  # the SDK would log it as a fault of the agent
            _log.debug("The editor has left before %s was answered.", method)
            raise RequestError(-32603, "The editor has left.") from error
        except ValidationError as error:
            raise _invalid("; ".join(f"{_place(each)}: {each['msg']}" for each in error.errors()[:5])) from error
        except RunFailedError as error:
            raise RequestError(-32603, f"The run failed: {error}", {"error": error.code}) from error
        except AguiError as error:
            log_failure(error, f"method {method!r}")
            raise _error_of(error) from error
        except Exception as error:
            _log.exception("The method %s raised.", method)
            raise RequestError(
                -32603, f"Internal error: {type(error).__name__}", {"error": type(error).__name__}
            ) from error

    # --- the methods --------------------------------------------------------------------------------------------------

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        """Answers the version and the capabilities, and begins to load the agent."""
        self._editor.capabilities = _json(client_capabilities) or {}
        if self._sessions is None:
            self._sessions = asyncio.create_task(self._loaded(), name="the agent is loaded")
            self._sessions.add_done_callback(_note_failure)
        info = {"name": self._name, "title": self._name, "version": __version__}
        return {"protocolVersion": PROTOCOL, "agentCapabilities": _CAPABILITIES, "agentInfo": info, "authMethods": []}

    async def new_session(self, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any) -> Any:
        """Opens a new session. Its thread is saved with its first prompt."""
        sessions = await self._ready()
        conversation = await sessions.begin(
            str(uuid4()), _absolute(cwd), _absolute_paths(additional_directories), _json_list(mcp_servers)
        )
        return self._described(conversation, {"sessionId": conversation.session.id})

    async def load_session(
        self, session_id: str, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any
    ) -> Any:
        """Opens a session that exists, and emits all that is in it."""
        return await self._opened(session_id, cwd, mcp_servers, additional_directories, emits=True)

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any
    ) -> Any:
        """Opens a session that exists, and whose content the editor has."""
        return await self._opened(session_id, cwd, mcp_servers, additional_directories, emits=False)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> Any:
        """A page of the sessions that exist, the newest first."""
        return await (await self._ready()).listed(cwd, cursor)

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> Any:
        """Runs a prompt to its end."""
        conversation = self._conversation(session_id)
        self._check_idle(session_id)
        turn = self._turns[session_id] = Turn(conversation, current_request())
        try:
            blocks = [_json(block) for block in prompt]
            if not blocks:
                raise _invalid("prompt: expected at least one block")
            sessions = await self._ready()
            answered = await sessions.run_command(conversation, blocks)
            if not answered:
                await sessions.prepare(conversation, blocks)
            return {"stopReason": "end_turn" if answered else await turn.run(blocks)}
        finally:
            del self._turns[session_id]
            turn.is_over.set()

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Cancels the prompt of a session, or the run that it follows. An idle or unknown session is ignored."""
        if session_id in self._turns:
            self._turns[session_id].cancel()
        elif (conversation := self._open().get(session_id)) is not None and conversation.is_followed:
            await conversation.stop_run()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> Any:
        """Sets the mode of a session."""
        conversation = self._conversation(session_id)
        if not conversation.choices.choose(MODE_OPTION, mode_id):
            raise _invalid(f"modeId: expected one of {', '.join(conversation.agent.modes) or 'no mode'}")
        update = {"sessionUpdate": "config_option_update", "configOptions": conversation.choices.options()}
        return Answer({}, lambda: self._send_later(session_id, [update], 0))

    async def set_config_option(self, session_id: str, config_id: str, value: Any, **_: Any) -> Any:
        """Sets one option of a session, and returns all of them."""
        conversation = self._conversation(session_id)
        if not conversation.choices.choose(config_id, value):
            raise _invalid("configId, value: expected an option of the session, and one of its values")
        updates = [{"sessionUpdate": "current_mode_update", "currentModeId": value}] if config_id == MODE_OPTION else []
        result = {"configOptions": conversation.choices.options()}
        return Answer(result, lambda: self._send_later(session_id, updates, 0))

    async def close_session(self, session_id: str, **_: Any) -> Any:
        """Stops what runs in a session, and frees it. The thread stays."""
        self._conversation(session_id)
        await self._end(session_id)
        return {}

    async def delete_session(self, session_id: str, **_: Any) -> Any:
        """Deletes a session with its thread. One that does not exist is no error."""
        sessions = await self._ready()
        await self._end(session_id)
        await sessions.delete(session_id)
        return {}

    def _cancel_request(self, params: Any) -> None:
        """Cancels the prompt that came with this request. Other requests are not cancelled: they are answered soon."""
        request = params.get("requestId") if isinstance(params, dict) else None
        for turn in self._turns.values():
            if request is not None and type(request) is type(turn.request) and request == turn.request:
                turn.cancel()

    # --- what they share ----------------------------------------------------------------------------------------------

    async def _ready(self) -> Sessions:
        """The sessions, when the agent is loaded. Raises `RequestError` if it could not be."""
        if self._sessions is None:
            raise RequestError(-32600, "expected `initialize` first")
        try:
            return await asyncio.shield(self._sessions)
        except (RequestError, asyncio.CancelledError):
            raise
        except Exception as error:
            raise RequestError(
                -32603, f"The agent can't be loaded: {error}", {"error": type(error).__name__}
            ) from error

    async def _loaded(self) -> Sessions:
        return Sessions(await self._load(), self._editor)

    def _open(self) -> dict[str, Conversation]:
        """The open sessions; none before the agent is loaded."""
        loading = self._sessions
        if loading is None or not loading.done() or loading.cancelled() or loading.exception() is not None:
            return {}
        return loading.result().open

    def _conversation(self, session_id: str) -> Conversation:
        conversation = self._open().get(session_id)
        if conversation is None:
            raise _unknown()
        return conversation

    def _check_idle(self, session_id: str) -> None:
        if session_id in self._turns:
            raise RequestError(-32600, "The session has a prompt that is running: cancel it, or wait for its end.")

    async def _opened(self, session_id: str, cwd: str, servers: Any, directories: Any, *, emits: bool) -> Any:
        """Opens a session that exists. Raises `RequestError` if it does not, or runs a prompt."""
        sessions = await self._ready()
        self._check_idle(session_id)
        folder, others = _absolute(cwd), _absolute_paths(directories)
        await sessions.close(session_id)
        conversation = await sessions.begin(session_id, folder, others, _json_list(servers))
        found = False
        try:
            found = await conversation.open(emits=emits)
        finally:
            if not found:
                await sessions.close(session_id)
        if not found:
            raise _unknown()
        return self._described(conversation, {})

    def _described(self, conversation: Conversation, result: dict[str, Any]) -> Answer:
        """The result that names a session, with its modes; its commands follow."""
        result |= conversation.choices.described()
        commands = commands_of(conversation.agent)
        return Answer(result, lambda: self._send_later(conversation.session.id, commands, _AFTER_RESPONSE))

    def _send_later(self, session_id: str, updates: list[Update], seconds: float) -> None:
        async def send() -> None:
            await asyncio.sleep(seconds)
            try:
                for update in updates:
                    await self._editor.update(session_id, update)
            except ConnectionError:
                _log.debug("The editor is gone.")

        if updates:
            task = asyncio.create_task(send())
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def _end(self, session_id: str) -> None:
        """Cancels the prompt of a session, waits for its end, and closes the session."""
        if (turn := self._turns.get(session_id)) is not None:
            turn.cancel()
            await turn.is_over.wait()
        await (await self._ready()).close(session_id)

    async def close(self) -> None:
        """Ends all that was begun, once the editor is gone."""
        for task in self._later:
            task.cancel()
        if self._sessions is None:
            return
        if not self._sessions.done():
            self._sessions.cancel()
        try:
            sessions = await self._sessions
        except (Exception, asyncio.CancelledError):
            return
        await sessions.aclose()


def _note_failure(task: asyncio.Task[Sessions]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("The agent can't be loaded: %s", error)


def _error_of(error: AguiError) -> RequestError:
    if isinstance(error, ThreadNotFoundError):
        return _unknown()
    if isinstance(error, InvalidInputError | InvalidIdError):
        return _invalid(str(error))
    if isinstance(error, NotSupportedError):
        return RequestError(-32603, str(error), {"error": error.code})
    if isinstance(error, RunConflictError):
        return RequestError(-32600, "A run is active on the session's thread.", {"error": error.code})
    return RequestError(-32603, f"Internal error: {error.code}", {"error": error.code})


def _invalid(reason: str) -> RequestError:
    return RequestError(-32602, f"Invalid params: {reason}")


def _unknown() -> RequestError:
    return RequestError(-32002, "There is no such session.")


def _place(error: Any) -> str:
    return ".".join(str(each) for each in error["loc"]) or "params"


def _json(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if isinstance(model, BaseModel) else model


def _json_list(models: Any) -> list[Any]:
    return [_json(model) for model in models or ()]


def _absolute(cwd: str) -> str:
    if not os.path.isabs(cwd):
        raise _invalid("cwd: expected an absolute path")
    return cwd


def _absolute_paths(given: Any) -> tuple[str, ...]:
    return tuple(_absolute(each) for each in given or ())
