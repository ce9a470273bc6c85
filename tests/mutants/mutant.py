"""A mutant: edits that put one fault into the source. Repairs undone are kept as files, one for each repair."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
REPAIRS = Path(__file__).parent / "repairs"


class StaleMutantError(Exception):
    """The text that an edit replaces does not occur exactly once in its file: the source has moved on."""


@dataclass(frozen=True)
class Edit:
    """One replacement in one file."""

    file: str
    """Relative to the root of the repository."""
    old: str
    """Occurs exactly once in the file, or `at` says where it is."""
    new: str
    at: int | None = None
    """The position of `old` in the file, in characters; None: wherever it is."""

    def applied(self, text: str) -> str:
        """The file's text with the replacement; raises `StaleMutantError`."""
        if self.at is not None:
            return text[: self.at] + self.new + text[self.at + len(self.old) :]
        if (count := text.count(self.old)) != 1:
            raise StaleMutantError(f"{self.file}: expected the text once, found it {count} times: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Mutant:
    """Edits that are one fault."""

    name: str
    says: str
    """What the source does right without the edits, or what the edits change."""
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    """Test files or test ids, the likeliest to notice first."""

    def files(self) -> dict[str, str]:
        """The edited files' new texts; raises `StaleMutantError`."""
        texts: dict[str, str] = {}
        for edit in self.edits:
            text = texts.get(edit.file) or (ROOT / edit.file).read_text(encoding="utf-8")
            texts[edit.file] = edit.applied(text)
        return texts


def repairs() -> list[Mutant]:
    """Every repair undone, by name."""
    found = []
    for path in sorted(REPAIRS.glob("*.toml")):
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        edits = tuple(Edit(edit["file"], edit["old"], edit["new"]) for edit in read["edit"])
        found.append(Mutant(path.stem, read["says"], edits, tuple(read["tests"])))
    return found
