"""Connects an agent to an editor from a program of your own: `serve`. The command `langgraph-agui acp` does the same.
The protocol's SDK is imported only when `serve` is called."""

from __future__ import annotations

from .agent import AcpAgent


async def serve(agent: AcpAgent) -> None:
    """Speaks the protocol on standard input and output until the editor closes the connection. Anything that is printed
    after this call goes to standard error. Raises `ModuleNotFoundError` if the extra `acp` is not installed."""
    from .server import serve as serve_loaded

    async def load() -> AcpAgent:
        return agent

    await serve_loaded(load, agent.name)
