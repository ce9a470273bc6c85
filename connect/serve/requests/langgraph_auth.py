"""Implements `authenticate` and `authorize` with a project's `langgraph_sdk.Auth`, whose handlers decide as on
LangGraph's own server (https://docs.langchain.com/langsmith/auth).

| a request | calls the handlers of `threads` for |
|---|---|
| lists the agents, or threads | `search` |
| connects to a thread, watches it, or reads it | `read` |
| runs | `create_run`, and `create`, because the thread may be new |
| stops a run, renames or archives a thread | `update` |
| deletes a thread | `delete` |

The most specific handler decides: the one for the resource and the action, else for the resource, else for the action,
else for everything. Without a handler the request is allowed. None and True allow it. False, an `AssertionError` and
`Auth.exceptions.HTTPException` refuse it. A mapping is a filter for the threads. What `create` and `create_run` write
into `value["metadata"]` is stamped on a thread that the run creates. What `search` writes there is a filter, too. If
`create` refuses, the user may still run threads that exist.

There are three differences from LangGraph's server. `value` contains nothing of the input that is to be run. No user of
LangGraph's Studio exists, whatever `disable_studio_auth` says. The agents are the project's graphs, which every user
may run on LangGraph's server, so no handler of `assistants` is called.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID, uuid5

from langgraph_sdk import Auth
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...access import Access, AuthUser, Grant
from ...thread_info import LIMIT
from ..errors import CLOSE
from .users import Action, Permission

_INJECTED: Final[Mapping[str, Callable[[Request], Any]]] = {
    "request": lambda request: Request(request.scope),  # without the body, which is read after the user is known
    "scope": lambda request: request.scope,
    "path": lambda request: request.scope["path"],
    "method": lambda request: request.method,
    "path_params": lambda request: dict(request.path_params),
    "query_params": lambda request: request.query_params,
    "headers": lambda request: dict(request.scope["headers"]),
    "authorization": lambda request: request.headers.get("authorization"),
    "user": lambda request: request.scope.get("user"),
    "scopes": lambda request: [],
}
"""The arguments that a function for authentication may take, by the names of its parameters."""
_GRAPHS: Final = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace from which LangGraph's server derives the id of a graph's assistant, using the graph's name."""


class LangGraphAuth:
    """Implements `authenticate` and `authorize` of an app with the handlers of `auth`. Raises `ValueError` if `auth`
    has no function for authentication, or one with a parameter that is not known before the body is read."""

    def __init__(self, auth: Auth) -> None:
        function = auth._authenticate_handler
        if function is None:
            raise ValueError("expected a function with @auth.authenticate, but there is none")
        self._auth = auth
        self._function: Callable[..., Any] = function
        parameters = [
            parameter
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
        if unknown := [name for name in required if name not in _INJECTED]:
            expected = ", ".join(_INJECTED)
            raise ValueError(f"authenticate takes {', '.join(unknown)}, which is unknown; expected any of {expected}")
        self._names = [parameter.name for parameter in parameters if parameter.name in _INJECTED]

    async def authenticate(self, request: Request) -> AuthUser | None:
        """Returns the user of a request, or None. Raises `HTTPException`."""
        arguments = {name: _INJECTED[name](request) for name in self._names}
        try:
            if inspect.iscoroutinefunction(self._function):
                user = await self._function(**arguments)
            else:
                user = await asyncio.to_thread(self._function, **arguments)
        except Auth.exceptions.HTTPException as error:
            raise _to_starlette(error, CLOSE) from error
        if isinstance(user, tuple) and len(user) == 2:  # permissions, and the user
            permissions, user = user
            user = {**AuthUser(user), "permissions": permissions}
        return None if user is None else AuthUser(user)

    async def authorize(self, user: Any, action: Action, agent: str, thread_id: str | None) -> Permission:
        """Returns what the user may do. Raises `HTTPException`."""
        thread: dict[str, Any] = {"thread_id": thread_id}
        match action:
            case "list":
                metadata: dict[str, Any] = {}
                query = {"metadata": metadata, "values": {}, "status": None, "limit": LIMIT, "offset": 0}
                where = await self._call_handler(user, "search", query)
                both = {key: value for key, value in where.items() if key in metadata}
                return {**metadata, **where} if Access(where=both).allows(metadata) else False  # no thread matches both
            case "read" | "delete":
                return await self._call_handler(user, action, thread)
            case "update":
                return await self._call_handler(user, "update", {**thread, "metadata": {}})
            case "stop":
                return await self._call_handler(user, "update", {**thread, "metadata": {}, "action": "interrupt"})
            case "run":
                return await self._run(user, agent, thread)

    async def _run(self, user: Any, agent: str, thread: dict[str, Any]) -> Grant:
        """Returns which threads the user may run and create. A user who may not create threads may still run existing
        ones."""
        run = {
            **thread,
            "assistant_id": uuid5(_GRAPHS, agent),
            "run_id": None,
            "status": "pending",
            "metadata": {},
            "prevent_insert_if_inflight": True,
            "multitask_strategy": "reject",
            "if_not_exists": "create",
            "after_seconds": 0,
            "kwargs": {},
        }
        where = await self._call_handler(user, "create_run", run)
        created = {**thread, "metadata": {}, "if_exists": "do_nothing"}
        try:
            await self._call_handler(user, "create", created)
        except HTTPException:
            return Grant(where, creates=False)
        return Grant(where, creates={**run["metadata"], **created["metadata"]})

    async def _call_handler(self, user: Any, action: str, value: dict[str, Any]) -> Mapping[str, Any]:
        """Returns the filter of the handler for an action, which is empty without one. Raises `HTTPException` if the
        handler refuses."""
        handler = self._handler(action)
        if handler is None:
            return {}
        permissions = getattr(user, "permissions", None) or []
        context = Auth.types.AuthContext(
            resource="threads",
            action=action,  # type: ignore[arg-type]
            user=user,
            permissions=permissions,
        )
        try:
            result: object = await handler(ctx=context, value=value)
        except Auth.exceptions.HTTPException as error:
            raise _to_starlette(error) from error
        except AssertionError as error:
            raise HTTPException(HTTPStatus.FORBIDDEN, str(error) or None) from error
        if result is None or result is True:
            return {}
        if result is False:
            raise HTTPException(HTTPStatus.FORBIDDEN)
        if not isinstance(result, Mapping):
            raise TypeError(f"the handler of threads.{action} returned {type(result).__name__}: {_RESULTS}")
        return result

    def _handler(self, action: str) -> Callable[..., Any] | None:
        auth = self._auth
        for key in (("threads", action), ("threads", "*"), ("*", action)):
            if handlers := auth._handlers.get(key):
                return handlers[-1]
        return auth._global_handlers[-1] if auth._global_handlers else None


_RESULTS: Final = "expected None, a boolean or a filter"


def _to_starlette(error: Auth.exceptions.HTTPException, headers: Mapping[str, str] | None = None) -> HTTPException:
    return HTTPException(error.status_code, error.detail, {**(error.headers or {}), **(headers or {})})
