"""An agent on standard input and output: `serve`, for a program of your own. The command `langgraph-agui acp` does the
same. `serve` imports the SDK of the protocol when it is called, not before."""

from __future__ import annotations

from .agent import AcpAgent


async def serve(agent: AcpAgent) -> None:
    """Speaks the protocol on standard input and output, until the editor leaves. What is printed after the call goes
    to standard error. Raises `ModuleNotFoundError` without the extra `acp`."""
    from .server import serve as serve_loaded

    async def loaded() -> AcpAgent:
        return agent

    await serve_loaded(loaded, agent.name)
