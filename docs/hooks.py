"""Hooks of the site's build: `llms.txt`, and each page as Markdown beside its HTML, for programs that read.

`llms.txt` lists the pages in the order of the navigation, each with its first paragraph; `llms-full.txt` has all of
them. Links in both are relative, so that they are right under any address.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_PARAGRAPH = re.compile(r"\A# .+?\n+(.+?)(?:\n\n|\Z)", re.DOTALL)
_DIRECTIVE = re.compile(r"^::: ", re.MULTILINE)


def on_post_build(config: Any, **_: Any) -> None:
    """Writes `llms.txt`, `llms-full.txt` and the pages' Markdown into the built site."""
    source, site = Path(config.docs_dir), Path(config.site_dir)
    pages = [page for page in _pages(config.nav) if page.endswith(".md")]
    lines, whole = [f"# {config.site_name}", "", f"> {config.site_description}", ""], []
    for page in pages:
        text = (source / page).read_text(encoding="utf-8")
        if _DIRECTIVE.search(text):  # its text is made from docstrings, and is in the HTML alone
            continue
        target = site / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        first = _PARAGRAPH.search(text)
        lines.append(f"- [{title}]({page}): {' '.join(first[1].split()) if first else ''}")
        whole.append(text)
    (site / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(whole), encoding="utf-8")


def _pages(nav: Any) -> list[str]:
    """The files that a navigation names, in order."""
    match nav:
        case str():
            return [nav]
        case dict():
            return [page for each in nav.values() for page in _pages(each)]
        case list():
            return [page for each in nav for page in _pages(each)]
        case _:
            return []
