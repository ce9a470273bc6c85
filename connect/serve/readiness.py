"""Answers whether the process responds, and whether the agents can be used: the pages that a load balancer requests
(`pages`), and `Readiness`, which probes checkpointers and platforms.

    GET /health                  {"status": "ok"}: the process responds
    GET /ready                   {"status": "ready"}: checkpointers and platforms respond too; otherwise 503

A platform is ready if it answers with any status below 500. Its authentication is not tested here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from ..backend import Backend
from .errors import RETRY_AFTER, Refusal, json_response

_log = logging.getLogger(__name__)


class Readiness:
    """Probes the checkpointers and platforms of the agents, each of them once. `timeout`: seconds within which each has
    to respond."""

    def __init__(self, backends: Mapping[str, Backend], timeout: float) -> None:
        self._timeout = timeout
        self._probed: dict[int, tuple[Backend, list[str]]] = {}
        for name, backend in backends.items():
            self._probed.setdefault(id(backend.depends_on[1]), (backend, []))[1].append(name)
        self._probe: asyncio.Task[list[str]] | None = None

    async def not_ready(self) -> list[str]:
        """Returns the names of the agents that can't be used now, and logs the reasons. Concurrent requests share one
        probe, because anyone may request this."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._unready(), name="readiness of agents")
        return await asyncio.shield(self._probe)

    async def _unready(self) -> list[str]:
        answers = await asyncio.gather(*(self._fails(*probed) for probed in self._probed.values()))
        return sorted(name for names in answers for name in names)

    async def _fails(self, backend: Backend, names: list[str]) -> list[str]:
        """Returns the names if the checkpointer or platform of these agents does not respond, otherwise an empty
        list."""
        try:
            async with asyncio.timeout(self._timeout):
                await backend.probe()
        except TimeoutError:
            reason = f"no answer within {self._timeout:g} seconds"
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            return []
        _log.warning("Not ready: the %s of agents %s: %s", backend.depends_on[0], ", ".join(names), reason)
        return names


def pages(readiness: Readiness) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    """Returns the handlers of the pages, by path."""

    async def health(request: Request) -> Response:
        """Whether the process answers."""
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:
        """Whether the agents can be used now."""
        if await readiness.not_ready():
            headers = {"Retry-After": str(RETRY_AFTER)}
            message = "Not ready. The server's log names the agents, and the reason."  # anyone may request this page
            raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "not_ready", message, headers)
        return json_response({"status": "ready"})

    return {"/health": health, "/ready": ready}
