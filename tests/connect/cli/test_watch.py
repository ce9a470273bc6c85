"""The command `watch`: what it says of runs on a server and in a file, live; and how it ends."""

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_sdk import get_client

from fixtures.gated import ARGS, FIRST, FOUND, GATED, SECOND
from tests.support.clients.platform.runs import FULL
from tests.support.documents import blocks
from tests.support.servers.gates import Gates, asked
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.processes.command import command, command_line, one_line, serving
from tests.support.servers.processes.forks import environment
from tests.support.servers.processes.server_process import ROOT

_WITHIN = 60.0


class Watching:
    """A command that watches, and what it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process, out: asyncio.StreamReader) -> None:
        self.process = process
        self.said = ""
        self._out = out

    async def says(self, wanted: str, times: int = 1) -> None:
        """Returns when it has said this, so often."""
        await self._until(lambda: self.said.count(wanted) >= times, wanted)

    async def ends_a_run(self) -> None:
        """Returns when it has said all of a run's end."""
        await self._until(
            lambda: re.search(r"(run finished|run error|RUN_FINISHED).*\n", self.said) is not None, "run finished"
        )

    async def is_over(self) -> int:
        """Its exit code, when it has ended and everything it said is there."""
        await self._until(lambda: False, None)
        return await self.process.wait()

    def of(self, label: str) -> list[str]:
        """What stands behind a label, line by line."""
        lines = [line.strip() for line in self.said.splitlines()]
        return [line.partition("  ")[2] for line in lines if line.partition("  ")[0] == label]

    async def _until(self, condition: Callable[[], bool], wanted: str | None) -> None:
        try:
            async with asyncio.timeout(_WITHIN):
                while not condition():
                    more = await self._out.read(4096)
                    if not more:
                        assert wanted is None, f"it did not say {wanted!r}, but: {self.said}"
                        return
                    self.said += more.decode()
        except TimeoutError:
            raise AssertionError(f"it did not say {wanted!r}, but: {self.said}") from None


@asynccontextmanager
async def watching(*arguments: str, terminal: bool = False, **more: str) -> AsyncIterator[Watching]:
    """The command `watch`, for as long as the block lasts. `terminal`: whether it writes to one, or into a pipe."""
    reading, writing = os.openpty() if terminal else os.pipe()
    process = await asyncio.create_subprocess_exec(
        *command_line(),
        "watch",
        *arguments,
        cwd=ROOT,
        env={**environment(more), **({"TERM": "xterm-256color", "COLUMNS": "100"} if terminal else {})},
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE if not terminal else None,
    )
    os.close(writing)
    out = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(out), os.fdopen(reading, "rb", buffering=0)
    )
    try:
        yield Watching(process, out)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
        transport.close()


@pytest.fixture
async def thread(dev_server: str) -> str:
    """A thread of the server, on which nothing has run."""
    async with get_client(url=dev_server) as client:
        made = await client.threads.create()
    return str(made["thread_id"])


async def started(url: str, thread_id: str, graph: str, gate: Gates) -> None:
    """Starts a run on a server."""
    async with get_client(url=url) as client:
        await client.runs.create(thread_id, graph, input=asked("hi"), config=gate.config(), **FULL)


async def test_each_line_of_a_run_is_told_while_it_runs(dev_server: str, thread: str, gate: Gates) -> None:
    gate.hold("first 0", "second 3")
    async with watching(dev_server, thread) as watch:
        await started(dev_server, thread, "gated_chat", gate)
        await watch.says("run started")
        gate.open("first 0")
        await gate.reached("second 3")
        await watch.says(FIRST)
        assert SECOND not in watch.said
        gate.open("*")
        await watch.ends_a_run()
        assert watch.of("text") == [FIRST, SECOND]
        assert re.fullmatch(r"success  \d\d:\d\d:\d\d", watch.of("run finished")[0])


async def test_a_call_is_told_with_its_arguments_and_its_result(dev_server: str, thread: str, gate: Gates) -> None:
    gate.hold("call 0")
    async with watching(dev_server, thread) as watch:
        await started(dev_server, thread, "gated_agent", gate)
        await watch.says("run started")
        gate.open("*")
        await watch.ends_a_run()
        [called] = watch.of("tool call")
        assert called.split(" ", 1)[0] == "look_up"
        assert json.loads(called.split(" ", 1)[1]) == ARGS
        assert watch.of("tool result") == [f"look_up {FOUND}"]


async def test_a_change_of_the_state_is_a_path_and_a_value(dev_server: str, thread: str, gate: Gates) -> None:
    async with watching(dev_server, thread) as watch:
        for times in (1, 2):
            await started(dev_server, thread, "gated_writer", gate)
            await watch.says(f"count = {times}")


async def test_an_interrupt_is_told(dev_server: str, thread: str, gate: Gates) -> None:
    async with watching(dev_server, thread) as watch:
        await started(dev_server, thread, "gated_asking", gate)
        await watch.ends_a_run()
        [told] = watch.of("interrupt")
        assert "really" in told
        assert watch.of("run finished")[0].startswith("interrupt  ")


async def test_a_run_that_fails_is_told_and_the_next_one_too(dev_server: str, thread: str, gate: Gates) -> None:
    async with watching(dev_server, thread) as watch:
        await started(dev_server, thread, "gated_raising", gate)
        await watch.says("run error")
        await started(dev_server, thread, "gated_chat", gate)
        await watch.says("run finished")
        assert len(watch.of("run started")) == 2


async def test_of_an_assistant_every_run_is_told(dev_server: str, thread: str, gate: Gates) -> None:
    gate.hold("first 3")
    async with watching(dev_server, "--assistant", "gated_narrow") as watch:
        await started(dev_server, thread, "gated_narrow", gate)
        await gate.reached("first 3")
        await watch.says("run started")
        gate.open("*")
        await watch.ends_a_run()
        assert watch.of("run started")[0].split()[3] == thread


async def test_as_json_each_line_is_an_event(dev_server: str, thread: str, gate: Gates) -> None:
    gate.hold("first 3")
    async with watching(dev_server, thread, "--json") as watch:
        await started(dev_server, thread, "gated_chat", gate)
        await gate.reached("first 3")
        await watch.says("three ")
        gate.open("*")
        await watch.ends_a_run()
        events: list[dict[str, Any]] = [json.loads(line) for line in watch.said.splitlines()]
        assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")


async def test_on_a_terminal_text_appears_as_it_is_said(dev_server: str, thread: str, gate: Gates) -> None:
    gate.hold("first 3")
    async with watching(dev_server, thread, terminal=True, NO_COLOR="1") as watch:
        await started(dev_server, thread, "gated_chat", gate)
        await gate.reached("first 3")
        await watch.says("One two three ")
        assert "four" not in watch.said
        gate.open("*")
        await watch.ends_a_run()


async def test_a_terminal_is_told_what_is_waited_for(dev_server: str, thread: str, gate: Gates) -> None:
    async with watching(dev_server, thread, terminal=True, NO_COLOR="1") as watch:
        await watch.says(f"for runs of thread '{thread}', which is idle")
        await finished(dev_server, thread, gate)
        await watch.ends_a_run()
    unknown = str(uuid4())
    async with watching(dev_server, unknown, terminal=True, NO_COLOR="1") as watch:
        await watch.says(f"for the first run of thread '{unknown}', which does not exist yet")
    async with watching(dev_server, "--assistant", "gated_chat", terminal=True, NO_COLOR="1") as watch:
        await watch.says("for runs of the assistant 'gated_chat'")


@pytest.mark.parametrize("name", ["nobody", str(UUID(int=7))])
async def test_an_assistant_that_the_server_does_not_have_is_one_line(dev_server: str, name: str) -> None:
    async with watching(dev_server, "--assistant", name) as watch:
        assert await watch.is_over() == 1
        assert watch.process.stderr is not None
        said = (await watch.process.stderr.read()).decode()
        assert said == f"langgraph-agui: {dev_server} has no assistant '{name}'\n"


async def test_a_terminal_has_colours(dev_server: str, thread: str, gate: Gates) -> None:
    await finished(dev_server, thread, gate)
    async with watching(dev_server, thread, terminal=True) as watch:
        await watch.ends_a_run()
        assert "\x1b[" in watch.said


async def test_a_terminal_has_none_where_none_are_wanted(dev_server: str, thread: str, gate: Gates) -> None:
    await finished(dev_server, thread, gate)
    async with watching(dev_server, thread, terminal=True, NO_COLOR="1") as watch:
        await watch.ends_a_run()
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", watch.said)


async def test_a_pipe_has_no_controls(dev_server: str, thread: str, gate: Gates) -> None:
    await finished(dev_server, thread, gate)
    async with watching(dev_server, thread) as watch:
        await watch.ends_a_run()
        assert "\x1b" not in watch.said


async def test_with_debug_the_log_says_how_the_thread_is_watched(dev_server: str, thread: str) -> None:
    async with watching(dev_server, thread, "--debug") as watch, asyncio.timeout(_WITHIN):
        assert watch.process.stderr is not None
        while b"Watches a thread by stream" not in (line := await watch.process.stderr.readline()):
            assert line


async def finished(url: str, thread_id: str, gate: Gates) -> None:
    """Runs the chat to its end."""
    async with get_client(url=url) as client:
        await client.runs.wait(thread_id, "gated_chat", input=asked("hi"), config=gate.config())


async def test_ctrl_c_ends_it_without_a_word(dev_server: str, thread: str, gate: Gates) -> None:
    gate.hold("first 3")
    async with watching(dev_server, thread) as watch:
        await started(dev_server, thread, "gated_chat", gate)
        await gate.reached("first 3")
        await watch.says("run started")
        watch.process.send_signal(signal.SIGINT)
        assert await watch.is_over() == 130
        assert watch.process.stderr is not None
        assert await watch.process.stderr.read() == b""


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["lines", "json"])
async def test_a_server_that_is_lost_is_tried_again_until_it_is_back(
    mortal_server: MortalServer, form: tuple[str, ...]
) -> None:
    """Each message is printed once."""
    async with get_client(url=mortal_server.url) as client:
        thread_id = (await client.threads.create())["thread_id"]
        await client.runs.wait(thread_id, "gated_chat", input=asked("hi"))
    async with watching(mortal_server.url, thread_id, *form) as watch:
        await watch.ends_a_run()
        await mortal_server.kill()
        if not form:
            await watch.says("connection  lost, and tried again (")
        await mortal_server.start()
        if not form:
            await watch.says("connection  back")
            for line in _documented("langgraph-agui watch"):
                assert re.search(line, watch.said), (line, watch.said)
        async with get_client(url=mortal_server.url) as client:
            await client.runs.wait(thread_id, "gated_writer", input=asked("again"))
        await watch.says("count")
        watch.process.send_signal(signal.SIGINT)
        assert await watch.is_over() == 130
        assert watch.process.stderr is not None
        lines = (await watch.process.stderr.read()).decode().splitlines()
        assert [line.split()[0] for line in lines] == ["connection"] * 2 * len(form)
        assert watch.said.count(FIRST) == 1


def _documented(title: str) -> list[str]:
    """The lines of a text in the documents, as patterns: the reason in brackets and the time may be others."""
    (shown,) = (block.code for block in blocks("text") if block.title == title)
    lines = [re.sub(r"\(.+\)", "REASON", line) for line in shown.splitlines()]
    return [re.sub("[0-9:]{8}", "[0-9:]{8}", line).replace("REASON", r"\(.+\)") for line in lines]


async def test_a_thread_in_a_file_is_watched(tmp_path: Path) -> None:
    file = str(tmp_path / "threads.db")
    async with AsyncSqliteSaver.from_conn_string(file) as saver:
        graph = GATED["gated_writer"](saver)
        config: Any = {"configurable": {"thread_id": "daily"}}
        await graph.ainvoke(asked("hi"), config)
        async with watching("fixtures.served_gated:gated_writer", "daily", "--sqlite", file) as watch:
            await watch.says("count = 1")
            await watch.ends_a_run()
            await graph.ainvoke(asked("again"), config)
            await watch.says("count = 2")
            await watch.says(f"message  assistant: {SECOND}")


async def test_a_thread_of_our_own_server_is_watched_and_its_server_may_be_lost(tmp_path: Path) -> None:
    """Each message is printed once, although the server is another one after a while."""
    graphs = [f"{name}=fixtures.served_gated:{name}" for name in ("gated_chat", "gated_writer")]
    served = (*graphs, "--sqlite", str(tmp_path / "threads.db"))
    agent = ("--agent", "gated_chat")
    with serving(*served, by="serve") as server:
        port = server.url.rpartition(":")[2]
        await asyncio.to_thread(server.run, "gated_chat", "hi", "one", "first")
        async with watching(server.url, "one", *agent) as watch:
            await watch.says(f"assistant: {SECOND}")
            await asyncio.to_thread(server.run, "gated_chat", "again", "one", "second")
            await watch.says(f"text  {SECOND}")
            assert watch.of("text") == ["again", FIRST, SECOND]
            server.process.kill()
            await watch.says("connection  lost, and tried again (")
            with serving(*served, "--port", port) as again:
                await watch.says("connection  back")
                await asyncio.to_thread(again.run, "gated_chat", "more", "one", "third")
                await watch.says(f"text  {SECOND}", 2)
                assert watch.of("text") == ["again", FIRST, SECOND, "more", FIRST, SECOND]
                assert watch.said.count(FIRST) == 3, watch.said
                for arguments, said in (
                    (("t",), "has several agents: name one with --agent: "),
                    (("t", "--agent", "nobody"), "can't be watched: "),
                    (("--assistant", "gated_chat"), "serves agents, not assistants: name a thread"),
                    (("t", "--header", "x", *agent), "--header x: expected a name and a value"),
                ):
                    ran = await asyncio.to_thread(command, "watch", again.url, *arguments)
                    assert said in one_line(ran), arguments


REFUSED = {
    "nothing to watch": (["http://127.0.0.1:9"], "watch: expected either a thread or --assistant"),
    "both": (["http://127.0.0.1:9", "t", "--assistant", "a"], "watch: expected either a thread or --assistant"),
    "a graph's assistant": (
        ["fixtures.served_gated:gated_chat", "--assistant", "a"],
        "--assistant is only for a server",
    ),
    "a server's file": (["http://127.0.0.1:9", "t", "--sqlite", "t.db"], "--sqlite is only for your own graphs"),
    "no file": (
        ["fixtures.served_gated:gated_chat", "t", "--sqlite", "nowhere.db"],
        "--sqlite nowhere.db: the file does not exist",
    ),
    "no checkpointer": (
        ["fixtures.served_gated:gated_chat", "t"],
        "fixtures.served_gated:gated_chat has no ",
    ),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_one_clear_line(mistake: str) -> None:
    arguments, said = REFUSED[mistake]
    ran = command("watch", *arguments)
    assert one_line(ran).startswith(said)
    assert ran.returncode == 2
