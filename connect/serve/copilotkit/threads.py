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
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

from ...inputs.thread_state import ThreadState
from ...thread_info import ARCHIVED, LIMIT, MOST, TITLE, ThreadInfo, ThreadStatus
from ..operations import (
    ChangeThread,
    DeleteThread,
    ListThreads,
    OneThread,
    ReadState,
    ReadThread,
    Result,
    ThreadList,
)
from ..protocol import Call, Endpoint, Reply, invalid, plain_reply
from ..requests.body import text_of

_THREAD = "/threads/{thread:path}"


def endpoints() -> Iterator[Endpoint]:
    """All of them; those with a longer path first, for an id may have slashes in it."""
    made = partial(Endpoint, reply=_reply)
    yield made(method="GET", path="/threads", summary="List the threads of an agent, the newest first", parse=_list)
    yield made(method="POST", path=f"{_THREAD}/archive", summary="Archive a thread", parse=_archive)
    yield made(
        method="GET",
        path=f"{_THREAD}/messages",
        summary="The messages of a thread",
        parse=_state,
        reply=_state_reply(lambda state: {"messages": state.view.messages}),
    )
    yield made(
        method="GET",
        path=f"{_THREAD}/state",
        summary="The state of a thread",
        parse=_state,
        reply=_state_reply(lambda state: {"state": state.view.state}),
    )
    yield made(method="GET", path=_THREAD, summary="One thread of an agent", parse=_get)
    changes = "Rename a thread, archive it, or take it out of the archive"
    yield made(method="PATCH", path=_THREAD, summary=changes, parse=_patch)
    deletes = "Delete a thread with all its checkpoints"
    yield made(method="DELETE", path=_THREAD, summary=deletes, parse=_delete)


def _list(call: Call) -> ListThreads:
    query = call.query
    status, limit = _status(query.get("status")), query.get("limit", str(LIMIT))
    if re.fullmatch(r"[0-9]{1,9}", limit) is None or not 1 <= int(limit) <= MOST:
        raise invalid(f"limit: expected a number from 1 to {MOST}.")
    archived = query.get("includeArchived") == "true"
    return ListThreads(
        agent=_agent(call), status=status, limit=int(limit), cursor=query.get("cursor"), archived=archived
    )


def _get(call: Call) -> ReadThread:
    return ReadThread(agent=_agent(call), thread_id=call.path["thread"])


def _state(call: Call) -> ReadState:
    return ReadState(agent=_agent(call), thread_id=call.path["thread"])


def _patch(call: Call) -> ChangeThread:
    found = _object(call)
    title, archived = text_of(found, "name"), (found or {}).get("archived")
    if "\0" in (title or ""):  # PostgreSQL takes none
        raise invalid("name: expected a text without null characters.")
    if archived is not None and not isinstance(archived, bool):
        raise invalid("archived: expected true or false.")
    changes = {name: value for name, value in ((TITLE, title), (ARCHIVED, archived)) if value is not None}
    if not changes:
        raise invalid('Expected {"name": ..., "archived": ...}, or one of them.')
    return ChangeThread(agent=_agent(call, found), thread_id=call.path["thread"], metadata=changes)


def _archive(call: Call) -> ChangeThread:
    name = _agent(call, _object(call))
    return ChangeThread(agent=name, thread_id=call.path["thread"], metadata={ARCHIVED: True})


def _delete(call: Call) -> DeleteThread:
    return DeleteThread(agent=_agent(call, _object(call)), thread_id=call.path["thread"])


def _agent(call: Call, found: object = None) -> str:
    """The agent that a request names; raises `Refusal`."""
    in_body = text_of(found, "agent") or text_of(found, "agentId")
    return call.agents.named(in_body or call.query.get("agent") or call.query.get("agentId"))


def _object(call: Call) -> Any:
    """The JSON that was sent, an object; None without a body."""
    if not isinstance(call.body, dict | None):
        raise invalid("Expected a JSON object.")
    return call.body


def _status(given: str | None) -> ThreadStatus | None:
    known: tuple[ThreadStatus, ...] = get_args(ThreadStatus)
    if given is not None and given not in known:
        raise invalid(f"status: expected one of {', '.join(known)}.")
    return next((each for each in known if each == given), None)


def _reply(result: Result) -> Reply:
    match result:
        case ThreadList(name, page):
            return Reply({"threads": [_json(each, name) for each in page.threads], "nextCursor": page.next})
        case OneThread(name, info):
            return Reply(_json(info, name))
    return plain_reply(result)


def _state_reply(content: Callable[[ThreadState], dict[str, Any]]) -> Callable[[Result], Reply]:
    """Answers with a part of a thread's state."""
    return lambda result: Reply(content(result)) if isinstance(result, ThreadState) else _reply(result)


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
