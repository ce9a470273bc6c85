"""The documents that users read (README.md, CONTRIBUTING.md, all of `docs/`) and the code blocks in them.

A block is fenced; its language follows the fence, and a title may follow that: ```` ```json title="event" ````.
`block` runs the Python block that defines a name, wherever it is, so that text can move from page to page.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [
    path
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    if path.name != "CHANGELOG.md" and "node_modules" not in path.parts
]
_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]*)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block. `place`: the document and the line, as `docs/start.md:12`."""

    place: str
    language: str
    title: str
    code: str

    def __str__(self) -> str:
        return self.place

    @property
    def page(self) -> str:
        """The document that has it."""
        return self.place.partition(":")[0]

    @property
    def defines(self) -> list[str]:
        """The functions and classes that a block of Python defines at its top."""
        return _DEFINED.findall(self.code)


def _blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    return [
        Block(f"{name}:{text.count(chr(10), 0, found.start()) + 1}", found[1], found[2] or "", found[3])
        for found in _BLOCK.finditer(text)
    ]


BLOCKS = [block for path in DOCUMENTS for block in _blocks(path)]


def blocks(*languages: str) -> list[Block]:
    """The blocks of these languages."""
    return [block for block in BLOCKS if block.language in languages]


def block(name: str) -> Any:
    """The names that the Python block which defines `name` defines. It is run; raises ValueError unless there is one
    such block in all documents."""
    (code,) = {block.code for block in blocks("python") if name in block.defines}  # README.md repeats one
    names: dict[str, Any] = {}
    exec(compile(code, f"the block that defines {name}", "exec", dont_inherit=True), names)
    return SimpleNamespace(**names)
