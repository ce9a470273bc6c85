"""A client that chats: it sends what it holds, as the real one does, and holds afterwards what the real one holds.

Here: `Chat`. Never here: tests, graphs, or anything of ours that is tested.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph_agui.connect import run_sse

from tests.support.clients.agui_client import VERSIONS, AguiClient, protocol

Event = dict[str, Any]


class Chat:
    """One client on one thread. `how`: what `run` takes beside the source and the input.

    Each run goes through the real client, which must take it without a word.
    """

    def __init__(
        self, client: AguiClient, source: Any, thread_id: str = "t", *, version: str = VERSIONS[0], **how: Any
    ) -> None:
        self._client = client
        self._source = source
        self._version = version
        self._how = how
        self._runs = 0
        self.thread_id = thread_id
        self.messages: list[Event] = []
        self.state: Any = {}
        self.interrupts: list[Event] = []
        """What the client knows to wait for an answer."""

    async def says(self, text: str, message_id: str | None = None, **given: Any) -> list[Event]:
        """The user says something; the events of the run."""
        self.messages.append({"id": message_id or f"u{self._runs + 1}", "role": "user", "content": text})
        return await self.runs(**given)

    async def answers(self, *payloads: Any, **given: Any) -> list[Event]:
        """The user answers the interrupts, in order; as many as there are payloads. `...` cancels one."""
        entries = [
            {"interruptId": interrupt["id"], "status": "cancelled"}
            if payload is ...
            else {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            for interrupt, payload in zip(self.interrupts, payloads, strict=False)
        ]
        return await self.runs(resume=entries, **given)

    async def runs(self, **given: Any) -> list[Event]:
        """The client sends what it holds; the events of the run."""
        frames = b""
        async with aclosing(run_sse(self._source, self.input(**given), **self._how)) as stream:
            async for piece in stream:
                frames += piece
        return self.hears(frames.decode())

    def input(self, **given: Any) -> RunAgentInput:
        """What the client sends. `given`: fields that are to be otherwise."""
        self._runs += 1
        sent = {
            "threadId": self.thread_id,
            "runId": f"run-{self._runs}",
            "messages": self.messages,
            "state": self.state,
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        if (version := protocol(self._version)) is not None:
            sent["protocolVersion"] = version
        return RunAgentInput.model_validate({**sent, **given})

    def hears(self, frames: str) -> list[Event]:
        """The real client takes a stream on top of what it holds; its events."""
        held = {"messages": [each for each in self.messages if each["role"] != "activity"], "state": self.state}
        answer = self._client.play(frames=frames, version=self._version, **held)
        assert answer.accepted, (answer.error, answer.warnings)
        self.messages, self.state, self.interrupts = answer.messages, answer.state, answer.pending_interrupts
        return events_of(frames)

    @property
    def texts(self) -> list[str]:
        """What was said, in order."""
        return [str(each.get("content")) for each in self.messages if each["role"] in ("user", "assistant")]


def events_of(frames: str) -> list[Event]:
    """The events of a stream's text."""
    return [json.loads(line[len("data: ") :]) for line in frames.split("\n") if line.startswith("data: ")]


def types_of(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """The types of events."""
    return [event["type"] for event in events]
