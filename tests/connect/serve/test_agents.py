"""What is served and how: what `Agent` and `Limits` take, and what their help says."""

import re
from dataclasses import fields
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Prepared
from langgraph_agui.connect.serve import Agent, Limits, add_agui_routes, agui_app, agui_routes

from fixtures.gated import GATED


def test_an_agent_is_made_of_its_graph_alone() -> None:
    graph = GATED["gated_chat"](InMemorySaver())
    source = Agent(graph).source
    assert isinstance(source, Local)
    assert source.graph is graph
    assert Agent(source=graph, name="Ada").name == "Ada"


def test_what_is_no_graph_is_refused_at_once_with_its_name() -> None:
    """mypy refuses it too: it would complain of each `ignore` here that is not needed."""
    expected = r"^agents: 'a': expected a compiled graph, .* got int$"
    with pytest.raises(TypeError, match=expected):
        agui_app({"a": 42})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=expected):
        agui_routes({"a": 42})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="got str"):
        agui_app("graph")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got int"):
        Agent(42)  # type: ignore[arg-type]
    app: Any = object()
    with pytest.raises(TypeError, match="expected a FastAPI app"):
        add_agui_routes(app, {"a": GATED["gated_chat"](None)})


@pytest.mark.parametrize("made", [Agent, Limits, Intake, Prepared])
def test_help_explains_every_field(made: type) -> None:
    """`help()` shows a class's own docstring, and none that is below a field."""
    explained = re.findall(r"^    `(\w+)`: [A-Z]", made.__doc__ or "", re.MULTILINE)
    assert explained == [field.name for field in fields(made)]
