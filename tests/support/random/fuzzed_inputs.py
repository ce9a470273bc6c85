"""What a client might post, in any order and of any sense, and bytes that break it: hypothesis strategies. No tests."""

from typing import Any

from hypothesis import strategies as st

same = st.just
orders = st.sampled_from(["hi", "ask me", "ask me", "call it", "raise it"])
"""What a graph does something at."""
texts = orders | st.sampled_from(["", "\u2028\x00\x7f", "\U0001f600"]) | st.text(max_size=8)
scalars = st.sampled_from([None, True, 0, -1, 2**53 + 1, -(2**63), 1e308, 1.5, "", "__proto__", "x" * 2_000])
odd = st.recursive(
    scalars | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | same("__proto__"), inner, max_size=3),
    max_leaves=8,
)
"""Any JSON."""
ids = st.sampled_from(["m1", "m2", "m3", "m4", "call-1", "call-2"])
kinds = st.sampled_from(["image", "audio", "video", "document"])
inline = st.fixed_dictionaries({"type": same("data"), "value": texts, "mimeType": texts})
linked = st.fixed_dictionaries({"type": same("url"), "value": texts})
parts = st.one_of(
    st.fixed_dictionaries({"type": same("text"), "text": texts}),
    st.fixed_dictionaries(
        {"type": same("binary"), "mimeType": same("image/png"), "data": st.sampled_from(["AA==", "AAAA"])}
    ),
    st.fixed_dictionaries({"type": kinds, "source": inline | linked}),
)
called = st.fixed_dictionaries({"name": texts, "arguments": texts | st.sampled_from(['{"a": 1}', "{", "null", "[1]"])})
calls = st.fixed_dictionaries({"id": ids, "type": same("function"), "function": called})
contents = texts | st.lists(parts, max_size=2)
messages = st.one_of(
    st.fixed_dictionaries({"id": ids, "role": same("user"), "content": contents}),
    st.fixed_dictionaries({"id": ids, "role": st.sampled_from(["system", "developer"]), "content": texts}),
    st.fixed_dictionaries(
        {"id": ids, "role": same("assistant"), "content": texts, "toolCalls": st.lists(calls, max_size=2)}
    ),
    st.fixed_dictionaries({"id": ids, "role": same("tool"), "toolCallId": ids, "content": texts}),
    st.fixed_dictionaries({"id": ids, "role": same("reasoning"), "content": texts}),
    st.fixed_dictionaries(
        {"id": ids, "role": same("activity"), "activityType": same("a"), "content": st.dictionaries(texts, odd)}
    ),
)
FOREIGN = ["toolCalls", "toolCallId", "activityType", "error", "x"]
OWN = {"assistant": "toolCalls", "tool": "toolCallId", "activity": "activityType"}
foreign = st.dictionaries(st.sampled_from(FOREIGN), odd, max_size=2)
messages = st.builds(lambda message, more: {**more, **message}, messages, same({}) | foreign)
"""Messages as they should be, but for fields that are none of their role's."""
questions = st.fixed_dictionaries({"id": ids, "role": same("user"), "content": orders})
answers = st.fixed_dictionaries(
    {
        "interruptId": st.sampled_from(["pending", "unknown"]),
        "status": st.sampled_from(["resolved", "cancelled"]),
        "payload": odd,
    }
)
conversations = st.builds(
    lambda before, last: [*(each for each in before if each["id"] != last["id"]), last],
    st.lists(messages, max_size=3, unique_by=lambda each: str(each["id"])),
    questions | messages,
)
inputs = st.fixed_dictionaries(
    {"messages": conversations | st.lists(messages, max_size=3), "protocolVersion": st.sampled_from(["1.0", None])},
    optional={
        "state": st.fixed_dictionaries({"mood": odd}) | st.dictionaries(texts, odd) | odd,
        "resume": st.lists(answers, max_size=2),
        "tools": st.lists(st.fixed_dictionaries({"name": texts, "description": texts, "parameters": odd}), max_size=2),
        "context": st.lists(st.fixed_dictionaries({"description": texts, "value": texts}), max_size=2),
        "forwardedProps": odd | st.fixed_dictionaries({"command": st.fixed_dictionaries({"resume": odd})}),
        "runId": st.sampled_from(["run-0", "run-1", "other"]),
    },
)
"""Inputs without a thread, and mostly without a run id; `pending` stands for an interrupt that waits."""
runs = st.sampled_from(["/kept", "/kept", "/agent/kept/run", "/bare", "/?agent/run"])
posts = ["/kept", "/bare", "/kept/connect", "/bare/connect", "/agent/kept/run", "/agent/kept/connect"]
others = ["/?agent/run", "/?agent/connect", "/?agent/stop", "/agent/kept/stop/{thread}", "/watch/{thread}?agent=kept"]
routes = st.sampled_from([*posts, "/kept", "/agent/kept/run", *others])
"""All of an app with the agents `kept` and `bare`; `/?method` is an envelope of that method."""
numbers = [b"NaN", b"%d" % 2**64, b"-Infinity", b"1" * 400, b"1e999", b"-"]
nested = [b"[" * 40, b"[" * 5_000, b"{", b'{"threadId": 1, "threadId": "t"}']
letters = [b'"\\ud800"', b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b"\\u0000", b",", b"}", b'"', b"// no", b""]
breaks = st.sampled_from([*numbers, *nested, *letters])
"""Bytes that break JSON, or are hard to read."""
names = ["/", "kept", "bare", "agent", "run", "connect", "stop", "watch", "info", "health", "?", "agent=kept", "&"]
escapes = ["%", "%2", "%2F", "%00", "%0a", "%ff", "%C3%A4", "%ud800", "%25", "..", ".", ";", "//", "%7Bagent%7D"]
paths = st.lists(st.sampled_from([*names, *escapes]), max_size=6).map(lambda pieces: "/" + "".join(pieces))
"""Paths and queries that are nearly those of routes."""


def without_foreign(message: dict[str, Any]) -> dict[str, Any]:
    """The message with the fields of its role only: a client of protocol 1.0 removes the others before it sends it."""
    own = OWN.get(message["role"])
    return {name: value for name, value in message.items() if name not in FOREIGN or name == own}
