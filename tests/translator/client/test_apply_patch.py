"""JSON Patch as the client applies it: atomic, sharing, never changing what it was given."""

from copy import deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from langgraph_agui.translator.client.apply_patch import RefusedError, apply_patch

from tests.support.clients.agui_client import AguiClient
from tests.support.random.event_values import json_values, operations
from tests.translator.client.test_view_equals_client import canonical

NOTHING = object()

APPLIED: list[tuple[str, Any, list[dict[str, Any]], Any]] = [
    ("add to an object", {}, [{"op": "add", "path": "/a", "value": 1}], {"a": 1}),
    ("add to the end", [1], [{"op": "add", "path": "/-", "value": 2}], [1, 2]),
    ("add in the middle", [1, 3], [{"op": "add", "path": "/1", "value": 2}], [1, 2, 3]),
    ("add the whole", {"a": 1}, [{"op": "add", "path": "", "value": [1]}], [1]),
    ("replace a null", {"a": None}, [{"op": "replace", "path": "/a", "value": 1}], {"a": 1}),
    ("replace the whole", {"a": 1}, [{"op": "replace", "path": "", "value": {}}], {}),
    ("remove from an array", [1, 2], [{"op": "remove", "path": "/0"}], [2]),
    ("remove the whole", {"a": 1}, [{"op": "remove", "path": ""}], None),
    ("test what is there", {"a": [1]}, [{"op": "test", "path": "/a", "value": [1.0]}], {"a": [1]}),
    ("move", {"a": 1}, [{"op": "move", "from": "/a", "path": "/b"}], {"b": 1}),
    ("copy", {"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
    ("escaped keys", {"x/y": 1, "t~": 2}, [{"op": "remove", "path": "/x~1y"}, {"op": "remove", "path": "/t~0"}], {}),
    ("an empty key", {}, [{"op": "add", "path": "/", "value": 1}], {"": 1}),
    ("move to where it is", {"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
    ("move up", {"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/a"}], {"a": 1}),
]

REFUSED: list[tuple[str, Any, list[Any]]] = [
    ("replace what is not there", {}, [{"op": "replace", "path": "/a", "value": 1}]),
    ("remove what is not there", {}, [{"op": "remove", "path": "/a"}]),
    ("add below what is not there", {}, [{"op": "add", "path": "/a/b", "value": 1}]),
    ("add below a number", {"a": 1}, [{"op": "add", "path": "/a/b", "value": 1}]),
    ("add beyond the end", [1], [{"op": "add", "path": "/2", "value": 1}]),
    ("replace the end", [1], [{"op": "replace", "path": "/-", "value": 1}]),
    ("a name on an array", [1], [{"op": "add", "path": "/a", "value": 1}]),
    ("an odd index on the way", [[]], [{"op": "add", "path": "//-", "value": 1}]),
    ("an odd index on the way from", [[1]], [{"op": "copy", "path": "/-", "from": "/00/0"}]),
    ("a failed test", {"a": 1}, [{"op": "test", "path": "/a", "value": 2}]),
    ("true is not 1", {"a": 1}, [{"op": "test", "path": "/a", "value": True}]),
    ("a prototype", {}, [{"op": "add", "path": "/__proto__", "value": 1}]),
    ("a prototype on the way", {}, [{"op": "add", "path": "/__proto__/a", "value": 1}]),
    ("a constructor's prototype", {"constructor": {}}, [{"op": "add", "path": "/constructor/prototype", "value": 1}]),
    ("move into itself", {"a": {"b": 1}}, [{"op": "move", "from": "/a", "path": "/a/b"}]),
    ("move from nowhere", {}, [{"op": "move", "from": "/a", "path": "/b"}]),
    ("copy from nowhere", {"a": []}, [{"op": "copy", "from": "/a/0", "path": "/b"}]),
    ("no value", {}, [{"op": "add", "path": "/a"}]),
    ("an unknown operation", {}, [{"op": "merge", "path": "/a", "value": 1}]),
    ("no operation", {}, [7]),
    ("no pointer", {}, [{"op": "add", "path": "a", "value": 1}]),
]

# Invalid patches that the client takes (see the rules of `apply_patch`).
APART: list[tuple[str, Any, list[Any]]] = [
    ("an empty index", [1], [{"op": "add", "path": "/", "value": 0}]),
    ("an index with zeros", [1, 2], [{"op": "add", "path": "/01", "value": 9}]),
    ("an index beyond 32 bits", [1, 2], [{"op": "add", "path": "/4294967297", "value": 9}]),
    ("an index with zeros on the way of a test", [[1]], [{"op": "test", "path": "/00/0", "value": 1}]),
    ("an index with zeros on the way to", [[1], 2], [{"op": "copy", "path": "/00/0", "from": "/1"}]),
    ("the replacement of an inherited name", {}, [{"op": "replace", "path": "/constructor", "value": 1}]),
    ("the removal of an inherited name", {"a": 1}, [{"op": "remove", "path": "/toString"}]),
    ("copy beyond the end", [1], [{"op": "copy", "from": "/0", "path": "/7"}]),
    ("move beyond the end", [1, 2], [{"op": "move", "from": "/0", "path": "/7"}]),
    ("a member of a number", 5, [{"op": "add", "path": "/a", "value": 1}]),
    ("a whole moved into itself", {}, [{"op": "move", "from": "", "path": "/a"}]),
    ("a whole replaced by nothing", {}, [{"op": "copy", "from": "/a", "path": ""}]),
]


@pytest.mark.parametrize(("document", "patch", "expected"), [row[1:] for row in APPLIED], ids=[r[0] for r in APPLIED])
def test_a_patch_that_applies(document: Any, patch: list[Any], expected: Any) -> None:
    assert canonical(apply_patch(document, patch)) == canonical(expected)


@pytest.mark.parametrize(("document", "patch"), [r[1:] for r in REFUSED + APART], ids=[r[0] for r in REFUSED + APART])
def test_a_patch_that_is_refused(document: Any, patch: list[Any]) -> None:
    with pytest.raises(RefusedError):
        apply_patch(document, patch)


BOTH = [*((name, document, patch) for name, document, patch, _ in APPLIED), *REFUSED]


@pytest.mark.parametrize(("document", "patch"), [row[1:] for row in BOTH], ids=[row[0] for row in BOTH])
def test_the_client_does_the_same(agui_client: AguiClient, document: Any, patch: list[Any]) -> None:
    events = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "STATE_SNAPSHOT", "snapshot": document},
        {"type": "STATE_DELTA", "delta": patch},
    ]
    answer = agui_client.play(events)
    expected = outcome(document, patch)
    assert canonical(answer.state) == canonical(document if expected is NOTHING else expected)


def outcome(document: Any, patch: list[Any]) -> Any:
    try:
        return apply_patch(document, patch)
    except RefusedError:
        return NOTHING


@given(document=json_values, patch=operations())
def test_nothing_given_is_changed(document: Any, patch: list[Any]) -> None:
    before = canonical([document, patch])
    outcome(document, patch)
    assert canonical([document, patch]) == before


@given(document=json_values, first=operations(), second=operations())
def test_a_value_that_was_patched_in_stays_the_patchs_own(document: Any, first: list[Any], second: list[Any]) -> None:
    between = outcome(document, first)
    before = canonical(first)
    if between is not NOTHING:
        outcome(between, second)
    assert canonical(first) == before


@given(document=json_values, patch=operations())
def test_what_both_apply_jsonpatch_applies_alike(document: Any, patch: list[Any]) -> None:
    result = outcome(document, patch)
    try:
        expected = jsonpatch.apply_patch(deepcopy(document), deepcopy(patch))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, KeyError, AttributeError):
        return
    if result is not NOTHING:
        assert canonical(result) == canonical(expected)


def test_untouched_parts_are_shared() -> None:
    document = {"large": [1, 2], "small": {"a": 1}}
    result = apply_patch(document, [{"op": "add", "path": "/small/b", "value": 2}])
    assert result["large"] is document["large"]
