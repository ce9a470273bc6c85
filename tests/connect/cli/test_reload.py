"""`serve --reload` and `serve --debug`: what a developer has while writing a graph."""

from pathlib import Path
from typing import IO

import httpx

from tests.support.servers.processes.command import asking, command, one_line, serving
from tests.support.servers.serving import events_of

AGENT = """
from langgraph.graph import START, MessagesState, StateGraph


async def node(state):
    return {"messages": [("ai", ANSWER)]}


graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
"""


def write(folder: Path, answer: str) -> None:
    """Writes the agent, at once: the server is never started with a part of it."""
    (folder / "agent.new").write_text(AGENT.replace("ANSWER", answer))
    (folder / "agent.new").replace(folder / "agent.py")


def until(lines: IO[str] | None, start: str) -> str:
    """The next line on stderr that begins so."""
    assert lines is not None
    return next(line for line in lines if line.startswith(start))


def test_a_change_starts_the_server_again_also_after_a_file_that_cannot_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "'one'")
    with serving("./agent.py:graph", "--reload", cwd=tmp_path) as server:
        errors = server.process.stderr
        assert server.run("agent").messages[-1]["content"] == "one"
        write(tmp_path, "'the second'")
        until(errors, "Threads")
        assert server.run("agent", thread_id="u").messages[-1]["content"] == "the second"
        assert httpx.get(f"{server.url}/threads", headers=server.bearer, timeout=30).status_code == 200
        write(tmp_path, "'what is' + not Python")
        refused = "langgraph-agui: ./agent.py:graph can't be imported: SyntaxError: invalid syntax (agent.py, line 6)"
        assert until(errors, "langgraph-agui").startswith(refused)
        write(tmp_path, "'the third of them'")
        until(errors, "Threads")
        assert server.run("agent", thread_id="v").messages[-1]["content"] == "the third of them"
    assert server.process.returncode == 0


def test_only_graphs_of_ones_own_are_reloaded() -> None:
    ran = command("serve", "http://localhost:1", "--reload")
    assert (ran.returncode, one_line(ran)) == (
        2,
        "--reload is only for your own graphs; a server reloads its own graphs",
    )


def test_with_debug_a_client_gets_the_text_of_an_error_and_the_log_has_more(tmp_path: Path) -> None:
    write(tmp_path, "1 / 0")
    told = {}
    for options in ((), ("--debug",)):
        with serving("./agent.py:graph", *options, cwd=tmp_path) as server:
            answer = httpx.post(f"{server.url}/agent", json=asking("hi"), timeout=30)
            told[options] = events_of(answer.text)[-1]
            line = until(server.process.stderr, "INFO langgraph_agui" if options else "ERROR langgraph_agui")
            assert line.partition(": ")[2].startswith("Run started" if options else "The run failed")
    assert {options: (event["code"], event["message"]) for options, event in told.items()} == {
        (): ("ZeroDivisionError", "The run failed."),
        ("--debug",): ("ZeroDivisionError", "division by zero"),
    }
