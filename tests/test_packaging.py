"""What is shipped: the source distribution of this tree, the wheel that is built from that, and what its metadata
promises."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from langgraph_agui import __version__

from tests.release.artefacts import build

pytestmark = pytest.mark.early

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
    "connect": {"opentelemetry", "langchain", "typing_extensions"},  # LangChain makes its states with the latter
    "connect/_package": {"fastapi"},
    "connect/inputs": {"pydantic_core"},  # pydantic's own half, which it brings
    "connect/local": {"psycopg", "psycopg_pool"},
    "connect/local/index": {"psycopg"},
    "connect/local/store/redis": {"redis"},
    "connect/serve": {"starlette", "fastapi"},
    "connect/serve/websocket": {"starlette"},
    "connect/serve/inspector": {"starlette"},
    "connect/serve/npm": {"starlette"},
    "connect/serve/requests": {"starlette"},
    "connect/serve/streams": {"starlette"},
    "connect/acp": {"acp", "langchain", "langchain_mcp_adapters", "mcp"},
    "connect/cli": {"typer"},
    "connect/cli/serving": {"uvicorn", "opentelemetry", "prometheus_client"},
    "connect/cli/sources": {"dotenv", "psycopg", "psycopg_pool"},
    "connect/cli/terminal": {"rich"},
}
"""What may be imported in one folder alone: the extras `serve`, `otel`, `redis` and `postgres` bring it, but FastAPI,
which is imported for types alone: the app is given."""
FILES = (
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "Makefile", "README.md", "mkdocs.yml", "setup.py"),
    *("pyproject.toml", ".gitignore"),
)
LEFT_OUT = ("__pycache__", "node_modules", "dist", "dist-guide", ".langgraph_api", "*.tsbuildinfo", "*.tgz")
"""What builds and runs leave in the folders."""
BASE = """
import re, sys
from importlib.abc import MetaPathFinder
from importlib.metadata import distribution, packages_distributions
from packaging.requirements import Requirement

class OthersAreMissing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        top = name.partition(".")[0]
        if top != "langgraph_agui" and top in modules and not owners(modules[top]) & known:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def owners(names):
    return {re.sub("[-_.]+", "-", name).lower() for name in names}

known, left = set(), set(sys.argv[1].split(","))
while left:
    known |= left
    asked = [Requirement(text) for name in left for text in distribution(name).requires or ()]
    left = owners(each.name for each in asked if not each.marker or each.marker.evaluate({"extra": ""})) - known
modules = packages_distributions()
sys.meta_path.insert(0, OthersAreMissing())
"""
"""Makes a process that has the distributions in its first argument, what these require, and no other."""
RUN = """
import asyncio
import langgraph_agui
from langgraph_agui import translator
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import connect
from langgraph_agui.connect.testing import ScriptedChatModel, check_stream, record

async def answer(state):
    return {"messages": [await ScriptedChatModel(turns=["Hello there."]).ainvoke(state["messages"])]}

async def main():
    builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
    graph = builder.compile(checkpointer=InMemorySaver())
    events = await record(graph, "Hi!", {"configurable": {"thread_id": "1"}})
    check_stream(events)
    again = [event async for event in connect(graph, "1")]
    print(events[-1]["type"], again[-1].type.value)

print(translator.__file__, all(hasattr(translator, name) for name in translator.__all__), langgraph_agui.__version__)
asyncio.run(main())
from langgraph_agui.connect.cli import main
main()
"""
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


def files_below(folder: Path) -> set[str]:
    """The files below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this tree: setuptools would ship what an earlier build left in `build/`."""
    copy = tmp_path_factory.mktemp("tree")
    for name in FILES:
        shutil.copy(ROOT / name, copy)
    for name in (*HOUSES, "benchmarks", "clients", "docs", "examples", "fixtures", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
    return copy


@pytest.fixture(scope="module")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    files, folder = files_below(tree), tmp_path_factory.mktemp("sdist")
    made = build("sdist", tree, folder)
    with tarfile.open(made) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python below 3.11.4 has none
        archive.extractall(folder)
    unpacked = folder / made.name.removesuffix(".tar.gz")
    assert files <= files_below(unpacked)
    return unpacked


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the source distribution."""
    built = tmp_path_factory.mktemp("wheel")
    return zipfile.ZipFile(build("wheel", sdist, built))


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's packages."""
    folder = tmp_path_factory.mktemp("installed")
    wheel.extractall(folder)
    return folder


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
    modules |= {path.relative_to(ROOT).as_posix() for path in (ROOT / house).rglob("built/*")}
    assert shipped == {f"langgraph_agui/{name}" for name in modules | {f"{house}/py.typed"}}


def test_the_wheel_runs_a_graph_without_the_tree_and_with_what_it_requires_alone(
    installed: Path, tmp_path: Path
) -> None:
    script = f"{BASE}\nsys.path.insert(0, {str(installed)!r})\n{RUN}"
    command = [sys.executable, "-c", script, ",".join(RUNTIME)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    module = str(installed / "langgraph_agui/translator/__init__.py")
    ended = ["RUN_FINISHED", "RUN_FINISHED"]
    assert ran.stdout.split() == [module, "True", version("langgraph-agui"), *ended], ran.stderr
    missing = "typer is not installed: pip install 'langgraph-agui[serve]'"
    assert (ran.returncode, ran.stderr.strip()) == (1, f"langgraph-agui: {missing}")


@pytest.mark.services
def test_the_source_distribution_runs_its_tests(sdist: Path, installed: Path) -> None:
    some = ["tests/docs/test_documents.py", "-k", "link or json or excerpt"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *some]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    ran = subprocess.run(command, cwd=sdist, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_metadata_describe_the_package(metadata: Message) -> None:
    assert {"Author", "Keywords", "Summary"} <= set(metadata.keys())
    found = metadata.get_all("Classifier", [])
    assert "Typing :: Typed" in found
    minor = [int(each.rpartition(".")[2]) for each in found if each.startswith("Programming Language :: Python :: 3.")]
    assert min(minor) == 11
    assert not [each for each in found if each.startswith("License ::")]


def test_the_licence_is_named_and_shipped(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())


def test_the_readme_is_the_description_and_its_links_work_on_a_package_index(metadata: Message) -> None:
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    shown, readme = str(metadata.get_payload()), (ROOT / "README.md").read_text()
    assert re.search(r"\]\((?!https://)", readme)
    assert not re.search(r"\]\((?!https://)", shown)
    written = re.sub(r"!\[.*?\]\(.*?\)|\]\(.*?\)|\[", "", readme).split()
    assert re.sub(r"\]\(.*?\)|\[", "", shown).split() == written


def test_there_is_one_version(project: dict[str, Any], metadata: Message) -> None:
    """`/info`, `--version` and the agents of editors say `__version__`."""
    page = ROOT / "clients/typescript"
    npm = [json.loads((page / name).read_text())["version"] for name in ("package.json", "package-lock.json")]
    (newest, *_) = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert {project["version"], metadata["Version"], __version__, newest, *npm} == {project["version"]}


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
        *(
            each
            for name in ("serve", "otel", "metrics", "redis", "postgres")
            for each in project["optional-dependencies"][name]
        ),
    ]
    floors = dict(re.sub(r"\[.*]", "", requirement).split(">=") for requirement in required)
    assert floors == {name: version for name, version in pinned().items() if name in floors}


def test_what_is_imported_is_required() -> None:
    for folder in FOLDERS:
        trees = [ast.parse(path.read_text()) for path in (ROOT / folder).glob("*.py")]
        imported = {name.split(".")[0] for tree in trees for node in ast.walk(tree) for name in absolute_imports(node)}
        assert (folder, imported - sys.stdlib_module_names - PROVIDED - EXTRA.get(folder, set())) == (folder, set())
