"""An MCP server with two tools: on standard input and output, or over HTTP on a port.
`python -m tests.support.servers.mcp_server [PORT]`."""

import os
import sys
from typing import Any

from mcp import McpError
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import INVALID_PARAMS, CallToolRequest, ErrorData, ServerResult, ToolAnnotations
from starlette.requests import Request
from starlette.responses import Response

HEADER = "X-Notes"
"""The header by which a client over HTTP says what the notes are; of another it is the variable `NOTES`."""
REFUSED = "nothing"
"""The topic that is refused with an error of the protocol."""

server = FastMCP("notes")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def notes(topic: str, context: Context[Any, Any, Any]) -> str:
    """The notes on a topic."""
    request = context.request_context.request
    text = os.environ["NOTES"] if request is None else request.headers[HEADER]
    return f"{topic}: {text} ({os.getpid()})"


@server.tool()
def where() -> str:
    """The folder it runs in."""
    return os.getcwd()


calls = server._mcp_server.request_handlers[CallToolRequest]


async def checked(request: CallToolRequest) -> ServerResult:
    """Calls a tool, if its arguments are accepted."""
    if (request.params.arguments or {}).get("topic") == REFUSED:
        raise McpError(ErrorData(code=INVALID_PARAMS, message="no such topic"))
    return await calls(request)


server._mcp_server.request_handlers[CallToolRequest] = checked


@server.custom_route("/ready", methods=["GET"])  # type: ignore[untyped-decorator]
async def ready(request: Request) -> Response:
    """Answers as soon as it serves."""
    return Response()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.settings.port = int(sys.argv[1])
        server.run("streamable-http")
    else:
        server.run()
