"""An agent on standard input and output: `serve`, for a program of your own; the command `langgraph-agui acp` does the
same. The SDK of the protocol is imported when it is called."""

from __future__ import annotations

from .agent import AcpAgent


async def serve(agent: AcpAgent) -> None:
    """Speaks the protocol on standard input and output, until the editor leaves. What is printed from the call on goes
    to standard error. Raises `ModuleNotFoundError` without the extra `acp`."""
    from .server import serve as answered

    async def loaded() -> AcpAgent:
        return agent

    await answered(loaded, agent.name)
