"""What is printed when a server has started: where each agent is, and the two lines of React that talk to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import quote, urlencode


def address(host: str, port: int) -> str:
    """The URL under which a server on this host and port is found from this machine."""
    if host in ("0.0.0.0", "::", ""):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def react(url: str, agent: str, thread_id: str) -> tuple[str, str]:
    """The two lines of a React page that show a chat with an agent; the thread is named, so that a reload finds it."""
    chat = f"<CopilotChat agentId={json.dumps(agent)} threadId={json.dumps(thread_id)} />"
    return (
        'import { CopilotChat, CopilotKitProvider } from "@copilotkit/react-core/v2";',
        f"<CopilotKitProvider runtimeUrl={json.dumps(url)} useSingleEndpoint={{false}}>{chat}</CopilotKitProvider>",
    )


def welcome(
    url: str,
    agents: Sequence[str],
    *,
    origins: Sequence[str],
    threads: str,
    thread_id: str,
    token: str | None,
    has_auth: bool,
    inspector: str | None,
) -> Iterator[str]:
    """The lines of it. `threads`: what becomes of them. `thread_id`: one that the agents take, for the page. `token`:
    that of the app; None: it is in the environment, and is not printed. `has_auth`: whether the project's `auth`
    decides instead of a token. `inspector`: its URL, if there is one."""
    for agent in agents:
        yield f"{agent}  {url}/{agent}"
    yield ""
    if inspector is not None:
        # A browser sends no fragment to any server, so the token is in no log of a server or a proxy.
        page = inspector if token is None else f"{inspector}#{urlencode({'token': token}, quote_via=quote)}"
        yield f"Open {page} in a browser to see the threads live, and to talk to the agents."
    if token is None and not has_auth:
        yield "Lists, changes and deletions of threads need the token of AGUI_TOKEN."
    elif inspector is None and not has_auth:
        yield f"To list, change and delete threads, send the header Authorization: Bearer {token}"
    yield ""
    yield "In a React page (npm install @copilotkit/react-core):"
    for line in react(url, agents[0], thread_id):
        yield f"  {line}"
    yield ""
    yield threads
    if not origins:
        yield "Pages of other origins are kept out; let one in with --origin http://localhost:5173"


def is_own(host: str) -> bool:
    """Whether a host is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_warning(host: str) -> str | None:
    """A warning for a host that is not of this machine alone."""
    return (
        None
        if is_own(host)
        else f"{host}: every client that reaches this port can run these agents and read their threads."
    )
