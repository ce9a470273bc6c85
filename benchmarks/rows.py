"""What the benchmark says: rows, some with a bound, printed as a table and kept as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """One figure. `bound`: it is wrong if it is larger; None: it is told for comparison."""

    part: str
    name: str
    figure: float
    unit: str
    bound: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the figure is within its bound."""
        return self.bound is None or self.figure <= self.bound


def table(rows: Iterable[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| | | figure | bound | |", "|---|---|--:|--:|---|"]
    for row in rows:
        bound = "" if row.bound is None else _written(row.bound, row.unit)
        mark = "" if row.holds else "**too much** "
        lines.append(f"| {row.part} | {row.name} | {_written(row.figure, row.unit)} | {bound} | {mark}{row.note} |")
    return "\n".join(lines)


def _written(figure: float, unit: str) -> str:
    if unit == "B":
        return f"{figure:,.0f} B" if figure < 100_000 else f"{figure / 1e6:.2f} MB"
    return f"{figure:.2f} {unit}" if figure < 100 else f"{figure:.0f} {unit}"
