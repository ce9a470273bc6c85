"""Uses the artefacts as somebody does who has nothing else: `use_wheel` in new virtual environments, `use_archive` in a
new npm project."""

import json
import re
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .artefacts import ROOT, run

SERVERS: Final = ("aiohttp", "fastapi", "flask", "gunicorn", "hypercorn", "starlette", "tornado", "uvicorn")
"""What the translator and `connect` do not need."""
OLDEST: Final = ("--constraint", str(ROOT / "tests/versions/oldest.txt"))
"""pip's arguments for the oldest versions that are admitted."""

_AGENT = """
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel

async def answer(state: MessagesState):
    return {"messages": [await ScriptedChatModel(turns=["Hello there."]).ainvoke(state["messages"])]}

builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
graph = builder.compile(checkpointer=InMemorySaver())
"""
_TRANSLATES = """
import asyncio, langgraph_agui
from agent import graph
from langgraph_agui.connect import connect
from langgraph_agui.translator import translate

async def main():
    config = {"configurable": {"thread_id": "1"}}
    parts = graph.astream({"messages": "Hi!"}, config, stream_mode=["messages", "updates", "values"])
    told = [event.type.value async for event in translate(parts, thread_id="1", run_id="r")]
    again = [event.type.value async for event in connect(graph, "1")]
    print(told[0], told[-1], "TEXT_MESSAGE_CONTENT" in told, again[-1])

print(langgraph_agui.__version__)
asyncio.run(main())
"""
_PAGE = """
import { ThreadAgent } from "langgraph-agui";
import { useThread } from "langgraph-agui/react";

const agent = new ThreadAgent({ url: `${process.argv[2]}/agent`, threadId: "page" });
await agent.send("Hi!");
console.log(JSON.stringify([typeof useThread, ...agent.messages.map((message) => message.content)]));
"""


class Environment:
    """A virtual environment of this Python, with nothing in it but pip. `arguments`: of each `pip install`."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        venv.create(folder, with_pip=True)
        self.folder = folder
        self._arguments = arguments

    def install(self, *requirements: str) -> None:
        """Installs requirements, and checks that what is installed fits together."""
        self.run("python", "-m", "pip", "--disable-pip-version-check", "install", *self._arguments, *requirements)
        self.run("python", "-m", "pip", "check")

    def installed(self) -> dict[str, str]:
        """The version of each distribution, by name."""
        listed = json.loads(self.run("python", "-m", "pip", "list", "--format", "json"))
        return {each["name"].lower(): each["version"] for each in listed}

    def program(self, name: str) -> str:
        """The path of a program."""
        return str(self.folder / "bin" / name)

    def run(self, name: str, *arguments: str) -> str:
        """Runs a program of the environment in the environment's folder."""
        return run(self.program(name), *arguments, within=self.folder)


def use_wheel(wheel: Path, version: str, folder: Path, arguments: Sequence[str]) -> Environment:
    """Installs the wheel without an extra, translates a graph and connects to its thread; then with the extra `serve`,
    in the same environment. Returns the environment. Raises `SystemExit` if anything is not as it should be."""
    environment = Environment(folder, arguments)
    environment.install(str(wheel))
    if servers := sorted(environment.installed().keys() & set(SERVERS)):
        raise SystemExit(f"{wheel.name} installs servers: {', '.join(servers)}")
    (folder / "agent.py").write_text(_AGENT)
    (folder / "translates.py").write_text(_TRANSLATES)
    expect(environment.run("python", "translates.py"), f"{version}\nRUN_STARTED RUN_FINISHED True RUN_FINISHED\n")
    environment.install(f"{wheel}[serve]")
    expect(environment.run("langgraph-agui", "--version"), f"langgraph-agui {version}\n")
    return environment


def use_archive(archive: str, url: str, folder: Path) -> None:
    """Installs the npm package, from a file or a URL, and has a page of it talk to the server at `url`."""
    folder.mkdir()
    (folder / "package.json").write_text('{"type": "module", "private": true}')
    (folder / "page.mjs").write_text(_PAGE)
    wanted = ("@ag-ui/client@1.0.0", "react@19")
    run("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", archive, *wanted, within=folder)
    expect(run("node", "page.mjs", url, within=folder), '["function","Hi!","Hello there."]\n')


@contextmanager
def serving(environment: Environment) -> Iterator[str]:
    """The URL of `langgraph-agui serve` in this environment, which is stopped at the end of the block."""
    command = [environment.program("langgraph-agui"), "serve", "./agent.py:graph", "--port", "0"]
    with subprocess.Popen(command, cwd=environment.folder, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            addresses = (re.search(r"^agent +(http://[\w.:]+)/agent$", line) for line in server.stderr)
            address = next(filter(None, addresses), None)
            if address is None:
                raise SystemExit("serve printed no address")
            yield address[1]
        finally:
            server.terminate()
            server.communicate()
    expect(str(server.returncode), "0")


def expect(text: str, expected: str) -> None:
    """Raises `SystemExit` for a text that is not the expected one."""
    if text != expected:
        raise SystemExit(f"expected {expected!r}, got {text!r} ({sys.version.split()[0]})")
