"""What broke when real graphs were driven oddly, told to the real clients: one test for each."""

from typing import Any

import pytest

from .agui_client import VERSIONS, AguiClient
from .told import options_for, told, view_for

RESUMED: list[Any] = [((), "values", None), ((), "updates", {"flow": {"ok": "y"}}), ((), "values", {"ok": "y"})]
"""A function of the functional API that asked before it ever returned a value, and returns now."""


@pytest.mark.parametrize("version", VERSIONS)
def test_a_state_that_follows_null_is_told_so_that_the_client_can_apply_it(
    agui_client: AguiClient, version: str
) -> None:
    telling = told(RESUMED, options=options_for(version), view=view_for(version, [], {}))
    answer = agui_client.play(telling.events, version=version)
    assert (answer.warnings, answer.state) == ([], {"ok": "y"})
