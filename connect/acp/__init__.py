"""Connects graphs to editors as agents, over the Agent Client Protocol (https://agentclientprotocol.com). No other
folder imports the protocol's SDK.

`AcpAgent` describes an agent: its graph, modes, settings and commands. `serve` connects it to an editor on standard
input and output. The command `langgraph-agui acp` does both for a graph.

`middleware.SessionTools` gives the tools of an editor's MCP servers to an agent that is compiled only once. It needs
LangChain, and is not imported here.

`server` answers the methods of the protocol, and `stdio` reads and writes its messages. `sessions` holds the open
sessions. Each of them is a `conversation`, whose prompts are `turn`s, and which sends requests to its editor by
`client`. `mapping` makes the updates for the editor, without I/O. Only `server` and `client` import the SDK, so that an
agent can be described without it.
"""

from .agent import AcpAgent, Command, Mode, Session, Setting
from .serving import serve

__all__ = ["AcpAgent", "Command", "Mode", "Session", "Setting", "serve"]
