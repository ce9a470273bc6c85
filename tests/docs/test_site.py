"""The hooks of the site's build: the pages for programs that read, and what draws the drawings.

`llms.txt` names all pages of the navigation, and has a sentence of each. That each drawing can be drawn is tested in
`tests/browser/drawings.test.mjs`.
"""

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.documents import ROOT

_spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "docs/hooks.py")
assert _spec is not None
assert _spec.loader is not None
hooks: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hooks)


def test_llms_txt_names_each_page_with_its_first_paragraph(tmp_path: Path) -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    first, *rest = re.findall(r": (\S+\.md)$", navigation, re.MULTILINE)
    nav = [{"First": first}, {"Rest": [{page: page} for page in rest]}]
    names = {"site_name": "name", "site_description": "What it is."}
    hooks.on_post_build(SimpleNamespace(docs_dir=str(ROOT / "docs"), site_dir=str(tmp_path), nav=nav, **names))
    heading, _, quote, _, *lines = (tmp_path / "llms.txt").read_text(encoding="utf-8").splitlines()
    assert (heading, quote) == ("# name", "> What it is.")
    pages = [page for page in (first, *rest) if not page.startswith("api/")]
    assert len(lines) == len(pages) > 20
    whole = (tmp_path / "llms-full.txt").read_text(encoding="utf-8")
    for page, line in zip(pages, lines, strict=True):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert (tmp_path / page).read_text(encoding="utf-8") == text
        title, _, paragraph = text.partition("\n\n")
        name, sentence = title.removeprefix("# "), " ".join(paragraph.partition("\n\n")[0].split())
        assert unlinked(line) == unlinked(f"- [{name}]({page}): {sentence}")
        assert unlinked(text) in unlinked(whole)
    links = re.findall(r"\]\((?!\w+:)([^)#]*)", "\n".join([*lines, whole]))
    assert len(links) > 100
    assert [link for link in links if not (ROOT / "docs" / link).is_file()] == []


def unlinked(text: str) -> str:
    """A text without the targets of its links."""
    return re.sub(r"\]\([^)]*\)", "]", text)


def test_a_page_with_a_drawing_gets_mermaid_from_the_site_itself() -> None:
    page = SimpleNamespace(url="how-it-works/")
    text, drawing = "<head></head><p>", '<head></head><pre class="mermaid"><code>'
    assert hooks.on_post_page(text, page) == text
    script = '<script src="../assets/javascripts/mermaid.js"></script>'
    assert hooks.on_post_page(drawing, page) == drawing.replace("</head>", f"{script}</head>")
