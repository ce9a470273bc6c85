"""The inspector that is shipped is what its source builds; its parts have tests of their own, in Node."""

import gzip
import subprocess
from importlib.resources import files
from pathlib import Path

from langgraph_agui.connect.serve.inspector import built_files

ROOT = Path(__file__).parents[4]
SOURCE = ROOT / "clients/inspector"
MOST = 150_000
"""Bytes that the first load of the page takes, compressed."""


def in_node(*command: str) -> None:
    ran = subprocess.run(["node", *command], cwd=SOURCE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_shipped_files_are_the_build_of_the_source(tmp_path: Path) -> None:
    in_node("build.mjs", str(tmp_path / "built"))
    made = {path.name: path.read_bytes() for path in (tmp_path / "built").iterdir()}
    folder = files(built_files.__module__).joinpath("built")
    shipped = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert made.keys() == shipped.keys(), "run: npm run build, in clients/inspector"
    assert made == shipped
    page = shipped["index.html"].decode()
    first_load = {"index.html", *(name for name in shipped if f"inspector/{name}" in page)}
    assert len(first_load) == 3
    assert sum(len(gzip.compress(shipped[name])) for name in first_load) < MOST


def test_the_source_has_right_types() -> None:
    """The compiler remembers what it has checked: files that are as they were take half of the time."""
    in_node("node_modules/typescript/bin/tsc", "--incremental", "--tsBuildInfoFile", "node_modules/.types.tsbuildinfo")


def test_the_tests_of_its_parts_pass() -> None:
    in_node("test.mjs")
