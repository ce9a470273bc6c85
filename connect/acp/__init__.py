"""Graphs as agents of editors, by the Agent Client Protocol: the one folder that imports its SDK.

`AcpAgent` describes an agent: its graph, modes, settings and commands; `serve` speaks for it on standard input and
output. The command `langgraph-agui acp` does both for a graph.

`SessionTools`, in `middleware`, gives the tools of an editor's MCP servers to an agent that is compiled once; it needs
LangChain, and is imported from there.

`server` answers the methods of the protocol, over the lines of `stdio`. `sessions` has those that are open: each is a
`conversation`, whose prompts are `turn`s, and asks its editor by `client`. What an editor is sent is made in `mapping`,
the pure half. The SDK is imported by `server` and `client` alone, so that an agent can be described without it.
"""

from .agent import AcpAgent, Command, Mode, Session, Setting
from .serving import serve

__all__ = ["AcpAgent", "Command", "Mode", "Session", "Setting", "serve"]
