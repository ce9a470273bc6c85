"""One mutant, put into a copy of the tree: which test notices it?"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from .mutant import Mutant
from .source import ROOT

_COPIED = (
    "translator",
    "connect",
    "tests",
    "clients",
    "fixtures",
    "examples",
    "benchmarks",
    "pyproject.toml",
    "setup.py",
    "docs",
    "mkdocs.yml",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "MANIFEST.in",
    ".gitignore",
    "Makefile",
)
_LEFT_OUT = shutil.ignore_patterns("node_modules", "__pycache__", "dist", ".langgraph_api")
_LIMIT = 1800.0
"""Seconds that the tests of one mutant may take together. Tests that reach it have noticed nothing: one that hangs
fails by its own limit, long before."""
_LIMIT_OF_ONE = 120
"""Seconds that one test may take."""
_FIRST = 5
"""How many test files are run by themselves first."""


@dataclass(frozen=True)
class Verdict:
    """What came of one mutant."""

    mutant: Mutant
    noticed_by: str | None
    """The first test that failed; None: all passed."""
    output: str
    """The end of pytest's output."""


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the tree in which `langgraph_agui` is the copy's own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=_LEFT_OUT)
            else:
                shutil.copy2(source, tree / name)
        for modules in ROOT.glob("*/*/node_modules"):
            (tree / modules.relative_to(ROOT)).symlink_to(modules.resolve())
        package = tree / ".package" / "langgraph_agui"
        package.mkdir(parents=True)
        for name in ("translator", "connect"):
            (package / name).symlink_to(tree / name)
        (package / "__init__.py").symlink_to(tree / "connect/_package/__init__.py")
        yield tree


def tried(mutant: Mutant, tree: Path) -> Verdict:
    """Runs the mutant's tests in the copy, in their order, until one fails; the copy is as before afterwards."""
    texts = mutant.files()
    for file, text in texts.items():
        _write(tree / file, text)
    try:
        # Collecting all tests takes longer than running the likeliest.
        first = _judged(mutant, mutant.tests[:_FIRST], tree)
        rest = mutant.tests[_FIRST:]
        return first if first.noticed_by or not rest else _judged(mutant, rest, tree)
    finally:
        for file in texts:
            _write(tree / file, (ROOT / file).read_text(encoding="utf-8"))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    # Compiled files are known by size and second, in which two versions may agree.
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _judged(mutant: Mutant, tests: Sequence[str], tree: Path) -> Verdict:
    aegra = {"AEGRA_VENV": str(ROOT / ".venv-aegra")}
    environment = {**aegra, **os.environ, "PYTHONPATH": str(tree / ".package")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "not sweep",  # what `make test` and `make test-services` do not notice is not noticed
        "--timeout",
        str(_LIMIT_OF_ONE),
        *tests,
    ]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=_LIMIT, check=False
        )
    except subprocess.TimeoutExpired as expired:
        return Verdict(mutant, None, f"no end within {_LIMIT:.0f} s\n{expired.output or ''}"[-2000:])
    if done.returncode == 0:
        return Verdict(mutant, None, done.stdout[-2000:])
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return Verdict(mutant, failed[1] if failed else f"pytest ended with {done.returncode}", done.stdout[-2000:])
