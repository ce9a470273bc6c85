"""Connecting to scripted platforms, one after the other, with one server and one client; and judging what was told.

Here: `Desk`, and what must be so of a stream however its connections went. Never here: what goes wrong.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from langgraph_agui.connect import RetryPolicy, connect
from langgraph_agui.translator import ClientView, Options

from tests.support.clients.agui_client import AguiClient, protocol
from tests.support.clients.reader_clients import ReaderClient, assert_holds, played
from tests.support.servers.platforms.fault_server import FaultServer, faulty
from tests.support.servers.platforms.scripted_platform import ScriptedPlatform
from tests.support.streams.translator_runs import left_open

AT_ONCE = RetryPolicy(initial_delay=0)
"""As patient as ever, without the pauses."""


class Desk:
    """A server that is one scripted platform after the other, and a client for it."""

    def __init__(self, server: FaultServer, client: Any) -> None:
        self.server = server
        self.client = client

    def open(self, platform: ScriptedPlatform) -> None:
        """From now on the server is this platform."""
        self.server.answers = platform.answers()
        self.server.requests.clear()

    async def told(
        self, platform: ScriptedPlatform, version: str = "1.0.0", retry: RetryPolicy = AT_ONCE, **how: Any
    ) -> ReaderClient:
        """Connects to the platform's thread, and reads to the end."""
        self.open(platform)
        guest = ReaderClient(version, None)
        options = Options(protocol_version=protocol(version))
        told = connect(self.client, platform.thread_id, **{"options": options, "retry": retry, **how})
        async with aclosing(told):
            await guest.hear(told)
        return guest


@asynccontextmanager
async def desk() -> AsyncIterator[Desk]:
    """The desk, for as long as the block lasts."""
    async with faulty({}) as server, server.client() as client:
        yield Desk(server, client)


def shrunk(events: Sequence[dict[str, Any]]) -> list[str]:
    """The messages that went away, or were shorter after an event than before it."""
    view, before, found = ClientView([], {}), dict[str, int](), list[str]()
    for event in events:
        view.apply(event)
        now = {each["id"]: len(str(each.get("content") or "")) for each in view.messages}
        found += [name for name, length in before.items() if now.get(name, -1) < length]
        before = now
    return found


def assert_whole(agui_client: AguiClient, guest: ReaderClient, platform: ScriptedPlatform) -> None:
    """It is as if nothing had gone wrong: one run, told well, ending with what the thread holds; nothing was shown cut,
    nothing was taken back."""
    assert (guest.kinds.count("RUN_STARTED"), guest.kinds[0], guest.end) == (1, "RUN_STARTED", "success")
    assert guest.cut == []
    assert shrunk(guest.events) == []
    assert left_open(guest.events) == []
    assert_holds(agui_client, guest, platform.values)


def assert_refused(agui_client: AguiClient, guest: ReaderClient, code: str) -> None:
    """The stream ended in this error, after what was open was closed, and the real client takes it as that."""
    assert (guest.kinds[-1], guest.end) == ("RUN_ERROR", code)
    assert guest.kinds.count("RUN_ERROR") == 1
    assert left_open(guest.events) == []
    assert guest.cut == []
    answer = played(agui_client, guest)
    assert answer.warnings == []
    said = str(guest.events)
    assert not any(secret in said for secret in ("secret", "Traceback", "Bearer", "127.0.0.1"))
