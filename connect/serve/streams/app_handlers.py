"""Decides who answers an error: the exception handlers of the app that has the routes, if there is one for it, or else
the routes themselves, as in `errors`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ...errors import INTERNAL
from ..errors import Refusal, log_refusal, refusal_of, request_label
from .shutdown import Closing, refusal_to

HANDSHAKE: Final = "langgraph_agui.handshake"
"""The key in a scope for the `receive` and `send` of a socket whose handshake a FastAPI route answers as a request. The
app's exception handlers can answer errors of such a handshake, but not of any other."""

_log = logging.getLogger(__name__)


def answered_here(error: BaseException, request: Request, closing: Closing) -> Refusal:
    """Returns the refusal of a request that raised this error, as `refusal_to` does, or raises an exception if the app
    has an exception handler for it.

    A handler for the type of the error receives the error. Otherwise, handlers for `HTTPException` and for the status
    receive an `HTTPException` with the status, the message and the headers of the refusal, which is its `__cause__`.
    Handlers for `Exception` and for the status 500 receive unexpected errors.
    """
    handlers = _handlers(request)
    if isinstance(error, Exception) and _handles(handlers, type(error)):
        if refusal_of(error) is not None:
            log_refusal(error, request)
        else:
            _log.info("The app answers the exception %s (%s).", type(error).__name__, request_label(request))
        raise error
    refusal = refusal_to(error, request, closing)
    if refusal.code == INTERNAL:
        if Exception in handlers or HTTPStatus.INTERNAL_SERVER_ERROR in handlers:
            raise error
        return refusal
    kind = _http_exception(handlers)
    if _handles(handlers, kind) or (refusal.status in handlers and refusal.status != HTTPStatus.INTERNAL_SERVER_ERROR):
        raise kind(refusal.status, refusal.message, refusal.headers) from refusal
    return refusal


def _handlers(request: Request) -> Mapping[Any, Any]:
    """Returns the exception handlers of the app, by status or type, without those that every FastAPI app has."""
    handlers: Mapping[Any, Any] = getattr(request.scope.get("app"), "exception_handlers", {})
    return {
        key: handler
        for key, handler in handlers.items()
        if getattr(handler, "__module__", None) != "fastapi.exception_handlers"
    }


def _handles(handlers: Mapping[Any, Any], kind: type[BaseException]) -> bool:
    """Whether there is a handler for this type, or for one of its base classes except `Exception`."""
    return any(base in handlers for base in kind.__mro__ if issubclass(base, Exception) and base is not Exception)


def _http_exception(handlers: Mapping[Any, Any]) -> type[HTTPException]:
    """Returns FastAPI's `HTTPException` if there is a handler for it. It extends Starlette's, which is returned
    otherwise."""
    kinds = [key for key in handlers if getattr(key, "__module__", None) == "fastapi.exceptions"]
    return next((kind for kind in kinds if issubclass(kind, HTTPException)), HTTPException)
