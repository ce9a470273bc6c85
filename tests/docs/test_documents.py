"""The blocks of JSON, shell and TypeScript in the documents are right, and links lead somewhere.

JSON is validated as what its title names. A command of a shell block is checked by its program: options are parsed,
targets, extras and files exist, and `curl` requests are made to a server with the example agents. TypeScript is an
excerpt of the file that its title names: the examples are compiled and run by their own tests.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from inspect import ismodule
from itertools import groupby, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import typer
from ag_ui.core import ActivityMessage, Event, RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui import compat, connect, translator
from langgraph_agui.connect import acp, serve, testing
from langgraph_agui.connect.cli.commands import app as command_line
from langgraph_agui.connect.serve import agui_app
from pydantic import TypeAdapter

from examples.agent import day_planner
from examples.guide import city_guide
from examples.guide_script import resting
from tests.support.documents import DOCUMENTS, ROOT, Block, blocks
from tests.support.servers.serving import TOKEN, Served, served

LANGUAGES = {"python", "json", "shell", "ts", "tsx", "html", "nginx", "text", "mermaid"}
ERROR = {"error": str, "message": str}
SHAPES: dict[str, TypeAdapter[Any]] = {
    "RunAgentInput": TypeAdapter(RunAgentInput),
    "event": TypeAdapter(Event),
    "activity": TypeAdapter(ActivityMessage),
    "error": TypeAdapter(dict[str, str]),
    "dependencies": TypeAdapter(dict[str, str]),
    "langgraph.json": TypeAdapter(dict[str, Any]),
    "aegra.json": TypeAdapter(dict[str, Any]),
    "settings.json": TypeAdapter(dict[str, Any]),
    "acp.json": TypeAdapter(dict[str, Any]),
}
"""What a block of JSON is, by its title."""
ENDS = ("RUN_FINISHED", "RUN_ERROR", "finish")


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each command of a shell block; a command ends with its line, unless a quote is open, or at `&&`."""
    lines = ""
    for line in block.code.replace("\\\n", " ").splitlines():
        lines += f"{line}\n"
        with suppress(ValueError):
            words = shlex.split(lines, comments=True)
            lines = ""
            for is_separator, command in groupby(words, "&&".__eq__):
                if not is_separator:
                    yield [*command]


SHELL = [(block, words) for block in blocks("shell") for words in commands(block)]
OFFLINE = [pytest.param(words, id=f"{block}-{words[0]}") for block, words in SHELL if words[0] != "curl"]


def test_a_block_names_its_language() -> None:
    assert [str(block) for block in blocks(*{block.language for block in blocks()}, "") if not block.language] == []
    assert {block.language for path in DOCUMENTS for block in blocks(*LANGUAGES)} <= LANGUAGES


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_is_what_its_title_names(block: Block) -> None:
    SHAPES[block.title].validate_json(block.code)


def test_the_archive_of_the_npm_package_is_the_one_that_npm_pack_makes() -> None:
    package = json.loads((ROOT / "clients/typescript/package.json").read_text(encoding="utf-8"))
    named = [json.loads(block.code)["langgraph-agui"] for block in blocks("json") if block.title == "dependencies"]
    assert named == [f"file:{package['name']}-{package['version']}.tgz"]


@pytest.mark.parametrize("block", [each for each in blocks("ts", "tsx", "html", "python") if each.title], ids=str)
def test_a_titled_block_is_an_excerpt_of_its_file(block: Block) -> None:
    def plain(code: str) -> str:
        return "\n".join(line.strip() for line in code.strip().splitlines())

    assert plain(block.code) in plain((ROOT / block.title).read_text(encoding="utf-8"))


@pytest.mark.parametrize("block", blocks("ts", "html"), ids=str)
def test_typescript_has_a_title(block: Block) -> None:
    assert block.title


@pytest.mark.parametrize("words", OFFLINE)
def test_a_command_exists(words: list[str]) -> None:
    program, *rest = words
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    match program:
        case "langgraph-agui":
            typer.main.get_command(command_line).make_context("langgraph-agui", rest, resilient_parsing=False)
            if rest and not rest[0].startswith("-"):
                group: Any = typer.main.get_command(command_line)
                group.commands[rest[0]].make_context(rest[0], rest[1:])
        case "make":
            targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
            assert {each for each in rest if "=" not in each} <= set(targets)
        case "pip":
            wheel = f"./langgraph_agui-{project['version']}-py3-none-any.whl"
            assert not [each for each in rest if "langgraph" in each and "agui" in each and not each.startswith(wheel)]
            for each in rest[1:]:
                extras = re.findall(rf"(?:^\.|^{re.escape(wheel)})\[([\w,]+)\]", each)
                assert {name for group in extras for name in group.split(",")} <= set(project["optional-dependencies"])
        case "langgraph":
            configs = [value for name, value in pairwise(rest) if name == "--config"]
            assert all((ROOT / each).exists() for each in configs)
        case "npm":
            scripts = json.loads((ROOT / "examples/copilotkit/package.json").read_text(encoding="utf-8"))["scripts"]
            assert rest[0] in ("ci", "create", "install", "pack") or rest[1] in scripts
        case "cd":
            assert (ROOT / rest[0]).is_dir()
        case "uvicorn" | "aegra" | "python" | "source":
            pass
        case _:
            raise AssertionError(f"a command that no test knows: {words}")


def requested(words: list[str]) -> tuple[str, str, dict[str, str], str | None]:
    """The method, the URL, the headers and the body of a `curl` command."""
    method, url, headers, body = "", "", {}, None
    rest: Iterator[str] = iter(words[1:])
    for word in rest:
        match word:
            case "-s" | "-N" | "-sN" | "-i":
                pass
            case "-X":
                method = next(rest)
            case "-H":
                name, _, value = next(rest).partition(": ")
                headers[name] = value.replace("$AGUI_TOKEN", TOKEN)
            case "-d":
                body = next(rest)
            case "--json":
                body = next(rest)
                headers["content-type"] = "application/json"
            case _:
                assert word.startswith("http://"), word
                url = word
    return method or ("GET" if body is None else "POST"), url, headers, body


async def answered(server: Served, words: list[str]) -> None:
    """Makes the request of a `curl` command, and reads the answer: a stream up to the end of its first run."""
    method, url, headers, body = requested(words)
    target = urlsplit(url)
    path = f"{target.path}?{target.query}" if target.query else target.path
    async with server.client() as client, client.stream(method, path, headers=headers, content=body) as response:
        assert response.status_code == httpx.codes.OK, (await response.aread()).decode()
        if not response.headers["content-type"].startswith("text/event-stream"):
            json.loads(await response.aread())
            return
        async for line in response.aiter_lines():
            if line.startswith("data: ") and json.loads(line.removeprefix("data: "))["type"] in ENDS:
                return


@pytest.mark.parametrize("page", sorted({block.page for block, words in SHELL if words[0] == "curl"}))
async def test_requests_are_answered(page: str) -> None:
    def agent(graph: Any) -> Any:
        graph.checkpointer = InMemorySaver()
        return graph

    agents = {"planner": agent(day_planner(0)), "guide": agent(city_guide(resting(0)))}
    async with served(agui_app(agents, token=TOKEN)) as server:
        for block, words in SHELL:
            if block.page == page and words[0] == "curl":
                await answered(server, words)


LINKS = sorted(
    {
        (path.relative_to(ROOT).as_posix(), link)
        for path in DOCUMENTS
        for link in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", path.read_text(encoding="utf-8"))
    }
)


def test_each_link_leads_to_a_file() -> None:
    assert [(page, link) for page, link in LINKS if not ((ROOT / page).parent / link).exists()] == []


def test_each_promise_names_its_tests() -> None:
    page, rules = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/promises.md", "CONTRIBUTING.md"))
    promises = re.findall(r"^\| \*\*(.+?)\*\* \|", page, re.MULTILINE)
    tested = re.findall(r"^\| (.+?) \| .*\(tests/", rules, re.MULTILINE)
    assert promises
    assert [each for each in promises if each[0].lower() + each[1:] not in tested] == []


API = {
    "translator": translator,
    "connect": connect,
    "serve": serve,
    "testing": testing,
    "acp": acp,
    "compat": compat,
}


@pytest.mark.parametrize("page", API)
def test_the_reference_has_each_name_of_a_package_once(page: str) -> None:
    """A function with the name of its own module is named by both."""
    module = API[page]
    text = (ROOT / f"docs/api/{page}.md").read_text(encoding="utf-8")
    listed = re.findall(rf"^::: {re.escape(module.__name__)}\.(\S+)$", text, re.MULTILINE)
    beside = {
        "acp": ["middleware.SessionTools"],
        "connect": ["page_tools.PageState", "page_tools.PageTools"],
    }.get(page, [])
    names = [f"{name}.{name}" if _hides_a_module(module, name) else name for name in module.__all__]
    assert sorted(listed) == sorted([*names, *beside])


def _hides_a_module(module: ModuleType, name: str) -> bool:
    found = find_spec(f"{module.__name__}.{name}") if hasattr(module, "__path__") else None
    return found is not None and not ismodule(getattr(module, name))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_document_is_a_page_in_the_navigation(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix().removeprefix("docs/")
    assert path.parent == ROOT or f": {name}\n" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["serve", "watch", "check", "acp", "record", "replay"])
def test_the_page_of_the_command_has_exactly_its_options(command: str) -> None:
    group: Any = typer.main.get_command(command_line)
    options = {
        name
        for each in group.commands[command].params
        for name in (*each.opts, *each.secondary_opts)
        if name.startswith("--")
    }
    page = (ROOT / "docs/reference/command.md").read_text(encoding="utf-8")
    section = page.partition(f"## {command}\n")[2].partition("\n## ")[0]
    rows = "".join(line for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"--[a-z-]+", rows)) == options
