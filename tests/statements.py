"""`python -m tests.statements`: how many statements each package has, by room. Docstrings do not count."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("translator", "connect")


def statements(source: str) -> int:
    """The statements of a module, at any depth; text that stands alone, such as a docstring, is none."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    return sum(not _is_text(node) for node in nodes)


def by_room(folder: Path) -> Counter[str]:
    """The statements of each room, largest first; modules outside of rooms go by their own names."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        found[path.relative_to(folder).parts[0]] += statements(path.read_text(encoding="utf-8"))
    return Counter(dict(found.most_common()))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


if __name__ == "__main__":
    for package in PACKAGES:
        rooms = by_room(ROOT / package)
        print(f"{rooms.total():6,} {package}")
        for room, count in rooms.items():
            print(f"{count:12,} {room}")
