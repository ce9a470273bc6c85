"""The command `serve`: what it says when it starts, what it keeps, whom it lets in, and how it ends."""

import asyncio
import re
import signal
import socket
import sqlite3
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_agui.translator import ClientView
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from fixtures.gated import FIRST, SECOND
from tests.support.servers.gates import Gates
from tests.support.servers.processes.command import Serving, asking, command, one_line, serving
from tests.support.servers.serving import WITHIN, events_of, posted, told

pytestmark = pytest.mark.early

AGENT = """
from langgraph.graph import START, MessagesState, StateGraph


class State(MessagesState):
    notes: list


async def node(state):
    return {"messages": [("ai", f"I heard {len(state['messages'])}; {state.get('notes')}")]}


builder = StateGraph(State).add_node("node", node).add_edge(START, "node")
graph = builder.compile()
other = builder.compile(name="other")
"""

GATED = """
import os

from fixtures.gated import GATED

gate = {"port": int(os.environ["GATE"]), "run": ""}
graph = GATED["gated_chat"](None).with_config(configurable={"gate": gate})
"""


DEBATE = """
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel


class Question(TypedDict, total=False):
    topic: str


class State(Question):
    report: str


def says(words, **written):
    async def node(state):
        await ScriptedChatModel(turns=[words]).ainvoke("go on")
        return written

    return node


nodes = [("route", says("Debate it.")), ("argue", says("Tea is warm.")), ("write", says("Tea.", report="It is tea."))]
graph = StateGraph(State, input_schema=Question, output_schema=Question).add_sequence(nodes)
graph = graph.add_edge(START, "route").compile()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an agent."""
    (tmp_path / "planner.py").write_text(AGENT)
    return tmp_path


@asynccontextmanager
async def gated(folder: Path, gate: Gates, *options: str) -> AsyncIterator[Serving]:
    """The gated chat, served as `chat`."""
    (folder / "gated.py").write_text(GATED)
    served = serving("chat=./gated.py:graph", *options, cwd=folder, GATE=str(gate.port))
    server = await asyncio.to_thread(served.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(served.__exit__, None, None, None)


def client_of(server: Serving) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=WITHIN)


def test_the_collector_leaves_what_was_imported_alone(tmp_path: Path) -> None:
    heard = "I heard {len(state['messages'])}; {state.get('notes')}"
    frozen = AGENT.replace(heard, "{__import__('gc').get_freeze_count() > 100_000}")
    (tmp_path / "planner.py").write_text(frozen)
    with serving("planner.py:graph", cwd=tmp_path) as server:
        answer = httpx.post(f"{server.url}/planner", json=posted("t", "hi"), timeout=WITHIN)
    assert '"delta":"True"' in answer.text


@pytest.mark.parametrize(
    ("own", "threshold"), [("", 5_000), ("gc.set_threshold(60_000)", 60_000), ("gc.set_threshold(0)", 0)]
)
def test_the_collector_runs_less_often_unless_the_module_has_set_it_up(
    tmp_path: Path, own: str, threshold: int
) -> None:
    heard = "I heard {len(state['messages'])}; {state.get('notes')}"
    agent = AGENT.replace(heard, "{__import__('gc').get_threshold()[0]}")
    (tmp_path / "planner.py").write_text(f"{agent}\nimport gc\n{own}\n")
    with serving("planner.py:graph", cwd=tmp_path) as server:
        answer = httpx.post(f"{server.url}/planner", json=posted("t", "hi"), timeout=WITHIN)
    assert f'"delta":"{threshold}"' in answer.text


def test_it_says_where_each_agent_is(folder: Path) -> None:
    with serving("planner.py:graph", "second=planner:other", cwd=folder) as server:
        assert server.said[:2] == [f"planner  {server.url}/planner", f"second  {server.url}/second"]


def test_it_says_the_two_lines_of_react(folder: Path) -> None:
    with serving("./planner.py:graph", cwd=folder) as server:
        place = next(place for place, line in enumerate(server.said) if line.startswith("  import "))
        assert f'runtimeUrl="{server.url}"' in server.said[place + 1]
        assert 'agentId="planner"' in server.said[place + 1]


def test_it_has_the_inspector_on_its_own_machine_unless_it_is_turned_off(folder: Path) -> None:
    for option, status in (("--inspector", 200), (None, 200), ("--no-inspector", 405)):
        with serving("planner.py:graph", *filter(None, [option]), cwd=folder) as server:
            assert httpx.get(f"{server.url}/", timeout=WITHIN).status_code == status
            assert any(f"Open {server.url}/#token=" in line for line in server.said) == (status == 200)


def statuses_of(server: Serving, *tokens: str) -> list[int]:
    """What the list of threads is answered with each of these tokens."""
    headers = [{"Authorization": f"Bearer {token}"} for token in tokens]
    return [httpx.get(f"{server.url}/threads", headers=each, timeout=WITHIN).status_code for each in headers]


def test_it_makes_a_token_and_prints_it_in_the_fragment_of_the_pages_address(folder: Path) -> None:
    with serving("planner.py:graph", cwd=folder) as server, serving("planner.py:graph", cwd=folder) as other:
        assert server.token != other.token
        assert len(server.token) >= 43  # 256 bits
        assert statuses_of(server, server.token, other.token) == [200, 403]
    with serving("planner.py:graph", "--no-inspector", cwd=folder) as server:
        [line] = [line for line in server.said if "Authorization: Bearer " in line]
        assert statuses_of(server, line.rpartition(" ")[2]) == [200]


def test_it_takes_the_token_that_it_is_given_and_prints_none_of_the_environment(folder: Path) -> None:
    with serving("planner.py:graph", "--token", "a+b/c=#1", cwd=folder, AGUI_TOKEN="other") as server:
        assert server.token == "a%2Bb%2Fc%3D%231"
        assert statuses_of(server, "a+b/c=#1", "other") == [200, 403]
    (folder / ".env").write_text("AGUI_TOKEN=of-the-project")
    (folder / "langgraph.json").write_text(FILES["langgraph.json"])
    for token, targets, variables in (
        ("of-the-process", ["planner.py:graph"], {"AGUI_TOKEN": "of-the-process"}),
        ("of-the-project", [], {}),
    ):
        with serving(*targets, cwd=folder, **variables) as server:
            assert token not in "".join(server.said)
            assert any(line.endswith("requires the token in AGUI_TOKEN.") for line in server.said)
            assert statuses_of(server, token, "of-another") == [200, 403]


async def test_no_token_is_in_its_log_whatever_is_logged(folder: Path) -> None:
    with serving("planner:graph", "--log-level", "debug", "--debug", cwd=folder) as server:
        assert statuses_of(server, server.token) == [200]
        headers = {**server.bearer, "Cookie": "session=secret"}
        async with connect(f"{server.url}/planner/ws?thread=t".replace("http:", "ws:"), additional_headers=headers):
            pass
        server.process.send_signal(signal.SIGINT)
        assert server.process.stderr is not None
        log = server.process.stderr.read()
    assert "GET /threads" in log
    assert "< sec-websocket-version: 13" in log.lower(), log  # the headers of the socket, without its credentials
    assert server.token not in log
    assert "session=secret" not in log


def test_without_a_file_threads_die_and_it_says_so(folder: Path) -> None:
    with serving("planner:graph", cwd=folder) as server:
        assert server.said[-1].startswith("Threads are kept in memory and are lost when")
        server.run("planner", run_id="1")
    with serving("planner:graph", cwd=folder) as server:
        assert server.run("planner", run_id="2").messages[-1]["content"] == "I heard 1; None"


def test_threads_are_kept_in_a_file(folder: Path) -> None:
    for heard, run_id in ((1, "1"), (3, "2")):
        with serving("planner:graph", "--sqlite", "threads.db", cwd=folder) as server:
            assert server.said[-1] == "Threads are kept in threads.db."
            assert server.run("planner", run_id=run_id).messages[-1]["content"] == f"I heard {heard}; None"


def test_a_client_writes_no_channel(folder: Path) -> None:
    with serving("planner:graph", cwd=folder) as server:
        assert server.run("planner", state={"notes": ["mine"]}).messages[-1]["content"] == "I heard 1; None"


def test_a_client_writes_the_channels_that_are_named(folder: Path) -> None:
    with serving("planner:graph", "--state", "notes", cwd=folder) as server:
        assert server.run("planner", state={"notes": ["mine"]}).messages[-1]["content"] == "I heard 1; ['mine']"


@pytest.mark.parametrize(
    ("given", "streamed", "stays", "state"),
    [
        ([], ["Debate it.", "Tea is warm.", "Tea."], [], {}),
        (
            ["--show", "report", "--hide", "route", "--unsaved", "keep", "--history", "keep"],
            ["Tea is warm.", "Tea."],
            ["Tea is warm.", "Tea."],
            {"report": "It is tea."},
        ),
    ],
    ids=["by default", "chosen"],
)
def test_it_shows_what_it_is_asked_to_show(
    folder: Path, given: list[str], streamed: list[str], stays: list[str], state: dict[str, str]
) -> None:
    (folder / "debate.py").write_text(DEBATE)
    with serving("debate.py:graph", *given, cwd=folder) as server:
        events = events_of(httpx.post(f"{server.url}/debate", json=posted("t", "tea"), timeout=WITHIN).text)
    view, texts = ClientView([], {}), dict[str, str]()
    for event in events:
        view.apply(event)
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    assert list(texts.values()) == streamed
    assert [each["content"] for each in view.messages if each["role"] == "assistant"] == stays
    assert view.state == state


@pytest.mark.parametrize(
    ("given", "let_in"), [([], None), (["--origin", "http://page.example"], "http://page.example")]
)
def test_a_page_is_let_in_when_its_origin_is_named(folder: Path, given: list[str], let_in: str | None) -> None:
    with serving("planner:graph", *given, cwd=folder) as server:
        answer = httpx.get(f"{server.url}/health", headers={"Origin": "http://page.example"}, timeout=WITHIN)
        assert answer.headers.get("Access-Control-Allow-Origin") == let_in


@pytest.mark.parametrize(
    ("given", "host", "status"),
    [
        ([], "page.example", 421),
        ([], "localhost:1234", 200),
        ([], "[::1]:1234", 200),
        (["--origin", "https://page.example"], "page.example", 200),
        (["--origin", "*"], "page.example", 200),
        (["--host", "0.0.0.0"], "page.example", 200),
    ],
)
def test_a_server_of_this_machine_alone_is_asked_under_its_own_names(
    folder: Path, given: list[str], host: str, status: int
) -> None:
    with serving("./planner.py:graph", *given, cwd=folder) as server:
        assert httpx.get(f"{server.url}/info", headers={"Host": host}, timeout=WITHIN).status_code == status


def test_a_host_that_others_reach_is_warned_of(folder: Path) -> None:
    with serving("planner:graph", "--host", "0.0.0.0", cwd=folder) as server:
        assert server.said[0].startswith("0.0.0.0: every client that reaches this port can run these agents")


async def test_a_socket_that_is_refused_is_no_error_in_the_log(folder: Path) -> None:
    with serving("planner:graph", "--log-level", "info", cwd=folder) as server:
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"{server.url}/none/ws?thread=t".replace("http:", "ws:"))
        assert refused.value.response.status_code == 404
        server.process.send_signal(signal.SIGINT)
        assert server.process.stderr is not None
        lines = list(server.process.stderr)
        assert any("Refused with HTTP 404: There is no such agent." in line for line in lines)
        assert not [line for line in lines if line.startswith(("ERROR", "WARNING"))]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_that_is_no_failure(folder: Path, number: signal.Signals) -> None:
    context = "from contextlib import asynccontextmanager\n@asynccontextmanager\nasync def made():\n    from planner"
    body = " import graph\n    yield graph\n    open('left', 'w').close()\n"
    (folder / "made.py").write_text(context + body)
    with serving("made:made", "--grace", "7", cwd=folder) as server:
        server.process.send_signal(number)
        assert server.process.stderr is not None
        line = next(line for line in server.process.stderr if line.startswith("Stop"))
        assert line == "Stopping: open streams have 7 seconds to end. Press Ctrl-C again to end them at once.\n"
        server.process.wait(30)
        assert (server.process.returncode, (folder / "left").exists()) == (0, True)


async def test_a_second_run_on_a_thread_is_answered_by_the_policy(tmp_path: Path, gate: Gates) -> None:
    gate.hold("first 3")
    async with (
        gated(tmp_path, gate, "--busy", "queue") as server,
        client_of(server) as client,
        client.stream("POST", "/chat", json=asking("one", run_id="1")) as first,
    ):
        await gate.reached("first 3")
        async with client.stream("POST", "/chat", json=asking("two", run_id="2"), timeout=30) as second:
            gate.open("*")
            ends = [[event async for event in told(each)][-1]["type"] for each in (first, second)]
        assert (first.status_code, second.status_code, ends) == (200, 200, ["RUN_FINISHED"] * 2)


async def test_the_end_leaves_a_run_its_grace(tmp_path: Path, gate: Gates) -> None:
    gate.hold("first 3")
    async with (
        gated(tmp_path, gate, "--grace", "30") as server,
        client_of(server) as client,
    ):
        async with client.stream("POST", "/chat", json=asking("one")) as running:
            await gate.reached("first 3")
            server.process.send_signal(signal.SIGINT)
            gate.open("*")
            events = [event async for event in told(running)]
        assert "".join(event.get("delta", "") for event in events if "CONTENT" in event["type"]) == FIRST + SECOND
        assert await asyncio.to_thread(server.process.wait, 30) == 0


async def test_when_the_grace_is_over_the_streams_end_properly(tmp_path: Path, gate: Gates) -> None:
    gate.hold("first 3")
    async with (
        gated(tmp_path, gate, "--grace", "0") as server,
        client_of(server) as client,
    ):
        async with client.stream("POST", "/chat", json=asking("one")) as running:
            await gate.reached("first 3")
            server.process.send_signal(signal.SIGINT)
            [*_, last] = [event async for event in told(running)]
        assert last["type"] in ("RUN_FINISHED", "RUN_ERROR")
        assert await asyncio.to_thread(server.process.wait, 30) == 0


def test_the_agents_of_a_server_are_served(dev_server: str) -> None:
    with serving(dev_server) as server:
        assert f"gated_chat  {server.url}/gated_chat" in server.said
        assert server.said[-1] == f"Threads are kept by {dev_server}."
        (thread_id,) = re.findall(r'threadId="(.+?)"', "".join(server.said))  # one that the server takes
        view = server.run("gated_chat", thread_id=thread_id)
        assert [message["content"] for message in view.messages] == ["hi", FIRST, SECOND]
        given = {"threadId": "no-uuid", "runId": "1", "messages": [{"id": "1", "role": "user", "content": "hi"}]}
        answer = httpx.post(f"{server.url}/gated_chat", json=given, timeout=30)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
        assert "UUIDs" in answer.json()["message"]


def test_a_port_in_use_is_one_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = command("serve", "planner:graph", "--port", str(port), cwd=folder)
    assert one_line(ran) == f"port {port} is in use: choose another with --port, or a free one with --port 0"
    assert ran.returncode == 1


def test_without_the_package_that_keeps_threads_it_says_how_to_get_it(folder: Path) -> None:
    before = "import sys; sys.modules['langgraph.checkpoint.sqlite.aio'] = None"
    ran = command("serve", "planner:graph", "--port", "0", "--sqlite", "threads.db", cwd=folder, before=before)
    assert one_line(ran).endswith(": pip install langgraph-checkpoint-sqlite")
    assert ran.returncode == 1


FILES: dict[str, Any] = {
    "broken.py": "x = 1\n\nimport nowhere_to_be_found\n",
    "crooked.py": "def f(:\n",
    "number.py": "def graph():\n    return 42\n",
    "runtime.py": "def graph(config, runtime):\n    pass\n",
    "half.py": "from langgraph.graph import MessagesState, StateGraph\ngraph = StateGraph(MessagesState)\n",
    "langgraph.json": '{"graphs": {"a": "./planner.py:graph"}, "env": ".env"}',
    "list.json": "[]",
    "torn.json": "{",
    "empty.json": '{"dependencies": ["."]}',
    "graph.json": '{"graphs": {"a": 1}}',
    "deep.json": "[" * 100_000,
    "unnamed.json": '{"graphs": {"": "./planner.py:graph"}}',
    "key.json": '{"graphs": {"a": "./planner.py:graph"}, "env": {"A=B": "x"}}',
}

REFUSED: dict[str, tuple[list[str], int, str]] = {
    "no file": (["--config", "other.json"], 2, "other.json: the file does not exist"),
    "no object": (["--config", "list.json"], 2, "list.json: expected a JSON object"),
    "no json": (["--config", "torn.json"], 2, "torn.json: JSONDecodeError: Expecting property name"),
    "no graphs": (["--config", "empty.json"], 2, 'empty.json: expected "graphs": {"name": "./agent.py:graph"}'),
    "no path": (["--config", "graph.json"], 2, "graph.json: the graph 'a': expected "),
    "too deep": (["--config", "deep.json"], 2, "deep.json: RecursionError: "),
    "an empty name": (
        ["--config", "unnamed.json"],
        2,
        "unnamed.json: the graph '': ./planner.py:graph: '' can't be an agent's name",
    ),
    "no key": (["--config", "key.json"], 2, "key.json: \"env\": 'A=B' can't be set: ValueError: illegal environment"),
    "no env file": ([], 2, "the env file "),
    "both": (["planner:graph", "--config", "langgraph.json"], 2, "serve: expected graphs or --config, not both"),
    "no attribute": (["planner:grpah"], 2, "planner:grpah: planner has no 'grpah'; it has builder, graph, other"),
    "no colon": (["planner"], 2, "planner: expected my_app:graph, ./agent.py:graph or name=./agent.py:graph"),
    "no module": (["nowhere:graph"], 2, "nowhere:graph: the module nowhere does not exist"),
    "no such file": (["./nowhere.py:graph"], 2, "./nowhere.py:graph: the file "),
    "javascript": (["./agent.ts:graph"], 2, "./agent.ts:graph: a JavaScript graph runs only on LangGraph's own server"),
    "one name": (["planner:graph", "planner:other"], 2, "2 agents are called 'planner': name them, as in other="),
    "a route": (["health=planner:graph"], 1, "ValueError: agents: 'health' is a route"),
    "no name": (["a b=planner:graph"], 2, "a b=planner:graph: 'a b' can't be an agent's name"),
    "two servers": (["http://a.example", "planner:graph"], 2, "serve: expected either graphs or the URL of one server"),
    "no import": (["broken:graph"], 1, "broken:graph can't be imported: ModuleNotFoundError: No module named "),
    "no syntax": (["./crooked.py:f"], 1, "./crooked.py:f can't be imported: SyntaxError: "),
    "makes none": (["number:graph"], 1, "number:graph: graph returned int: expected a graph"),
    "wants more": (["runtime:graph"], 1, "runtime:graph: graph takes config, runtime: expected at most a config"),
    "not whole": (["half:graph"], 1, "half:graph can't be compiled: ValueError: "),
    "no graph": (["planner:AGENT"], 2, "planner:AGENT: planner has no 'AGENT'"),
    "no channel": (["planner:graph", "--state", "note"], 2, "--state note: no agent has an input channel of"),
    "no field": (["planner:graph", "--context", "tone"], 2, "--context tone: no agent has a field of this name"),
    "nothing to show": (["planner:graph", "--show", "reports"], 2, "--show reports: no agent has a channel of"),
    "no state": (["planner:graph", "--state", "messages"], 2, "--state messages: no agent has an input channel of"),
    "nothing there": (["http://127.0.0.1:9"], 1, "http://127.0.0.1:9 can't be reached: ConnectError"),
    "no database": (["planner:graph", "--sqlite", "planner.py"], 1, "planner.py can't be used: DatabaseError: file is"),
    "no folder": (["planner:graph", "--sqlite", "no/t.db"], 1, "no/t.db can't be used: OperationalError: unable"),
    "no port": (["planner:graph", "--port", "-1"], 2, "Invalid value for '--port'"),
    "no token": (["planner:graph", "--token", " "], 2, "--token: expected a string of visible ASCII characters"),
    "no option": (["planner:graph", "--prot", "1"], 2, "No such option: --prot"),
    "not on a server": (["http://127.0.0.1:9", "--sqlite", "t.db"], 2, "--sqlite is only for your own graphs"),
    "nor continued": (["http://127.0.0.1:9", "--on-lost", "continue"], 2, "--on-lost continue is only for your own"),
    "nor a project": (
        ["http://127.0.0.1:9", "--config", "x.json"],
        2,
        "serve: expected the URL of a server or --config",
    ),
    "nor a database": (["http://127.0.0.1:9", "--postgres", "url"], 2, "--postgres is only for your own graphs"),
    "no shared threads": (["planner:graph", "--redis", "redis://127.0.0.1:9"], 2, "--redis is for several processes"),
    "two places": (["planner:graph", "--sqlite", "t.db", "--postgres", "url"], 2, "serve: expected --sqlite or"),
    "a class": (["planner:MessagesState"], 1, "planner:MessagesState: expected a graph, or a function that makes one"),
}


Ran = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which much is wrong."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, content in {**FILES, "planner.py": AGENT}.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture(scope="module")
def refused(mistakes: Path) -> dict[str, Ran]:
    """What each mistake is answered with."""
    return {
        name: command("serve", "--port", "0", *arguments, cwd=mistakes) for name, (arguments, _, _) in REFUSED.items()
    }


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_one_clear_line(refused: dict[str, Ran], mistake: str) -> None:
    _, exit_code, said = REFUSED[mistake]
    assert one_line(refused[mistake]).startswith(said)
    assert refused[mistake].returncode == exit_code


def test_the_line_says_where_an_import_failed(refused: dict[str, Ran]) -> None:
    assert one_line(refused["no import"]).endswith("(broken.py, line 3)")
    assert one_line(refused["no syntax"]).count("(crooked.py, line 1)") == 1


def test_a_traceback_is_shown_to_who_asks_for_it(mistakes: Path) -> None:
    ran = command("serve", "broken:graph", "--port", "0", "--debug", cwd=mistakes)
    assert "Traceback" in ran.stderr
    assert ran.stderr.splitlines()[-1].startswith("langgraph-agui: broken:graph can't be imported")


def test_files_of_editors_on_windows_are_read(folder: Path) -> None:
    (folder / "town.py").write_text("import os\nfrom planner import builder\nprint(os.environ['TOWN'], flush=True)\n")
    (folder / "langgraph.json").write_text('{"graphs": {"a": "town:builder"}, "env": ".env"}', encoding="utf-8-sig")
    (folder / ".env").write_text("TOWN=Lisbon\r\n", encoding="utf-8-sig")
    ran = command("serve", "--port", "0", "--sqlite", "planner.py", cwd=folder)
    assert ran.stdout == "Lisbon\n", ran.stderr


def test_what_the_environment_has_stays(folder: Path) -> None:
    (folder / "town.py").write_text("import os\nfrom planner import builder\nprint(os.environ['TOWN'], flush=True)\n")
    (folder / "langgraph.json").write_text('{"graphs": {"a": "town:builder"}, "env": {"TOWN": "Lisbon"}}')
    argv = ["serve", "--port", "0", "--sqlite", "planner.py"]
    before = f"import os, sys; os.environ['TOWN'] = 'Porto'; sys.argv[1:] = {argv}"
    assert command(cwd=folder, before=before).stdout == "Porto\n"


def test_a_checkpointer_of_its_own_is_kept(folder: Path) -> None:
    own = (
        "from contextlib import asynccontextmanager\nfrom langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver\n"
        "from planner import builder\n@asynccontextmanager\nasync def graph():\n"
        "    async with AsyncSqliteSaver.from_conn_string('own.db') as saver:\n"
        "        yield builder.compile(checkpointer=saver)\n"
    )
    (folder / "own.py").write_text(own)
    with serving("own:graph", cwd=folder, WEB_CONCURRENCY="2") as server:  # the command is one process
        server.run("own", thread_id="kept")
    with sqlite3.connect(folder / "own.db") as kept:
        [found] = kept.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
    kept.close()
    assert found == ("kept",)
