"""A text that may become a JSON object or array is known by its characters, however it is divided."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph_agui.translator.jsonable.json_prefix import JsonPrefix

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
CONTAINERS = st.lists(VALUES) | st.dictionaries(st.text(), VALUES)


def held(text: str) -> int:
    """How many characters of a text are held before it is released; all, if it never is."""
    prefix = JsonPrefix()
    return next((place for place, character in enumerate(text) if not prefix.continues(character)), len(text))


@given(CONTAINERS, st.booleans(), st.sampled_from([None, 1, "\t"]), st.text(" \n\r\t"))
def test_every_object_and_array_is_held_to_its_end(value: Any, ascii_only: bool, indent: Any, space: str) -> None:
    text = space + json.dumps(value, ensure_ascii=ascii_only, indent=indent) + space
    assert held(text) == len(text)


@given(CONTAINERS, st.text(st.characters(exclude_characters=" \n\r\t"), min_size=1))
def test_what_follows_a_whole_value_releases_it(value: Any, behind: str) -> None:
    text = json.dumps(value)
    assert held(text + behind) == len(text)


ALPHABET = st.text(st.sampled_from('{}[]",:\\ \n0123.eE+-truefalsenull()#ab'), max_size=30)


@given(ALPHABET, st.lists(st.integers(0, 30)))
def test_every_division_of_a_text_releases_it_with_the_same_character(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    prefix, released = JsonPrefix(), None
    for start, end in pairwise(places):
        if not prefix.continues(text[start:end]):
            released = (start, end)
            break
    place = held(text)
    assert released is None if place == len(text) else released is not None and released[0] <= place < released[1]


@given(ALPHABET)
def test_what_is_released_is_no_json(text: str) -> None:
    """Python's own reader, which also takes `NaN` and the like, takes it for neither an object nor an array."""
    if held(text) < len(text):
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            return
        assert not isinstance(value, dict | list)


PROSE = {
    "[link](https://x.org) is it": 1,
    "[1] According to": 4,
    "[1, 2] say so": 7,
    "[ ] a task": 4,
    "{{ name }} is": 1,
    "{'a': 1}": 1,
    "{name}": 1,
    "```json\n{}\n```": 0,
    "- [x] done": 0,
    "Hello [1]": 0,
    "7 is it": 0,
    '"quoted"': 0,
    "true": 0,
    "\n\nHello": 2,
    "[-]": 2,
    "[01]": 2,
    "[1.]": 3,
    "[1e]": 3,
    "[trie]": 3,
    '{"a" 1}': 5,
    '{"a": 1,}': 8,
    "[1,]": 3,
    "[1}": 2,
    '["\\x"]': 3,
    '["\\u12G"]': 6,
    '["\n"]': 2,
    "[NaN]": 1,
    "{} {}": 3,
}


@pytest.mark.parametrize(("text", "place"), PROSE.items(), ids=repr)
def test_prose_is_released_at_the_first_character_that_json_cannot_have(text: str, place: int) -> None:
    assert held(text) == place
