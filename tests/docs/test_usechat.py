"""The page about useChat names each chunk that is sent."""

import re

from tests.support.documents import ROOT

PAGE = (ROOT / "docs/frontends/usechat.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| AG-UI | chunks |")[2].partition("\n\n")[0]
SOURCES = [ROOT / f"connect/serve/usechat/{name}.py" for name in ("chunks", "parts", "wire")]
OF_PARTS = {"text", "reasoning", "dynamic-tool"}
"""Types of parts that no chunk has."""


def test_the_table_has_each_chunk() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    found = set(re.findall(r'"type": "([a-z-]+)"', source)) - OF_PARTS
    found |= {f"{kind}-{step}" for kind in ("text", "reasoning") for step in ("start", "delta", "end")}
    found |= {"data-interrupt", "data-state", "data-tool_progress"}
    found |= {f"tool-output-{end}" for end in ("available", "error", "denied")}
    named = set(re.findall(r"`([a-z_-]+)`", TABLE))
    assert found - named == set()
    assert {name for name in named if name.partition("-")[0] in ("text", "reasoning", "tool", "reset")} - found == set()
