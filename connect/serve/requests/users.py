"""Determines who makes a request, and what this user may do, with the hooks `authenticate` and `authorize` of an app,
and its token.

For every request, `authenticate` is called with the headers, before the body is read. Then the action, the agent and
the thread are determined. Then `authorize` decides, before anything of the thread is read. Without `authorize`, whoever
knows the id of a thread may read and run it, and listing, changing and deleting threads requires the token. No hook is
called for `/health` and `/ready`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

from starlette.authentication import BaseUser
from starlette.requests import Request

from ...access import Grant, identity_of
from ...errors import log_context
from ..errors import CLOSE, Refusal
from .token import HEADER, Token

Action = Literal["read", "run", "stop", "list", "update", "delete"]
"""What a request does. `read`: connects to a thread, watches it, or reads it. `run`: sends an input, and is answered
with the thread's run. `stop`: stops a run. `list`: requests the agents (`/info`) or an agent's threads, without naming
a thread.
`update`: renames or archives a thread. `delete`: deletes it."""

Authenticate = Callable[[Request], Any | Awaitable[Any]]
"""Returns the user of a request, given its headers. None, False, and a Starlette user who is not authenticated
(`UnauthenticatedUser`) are answered with 401. Any other value is stored as `request.state.user`, where `authorize` and
`Agent.intake` find it. The function is called before the body is read. It must not read the body, and must not block
the event loop."""

Permission = bool | Mapping[str, Any] | Grant
"""The result of `authorize`."""

Authorize = Callable[[Any, Action, str, str | None], Permission | Awaitable[Permission]]
"""Decides whether a user may do something: `authorize(user, action, agent, thread_id)`. It may be async, and must not
block the event loop. `user` is what `authenticate` (or a FastAPI dependency) has stored in `request.state.user`, or
else the `request.user` of Starlette's `AuthenticationMiddleware` if it is authenticated, or else None. True allows the
request. A mapping allows it only for threads with this metadata, and is stamped on the threads that the user creates;
see `access`. Any other value is answered with 403. The function may also raise Starlette's `HTTPException`."""

_NO_TOKEN: Final = (
    "Listing, changing and deleting threads requires the app's token, but this app has none. Give it a token with "
    "agui_app(..., token=...) or AGUI_TOKEN in its environment, or decide who may do what with "
    "agui_app(..., authorize=...)."
)
_TOKEN_EXPECTED: Final = (
    "Listing, changing and deleting threads requires the app's token. Expected the header Authorization: Bearer TOKEN, "
    "with the token that the server was given (token=, --token or AGUI_TOKEN) or has printed at its start."
)

_log = logging.getLogger(__name__)


class Caller:
    """Who makes a request, after `Users.authenticate` has accepted it: `user`, with its `identity` (see `access`)."""

    def __init__(self, request: Request) -> None:
        self.request = request
        """The request, or the handshake of a WebSocket, for hooks that read its headers."""
        self.user = user_of(request)
        self.identity = identity_of(self.user)


class Users:
    """The hooks of one app, and its token, which decides if there is no `authorize`."""

    def __init__(
        self, authenticate: Authenticate | None, authorize: Authorize | None, token: Token | None = None
    ) -> None:
        self._authenticate = authenticate
        self._authorize = authorize
        self._token = token
        self.are_known = authenticate is not None or authorize is not None
        """Whether the app distinguishes users. If it does, error messages do not name its agents."""

    async def authenticate(self, request: Request) -> None:
        """Stores the user as `request.state.user`. Raises `Refusal` (401) if there is none."""
        if self._authenticate is None:
            return
        user = self._authenticate(request)
        if inspect.isawaitable(user):
            user = await user
        if user is None or user is False or (isinstance(user, BaseUser) and not user.is_authenticated):
            headers = {"WWW-Authenticate": "Bearer", **CLOSE}
            raise Refusal(HTTPStatus.UNAUTHORIZED, "unauthenticated", "Authentication required.", headers)
        request.state.user = user

    async def authorize(self, caller: Caller, action: Action, agent: str, thread_id: str | None) -> Grant:
        """Returns the filter for the threads with which the user may do this. Raises `Refusal` (403) if the user may
        not do it at all."""
        if self._authorize is None:
            if action in ("update", "delete"):
                self.check_token(caller)
            return Grant({})
        allowed: object = self._authorize(caller.user, action, agent, thread_id)
        if inspect.isawaitable(allowed):
            allowed = await allowed
        if isinstance(allowed, Grant):
            return allowed
        if allowed is True:
            return Grant({})
        if isinstance(allowed, Mapping):
            return Grant(allowed)
        if allowed is not False:
            _log.warning(
                "authorize returned %s, and %r is refused: expected a boolean or a mapping (%s).",
                type(allowed).__name__,
                action,
                log_context(agent, thread_id),
            )
        raise forbidden()

    def may_manage(self, caller: Caller) -> bool:
        """Whether a caller may list, change and delete threads, as far as this is known before `authorize` is
        called."""
        return self._authorize is not None or self._has_token(caller.request)

    def has_token(self, caller: Caller) -> bool:
        """Whether a request has the app's token."""
        return self._has_token(caller.request)

    def check_token(self, caller: Caller) -> None:
        """Raises `Refusal` (403) for a request without the app's token if there is no `authorize`. In that case,
        whoever knows the id of a thread may use it, but only the token lets a client list, change and delete
        threads."""
        if self.may_manage(caller):
            return
        if self._token is None:
            raise Refusal(HTTPStatus.FORBIDDEN, "forbidden", _NO_TOKEN)
        raise Refusal(HTTPStatus.FORBIDDEN, "token_expected", _TOKEN_EXPECTED)

    def headers_of(self, caller: Caller) -> Sequence[tuple[bytes, bytes]]:
        """Returns the headers of a request that may be forwarded: without the app's token, which is only for this
        app."""
        headers = caller.request.headers.raw
        if not self._has_token(caller.request):
            return headers
        return [(name, value) for name, value in headers if name.lower() != HEADER.encode()]

    def _has_token(self, request: Request) -> bool:
        return self._token is not None and self._token.is_in(request.headers)


def user_of(request: Request) -> Any:
    """Returns the user that `authenticate`, a FastAPI dependency or Starlette's `AuthenticationMiddleware` has
    determined, or None."""
    user = getattr(request.state, "user", None)
    if user is None:
        user = request.scope.get("user")
        return user if isinstance(user, BaseUser) and user.is_authenticated else None
    return user


def forbidden() -> Refusal:
    """Returns the refusal of what a user may not do."""
    return Refusal(HTTPStatus.FORBIDDEN, "forbidden", "You may not do this with this agent and thread.")
