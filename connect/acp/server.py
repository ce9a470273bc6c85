"""Implements the methods of the protocol: `serve` answers an editor on standard input and output until it closes the
connection.

Rules:

1. `initialize` is answered before any module of the agent is imported, and the first session waits until the agent is
   loaded. If the agent can't be loaded, the first session fails with an error that says why.
2. A handler runs up to its first `await` before the next message is handled, so that a cancellation finds its turn.
3. `_meta` is removed from the parameters of a request, because the SDK merges its contents into the parameters.
4. Other errors contain the class of an exception, and never its text, unless the options of the agent say otherwise.
5. The first updates of a new session are sent a moment after the response that names it, because editors drop updates
   of a session that they do not know yet.
6. When the editor closes the connection, runs are stopped so that their last checkpoint is written, and everything that
   was opened is closed.
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
"""The version of the protocol that is implemented."""
_CANCEL_REQUEST: Final = "$/cancel_request"
"""The notification that cancels a request by its id. The SDK's router has no handler for it."""
_AFTER_RESPONSE: Final = 0.1
"""How many seconds after the response that names a session its first update is sent."""
_CAPABILITIES: Final = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}

_log = logging.getLogger(__name__)

Load = Callable[[], Awaitable[AcpAgent]]


async def serve(load: Load, name: str, pipes: tuple[int, int] | None = None) -> None:
    """Answers an editor until it closes the connection, or this task is cancelled.

    Args:
        load: Returns the agent. It is awaited once, after `initialize`.
        name: The name of the agent until it is loaded.
        pipes: The file descriptors to read from and to write to, as `take_stdio` returns them. By default,
            `take_stdio` is called.
    """
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
    """The handlers of one connection. The SDK's router requires the names of the methods."""

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
        """Sets the connection to the editor."""
        self._editor = Editor(connection, self._name)

    async def answer(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answers a request, or handles a notification. Raises `RequestError` for a request that is refused."""
        if is_notification and method == _CANCEL_REQUEST:
            return self._cancel_request(params)
        if not is_notification:
            return await self._answer(method, params, False)
        if method != "session/cancel":
            _log.debug("The notification %r is ignored.", method)
            return None
        try:
            return await self._answer(method, params, True)
        except RequestError as error:  # a notification is not answered, and the SDK would log a traceback
            _log.warning("The notification %r is ignored: %s.", method, str(error).rstrip("."))
            return None

    async def _answer(self, method: str, params: Any, is_notification: bool) -> Any:
        if isinstance(params, dict):
            params = {name: value for name, value in params.items() if name != "_meta"}
        try:
            return await self._router(method, {} if params is None else params, is_notification)
        except RequestError:
            raise
        except ConnectionError as error:  # the SDK would log it as an error of the agent
            _log.debug("The editor closed the connection before %s was answered.", method)
            raise RequestError(-32603, "The editor has closed the connection.") from error
        except ValidationError as error:
            details = (f"{_parameter(detail)}: {detail['msg']}" for detail in error.errors()[:5])
            raise _invalid("; ".join(details)) from error
        except RunFailedError as error:
            raise RequestError(-32603, f"The run failed: {error}", {"error": error.code}) from error
        except AguiError as error:
            log_failure(error, f"method {method!r}")
            raise _error_of(error) from error
        except Exception as error:
            _log.exception("The method %s raised an exception.", method)
            raise RequestError(
                -32603, f"Internal error: {type(error).__name__}", {"error": type(error).__name__}
            ) from error

    # --- the methods --------------------------------------------------------------------------------------------------

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        """Answers with the version and the capabilities, and starts to load the agent."""
        self._editor.capabilities = _json(client_capabilities) or {}
        if self._sessions is None:
            self._sessions = asyncio.create_task(self._load_agent(), name="load the agent")
            self._sessions.add_done_callback(_note_failure)
        info = {"name": self._name, "title": self._name, "version": __version__}
        return {"protocolVersion": PROTOCOL, "agentCapabilities": _CAPABILITIES, "agentInfo": info, "authMethods": []}

    async def new_session(self, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any) -> Any:
        """Opens a new session. Its thread is saved with the first prompt."""
        sessions = await self._ready()
        conversation = await sessions.begin(
            str(uuid4()), _absolute(cwd), _absolute_paths(additional_directories), _json_list(mcp_servers)
        )
        return self._answer_with_session(conversation, {"sessionId": conversation.session.id})

    async def load_session(
        self, session_id: str, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any
    ) -> Any:
        """Opens an existing session, and emits its whole content."""
        return await self._reopen(session_id, cwd, mcp_servers, additional_directories, emits=True)

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Any = None, additional_directories: Any = None, **_: Any
    ) -> Any:
        """Opens an existing session whose content the editor already has."""
        return await self._reopen(session_id, cwd, mcp_servers, additional_directories, emits=False)

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> Any:
        """Returns a page of the existing sessions, newest first."""
        return await (await self._ready()).list_page(cwd, cursor)

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
        """Cancels the prompt of a session, or the run that it follows. Does nothing for an idle or unknown session."""
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
        """Sets an option of a session, and returns all options."""
        conversation = self._conversation(session_id)
        if not conversation.choices.choose(config_id, value):
            raise _invalid("configId, value: expected an option of the session, and one of its values")
        updates = [{"sessionUpdate": "current_mode_update", "currentModeId": value}] if config_id == MODE_OPTION else []
        result = {"configOptions": conversation.choices.options()}
        return Answer(result, lambda: self._send_later(session_id, updates, 0))

    async def close_session(self, session_id: str, **_: Any) -> Any:
        """Stops the run of a session, and closes the session. The thread remains."""
        self._conversation(session_id)
        await self._end(session_id)
        return {}

    async def delete_session(self, session_id: str, **_: Any) -> Any:
        """Deletes a session with its thread. Does nothing if it does not exist."""
        sessions = await self._ready()
        await self._end(session_id)
        await sessions.delete(session_id)
        return {}

    def _cancel_request(self, params: Any) -> None:
        """Cancels the prompt that this request started. Other requests are answered soon, and are not cancelled."""
        request = params.get("requestId") if isinstance(params, dict) else None
        for turn in self._turns.values():
            if request is not None and type(request) is type(turn.request) and request == turn.request:
                turn.cancel()

    # --- shared by the methods ----------------------------------------------------------------------------------------

    async def _ready(self) -> Sessions:
        """Returns the sessions once the agent is loaded. Raises `RequestError` if the agent can't be loaded."""
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

    async def _load_agent(self) -> Sessions:
        return Sessions(await self._load(), self._editor)

    def _open(self) -> dict[str, Conversation]:
        """Returns the open sessions. Before the agent is loaded, no session is open."""
        loading = self._sessions
        if loading is None or not loading.done() or loading.cancelled() or loading.exception() is not None:
            return {}
        return loading.result().open

    def _conversation(self, session_id: str) -> Conversation:
        conversation = self._open().get(session_id)
        if conversation is None:
            raise _unknown_session()
        return conversation

    def _check_idle(self, session_id: str) -> None:
        if session_id in self._turns:
            raise RequestError(-32600, "A prompt of the session is running: cancel it, or wait until it ends.")

    async def _reopen(self, session_id: str, cwd: str, servers: Any, directories: Any, *, emits: bool) -> Any:
        """Opens an existing session. Raises `RequestError` if it does not exist, or if its prompt is running."""
        sessions = await self._ready()
        self._check_idle(session_id)
        folder, additional = _absolute(cwd), _absolute_paths(directories)
        await sessions.close(session_id)
        conversation = await sessions.begin(session_id, folder, additional, _json_list(servers))
        exists = False
        try:
            exists = await conversation.open(emits=emits)
        finally:
            if not exists:
                await sessions.close(session_id)
        if not exists:
            raise _unknown_session()
        return self._answer_with_session(conversation, {})

    def _answer_with_session(self, conversation: Conversation, result: dict[str, Any]) -> Answer:
        """Returns the result that names a session, with its modes and options. The commands are sent after it."""
        result |= conversation.choices.describe()
        commands = commands_of(conversation.agent)
        return Answer(result, lambda: self._send_later(conversation.session.id, commands, _AFTER_RESPONSE))

    def _send_later(self, session_id: str, updates: list[Update], seconds: float) -> None:
        async def send() -> None:
            await asyncio.sleep(seconds)
            try:
                for update in updates:
                    await self._editor.update(session_id, update)
            except ConnectionError:
                _log.debug("The editor has closed the connection.")

        if updates:
            task = asyncio.create_task(send())
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def _end(self, session_id: str) -> None:
        """Cancels the prompt of a session, waits until it has ended, and closes the session."""
        if (turn := self._turns.get(session_id)) is not None:
            turn.cancel()
            await turn.is_over.wait()
        await (await self._ready()).close(session_id)

    async def close(self) -> None:
        """Ends everything that was started, once the editor has closed the connection."""
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
        return _unknown_session()
    if isinstance(error, InvalidInputError | InvalidIdError):
        return _invalid(str(error))
    if isinstance(error, NotSupportedError):
        return RequestError(-32603, str(error), {"error": error.code})
    if isinstance(error, RunConflictError):
        return RequestError(-32600, "A run is active on the session's thread.", {"error": error.code})
    return RequestError(-32603, f"Internal error: {error.code}", {"error": error.code})


def _invalid(reason: str) -> RequestError:
    return RequestError(-32602, f"Invalid params: {reason}")


def _unknown_session() -> RequestError:
    return RequestError(-32002, "There is no such session.")


def _parameter(detail: Any) -> str:
    return ".".join(str(step) for step in detail["loc"]) or "params"


def _json(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if isinstance(model, BaseModel) else model


def _json_list(models: Any) -> list[Any]:
    return [_json(model) for model in models or ()]


def _absolute(cwd: str) -> str:
    if not os.path.isabs(cwd):
        raise _invalid("cwd: expected an absolute path")
    return cwd


def _absolute_paths(paths: Any) -> tuple[str, ...]:
    return tuple(_absolute(path) for path in paths or ())
