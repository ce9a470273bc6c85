"""A mutant: edits that put one fault into the source. Repairs undone are kept as files, one for each repair."""

import ast
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from .shape import Replacement, StaleMutantError, replacement
from .source import ROOT, Definition, definitions_of

REPAIRS = Path(__file__).parent / "repairs"


class Edit(Protocol):
    """One change of one file."""

    def replacement(self) -> Replacement:
        """Where it is in today's source; raises `StaleMutantError`, and SyntaxError for code that cannot be read."""


@dataclass(frozen=True)
class CodeEdit:
    """Code inside a definition, found by its shape: see `shape`."""

    definition: str
    """The end of its dotted name: `Publisher._append`, or `store.poller` for a module."""
    old: str
    new: str

    def replacement(self) -> Replacement:
        try:
            return replacement(definitions_of(self.definition), self.old, self.new)
        except StaleMutantError as error:
            raise StaleMutantError(f"{self.definition}: {error}") from None


@dataclass(frozen=True)
class TextEdit:
    """A text inside a definition or a file that is not Python."""

    where: str
    """A definition, as in `CodeEdit`, or a path from the root of the repository."""
    old: str
    new: str

    def replacement(self) -> Replacement:
        if (ROOT / self.where).is_file():
            text = (ROOT / self.where).read_text(encoding="utf-8")
            places = [(self.where, start) for start in _occurrences(self.old, text, 0, len(text))]
        else:
            places = sorted(
                {place for definition in definitions_of(self.where) for place in _within(definition, self.old)}
            )
        if len(places) != 1:
            raise StaleMutantError(f"{self.where}: expected the text once, found it {len(places)} times: {self.old!r}")
        ((file, start),) = places
        return Replacement(file, start, start + len(self.old), self.new)


def _within(definition: Definition, text: str) -> list[tuple[str, int]]:
    module, node = definition.module, definition.node
    start, end = 0, len(module.text)
    if isinstance(node, ast.stmt):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = module.position(node.lineno, node.col_offset)
        end = module.position(node.end_lineno, node.end_col_offset)
    return [(module.file, place) for place in _occurrences(text, module.text, start, end)]


def _occurrences(text: str, whole: str, start: int, end: int) -> list[int]:
    places = []
    while (start := whole.find(text, start, end)) >= 0:
        places.append(start)
        start += 1
    return places


@dataclass(frozen=True)
class Mutant:
    """Edits that are one fault."""

    name: str
    says: str
    """What the source does right without the edits, or what the edits change."""
    edits: Sequence[Edit]
    tests: tuple[str, ...]
    """Test files or test ids, the likeliest to notice first."""

    def files(self) -> dict[str, str]:
        """The edited files' new texts; raises `StaleMutantError`, and SyntaxError for code that cannot be read."""
        texts: dict[str, str] = {}
        replacements = sorted((edit.replacement() for edit in self.edits), key=lambda each: (each.file, -each.start))
        for later, earlier in pairwise(replacements):
            if later.file == earlier.file and later.start < earlier.end:
                raise StaleMutantError(f"{later.file}: two edits change the same code")
        for change in replacements:
            text = texts.get(change.file) or (ROOT / change.file).read_text(encoding="utf-8")
            texts[change.file] = text[: change.start] + change.new + text[change.end :]
        return texts


def repairs() -> list[Mutant]:
    """Every repair undone, by name."""
    mutants = []
    for path in sorted(REPAIRS.glob("*.toml")):
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        mutants.append(Mutant(path.stem, read["says"], tuple(map(_edit, read["edit"])), tuple(read["tests"])))
    return mutants


def _edit(row: Mapping[str, str]) -> Edit:
    match row:
        case {"in": definition, "old": old, "new": new}:
            return CodeEdit(definition, old, new)
        case {"in": definition, "old_text": old, "new_text": new}:
            return TextEdit(definition, old, new)
        case {"file": file, "old": old, "new": new} if not file.endswith(".py"):
            return TextEdit(file, old, new)
        case _:
            raise StaleMutantError(f"see tests/mutants/__init__.py for how an edit is written: {row}")
