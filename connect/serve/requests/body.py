"""Reads the body of a request as JSON and as an input, within limits, and describes the errors of an invalid body.

The texts of errors quote nothing that was sent, except the names of AG-UI's own fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import orjson
from ag_ui.core import AssistantMessage, RunAgentInput
from pydantic import ValidationError
from starlette.requests import Request

from ...inputs.off_loop import off_loop, size_of
from ...inputs.unknown import read_input
from ..errors import Refusal
from ..limits import Limits
from .bodies import Bodies

_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][\w-]{0,40}")
INVALID_JSON = "invalid_json"
"""The error code for a body that is not JSON."""
_MOST_NAMED = 3
_DIGITS = 18
"""How many digits of a Content-Length are read; a number with more digits is too large in any case."""
_TOO_DEEP = "depth limit exceeded"
"""The message of `orjson` for JSON that is nested more deeply than it can read."""
_EXPECTED = "Input should be "
"""The beginning of pydantic's messages about the type of a value. They do not quote the value."""


async def read(request: Request, bodies: Bodies) -> Any:
    """Returns the JSON value of the body, or None for an empty body. Raises `Refusal`.

    A body with another content type is refused, because browsers let a page of another origin send some of those types
    without a preflight request (https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/CORS#simple_requests).
    """
    kind = request.headers.get("content-type", "")
    if not _JSON.fullmatch(kind):
        message = "Expected a body of JSON, and the header Content-Type: application/json."
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    raw = await _bytes(request, bodies)
    if not raw:
        return None
    value = parse_json(raw, bodies.limits)
    await off_loop(check_depth, size_of(value), value, bodies.limits)
    return value


def check_depth(value: Any, limits: Limits) -> None:
    """Raises `Refusal` for JSON that is nested deeper than `Limits.depth`."""
    if _is_deeper(value, limits.depth):
        raise _invalid(f"The body's JSON is nested deeper than {limits.depth} levels.")


def parse_json(raw: bytes | bytearray | str, limits: Limits) -> Any:
    """Returns the value of a JSON text, within `Limits.body` and `Limits.values`. Does not check its depth. Raises
    `Refusal`.

    `orjson` holds the GIL while it parses, in any thread: 4 MB of `[[],[],...]` stopped the event loop for 0.3 s. So
    commas and opening brackets are counted first, which limits the number of values. Those inside strings count too,
    because some strings are parsed as JSON later.
    """
    if len(raw) > limits.body:
        raise _too_large(limits.body)
    encoded = raw.encode(errors="replace") if isinstance(raw, str) else raw
    if len(encoded) > limits.body:
        raise _too_large(limits.body)
    if sum(encoded.count(mark) for mark in (b",", b"[", b"{")) > limits.values:
        message = f"The body has more than {limits.values} values: its commas and opening brackets are counted."
        raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message)
    try:
        return orjson.loads(encoded)
    except orjson.JSONDecodeError as error:
        message = f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        raise Refusal(HTTPStatus.BAD_REQUEST, INVALID_JSON, message) from None


def input_of(body: Any, limits: Limits, agent: str, *, is_run: bool = True) -> RunAgentInput:
    """Returns the input in a body, read as in `inputs.unknown`. `agent` is for the log, and `is_run` says whether the
    input is to be run. Raises `Refusal`, which names the invalid fields and says what was expected."""
    messages = body.get("messages") if isinstance(body, dict) else None
    size = len(messages) if isinstance(messages, list) else 0
    if size > limits.messages:
        raise _invalid(f"messages: expected {limits.messages} at most, got {size}.")
    try:
        run_input = read_input(body, agent, is_run=is_run)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True, include_input=False)
        errors = [f"{_path(detail)}: {_expectation(detail)}" for detail in details[:_MOST_NAMED]]
        if len(details) > _MOST_NAMED:
            errors.append(f"and {len(details) - _MOST_NAMED} more")
        raise _invalid("Expected an AG-UI RunAgentInput: " + "; ".join(errors) + ".") from None
    if run_input.protocol_version == "":
        raise _invalid("protocolVersion: expected a version such as 1.0, or none.")
    for field, text in _json_texts(run_input):
        if _is_text_deeper(text, limits.depth):
            raise _invalid(f"{field}: expected JSON that is nested at most {limits.depth} levels deep.")
    return run_input


def text_of(body: Any, name: str) -> str | None:
    """Returns a string field of a body, or None if it is missing. Raises `Refusal`."""
    if body is None:
        return None
    if not isinstance(body, dict):
        raise _invalid("Expected a JSON object.")
    value = body.get(name)
    if value is not None and not isinstance(value, str):
        raise _invalid(f"{name}: expected a string.")
    return value


async def _bytes(request: Request, bodies: Bodies) -> bytearray:
    """Reads the body. The Content-Length is used only to refuse a body that is too large before reading it."""
    most = bodies.limits.body
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:_DIGITS]) > most:
        raise _too_large(most)
    read = bytearray()
    async with bodies.reading(f"{request.method} {request.scope['path']}") as reading:
        async for chunk in request.stream():
            reading.add(len(chunk))
            read += chunk
            if len(read) > most:
                raise _too_large(most)
    return read


def _too_large(most: int) -> Refusal:
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"The body is larger than {most} bytes.")


def _is_deeper(value: Any, most: int) -> bool:
    """Whether JSON is nested deeper than `most` levels."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > most:
            return True
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return False


def _json_texts(run_input: RunAgentInput) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each field that is parsed as JSON later: the arguments of tool calls, and the
    answer of an older client."""
    for index, message in enumerate(run_input.messages):
        for position, call in enumerate(message.tool_calls or () if isinstance(message, AssistantMessage) else ()):
            yield f"messages.{index}.toolCalls.{position}.function.arguments", call.function.arguments
    forwarded = run_input.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    answers = command if isinstance(command, Mapping) else {}
    for name in ("resume", "interruptEvent"):
        if isinstance(text := answers.get(name), str):
            yield f"forwardedProps.command.{name}", text


def _is_text_deeper(text: str, most: int) -> bool:
    """Whether a text is JSON that is nested deeper than `most` levels. `orjson` writes fewer levels than it reads, so
    the value of such a text could not be stored with the thread."""
    if text.count("[") + text.count("{") <= most:
        return False
    try:
        return _is_deeper(orjson.loads(text), most)
    except orjson.JSONDecodeError as error:
        return error.msg == _TOO_DEEP


def _invalid(message: str) -> Refusal:
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)


def _path(detail: Any) -> str:
    """Returns the path of a field, such as `messages.0.content`, without names that the client has made up."""
    parts = [str(part) if isinstance(part, int) or _NAME.fullmatch(part) else "..." for part in detail["loc"]]
    return ".".join(parts) or "the body"


def _expectation(detail: Any) -> str:
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "union_tag_invalid":
        return f"expected one of {detail.get('ctx', {}).get('expected_tags')}"
    if detail["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return "expected an object"
    message = detail["msg"]
    return f"expected {message.removeprefix(_EXPECTED)}" if message.startswith(_EXPECTED) else "is not as expected"
