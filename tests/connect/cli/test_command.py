"""The command itself: its help, what it says where its extra is missing, and what it imports before it is needed."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.servers.processes.command import command, one_line

pytestmark = pytest.mark.early

BLOCKED = """
import sys
sys.modules[{name!r}] = None
sys.modules.update({{each: None for each in sys.modules if each.startswith({name!r} + ".")}})
"""


@pytest.mark.parametrize("name", ["serve", "watch", "acp", "check", "record", "replay"])
def test_help_has_examples_of_options_that_there_are(name: str) -> None:
    said = command(name, "--help").stdout
    options, _, examples = said.partition("Examples:")
    lines = [line.strip() for line in examples.splitlines() if line.strip()]
    assert len(lines) >= 3
    assert all(line.startswith(f"langgraph-agui {name}") for line in lines)
    assert set(re.findall(r"--[a-z]+", examples)) <= set(re.findall(r"--[a-z]+", options))


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_it_says_what_it_can_do(arguments: tuple[str, ...]) -> None:
    ran = command(*arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    names = ["serve", "watch", "acp", "check", "record", "replay"]
    assert re.findall(rf"^  ({'|'.join(names)}) +\w", ran.stdout, re.MULTILINE) == names


def test_it_prints_its_version() -> None:
    ran = command("--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"langgraph-agui {version('langgraph-agui')}\n", "")


@pytest.mark.parametrize("said", ["nope", "--nope", "serve --port x", "watch"])
def test_words_it_can_not_take_are_one_line(said: str) -> None:
    ran = command(*said.split())
    assert one_line(ran)
    assert ran.returncode == 2


def test_no_word_of_its_line_moves_the_terminal() -> None:
    assert "\x1b" not in one_line(command("serve", "\x1b[2Jno:graph"))


@pytest.mark.parametrize("name", ["typer", "rich", "starlette", "uvicorn"])
def test_where_the_extra_is_missing_it_says_which_to_install(name: str) -> None:
    ran = command("serve", "fixtures.served_gated:gated_chat", before=BLOCKED.format(name=name))
    assert one_line(ran) == f"{name} is not installed: pip install 'langgraph-agui[serve]'"
    assert ran.returncode == 1


def test_editors_need_an_extra_of_their_own() -> None:
    ran = command("acp", "fixtures.served_gated:gated_chat", before=BLOCKED.format(name="acp"))
    assert one_line(ran) == "acp is not installed: pip install 'langgraph-agui[acp]'"
    assert ran.returncode == 1


def test_an_env_file_needs_the_extra_too(tmp_path: Path) -> None:
    (tmp_path / "langgraph.json").write_text('{"graphs": {"a": "a:b"}, "env": ".env"}')
    (tmp_path / ".env").write_text("A=1")
    ran = command("serve", "--port", "0", cwd=tmp_path, before=BLOCKED.format(name="dotenv"))
    assert one_line(ran) == "dotenv is not installed: pip install 'langgraph-agui[serve]'"


def test_help_waits_for_no_server() -> None:
    before = (
        "import atexit, sys\n"
        "atexit.register(lambda: print([each for each in ('uvicorn', 'starlette', 'sqlite3') if each in sys.modules]))"
    )
    assert command("--help", before=before).stdout.splitlines()[-1] == "[]"


def test_the_console_script_is_the_command() -> None:
    script = Path(sys.executable).with_name("langgraph-agui")
    ran = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    assert ran.stdout == command("--help").stdout


def test_whoever_reads_no_more_ends_it_without_a_word() -> None:
    shell = f"{sys.executable} -m langgraph_agui.connect.cli serve --help | head -1"
    ran = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)
    assert (len(ran.stdout.splitlines()), ran.stderr) == (1, "")
