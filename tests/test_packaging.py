"""What is shipped: the wheel that is built from this tree, and what its metadata promises."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
HOUSES = ("translator", "connect")
RUNTIME = {
    "ag-ui-protocol",
    "httpx",
    "httpx-sse",
    "jsonpatch",
    "langchain-core",
    "langgraph",
    "langgraph-sdk",
    "orjson",
    "pydantic",
}
PROVIDED = {name.replace("-", "_") for name in RUNTIME} - {"ag_ui_protocol"} | {"ag_ui"}
"""What may be imported for it."""
EXTRA = {
    "connect": {"opentelemetry"},
    "connect/serve": {"starlette", "fastapi"},
    "connect/serve/copilotkit": {"starlette"},
    "connect/cli": {"typer", "rich", "uvicorn", "dotenv"},
}
"""What may be imported in one folder alone: the extras `serve` and `otel` bring it, but FastAPI, which is imported
for types alone: the app is given."""
PACKAGE = ROOT / "connect/_package"
"""What is `langgraph_agui` itself."""
FOLDERS = sorted(
    path.parent.relative_to(ROOT).as_posix() for house in HOUSES for path in (ROOT / house).rglob("__init__.py")
)


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The `[project]` table."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy: setuptools would ship what an earlier build left in `build/`."""
    tree, built = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in (*HOUSES, "tests", "fixtures", "examples", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    ran = subprocess.run([*command, "--wheel-dir", built, tree], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    (made,) = built.glob("*.whl")
    return zipfile.ZipFile(made)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """The wheel's METADATA."""
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def name_of(requirement: str) -> str:
    """The distribution a requirement names."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def absolute_imports(node: ast.AST) -> list[str]:
    """The modules that a statement imports by their absolute name."""
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom(module=str(module), level=0):
            return [module]
        case _:
            return []


def runtime_requirements(metadata: Message) -> list[str]:
    """What is required without an extra."""
    return [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]


def pinned() -> dict[str, str]:
    """The versions `make test-versions` takes as the oldest."""
    lines = (ROOT / "tests/versions/oldest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_the_wheel_holds_one_import_package(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"langgraph_agui"}


@pytest.mark.parametrize("house", HOUSES)
def test_the_wheel_holds_every_module_and_the_typing_mark(wheel: zipfile.ZipFile, house: str) -> None:
    shipped = {name for name in wheel.namelist() if name.startswith(f"langgraph_agui/{house}/")}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / house).rglob("*.py") if path.parent != PACKAGE}
    assert shipped == {f"langgraph_agui/{name}" for name in modules | {f"{house}/py.typed"}}


def test_the_wheel_imports_without_the_tree(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import langgraph_agui.connect, langgraph_agui.translator as t\n"
        "print(t.__file__, all(hasattr(t, name) for name in t.__all__), langgraph_agui.__version__)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == [
        str(tmp_path / "langgraph_agui/translator/__init__.py"),
        "True",
        version("langgraph-agui"),
    ], ran.stderr


def test_the_licence_is_named_and_shipped(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())


def test_the_readme_is_the_description(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).strip() == (ROOT / "README.md").read_text().strip()


def test_python_3_11_is_enough(metadata: Message) -> None:
    assert metadata["Requires-Python"] == ">=3.11"


def test_these_distributions_are_required_and_no_other(metadata: Message) -> None:
    assert {name_of(each) for each in runtime_requirements(metadata)} == RUNTIME


def test_every_folder_of_modules_is_a_package_that_is_shipped() -> None:
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    named = {folder: "langgraph_agui." + folder.replace("/", ".") for folder in FOLDERS}
    assert sorted(shipped) == sorted({**named, "connect/_package": "langgraph_agui"}.values())
    assert {path.parent.relative_to(ROOT).as_posix() for house in HOUSES for path in (ROOT / house).rglob("*.py")} == {
        *FOLDERS
    }


def test_every_floor_is_what_the_oldest_run_installs(project: dict[str, Any]) -> None:
    required = [
        *project["dependencies"],
        *(each for name in ("serve", "otel") for each in project["optional-dependencies"][name]),
    ]
    floors = dict(requirement.split(">=") for requirement in required)
    assert floors == {name: version for name, version in pinned().items() if name in floors}


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_imported_is_required(folder: str) -> None:
    trees = [ast.parse(path.read_text()) for path in (ROOT / folder).glob("*.py")]
    imported = {name.split(".")[0] for tree in trees for node in ast.walk(tree) for name in absolute_imports(node)}
    assert imported - sys.stdlib_module_names <= PROVIDED | EXTRA.get(folder, set())
