"""Who makes a request, and what this user may do: the hooks `authenticate` and `authorize` of an app.

The order, for every request: `authenticate` sees the headers, before the body is read; then the action, the agent and
the thread are known; then `authorize` decides, before anything of the thread is read. Neither is called for `/health`
and `/ready`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Literal

from starlette.requests import Request

from ...access import Metadata
from ...errors import log_context
from ..errors import CLOSE, Refusal
from .hosts import host_of

Action = Literal["read", "run", "stop", "list", "update", "delete"]
"""What a request does. `read`: connects to a thread, watches it, or reads it. `run`: sends an input; the answer streams
the thread's run. `stop`: stops a run. `list`: requests the agents (`/info`), or an agent's threads; no thread is named
then. `update`: renames or archives a thread. `delete`: deletes it."""

Authenticate = Callable[[Request], Any | Awaitable[Any]]
"""The user of a request, from its headers. None and False are answered with 401; anything else is kept as
`request.state.user`, where `authorize` and `Agent.intake` find it. It is called before the body is read, must not read
it, and must not block the event loop."""

Authorize = Callable[[Any, Action, str, str | None], bool | Mapping[str, Any] | Awaitable[bool | Mapping[str, Any]]]
"""Whether a user may do something: `authorize(user, action, agent, thread_id)`, also asynchronous. `user` is what
`authenticate` (or a dependency of FastAPI) left in `request.state.user`, None without one. True allows it. A
mapping allows it for threads with these metadata alone, and is stamped on the threads that the user creates: see
`access`. Anything else is 403; or raise Starlette's `HTTPException`. It must not block the event loop."""

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_PROXYS: Final = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""Headers that proxies add."""

_log = logging.getLogger(__name__)


class Users:
    """The hooks of one app."""

    def __init__(self, authenticate: Authenticate | None, authorize: Authorize | None) -> None:
        self._authenticate = authenticate
        self._authorize = authorize
        self.are_known = authenticate is not None or authorize is not None
        """Whether the app distinguishes users. Error messages name its agents only where it does not."""

    async def authenticate(self, request: Request) -> None:
        """Keeps the user as `request.state.user`; raises `Refusal` (401) if there is none."""
        if self._authenticate is None:
            return
        user = self._authenticate(request)
        if inspect.isawaitable(user):
            user = await user
        if user is None or user is False:
            headers = {"WWW-Authenticate": "Bearer", **CLOSE}
            raise Refusal(
                HTTPStatus.UNAUTHORIZED, "unauthenticated", "Expected headers that name a known user.", headers
            )
        request.state.user = user

    async def authorize(self, request: Request, action: Action, agent: str, thread_id: str | None) -> Metadata:
        """The filter for the threads with which the user may do this; raises `Refusal` (403) if with none."""
        if self._authorize is None:
            if action in ("update", "delete"):
                self.check_local(request)
            return {}
        allowed: object = self._authorize(user_of(request), action, agent, thread_id)
        if inspect.isawaitable(allowed):
            allowed = await allowed
        if allowed is True:
            return {}
        if isinstance(allowed, Mapping):
            return allowed
        if allowed is not False:
            _log.warning(
                "authorize returned %s, and %r is refused: expected a boolean or a mapping (%s).",
                type(allowed).__name__,
                action,
                log_context(agent, thread_id),
            )
        raise forbidden()

    def may_list(self, request: Request) -> bool:
        """Whether a request may be for threads without naming one, as far as that is known before `authorize`."""
        return self._authorize is not None or is_local(request)

    def check_local(self, request: Request) -> None:
        """Raises `Refusal` (403) for a request that may come from another machine, where nothing says who may see which
        thread: without `authorize`, threads are listed, changed and deleted on loopback only."""
        if not self.may_list(request):
            message = "Threads are listed, changed and deleted from other machines only where the app has authorize."
            raise Refusal(HTTPStatus.FORBIDDEN, "forbidden", message)


def is_local(request: Request) -> bool:
    """Whether a request comes from this machine, and through no proxy that says so in its headers."""
    client = "" if request.client is None else request.client.host
    return (
        host_of(request.headers) in _LOOPBACK_NAMES
        and (client in _LOOPBACK_NAMES or client.startswith("127."))
        and not any(name in request.headers for name in _PROXYS)
    )


def user_of(request: Request) -> Any:
    """The user that `authenticate` found; None without one."""
    return getattr(request.state, "user", None)


def forbidden() -> Refusal:
    """The refusal of what a user may not do."""
    return Refusal(HTTPStatus.FORBIDDEN, "forbidden", "You may not do this with this agent and thread.")
