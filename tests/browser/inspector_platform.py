"""Serves assistants of a real `langgraph dev` with the inspector: `python -m tests.browser.inspector_platform PORT`.

A user has created one of them.
"""

import asyncio
import signal
import sys

import uvicorn
from langgraph_agui.connect.cli.sources.platforms import platform_agents
from langgraph_agui.connect.serve import Agent, agui_app
from langgraph_sdk import get_client

from tests.support.servers.platforms.dev_server import running_dev_server

NAMES = ("agent_parallel_tools", "review_approved")


async def serve(port: int, url: str) -> None:
    """Serves until a signal comes."""
    client = get_client(url=url)
    await client.assistants.create("agent_parallel_tools", name="Calm", description="Takes its time.")
    agents = await platform_agents(client)
    app = agui_app({name: Agent(source, description=text) for name, (source, text) in agents.items()}, inspector=True)
    await uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")).serve()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again at its end, and all this ends too
    with running_dev_server(NAMES) as found:
        asyncio.run(serve(int(sys.argv[1]), found))
