"""A session as an editor displays it, on a terminal: this starts an agent as an editor does, talks to it on its
standard input and output by the SDK of the protocol, and prints what comes. Each question is answered with its first
option.

`python -m examples.editor.client [TARGET [PROMPT ...]]`, where TARGET is that of `langgraph-agui acp`. At the end the
agent is started again, and the session is loaded: what is printed then is read from its checkpoints.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from acp import spawn_agent_process, text_block

AGENT = "examples.editor.agent:agent"
PROMPTS = ("Look after my notes",)
_WIDTH = 60
"""Characters of a result that are printed."""
_SIGNS = {"completed": "✓", "failed": "✗", "in_progress": "▸", "pending": "·"}


class Terminal:
    """The client of one connection: it prints what it gets."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}
        self._message = ""
        """The message whose text is being printed."""

    def on_connect(self, conn: Any) -> None:
        """Nothing to keep."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """An update of a session."""
        kind, found = update.session_update, update.model_dump(exclude_none=True)
        if kind.endswith("_chunk"):
            self._text(kind.removesuffix("_chunk"), found)
        elif kind in ("tool_call", "tool_call_update"):
            call = self._calls.setdefault(found["tool_call_id"], {})
            call.update(found)
            if "status" in found and found["status"] in ("completed", "failed"):
                result = str(call.get("raw_output", ""))
                result = result if len(result) <= _WIDTH else f"{result[:_WIDTH]}…"
                self._line(f"{_SIGNS[found['status']]} {call['title']} ({call['kind']}): {result}")
        elif kind == "plan":
            self._line("plan: " + ", ".join(f"{_SIGNS[each['status']]} {each['content']}" for each in found["entries"]))

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        """A question: its first option is chosen."""
        self._line(f"? {tool_call.title}")
        for each in tool_call.content or ():
            if each.type == "diff":
                for text in each.new_text.splitlines():
                    print(f"    + {text}")
        print(f"    [{options[0].name}] " + " ".join(f"({each.name})" for each in options[1:]))
        return {"outcome": {"outcome": "selected", "optionId": options[0].option_id}}

    def _text(self, kind: str, chunk: dict[str, Any]) -> None:
        if chunk["message_id"] != self._message:
            self.end_message()
            print({"user_message": "> ", "agent_thought": "(thinks) "}.get(kind, ""), end="")
            self._message = chunk["message_id"]
        print(chunk["content"].get("text", ""), end="", flush=True)

    def _line(self, text: str) -> None:
        self.end_message()
        print(f"  {text.rstrip(': ')}")

    def end_message(self) -> None:
        """What comes is printed on a line of its own."""
        if self._message:
            print()
        self._message = ""


async def main(target: str = AGENT, *prompts: str) -> None:
    """One session, in a folder of its own, and then the same session in another process."""
    with tempfile.TemporaryDirectory() as folder:
        line = ["acp", target, "--sqlite", str(Path(folder) / "sessions.db")]
        command = [sys.executable, "-m", "langgraph_agui.connect.cli", *line]
        work = Path(folder) / "work"
        work.mkdir()

        def started(terminal: Terminal) -> Any:
            return spawn_agent_process(terminal, *command, env=dict(os.environ))  # type: ignore[arg-type]

        terminal = Terminal()
        async with started(terminal) as (agent, _):
            initialized = await agent.initialize(protocol_version=1)
            print(f"{initialized.agent_info.title}, version {initialized.protocol_version} of the protocol")
            session = (await agent.new_session(cwd=str(work), mcp_servers=[])).session_id
            for prompt in prompts or PROMPTS:
                print(f"> {prompt}")
                ended = await agent.prompt(session_id=session, prompt=[text_block(prompt)])
                terminal.end_message()
                print(f"  ({ended.stop_reason})")
        print("\nThe editor is closed, and opened again:")
        terminal = Terminal()
        async with started(terminal) as (agent, _):
            await agent.initialize(protocol_version=1)
            for each in (await agent.list_sessions(cwd=str(work))).sessions:
                print(f"  {each.title}")
            await agent.load_session(session_id=session, cwd=str(work), mcp_servers=[])
            terminal.end_message()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
