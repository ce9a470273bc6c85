"""Real clients: editors on the protocol's Python and TypeScript SDKs, which start the command as a process of its own,
and every message checked against the published schema. A process that is killed loses nothing of its checkpoints."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from acp.connection import StreamDirection, StreamEvent
from acp.stdio import spawn_agent_process

from tests.support.clients.editors.view import differences, view_of
from tests.support.documents import BLOCKS
from tests.support.servers.processes.server_process import ROOT, python_path

pytestmark = pytest.mark.services

EDITOR = ROOT / "tests/editor"
PUBLISHED = EDITOR / "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"
COMMAND = [sys.executable, "-m", "langgraph_agui.connect.cli", "acp", "examples.editor.agent:agent"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": python_path()}
RESULTS = {
    "initialize": "InitializeResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/prompt": "PromptResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/close": "CloseSessionResponse",
}
PARAMS = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateElicitationRequest",
}


class Checked:
    """Every message of an agent, checked against the published schema when it comes."""

    def __init__(self) -> None:
        self._schema = json.loads(PUBLISHED.read_text())
        self._asked: dict[Any, str] = {}
        self.updates: list[dict[str, Any]] = []

    def __call__(self, event: StreamEvent) -> None:
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "method" in message and "id" in message:
                self._asked[message["id"]] = message["method"]
        elif "method" in message:
            self._check(PARAMS[message["method"]], message["params"])
            if message["method"] == "session/update":
                self.updates.append(message["params"]["update"])
        elif "error" in message:
            self._check("Error", {name: each for name, each in message["error"].items() if each is not None})
        else:
            self._check(RESULTS[self._asked[message["id"]]], message["result"])

    def _check(self, name: str, value: Any) -> None:
        schema = {"$ref": f"#/$defs/{name}", "$defs": self._schema["$defs"]}
        jsonschema_rs.validate(schema, value)


class Client:
    """The client's side of the Python SDK."""

    def __init__(self, option: str = "approve") -> None:
        self._option = option
        self.asked = asyncio.Event()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        self.asked.set()
        if self._option == "never":
            await asyncio.Event().wait()
        return {"outcome": {"outcome": "selected", "optionId": self._option}}

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """The observer has it."""

    def on_connect(self, conn: Any) -> None:
        """Nothing to keep."""


def spawned(client: Client, checked: Checked, database: Path) -> Any:
    how: dict[str, Any] = {"env": ENVIRONMENT, "cwd": ROOT, "use_unstable_protocol": True, "observers": [checked]}
    how["transport_kwargs"] = {"limit": 2**25, "shutdown_timeout": 60.0}  # not 2 s, on a machine with other work
    return spawn_agent_process(client, COMMAND[0], *COMMAND[1:], "--sqlite", str(database), **how)  # type: ignore[arg-type]


async def test_the_python_sdk_lives_a_session_through_every_message_by_the_schema(tmp_path: Path) -> None:
    from acp import RequestError, text_block

    live, loaded, database = Checked(), Checked(), tmp_path / "sessions.db"
    async with spawned(Client(), live, database) as (agent, process):
        await agent.initialize(protocol_version=1)
        session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
        assert (await agent.prompt(session_id=session, prompt=[text_block("go")])).stop_reason == "end_turn"
        await agent.set_session_mode(session_id=session, mode_id="ask")
        await agent.set_config_option(config_id="mode", session_id=session, value="write")
        assert [each.session_id for each in (await agent.list_sessions()).sessions] == [session]
        with pytest.raises(RequestError, match="no such session"):
            await agent.load_session(session_id="unknown", cwd="/", mcp_servers=[])
    assert process.returncode == 0
    async with spawned(Client(), loaded, database) as (agent, _):
        await agent.initialize(protocol_version=1)
        await agent.load_session(session_id=session, cwd=str(tmp_path), mcp_servers=[])
        await agent.close_session(session_id=session)
    assert {each["sessionUpdate"] for each in live.updates} >= {"plan", "agent_thought_chunk", "tool_call"}
    assert differences(view_of(live.updates), view_of(loaded.updates)) == []


async def test_a_process_that_is_killed_has_its_checkpoint_for_the_next(tmp_path: Path) -> None:
    from acp import text_block

    database, client, checked = tmp_path / "sessions.db", Client("never"), Checked()
    async with spawned(client, checked, database) as (agent, process):
        await agent.initialize(protocol_version=1)
        session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
        asking = asyncio.create_task(agent.prompt(session_id=session, prompt=[text_block("go")]))
        await client.asked.wait()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        await asyncio.gather(asking, return_exceptions=True)
    again = Checked()
    async with spawned(Client(), again, database) as (agent, _):
        await agent.initialize(protocol_version=1)
        await agent.load_session(session_id=session, cwd=str(tmp_path), mcp_servers=[])
        assert view_of(again.updates).open == {"write_1"}
        assert (await agent.prompt(session_id=session, prompt=[text_block("Thanks")])).stop_reason == "end_turn"
    assert view_of(again.updates).calls["write_1"]["status"] == "completed"


async def test_the_typescript_sdk_displays_the_same_live_and_loaded(tmp_path: Path) -> None:
    command = ["node", "drive.mjs", str(tmp_path), *COMMAND, "--sqlite", str(tmp_path / "sessions.db")]
    ran = await asyncio.to_thread(
        subprocess.run,
        command,
        cwd=EDITOR,
        env={**ENVIRONMENT, "PYTHONPATH": f"{python_path()}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    live, loaded = found["live"], found["loaded"]
    assert (live["stopReason"], live["protocolVersion"]) == ("end_turn", 1)
    assert (live["exitCode"], loaded["exitCode"]) == (0, 0)
    assert live["asked"] == ["write_1"]
    assert loaded["sessionId"] == live["sessionId"]
    view = view_of(live["updates"])
    assert view.calls["write_1"]["status"] == "completed"
    assert differences(view, view_of(loaded["updates"])) == []


async def test_the_session_of_the_page_is_what_the_example_prints() -> None:
    (shown,) = (each.code for each in BLOCKS if each.title == "examples.editor.client")
    command = [sys.executable, "-m", "examples.editor.client"]
    ran = await asyncio.to_thread(
        subprocess.run, command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=100, check=False
    )
    assert [line.rstrip() for line in ran.stdout.splitlines()] == shown.splitlines(), ran.stderr
