"""Hooks of the site's build: what draws the drawings, and the pages for programs that read.

A page with a drawing gets Mermaid from the site itself, where the theme would load it from another host. It comes from
`docs/node_modules`; the theme's colours know the names of 11.12, not those of newer ones.

`llms.txt` lists the pages in the order of the navigation, each with its first paragraph; `llms-full.txt` has all of
them, and each page is there as Markdown beside its HTML. Links in both are relative to the site's root, so that they
are right under any address.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

_PARAGRAPH = re.compile(r"\A# .+?\n+(.+?)(?:\n\n|\Z)", re.DOTALL)
_LINK = re.compile(r"\]\((?!\w+:)([^)#]*)(#[^)]*)?\)")
_DIRECTIVE = re.compile(r"^::: ", re.MULTILINE)
_MERMAID = Path(__file__).parent / "node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js"
_SCRIPT = "assets/javascripts/mermaid.js"


def on_files(files: Any, config: Any) -> Any:
    """Adds Mermaid to the files of the site."""
    from mkdocs.structure.files import File  # of the environment that builds the site alone

    files.append(File.generated(config, _SCRIPT, abs_src_path=str(_MERMAID)))
    return files


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Adds Mermaid to a page that has a drawing: the theme takes the one that is there."""
    if '<pre class="mermaid">' not in output:
        return output
    script = f'<script src="{"../" * page.url.count("/")}{_SCRIPT}"></script>'
    return output.replace("</head>", f"{script}</head>", 1)


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
        text = _from_root(text, page)
        first = _PARAGRAPH.search(text)
        lines.append(f"- [{title}]({page}): {' '.join(first[1].split()) if first else ''}")
        whole.append(text)
    (site / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(whole), encoding="utf-8")


def _from_root(text: str, page: str) -> str:
    """A page's text with its links to other pages as they are from the site's root."""
    folder = posixpath.dirname(page)

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1])) if found[1] else page
        return f"]({target}{found[2] or ''})"

    return _LINK.sub(link, text)


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
