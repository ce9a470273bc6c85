"""Describes the requests and answers of the routes in OpenAPI, for a FastAPI app. Pure.

Schemas are inlined where they are used, because a name among the components of the app's schema could be one that the
app itself uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from ag_ui.core import RunAgentInput

from ..events.streams import JsonLines
from ..thread_info import LIMIT, MOST, FinishedStatus, ThreadStatus
from .streams.boundaries import RUNS

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_BOOLEAN: Final[Schema] = {"type": "boolean"}
_WORDS: Final = ("title", "description", "discriminator")
"""Keywords that are left out of the protocol's schemas: texts for people, and a mapping with references to definitions
that inlining removes."""


class _Operation(NamedTuple):
    """One method of one path. `answers`: by status, the schema of a JSON body, a stream, a page, or None for no
    body."""

    answers: Mapping[int, Schema | str | None]
    body: Schema | None = None
    query: Mapping[str, Schema] = {}
    is_optional: bool = False
    """Whether the body may be left out."""


def described(method: str, path: str) -> dict[str, Any]:
    """Returns the arguments of FastAPI's `add_api_route` that describe a route: its responses, and the rest of its
    operation. Empty for a route without a description. `path` is without the prefix that all of these routes share."""
    operation = _OPERATIONS.get((method, path))
    if operation is None:
        return {}
    extra: Schema = {}
    if operation.body is not None:
        content = {"application/json": {"schema": operation.body}}
        extra["requestBody"] = {"required": not operation.is_optional, "content": content}
    answers = {status: _response(answer) for status, answer in operation.answers.items()}
    error = {"description": "What was expected.", "content": {"application/json": {"schema": _ERROR}}}
    return {
        "status_code": next(iter(answers)),
        "responses": {**answers, "4XX": error, "5XX": error},
        "openapi_extra": extra,
    }


def query_of(method: str, path: str) -> Mapping[str, Schema]:
    """Returns the schemas of a route's query parameters, by name."""
    operation = _OPERATIONS.get((method, path))
    return {} if operation is None else operation.query


def _response(answer: Schema | str | None) -> dict[str, Any]:
    if answer is None:
        return {"description": "Done."}
    if answer == _STREAM:
        content = {kind: {"schema": _TEXT} for kind in ("text/event-stream", JsonLines.media_type)}
        return {"description": "Events, as server-sent events or as lines of JSON.", "content": content}
    if isinstance(answer, str):
        return {"description": "A page.", "content": {answer: {"schema": _TEXT}}}
    return {"description": "As described.", "content": {"application/json": {"schema": answer}}}


def _object(required: Mapping[str, Schema], **optional: Schema) -> Schema:
    return {"type": "object", "properties": {**required, **optional}, "required": [*required]}


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Returns a schema without references, and without texts for people."""
    if isinstance(schema, list):
        return [_inlined(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {
        name: {key: _inlined(part, definitions) for key, part in value.items()}
        if name == "properties"
        else _inlined(value, definitions)
        for name, value in schema.items()
        if name not in ("$defs", *_WORDS)
    }


def _input() -> Schema:
    schema = RunAgentInput.model_json_schema(by_alias=True)
    inlined: Schema = _inlined(schema, schema["$defs"])
    return {"title": "RunAgentInput", **inlined}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_STREAM: Final = "stream"
_INPUT: Final = _input()
_ERROR: Final = {"type": "object", "properties": {"error": _TEXT, "message": _TEXT}}
"""Neither field is required, because a refusal by a dependency of the app has the shape of FastAPI's own errors."""
_TIME: Final = {"type": "string", "format": "date-time"}
_THREAD: Final = _object(
    {
        "id": _TEXT,
        "name": _nullable(_TEXT),
        "agentId": _TEXT,
        "createdAt": _TIME,
        "updatedAt": _TIME,
        "archived": _BOOLEAN,
        "status": {"type": "string", "enum": [*get_args(ThreadStatus)]},
    }
)
_RUN_INFO: Final = _object(
    {
        "runId": _TEXT,
        "status": {"type": "string", "enum": [*get_args(FinishedStatus)]},
        "startedAt": _nullable(_TIME),
        "endedAt": _nullable(_TIME),
        "events": _nullable({"type": "integer"}),
        "bytes": {"type": "integer"},
        "kept": _BOOLEAN,
    }
)
_CHECKPOINT: Final = _object(
    {
        "id": _TEXT,
        "parentId": _nullable(_TEXT),
        "createdAt": _nullable(_TEXT),
        "runId": _nullable(_TEXT),
        "source": _nullable(_TEXT),
        "next": {"type": "array", "items": _TEXT},
        "asks": _BOOLEAN,
        "error": _nullable(_object({"message": _TEXT, "code": _nullable(_TEXT)})),
        "state": {},
    }
)
_CHANGES: Final = _object({}, name=_TEXT, archived=_BOOLEAN, agent=_TEXT)
_STOPS: Final = _object({"threadId": _TEXT}, runId=_nullable(_TEXT))
_STOPPED: Final[Mapping[int, Schema]] = {
    200: _object({"stopped": _BOOLEAN}),
    202: _object({"stopped": _BOOLEAN, "stopping": _BOOLEAN}),
}
_ENDPOINTS: Final = _object(dict.fromkeys(("list", "inspect", "mutations", "realtimeMetadata"), _BOOLEAN))
_WATCH: Final = {"type": "string", "enum": ["stream", "announcements", "polls"]}
_AGENT: Final = _object(
    {"name": _TEXT, "capabilities": {"type": "object"}, "threads": _object({"search": _BOOLEAN, "changes": _BOOLEAN})},
    description=_TEXT,
    watch=_WATCH,
)
_INFO: Final = _object(
    {
        "version": _TEXT,
        "mode": _TEXT,
        "agents": {"type": "object", "additionalProperties": _AGENT},
        "threadEndpoints": _ENDPOINTS,
    }
)
_NAMES: Final = {"type": "array", "items": _TEXT}
_INPUTS: Final = _object(
    {"input": _nullable({"type": "object"}), "context": _nullable({"type": "object"}), "messages": _BOOLEAN},
    closed=_object({"input": _NAMES, "context": _NAMES}),
)
_GRAPH: Final = _object(
    {
        "nodes": {
            "type": "array",
            "items": _object(
                {"name": _TEXT, "stops": {"type": "array", "items": {"type": "string", "enum": ["before", "after"]}}}
            ),
        },
        "edges": {
            "type": "array",
            "items": _object({"source": _TEXT, "target": _TEXT, "conditional": _BOOLEAN}, label=_TEXT),
        },
        "breakpoints": _BOOLEAN,
    }
)
_ENVELOPE: Final = _object({"method": _TEXT}, params={"type": "object"}, body={})
_OF: Final = {"agent": _TEXT}
"""The query parameter that names the agent if there are several."""
_EVENTS: Final = {"events": {"type": "string", "enum": [RUNS]}}
_LISTED: Final = {
    **_OF,
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": LIMIT},
    "cursor": _TEXT,
    "status": _THREAD["properties"]["status"],
    "search": {"type": "string", "maxLength": 200},
    "includeArchived": _BOOLEAN,
    "archived": {"type": "string", "enum": ["only"]},
}
_UI: Final = {"tools": {"type": "string", "enum": ["dynamic"]}}
_UI_MESSAGES: Final = {
    "type": "array",
    "items": _object({"id": _TEXT, "role": _TEXT, "parts": {"type": "array", "items": {"type": "object"}}}),
}
_CHAT: Final = _object({"id": _TEXT, "messages": _UI_MESSAGES}, trigger=_TEXT, messageId=_TEXT)
_UI_THREAD: Final = _object(
    {"id": _TEXT, "messages": _UI_MESSAGES, "state": {}, "status": _THREAD["properties"]["status"]}
)
_RUN: Final = _Operation({200: _STREAM}, _INPUT)
_STOP: Final = _Operation(_STOPPED, _STOPS)
_ONE: Final = "/threads/{thread:path}"

_OPERATIONS: Final[Mapping[tuple[str, str], _Operation]] = {
    ("GET", "/"): _Operation({200: "text/html"}),
    ("POST", "/"): _Operation({200: _STREAM}, {"anyOf": [_INPUT, _ENVELOPE]}),
    ("POST", "/connect"): _RUN,
    ("POST", "/stop"): _STOP,
    ("POST", "/{agent}"): _RUN,
    ("POST", "/{agent}/connect"): _RUN,
    ("POST", "/{agent}/stop"): _STOP,
    ("GET", "/{agent}/watch/{thread:path}"): _Operation({200: _STREAM}, query=_EVENTS),
    ("GET", "/watch/{thread:path}"): _Operation({200: _STREAM}, query={**_OF, **_EVENTS}),
    ("GET", "/{agent}/schemas"): _Operation({200: _INPUTS}),
    ("GET", "/{agent}/graph"): _Operation({200: _GRAPH}),
    ("GET", "/info"): _Operation({200: _INFO}),
    ("POST", "/agent/{agent}/run"): _RUN,
    ("POST", "/agent/{agent}/connect"): _RUN,
    ("POST", "/agent/{agent}/stop/{thread:path}"): _Operation(_STOPPED, _object({}, runId=_TEXT), is_optional=True),
    ("GET", "/threads"): _Operation(
        {200: _object({"threads": {"type": "array", "items": _THREAD}, "nextCursor": _nullable(_TEXT)})}, query=_LISTED
    ),
    ("GET", _ONE): _Operation({200: _THREAD}, query=_OF),
    ("PATCH", _ONE): _Operation({200: _THREAD}, _CHANGES, _OF),
    ("DELETE", _ONE): _Operation({204: None}, _object({}, agent=_TEXT), _OF, is_optional=True),
    ("POST", f"{_ONE}/archive"): _Operation({200: _THREAD}, _object({}, agent=_TEXT), _OF, is_optional=True),
    ("GET", f"{_ONE}/messages"): _Operation(
        {200: _object({"messages": {"type": "array", "items": {"type": "object"}}})}, query=_OF
    ),
    ("GET", f"{_ONE}/runs"): _Operation(
        {200: _object({"runs": {"type": "array", "items": _RUN_INFO}})}, query={**_OF, "limit": _LISTED["limit"]}
    ),
    ("GET", f"{_ONE}/checkpoints"): _Operation(
        {
            200: _object(
                {
                    "checkpoints": {"type": "array", "items": _CHECKPOINT},
                    "next": _nullable(_TEXT),
                    "writable": {"type": "array", "items": _TEXT},
                }
            )
        },
        query={**_OF, "limit": _LISTED["limit"], "before": _TEXT},
    ),
    ("GET", f"{_ONE}/events"): _Operation({200: _STREAM}, query={**_OF, "run": _TEXT}),
    ("GET", f"{_ONE}/state"): _Operation({200: _object({"state": {}})}, query=_OF),
    ("POST", "/{agent}/ui"): _Operation({200: _STREAM}, _CHAT, _UI),
    ("GET", "/{agent}/ui/{thread:path}"): _Operation({200: _UI_THREAD}, query=_UI),
    ("GET", "/{agent}/ui/{thread:path}/stream"): _Operation({200: _STREAM, 204: None}, query=_UI),
    ("POST", "/{agent}/ui/{thread:path}/stop"): _Operation(_STOPPED, {"type": "object"}, is_optional=True),
    ("GET", "/health"): _Operation({200: _object({"status": _TEXT})}),
    ("GET", "/ready"): _Operation({200: _object({"status": _TEXT})}),
}
"""The operations, by method and by path without the prefix that all of these routes share."""
