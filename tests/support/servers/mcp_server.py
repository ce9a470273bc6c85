"""An MCP server on standard input and output, with two tools. `python -m tests.support.servers.mcp_server`."""

import os

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("notes")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def notes(topic: str) -> str:
    """The notes on a topic."""
    return f"{topic}: {os.environ['NOTES']} ({os.getpid()})"


@server.tool()
def where() -> str:
    """The folder it runs in."""
    return os.getcwd()


if __name__ == "__main__":
    server.run()
