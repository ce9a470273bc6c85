"""Serves the gated graphs, each as the agent of its own name.

`python -m tests.support.servers.gated_server PORT DATABASE GATE` is the command.

Threads are in a SQLite file, so that the server may be killed and started again. The points of a run have its thread's
id before them (`t first 3`), so that several runs are held at several places. The agent `flood` tells many megabytes
and keeps none of them; `/inside` says what the process has.
"""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from ag_ui.core import RunAgentInput
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Intake, Local, Runs
from langgraph_agui.connect.inputs import Prepared
from langgraph_agui.connect.serve import Agent, agui_app
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from fixtures.fixture import Checkpointer, Graph
from fixtures.gated import GATED
from fixtures.gates import passing
from tests.support.servers.processes.server_process import ServerProcess, free_port

PIECE = 100_000
PIECES = 400
"""The flood: so many customs of so many bytes each."""


async def _flooding(state: MessagesState) -> dict[str, Any]:
    await passing("before")
    write = get_stream_writer()
    for place in range(PIECES):
        write({"place": place, "piece": "x" * PIECE})
        await asyncio.sleep(0)
    await passing("after")
    return {"messages": [("ai", "That was much.")]}


def _flood(checkpointer: Checkpointer) -> Graph:
    return StateGraph(MessagesState).add_node("flooding", _flooding).add_edge(START, "flooding").compile(checkpointer)


def inside(app: Any, runs: Runs) -> dict[str, int]:
    """What a process has of an app: tasks, open files, bytes of memory, readers, and the capacity that is taken."""
    gc.collect()
    capacity = app.state.service.capacity
    return {
        "tasks": len(asyncio.all_tasks()),
        "files": len(list(Path("/proc/self/fd").iterdir())),
        "memory": resident(),
        "readers": capacity.readers,
        "told": capacity.starting,
        "running": runs.running,
    }


def resident() -> int:
    """Bytes of memory of this process that are in the machine's."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@contextmanager
def gated_server(folder: Path, gate: int) -> Iterator[ServerProcess]:
    """The server, started, with its threads in this folder; it may be dead at the end of the block."""
    port = free_port()
    command = [sys.executable, "-m", __name__, str(port), str(folder / "threads.sqlite"), str(gate)]
    process = ServerProcess(command, folder, {}, port, "/health")
    process.start()
    try:
        yield process
    finally:
        process.kill()


async def _serve(port: int, database: str, gate: int) -> None:
    def prepare(given: RunAgentInput) -> Prepared:
        return Prepared(config={"configurable": {"gate": {"port": gate, "run": given.thread_id}}})

    async with AsyncSqliteSaver.from_conn_string(database) as saver, Runs() as runs:
        graphs = {name: build(saver) for name, build in {**GATED, "flood": _flood}.items()}
        agents = {
            name: Agent(source=Local(graph, agent=name, runs=runs), intake=Intake(prepare=prepare))
            for name, graph in graphs.items()
        }
        app = agui_app(agents)

        async def told(request: Request) -> JSONResponse:
            return JSONResponse(inside(app, runs))

        app.router.routes.insert(0, Route("/inside", told))
        await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", ws="none")).serve()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
