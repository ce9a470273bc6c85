"""A request's body as JSON, and as an input: how much of it is read, and the errors of an invalid one.

Never here: what an input does. Error texts quote nothing that was sent, but the names of AG-UI's own fields.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import orjson
from ag_ui.core import RunAgentInput
from pydantic import ValidationError
from starlette.requests import Request

from ...inputs.json_texts import json_texts
from ...inputs.off_loop import off_loop, size_of
from ...inputs.unknown import read_input
from ..errors import Refusal
from ..limits import Limits
from .bodies import Bodies

_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][\w-]{0,40}")
INVALID_JSON = "invalid_json"
"""The code of a body that is not JSON."""
_MOST_NAMED = 3
_DIGITS = 18
"""Digits of a length that are looked at: no body is as long as the rest says."""
_TOO_DEEP = "depth limit exceeded"
"""The message of `orjson` for JSON that is nested more deeply than it can read."""
_EXPECTED = "Input should be "
"""How pydantic begins what it says of a value's type, which is all it says then."""


async def read(request: Request, bodies: Bodies) -> Any:
    """What the body's JSON says; None for an empty body. Raises `Refusal`.

    A body that says it is something else is refused: a page of another origin may send that without being asked.
    """
    kind = request.headers.get("content-type", "")
    if not _JSON.fullmatch(kind):
        message = "Expected a body of JSON, and the header Content-Type: application/json."
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    raw = await _bytes(request, bodies)
    if not raw:
        return None
    found = loaded(raw, bodies.limits)
    await off_loop(check_depth, size_of(found), found, bodies.limits)
    return found


def check_depth(found: Any, limits: Limits) -> None:
    """Raises `Refusal` for JSON that is nested deeper than `Limits.depth`."""
    if _is_deeper(found, limits.depth):
        raise _invalid(f"The body's JSON is nested deeper than {limits.depth} levels.")


def loaded(raw: bytes | bytearray | str, limits: Limits) -> Any:
    """The value of a JSON text within `Limits.body` and `Limits.values`; its depth is not checked. Raises `Refusal`.

    `orjson` holds the GIL while it parses, in any thread: 4 MB of `[[],[],...]` stopped the event loop for 0.3 s. So
    commas and opening brackets are counted first, which bounds the number of values. Those within texts count too,
    since some texts are parsed as JSON later.
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
        message = f"The body is no JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        raise Refusal(HTTPStatus.BAD_REQUEST, INVALID_JSON, message) from None


def input_of(found: Any, limits: Limits, agent: str, *, is_run: bool = True) -> RunAgentInput:
    """The input that a body is, read as in `inputs.unknown`; raises `Refusal`, which names the field that is none, and
    what it should be. `agent`: for the log. `is_run`: whether it is to be run."""
    messages = found.get("messages") if isinstance(found, dict) else None
    size = len(messages) if isinstance(messages, list) else 0
    if size > limits.messages:
        raise _invalid(f"messages: expected {limits.messages} at most, got {size}.")
    try:
        given = read_input(found, agent, is_run=is_run)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=True, include_input=False)
        errors = [f"{_path(each)}: {_expected(each)}" for each in wrong[:_MOST_NAMED]]
        if len(wrong) > _MOST_NAMED:
            errors.append(f"and {len(wrong) - _MOST_NAMED} more")
        raise _invalid("Expected an AG-UI RunAgentInput: " + "; ".join(errors) + ".") from None
    if given.protocol_version == "":
        raise _invalid("protocolVersion: expected a version such as 1.0, or none.")
    for field, text in json_texts(given):
        if _is_text_deeper(text, limits.depth):
            raise _invalid(f"{field}: expected JSON that is nested at most {limits.depth} levels deep.")
    return given


def text_of(found: Any, name: str) -> str | None:
    """A field of a body that is a text, if it is there. Raises `Refusal`."""
    if found is None:
        return None
    if not isinstance(found, dict):
        raise _invalid("Expected a JSON object.")
    value = found.get(name)
    if value is not None and not isinstance(value, str):
        raise _invalid(f"{name}: expected a text.")
    return value


async def _bytes(request: Request, bodies: Bodies) -> bytearray:
    """The body; what its headers say of its length is believed only where that is too much."""
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


def _is_deeper(found: Any, most: int) -> bool:
    """Whether JSON is nested deeper than `most` levels."""
    level = [found] if isinstance(found, dict | list) else []
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


def _is_text_deeper(text: str, most: int) -> bool:
    """Whether a text, if it is JSON, is nested deeper than `most` levels: `orjson` writes fewer levels than it reads,
    so the value of such a text could not be stored with the thread."""
    if text.count("[") + text.count("{") <= most:
        return False
    try:
        return _is_deeper(orjson.loads(text), most)
    except orjson.JSONDecodeError as error:
        return error.msg == _TOO_DEEP


def _invalid(message: str) -> Refusal:
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input", message)


def _path(wrong: Any) -> str:
    """Where the field is: `messages.0.content`; what the client itself named is left out."""
    parts = [str(part) if isinstance(part, int) or _NAME.fullmatch(part) else "..." for part in wrong["loc"]]
    return ".".join(parts) or "the body"


def _expected(wrong: Any) -> str:
    if wrong["type"] == "missing":
        return "is missing"
    if wrong["type"] == "union_tag_invalid":
        return f"expected one of {wrong.get('ctx', {}).get('expected_tags')}"
    if wrong["type"] in ("model_type", "model_attributes_type", "dict_type"):
        return "expected an object"
    message = wrong["msg"]
    return f"expected {message.removeprefix(_EXPECTED)}" if message.startswith(_EXPECTED) else "is not as expected"
