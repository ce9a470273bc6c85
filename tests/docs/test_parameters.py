"""The page of parameters has every parameter of the installed SDK: a new one fails here, until the page says how it is
set, or why it is not."""

import re
from inspect import signature
from operator import attrgetter
from typing import Any

import pytest
from langgraph_agui.connect.platform.settings import RunSettings, ThreadSettings
from langgraph_agui.connect.serve import Agent
from langgraph_sdk import get_client

from tests.support.documents import ROOT, block

PAGE = (ROOT / "docs/sources/parameters.md").read_text(encoding="utf-8")
_NAME = re.compile(r"`(\w+)`")

pytestmark = pytest.mark.newest


def rows(section: str) -> dict[str, str]:
    """What the table of a section says, by parameter."""
    table = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line.strip("| ").partition(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {name: text for names, _, text in lines[1:] for name in _NAME.findall(names)}


@pytest.mark.parametrize(
    ("section", "methods", "settings", "place"),
    [
        ("Runs", ["runs.create", "runs.stream", "runs.wait"], RunSettings, "Platform(run="),
        ("Threads", ["threads.create"], ThreadSettings, "Platform(thread="),
        ("Crons", ["crons.create", "crons.create_for_thread"], None, ""),
    ],
)
def test_the_page_has_every_parameter_of_the_sdk(section: str, methods: list[str], settings: Any, place: str) -> None:
    client = get_client(url="http://127.0.0.1:1")
    functions = [attrgetter(method)(client) for method in methods]
    table = rows(section)
    assert table.keys() == {name for function in functions for name in signature(function).parameters}
    if settings is not None:
        assert {name for name, text in table.items() if place in text} == settings.__annotations__.keys()


def test_the_example_is_an_agent_with_these_settings() -> None:
    agent: Agent = block("billing_agent").billing_agent(get_client(url="http://127.0.0.1:1"))
    source: Any = agent.backend
    assert source.run_settings == {"webhook": "https://example.com/ended", "durability": "sync"}
    assert source.thread_settings == {"metadata": {"team": "billing"}, "ttl": 43_200}
