"""`authenticate` and `authorize` by a project's `langgraph_sdk.Auth`, whose handlers decide as on LangGraph's own
server.

| a request | asks the handlers of `threads` for |
|---|---|
| lists the agents, or threads | `search` |
| connects to a thread, watches it, or reads it | `read` |
| runs | `create_run`, and `create`: the thread may be new |
| stops a run, renames or archives a thread | `update` |
| deletes a thread | `delete` |

The most specific handler decides: that of the resource and the action, else of the resource, else of the action, else
of all. Without a handler the request is allowed. None and True allow it; False, an `AssertionError` and
`Auth.exceptions.HTTPException` refuse it; a mapping is the filter of the threads. What `create` and `create_run` write
into `value["metadata"]` is stamped on a thread that the run creates; what `search` writes there is a filter too. If
`create` refuses, a thread that exists can still be run.

What differs: `value` has nothing of the input that is to be run. There is no user of LangGraph's Studio, whatever
`disable_studio_auth` says. The agents are the project's graphs, which LangGraph's server lets every user run, so no
handler of `assistants` is asked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID, uuid5

from langgraph_sdk import Auth
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...access import Access, Grant
from ...thread_info import LIMIT
from ..errors import CLOSE
from .users import Action, Permission

_INJECTED: Final[Mapping[str, Callable[[Request], Any]]] = {
    "request": lambda request: Request(request.scope),  # without the body: it is read after the user is known
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
"""What a function that authenticates may take, by the name of its parameter."""
_GRAPHS: Final = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
"""The namespace for the id that LangGraph's server makes from a graph's name for its assistant."""


class AuthUser(Mapping[str, Any]):
    """A user as graphs and handlers know one on LangGraph's server: its fields are both keys and attributes.

    `found`: what the project's function returned: an identity, or a mapping or an object that has one. Raises
    `TypeError` for anything else.
    """

    def __init__(self, found: Any) -> None:
        fields = {"identity": found} if isinstance(found, str) else found
        if not isinstance(fields, Mapping):
            names = ("identity", "is_authenticated", "display_name", "permissions")
            fields = {**_dumped(found), **{name: getattr(found, name) for name in names if hasattr(found, name)}}
        if not isinstance(fields.get("identity"), str):
            got = type(found).__name__
            raise TypeError(f"authenticate: expected a user with an identity, which is a text, got {got}")
        identity = fields["identity"]
        self._found = found
        self._fields = {"is_authenticated": True, "display_name": identity, "permissions": [], **fields}

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a copy is being made, and has no fields yet
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            return getattr(self._found, name)


class LangGraphAuth:
    """`authenticate` and `authorize` of an app, by the handlers of `auth`. Raises `ValueError` if `auth` has no
    function that authenticates, or one with a parameter that is not known before a body is read."""

    def __init__(self, auth: Auth) -> None:
        function = auth._authenticate_handler
        if function is None:
            raise ValueError("expected a function with @auth.authenticate, and there is none")
        self._auth = auth
        self._function: Callable[..., Any] = function
        parameters = inspect.signature(function).parameters.values()
        named = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        unknown = [each.name for each in named if each.name not in _INJECTED and each.default is each.empty]
        if unknown:
            expected = ", ".join(_INJECTED)
            raise ValueError(f"authenticate takes {', '.join(unknown)}, which is unknown; expected any of {expected}")
        self._names = [each.name for each in named if each.name in _INJECTED]

    async def authenticate(self, request: Request) -> AuthUser | None:
        """The user of a request. Raises `HTTPException`."""
        arguments = {name: _INJECTED[name](request) for name in self._names}
        try:
            if inspect.iscoroutinefunction(self._function):
                found = await self._function(**arguments)
            else:
                found = await asyncio.to_thread(self._function, **arguments)
        except Auth.exceptions.HTTPException as error:
            raise _refusal(error, CLOSE) from error
        if isinstance(found, tuple) and len(found) == 2:  # permissions, and the user
            permissions, found = found
            found = {**AuthUser(found), "permissions": permissions}
        return None if found is None else AuthUser(found)

    async def authorize(self, user: Any, action: Action, agent: str, thread_id: str | None) -> Permission:
        """What the user may do. Raises `HTTPException`."""
        thread: dict[str, Any] = {"thread_id": thread_id}
        match action:
            case "list":
                metadata: dict[str, Any] = {}
                asked = {"metadata": metadata, "values": {}, "status": None, "limit": LIMIT, "offset": 0}
                where = await self._decided(user, "search", asked)
                both = {key: value for key, value in where.items() if key in metadata}
                return {**metadata, **where} if Access(where=both).allows(metadata) else False  # no thread matches both
            case "read" | "delete":
                return await self._decided(user, action, thread)
            case "update":
                return await self._decided(user, "update", {**thread, "metadata": {}})
            case "stop":
                return await self._decided(user, "update", {**thread, "metadata": {}, "action": "interrupt"})
            case "run":
                return await self._run(user, agent, thread)

    async def _run(self, user: Any, agent: str, thread: dict[str, Any]) -> Grant:
        """Which threads the user may run, and create. A user who may create none may still run those that exist."""
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
        where = await self._decided(user, "create_run", run)
        created = {**thread, "metadata": {}, "if_exists": "do_nothing"}
        try:
            await self._decided(user, "create", created)
        except HTTPException:
            return Grant(where, creates=False)
        return Grant(where, creates={**run["metadata"], **created["metadata"]})

    async def _decided(self, user: Any, action: str, value: dict[str, Any]) -> Mapping[str, Any]:
        """The filter of the handler of an action; empty without one. Raises `HTTPException` for what is refused."""
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
            raise _refusal(error) from error
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


def _dumped(user: Any) -> Mapping[str, Any]:
    """The fields of an object that has `model_dump` or `dict`; else none."""
    for name in ("model_dump", "dict"):
        if callable(dump := getattr(user, name, None)) and isinstance(fields := dump(), Mapping):
            return fields
    return {}


def _refusal(error: Auth.exceptions.HTTPException, headers: Mapping[str, str] | None = None) -> HTTPException:
    return HTTPException(error.status_code, error.detail, {**(error.headers or {}), **(headers or {})})
