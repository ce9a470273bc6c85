"""Whether an answer fits a JSON schema: refused is what is known to be wrong, and nothing that is not understood."""

from typing import Annotated, Any, Literal

import pytest
from langgraph_agui.connect.inputs.answers.schemas import misfit
from pydantic import BaseModel, Field, TypeAdapter


class Leaf(BaseModel):
    type: Literal["leaf"]
    size: int | None = None


class Branch(BaseModel):
    type: Literal["branch"]
    of: list[Annotated["Leaf | Branch", Field(discriminator="type")]]


class Order(BaseModel, extra="forbid"):
    amount: float
    tree: Leaf | Branch
    sure: bool = False
    tags: dict[str, int] = {}


ORDER = TypeAdapter(Order).json_schema()
LEAF: Any = {"type": "leaf", "size": 1}


@pytest.mark.parametrize(
    "value",
    [
        {"amount": 1, "tree": LEAF},
        {"amount": "1.5", "tree": {"type": "leaf"}, "sure": "yes"},
        {"amount": 2.0, "tree": {"type": "branch", "of": [LEAF, {"type": "branch", "of": []}]}, "sure": 1},
        {"amount": 0, "tree": {**LEAF, "size": None}, "tags": {"a": 1}},
        {"amount": 10**400, "tree": LEAF},
    ],
)
def test_an_answer_fits(value: Any) -> None:
    assert misfit(value, ORDER) is None


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (None, "answer: expected an object"),
        ({"tree": LEAF}, "answer: expected an object with 'amount'"),
        ({"amount": "much", "tree": LEAF}, "answer.amount: expected a number"),
        ({"amount": True, "tree": LEAF}, "answer.amount: expected a number"),
        ({"amount": 1, "tree": {"type": "leaf", "size": 1.5}}, "answer.tree.size: expected an integer; or"),
        ({"amount": 1, "tree": {"type": "root"}}, "answer.tree: expected an object whose type is one of leaf, branch"),
        ({"amount": 1, "tree": {"type": "branch", "of": [LEAF, {}]}}, "answer.tree.of[1]: expected an object whose"),
        ({"amount": 1, "tree": LEAF, "more": 1}, "answer: expected an object with nothing but 'amount', 'tree'"),
        ({"amount": 1, "tree": LEAF, "tags": {"a": "b"}}, "answer.tags.*: expected an integer"),
        ({"amount": 1, "tree": LEAF, "sure": "perhaps"}, "answer.sure: expected a boolean"),
    ],
)
def test_an_answer_does_not_fit(value: Any, wrong: str) -> None:
    assert str(misfit(value, ORDER)).startswith(wrong)


CONSTANTS: Any = {"enum": [1, "a", None]}
PAIR: Any = {"type": "array", "prefixItems": [{"const": True}], "items": {"type": "string"}, "minItems": 1}


@pytest.mark.parametrize(
    ("value", "schema", "fits"),
    [
        (1, CONSTANTS, True),
        (None, CONSTANTS, True),
        (True, CONSTANTS, False),
        ("b", CONSTANTS, False),
        ([True, "a"], PAIR, True),
        ([1], PAIR, False),
        ([True, 1], PAIR, False),
        ([], PAIR, False),
        ("ab", PAIR, False),
        (7, {"type": "string", "format": "date"}, True),
        (7, {"type": ["string", "null"]}, False),
        (7, {"allOf": [{"type": "integer"}, {"const": 8}]}, False),
        ({"a": 1}, {"patternProperties": {"a": {}}, "additionalProperties": False}, True),
        (7, False, False),
    ],
)
def test_a_keyword_is_checked(value: Any, schema: Any, fits: bool) -> None:
    assert (misfit(value, schema) is None) is fits


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        {},
        {"type": "text"},
        {"type": ["string", "text"]},
        {"type": 7, "required": "a", "enum": "a", "oneOf": {}, "minItems": "1"},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"required": [[]], "properties": [], "items": [], "enum": None},
        {"not": {}, "maximum": 1, "pattern": "b"},
    ],
)
def test_what_is_not_understood_refuses_nothing(schema: Any) -> None:
    assert all(misfit(value, schema) is None for value in ([{"a": 7}], {"a": 7}))


class Compared:
    """A value that is equal to `last`, and counts how often it is compared."""

    def __init__(self) -> None:
        self.count = 0

    def __eq__(self, other: object) -> bool:
        self.count += 1
        return other == "last"

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("items", [{"enum": [*map(str, range(999)), "last"]}, {"const": "last"}])
def test_a_long_answer_is_compared_so_often_at_most(items: Any) -> None:
    value = Compared()
    assert misfit([value] * 100_000, {"items": items}) is None
    assert 5_000 < value.count <= 500_000


def test_a_text_names_some_of_many_constants() -> None:
    wrong = misfit("x", {"enum": [*range(100_000)]})
    assert wrong == f"answer: expected {' or '.join(map(str, range(20)))} or 99980 more"
