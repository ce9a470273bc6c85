"""Makes the lines that are printed when a server has started: the URL of each agent, and a React page that uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import quote, urlencode


def address(host: str, port: int) -> str:
    """Returns the URL by which this machine reaches a server on this host and port."""
    if host in ("0.0.0.0", "::", ""):
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def react(url: str, agent: str, thread_id: str) -> tuple[str, str]:
    """Returns the two lines of a React page that shows a chat. They name a thread, so that a reload finds it again."""
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
    metrics: str | None,
) -> Iterator[str]:
    """Yields the lines to print.

    Args:
        url: The URL of the server.
        agents: The names of the agents.
        origins: The allowed origins.
        threads: A sentence that says where threads are kept.
        thread_id: A thread id that the agents accept, for the React page.
        token: The token of the app; None if it is in the environment, and then it is not printed.
        has_auth: Whether the project's `auth` decides what users may do, instead of a token.
        inspector: The URL of the inspector, if it is served.
        metrics: The URL at which Prometheus is answered, if it is.
    """
    for agent in agents:
        yield f"{agent}  {url}/{agent}"
    yield ""
    if inspector is not None:
        # A browser sends the fragment of a URL to no server, so no log of a server or a proxy contains the token.
        page = inspector if token is None else f"{inspector}#{urlencode({'token': token}, quote_via=quote)}"
        yield f"Open {page} in a browser to watch the threads and to chat with the agents."
    if token is None and not has_auth:
        yield "Listing, changing and deleting threads requires the token in AGUI_TOKEN."
    elif inspector is None and not has_auth:
        yield f"To list, change and delete threads, send the header Authorization: Bearer {token}"
    yield ""
    yield "In a React page (npm install @copilotkit/react-core):"
    for line in react(url, agents[0], thread_id):
        yield f"  {line}"
    yield ""
    if metrics is not None:
        yield f"Metrics for Prometheus are at {metrics}"
    yield threads
    if not origins:
        yield "Pages of other origins are refused; allow one with --origin http://localhost:5173"


def is_own(host: str) -> bool:
    """Whether a host is a loopback host, which only this machine can reach."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def host_warning(host: str) -> str | None:
    """Returns a warning if other machines can reach this host, else None."""
    return (
        None
        if is_own(host)
        else f"{host}: every client that reaches this port can run these agents and read their threads."
    )
