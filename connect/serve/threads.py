"""The threads of an agent over HTTP, in the shapes that CopilotKit's `useThreads` requests.

    GET    /threads                 {"threads": [...], "nextCursor": ...}, the newest first
                                    ?agent=&limit=&cursor=&status=&includeArchived=true
    GET    /threads/{id}            one of them: id, name, agentId, createdAt, updatedAt, archived, status
    PATCH  /threads/{id}            {"name"?, "archived"?}, answered with the thread
    DELETE /threads/{id}            204
    POST   /threads/{id}/archive    as PATCH with {"archived": true}
    GET    /threads/{id}/messages   {"messages": [...]}, as a client has them that connects
    GET    /threads/{id}/state      {"state": ...}, likewise

An id is quoted (`a%2Fb`). The agent is `agent` (or CopilotKit's `agentId`), in the query or in the body; it may be left
out where there is one agent. Names and archived threads are metadata (`agui_title`, `agui_archived`): in the graph's
store, or on the platform.

Here: how requests are read, and how a thread looks as JSON. Never here: who may do it (`service`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..errors import ThreadNotFoundError
from ..inputs.thread_state import ThreadState
from ..thread_info import ARCHIVED, LIMIT, MOST, TITLE, ThreadInfo, ThreadPage, Threads, ThreadStatus
from .errors import Refusal, json_response
from .requests.body import read, text_of
from .routing import MethodRouter, routes, routes_to, thread_of
from .service import Service

_PAGES: Final = 8
"""Pages of a backend that one answer is gathered from, where archived threads are left out."""


class ThreadRoutes:
    """The routes of one app."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """All of them; those with a longer path first, for an id may have slashes in it."""
        service, path = self._service, "/threads/{thread:path}"
        thread = MethodRouter(service, {"GET": self._get, "PATCH": self._patch, "DELETE": self._delete})
        found = routes(service, "/threads", GET=self._list)
        found += routes(service, f"{path}/archive", thread=thread, POST=self._archive)
        found += routes(service, f"{path}/messages", thread=thread, GET=self._messages)
        found += routes(service, f"{path}/state", thread=thread, GET=self._state)
        found += routes_to(thread, path)
        return found

    async def _list(self, request: Request) -> Response:
        """List the threads of an agent, the newest first."""
        query = request.query_params
        status, limit = _status(query.get("status")), query.get("limit", str(LIMIT))
        if re.fullmatch(r"[0-9]{1,9}", limit) is None or not 1 <= int(limit) <= MOST:
            raise _invalid(f"limit: expected a number from 1 to {MOST}.")
        name = self._agent(request)
        source = await self._service.listing(request, name)
        archived = query.get("includeArchived") == "true"
        try:
            page = await _page(source.threads, status, int(limit), query.get("cursor"), archived=archived)
        except ValueError:
            raise _invalid("cursor: expected the nextCursor of the page before.") from None
        return json_response({"threads": [_json(each, name) for each in page.threads], "nextCursor": page.next})

    async def _get(self, request: Request) -> Response:
        """One thread of an agent."""
        name, thread_id = self._agent(request), thread_of(request)
        _, source = await self._service.admit(request, "read", name, thread_id)
        info = await source.threads.get(thread_id)
        if info is None:
            raise ThreadNotFoundError
        return json_response(_json(info, name))

    async def _patch(self, request: Request) -> Response:
        """Rename a thread, archive it, or take it out of the archive."""
        found = await self._body(request)
        title, archived = text_of(found, "name"), (found or {}).get("archived")
        if "\0" in (title or ""):  # PostgreSQL takes none
            raise _invalid("name: expected a text without null characters.")
        if archived is not None and not isinstance(archived, bool):
            raise _invalid("archived: expected true or false.")
        changes = {name: value for name, value in ((TITLE, title), (ARCHIVED, archived)) if value is not None}
        if not changes:
            raise _invalid('Expected {"name": ..., "archived": ...}, or one of them.')
        return await self._changed(request, found, changes)

    async def _archive(self, request: Request) -> Response:
        """Archive a thread."""
        return await self._changed(request, await self._body(request), {ARCHIVED: True})

    async def _delete(self, request: Request) -> Response:
        """Delete a thread with all its checkpoints."""
        name, thread_id = self._agent(request, await self._body(request)), thread_of(request)
        _, source = await self._service.admit(request, "delete", name, thread_id)
        await source.hold_threads(thread_id)  # the thread may have a run in another process
        await source.threads.delete(thread_id)
        return Response(None, HTTPStatus.NO_CONTENT)

    async def _messages(self, request: Request) -> Response:
        """The messages of a thread."""
        return json_response({"messages": (await self._thread(request)).view.messages})

    async def _state(self, request: Request) -> Response:
        """The state of a thread."""
        return json_response({"state": (await self._thread(request)).view.state})

    async def _changed(self, request: Request, found: object, metadata: Mapping[str, Any]) -> Response:
        name, thread_id = self._agent(request, found), thread_of(request)
        _, source = await self._service.admit(request, "update", name, thread_id)
        return json_response(_json(await source.threads.update(thread_id, metadata), name))

    async def _thread(self, request: Request) -> ThreadState:
        state = await self._service.thread(request, self._agent(request), thread_of(request))
        if state is None:
            raise ThreadNotFoundError
        return state

    def _agent(self, request: Request, found: object = None) -> str:
        """The agent that a request names; raises `Refusal`."""
        query = request.query_params
        in_body = text_of(found, "agent") or text_of(found, "agentId")
        return self._service.named(in_body or query.get("agent") or query.get("agentId"))

    async def _body(self, request: Request) -> Any:
        """The JSON that was sent, an object; None without a body."""
        headers = request.headers
        is_empty = "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
        if is_empty and request.method == "DELETE":
            return None
        found = await read(request, self._service.bodies)
        if not isinstance(found, dict | None):
            raise _invalid("Expected a JSON object.")
        return found


async def _page(
    threads: Threads, status: ThreadStatus | None, limit: int, cursor: str | None, *, archived: bool
) -> ThreadPage:
    """A page of threads; `archived`: with those that are."""
    listed: list[ThreadInfo] = []
    for _ in range(_PAGES):
        page = await threads.search(status=status, limit=limit - len(listed), after=cursor)
        listed += [info for info in page.threads if archived or not info.is_archived]
        cursor = page.next
        if cursor is None or len(listed) == limit:
            break
    return ThreadPage(listed, cursor)


def _status(given: str | None) -> ThreadStatus | None:
    known: tuple[ThreadStatus, ...] = get_args(ThreadStatus)
    if given is not None and given not in known:
        raise _invalid(f"status: expected one of {', '.join(known)}.")
    return next((each for each in known if each == given), None)


def _json(info: ThreadInfo, name: str) -> dict[str, Any]:
    """A thread as CopilotKit's client knows it, and its status."""
    return {
        "id": info.thread_id,
        "name": info.title,
        "agentId": name,
        "createdAt": (info.created_at or info.updated_at).isoformat(),
        "updatedAt": info.updated_at.isoformat(),
        "archived": info.is_archived,
        "status": info.status,
    }


def _invalid(message: str) -> Refusal:
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)
