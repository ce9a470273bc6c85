"""The vectors of `docs/conformance/vectors.json`: our checks and the real clients agree on each of them.

`Reader` is all that a program needs to run them, in some thirty lines.
"""

import json
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource
from langgraph_agui.connect.cli.check.rules import RULES
from langgraph_agui.connect.testing import check_stream
from langgraph_agui.translator import ClientView

from tests.support.clients.agui_client import VERSIONS, AguiClient
from tests.support.documents import ROOT

FILE = json.loads((ROOT / "docs/conformance/vectors.json").read_text(encoding="utf-8"))
VECTORS: dict[str, dict[str, Any]] = {vector["name"]: vector for vector in FILE["vectors"]}
Event = dict[str, Any]


def frames_of(body: str, last: str = "") -> list[tuple[str, Event]]:
    """The events of a body, each with the id that the client has after it. `last`: the id that it has before."""
    content = f"id: {last}\n\n{body}".encode()
    response = httpx.Response(200, headers={"Content-Type": "text/event-stream"}, content=content)
    return [(frame.id, json.loads(frame.data)) for frame in EventSource(response).iter_sse() if frame.data]


class Reader:
    """A client that reads one connection after the other."""

    def __init__(self, held: dict[str, Any]) -> None:
        self.before = ClientView(held["messages"], held["state"])
        self.events: list[Event] = []
        """Those since the client has last had a view without anything open."""
        self.last = ""

    def read(self, connection: dict[str, Any]) -> None:
        if connection["lastEventId"] is not None:
            assert connection["lastEventId"] == self.last
        frames = frames_of(connection["body"], self.last)
        if self.events and frames and frames[0][1]["type"] == "RUN_STARTED":
            view = self.view()
            self.before, self.events = ClientView(view.messages, view.state), []
        self.events += [event for _, event in frames]
        self.last = frames[-1][0] if frames else self.last

    def view(self) -> ClientView:
        view = ClientView(self.before.messages, self.before.state)
        for event in self.events:
            view.apply(event)
        return view


def end_of(view: ClientView) -> str | None:
    if view.terminal is None:
        return None
    return "error" if view.outcome is None else str(view.outcome["type"])


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "after" in vector])
def test_a_client_ends_as_a_vector_says(name: str, agui_client: AguiClient) -> None:
    vector = VECTORS[name]
    reader = Reader(vector["before"])
    for connection in vector["connections"]:
        reader.read(connection)
    view, after = reader.view(), vector["after"]
    if reader.events:
        check_stream(reader.events, before=reader.before)
    assert (view.messages, view.state) == (after["messages"], after["state"])
    assert (end_of(view), reader.last) == (after["end"], after["lastEventId"])
    for version in VERSIONS:
        if version != VERSIONS[0] and after["end"] == "cancelled":
            continue  # an end that the older client does not know
        held = {"messages": reader.before.messages, "state": reader.before.state}
        answer = agui_client.play(reader.events, version=version, mode="connect", **held)
        assert (answer.error is None or after["end"] == "error", answer.warnings) == (True, []), answer.error
        assert (answer.messages, answer.state) == (after["messages"], after["state"])


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if "refusedAt" in vector])
def test_a_stream_is_refused_where_a_vector_says(name: str, agui_client: AguiClient) -> None:
    vector = VECTORS[name]
    (connection,) = vector["connections"]
    events = [event for _, event in frames_of(connection["body"])]
    with pytest.raises(AssertionError, match=rf"^event {vector['refusedAt']}, "):
        check_stream(events, before=ClientView(vector["before"]["messages"], vector["before"]["state"]))
    for version in VERSIONS:
        assert agui_client.play(events, version=version, messages=vector["before"]["messages"]).error is not None


def test_each_vector_names_rules_of_the_kit() -> None:
    assert FILE["version"] == 1
    assert len(VECTORS) == len(FILE["vectors"])
    assert {rule for vector in VECTORS.values() for rule in vector["rules"]} <= {rule.number for rule in RULES}
