"""Random values that AG-UI events carry: ids, texts, JSON, JSON Patches, messages.

Here: hypothesis strategies for values. Never here: the order of events (`event_streams`), or anything of ours that is
tested.
"""

from typing import Any

from hypothesis import strategies as st

Event = dict[str, Any]

TEXT_IDS = ["m1", "m2", "m3", "m1s", "c1", "a1"]
CALL_IDS = ["c1", "c2", "c3", "c1s"]
REASONING_IDS = ["r1", "r2", "m1", "r1s", "a1"]
ACTIVITY_IDS = ["a1", "a2", "m2", "a1s"]
STEP_NAMES = ["plan", "act"]
ROLES = ["assistant", "user", "system", "developer"]

texts = st.sampled_from(["", "a", "bc", "é☃", '{"x":'])
_keys = st.sampled_from(["a", "b", "-", "0", "1", "x/y", "t~", "__proto__"])
metadata = st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from([1, "v", None, {"n": 1}]), max_size=2)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "s", "é"]))
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "0", "x/y", "t~"]), inner, max_size=3),
    ),
    max_leaves=6,
)
_pointers = st.lists(_keys, max_size=3).map(
    lambda keys: "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)
)
# The whole document is no source, since a move makes a circle of it, which ends the client; nor is it a target, since
# moving what is not there makes it `undefined`. Names that every JavaScript object inherits are left out, too.
_sources = _pointers.filter(bool)


@st.composite
def operations(draw: st.DrawFn) -> list[Event]:
    """JSON Patches: well-formed operations over a few keys, many of which will fail."""
    patch: list[Event] = []
    for _ in range(draw(st.integers(1, 3))):
        op = draw(st.sampled_from(["add", "add", "replace", "remove", "test", "move", "copy"]))
        operation: Event = {"op": op, "path": draw(_pointers)}
        if op in ("add", "replace", "test"):
            operation["value"] = draw(json_values)
            if not operation["path"] and not isinstance(operation["value"], (dict, list)):
                operation["value"] = None  # the client takes some patches of a whole that is a number without a word
        if op in ("move", "copy"):
            operation |= {"from": draw(_sources), "path": draw(_pointers.filter(bool))}
        patch.append(operation)
    return patch


def tag(name: str) -> Event:
    """Whose an id is."""
    return {"subagentRunId": "s"} if name.endswith("s") else {}


@st.composite
def messages(draw: st.DrawFn, *, repeat: bool = False) -> list[Event]:
    """Wire messages of every role; with `repeat`, ids may stand twice."""
    ids = draw(
        st.lists(st.sampled_from([*TEXT_IDS, *REASONING_IDS, *ACTIVITY_IDS, "t1"]), max_size=4, unique=not repeat)
    )
    return [draw(_message(message_id)) for message_id in ids]


@st.composite
def _message(draw: st.DrawFn, message_id: str) -> Event:
    role = draw(st.sampled_from([*ROLES, "assistant", "tool", "activity", "reasoning"]))
    message: Event = {"id": message_id, "role": role, **tag(message_id)}
    if role == "activity":
        message |= {"activityType": draw(st.sampled_from(["media", "plan"])), "content": {"a": draw(scalars)}}
    elif role == "tool":
        message |= {"toolCallId": draw(st.sampled_from(CALL_IDS)), "content": draw(texts)}
    elif role == "assistant":
        message |= draw(st.sampled_from([{}, {"content": ""}, {"content": "said"}]))
        # a call belongs to whom its message belongs to
        owned = [name for name in CALL_IDS if tag(name) == tag(message_id)]
        calls = draw(st.lists(st.sampled_from(owned), max_size=2, unique=True))
        if calls:
            message["toolCalls"] = [
                {"id": name, "type": "function", "function": {"name": "f", "arguments": draw(texts)}} for name in calls
            ]
    else:
        message["content"] = draw(texts)
    if draw(st.booleans()):
        message["metadata"] = draw(metadata)
    return message
