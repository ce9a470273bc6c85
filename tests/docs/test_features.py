"""The table of features in the guide for those who come from `ag-ui-langgraph` is that of the test in a browser."""

from tests.browser.features import FEATURES
from tests.support.documents import ROOT


def test_the_table_has_the_features_that_are_played_in_a_browser() -> None:
    section = (ROOT / "docs/migration.md").read_text(encoding="utf-8").partition("## Feature by feature")[2]
    _, _, *rows = [line for line in section.splitlines() if line.startswith("|")]
    assert rows[:-2] == [feature.row for feature in FEATURES]
    assert [row.split()[1] for row in rows[-2:]] == ["A2UI", "MCP"]  # these need the Node runtime, and are not played
