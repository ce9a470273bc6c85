"""Serves the threads of an agent over HTTP, in the format of CopilotKit's `useThreads`.

    GET    /threads                 {"threads": [...], "nextCursor": ...}, newest first
                                    ?agent=&limit=&cursor=&status=&search=
                                    &includeArchived=true or &archived=only
    GET    /threads/{id}            one thread: id, name, agentId, createdAt, updatedAt, archived, status
    PATCH  /threads/{id}            {"name"?, "archived"?}; answered with the thread
    DELETE /threads/{id}            204
    POST   /threads/{id}/archive    the same as PATCH with {"archived": true}
    GET    /threads/{id}/messages   {"messages": [...]}, as a client that connects receives them
    GET    /threads/{id}/state      {"state": ...}, likewise

Ids are URL-encoded (`a%2Fb`). The parameter `agent` (or CopilotKit's `agentId`) in the query or in the body names the
agent. It may be omitted if only one agent is served. Names and archived threads are stored as metadata (`agui_title`,
`agui_archived`), in the graph's store or on the platform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, get_args

from ...inputs.thread_state import ThreadState
from ...thread_info import ARCHIVED, TITLE, ThreadInfo, ThreadStatus
from ..operations import (
    Archived,
    ChangeThread,
    DeleteThread,
    ListThreads,
    OneThread,
    ReadState,
    ReadThread,
    Result,
    ThreadList,
)
from ..protocol import Call, Endpoint, Reply, invalid, limit_of, plain_reply
from ..requests.body import text_of

_THREAD: Final = "/threads/{thread:path}"
_LONGEST: Final = 200
"""The longest text that can be searched for, in characters."""
_LONGEST_NAME: Final = 1_000
"""The longest name of a thread, in characters. A list has the names of up to 100 threads."""


def endpoints() -> Iterator[Endpoint]:
    """Yields all endpoints. Those with a longer path come first, because an id may contain slashes."""
    endpoint = partial(Endpoint, reply=_reply)
    yield endpoint(method="GET", path="/threads", summary="List the threads of an agent, newest first", parse=_list)
    yield endpoint(method="POST", path=f"{_THREAD}/archive", summary="Archive a thread", parse=_archive)
    yield endpoint(
        method="GET",
        path=f"{_THREAD}/messages",
        summary="The messages of a thread",
        parse=_state,
        reply=_state_reply(lambda state: {"messages": state.view.messages}),
    )
    yield endpoint(
        method="GET",
        path=f"{_THREAD}/state",
        summary="The state of a thread",
        parse=_state,
        reply=_state_reply(lambda state: {"state": state.view.state}),
    )
    yield endpoint(method="GET", path=_THREAD, summary="One thread of an agent", parse=_get)
    changes = "Rename a thread, archive it, or take it out of the archive"
    yield endpoint(method="PATCH", path=_THREAD, summary=changes, parse=_patch)
    deletes = "Delete a thread with all its checkpoints"
    yield endpoint(method="DELETE", path=_THREAD, summary=deletes, parse=_delete)


def _list(call: Call) -> ListThreads:
    query = call.query
    return ListThreads(
        agent=_agent(call),
        status=_status(query.get("status")),
        text=_text(query.get("search")),
        limit=limit_of(call),
        cursor=query.get("cursor"),
        archived=_archived(query),
    )


def _get(call: Call) -> ReadThread:
    return ReadThread(agent=_agent(call), thread_id=call.path["thread"])


def _state(call: Call) -> ReadState:
    return ReadState(agent=_agent(call), thread_id=call.path["thread"])


def _patch(call: Call) -> ChangeThread:
    body = _object(call)
    title, archived = text_of(body, "name"), (body or {}).get("archived")
    if "\0" in (title or ""):  # PostgreSQL does not accept them in text
        raise invalid("name: expected a string without null characters.")
    if len(title or "") > _LONGEST_NAME:
        raise invalid(f"name: expected a string of at most {_LONGEST_NAME} characters.")
    if archived is not None and not isinstance(archived, bool):
        raise invalid("archived: expected true or false.")
    changes = {name: value for name, value in ((TITLE, title), (ARCHIVED, archived)) if value is not None}
    if not changes:
        raise invalid('Expected {"name": ..., "archived": ...}, or one of them.')
    return ChangeThread(agent=_agent(call, body), thread_id=call.path["thread"], metadata=changes)


def _archive(call: Call) -> ChangeThread:
    name = _agent(call, _object(call))
    return ChangeThread(agent=name, thread_id=call.path["thread"], metadata={ARCHIVED: True})


def _delete(call: Call) -> DeleteThread:
    return DeleteThread(agent=_agent(call, _object(call)), thread_id=call.path["thread"])


def _agent(call: Call, body: object = None) -> str:
    """Returns the agent that a request names. Raises `Refusal`."""
    in_body = text_of(body, "agent") or text_of(body, "agentId")
    return call.agents.named(in_body or call.query.get("agent") or call.query.get("agentId"))


def _object(call: Call) -> Any:
    """Returns the JSON object in the body, or None without a body. Raises `Refusal`."""
    if not isinstance(call.body, dict | None):
        raise invalid("Expected a JSON object.")
    return call.body


def _status(text: str | None) -> ThreadStatus | None:
    statuses: tuple[ThreadStatus, ...] = get_args(ThreadStatus)
    if text is not None and text not in statuses:
        raise invalid(f"status: expected one of {', '.join(statuses)}.")
    return next((status for status in statuses if status == text), None)


def _text(text: str | None) -> str | None:
    if text is not None and len(text) > _LONGEST:
        raise invalid(f"search: expected a text of at most {_LONGEST} characters.")
    return (text or "").strip() or None


def _archived(query: Mapping[str, str]) -> Archived:
    if query.get("archived") not in (None, "only"):
        raise invalid("archived: expected 'only', or none.")
    if "archived" in query:
        return "only"
    return "included" if query.get("includeArchived") == "true" else "left_out"


def _reply(call: Call, result: Result) -> Reply:
    match result:
        case ThreadList(name, page):
            return Reply({"threads": [_json(info, name) for info in page.threads], "nextCursor": page.next})
        case OneThread(name, info):
            return Reply(_json(info, name))
    return plain_reply(result)


def _state_reply(content: Callable[[ThreadState], dict[str, Any]]) -> Callable[[Call, Result], Reply]:
    """Returns a function that answers with a part of a thread's state."""
    return lambda call, result: Reply(content(result)) if isinstance(result, ThreadState) else _reply(call, result)


def _json(info: ThreadInfo, name: str) -> dict[str, Any]:
    """Returns a thread in the format of CopilotKit's client, with its status."""
    return {
        "id": info.thread_id,
        "name": info.title,
        "agentId": name,
        "createdAt": (info.created_at or info.updated_at).isoformat(),
        "updatedAt": info.updated_at.isoformat(),
        "archived": info.is_archived,
        "status": info.status,
    }
