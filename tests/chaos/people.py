"""People of the run: `Page`, which posts messages to a thread until each is in it, and `Watcher`, which follows one.

Both are as real pages are: they choose any process, come back when a connection breaks, and keep what they were shown.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
from langgraph_agui.translator import ClientView

from tests.support.servers.serving import posted

LONGEST_ANSWER = 90.0
"""Seconds without a byte, heartbeats included, after which a stream counts as one without an end."""
_PAUSE = 0.2
_UNREAD = ("shutdown", "unreadable_thread", "store_unavailable")
"""Codes of streams that do not show the thread."""
_TORN = (httpx.TransportError, httpx.StreamError)


@dataclass
class Message:
    """A message that was posted. `outcomes`: what became of each post: a status, `torn`, or how its run ended.
    `run_ids`: the run of each post."""

    id: str
    text: str
    outcomes: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)

    @property
    def is_taken(self) -> bool:
        """Whether it must be in the thread: a run of it ended well, or a page was shown it."""
        return not {"success", "shown"}.isdisjoint(self.outcomes)


class Person:
    """What pages and watchers share: the processes, a view, and the mistakes that they have seen."""

    def __init__(self, urls: Sequence[str], agent: str, thread_id: str, chance: random.Random, name: str) -> None:
        self.urls, self.agent, self.thread_id, self.name = urls, agent, thread_id, name
        self.chance = chance
        self.view = ClientView([], {}, version="1.0")
        self.mistakes: list[str] = []
        self.client = httpx.AsyncClient(timeout=httpx.Timeout(LONGEST_ANSWER, connect=5.0), trust_env=False)
        self.last_id: str | None = None

    def is_wrong(self, sentence: str) -> None:
        """Notes a mistake."""
        self.mistakes.append(f"{self.name} on {self.thread_id}: {sentence}")

    def refused(self, response: httpx.Response, seconds: float) -> None:
        """What it thinks of an answer that is no stream, which came after so many seconds. Here, any will do."""

    def torn(self, error: Exception) -> None:
        """What it thinks of a connection that broke. Here, processes are killed."""

    async def events(self, response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
        """The events of an answer, each after it was applied to the view."""
        event_id = None
        async for line in response.aiter_lines():
            if line.startswith("id:"):
                event_id = line[3:].strip()
            elif line.startswith("data:"):
                event = orjson.loads(line[5:])
                if (terminal := self.view.terminal) is not None and event["type"] != "RUN_STARTED":
                    self.is_wrong(f"{event['type']} came after {terminal['type']}")
                self.view.apply(event)
                yield event
            elif not line and event_id is not None:
                self.last_id, event_id = event_id, None


class Page(Person):
    """A page: it posts a message, reads its run, and posts it again until it is in the thread."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.messages: list[Message] = []
        self.last_failure = 0.0
        """When a post failed last, by the monotonic clock. A 409 is no failure: another run is active."""
        self._posts = 0

    async def chat(self, is_over: asyncio.Event, lease: float = 0.0) -> None:
        """Posts messages until it is over, each until it is in the thread. `lease`: that of the processes; for longer
        than this, one message in twenty blocks its process."""
        while not is_over.is_set():
            await self.say(self._text(lease))
            await asyncio.sleep(self.chance.uniform(0, 2))
        while (await self.say("words 3")).outcomes[-1] != "success":  # what a failed run has shown goes with the next
            pass

    async def say(self, text: str) -> Message:
        """Posts one message until it is in the thread. Then it is not posted again, even if its run has failed: a list
        that ends in a question of the thread asks for another answer, in place of all that came after it."""
        message = Message(f"{self.name}-{len(self.messages)}", text)
        self.messages.append(message)
        while not message.is_taken:
            outcome = await self._post(message)
            message.outcomes.append(outcome)
            if outcome not in ("success", "409"):
                self.last_failure = time.monotonic()
            if outcome != "success":
                while not await self._catch_up():  # noqa: ASYNC110
                    await asyncio.sleep(_PAUSE)
                if any(each["id"] == message.id for each in self.view.messages):
                    message.outcomes.append("shown")
        return message

    def _text(self, lease: float) -> str:
        is_blocking = lease and self.chance.random() < 0.05
        blocked = f" block {round(lease * self.chance.uniform(1.2, 2))}" if is_blocking else ""
        return f"words {self.chance.randint(2, 60)}{blocked}"

    async def _post(self, message: Message) -> str:
        self._posts += 1
        run_id = f"{self.name}-run-{self._posts}"
        message.run_ids.append(run_id)
        body = posted(self.thread_id, run_id=run_id)
        body["messages"] = [*self.view.messages, {"id": message.id, "role": "user", "content": message.text}]
        body["state"] = {}
        self.view = ClientView(body["messages"], {}, version="1.0")
        url = self.chance.choice(self.urls)
        end, began = "torn", time.monotonic()
        try:
            async with self.client.stream("POST", f"{url}/{self.agent}", json=body) as response:
                if response.status_code != 200:
                    self.refused(response, time.monotonic() - began)
                    return str(response.status_code)
                async with aclosing(self.events(response)) as events:  # type: ignore[type-var]
                    async for event in events:
                        if event["type"] == "RUN_ERROR":
                            end = str(event.get("code"))
                        elif event["type"] == "RUN_FINISHED":
                            end = str((event.get("outcome") or {}).get("type", "success"))
        except httpx.ReadTimeout:
            self.is_wrong(f"the answer to {run_id} had no end")
        except _TORN as error:
            self.torn(error)
        return end

    async def _catch_up(self) -> bool:
        """Reads the thread as it is, as a page does that comes back. False if that failed."""
        url = self.chance.choice(self.urls)
        is_whole, began = True, time.monotonic()
        self.view = ClientView([], {}, version="1.0")
        try:
            async with self.client.stream(
                "POST", f"{url}/{self.agent}/connect", json={**posted(self.thread_id), "messages": []}
            ) as response:
                if response.status_code == 200:
                    async for event in self.events(response):
                        is_whole = is_whole and event.get("code") not in _UNREAD
                    return is_whole
                self.refused(response, time.monotonic() - began)
        except httpx.ReadTimeout:
            self.is_wrong("the answer to connect had no end")
        except _TORN as error:
            self.torn(error)
        return False


class Watcher(Person):
    """A page that watches a thread, and comes back whenever its connection ends."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.connections = 0

    async def watch(self) -> None:
        """Watches until it is cancelled."""
        while True:
            await self._once(self.chance.choice(self.urls))
            await asyncio.sleep(_PAUSE)

    async def _once(self, url: str) -> None:
        runs: list[str] = []
        if self.last_id is None or self.chance.random() < 0.5:  # another tab, which has no id until it gets one
            self.view, self.last_id = ClientView(None, version="1.0"), None
        headers = {} if self.last_id is None else {"Last-Event-ID": self.last_id}
        asked = {"params": {"agent": self.agent}, "headers": headers}
        began = time.monotonic()
        try:
            async with self.client.stream("GET", f"{url}/watch/{self.thread_id}", **asked) as response:  # type: ignore[arg-type]
                if response.status_code != 200:
                    self.refused(response, time.monotonic() - began)
                    return
                self.connections += 1
                async for event in self.events(response):
                    if event["type"] == "RUN_STARTED":
                        if event["runId"] in runs[:-1] and event["runId"] != runs[-1]:
                            self.is_wrong(f"{event['runId']} came back after {runs[-1]}")
                        runs.append(event["runId"])
            self.stream_ended()
        except httpx.ReadTimeout:
            self.is_wrong("its stream was silent")
        except _TORN as error:
            self.torn(error)

    def stream_ended(self) -> None:
        """What it thinks of a stream that ended. Here, processes end theirs when they stop."""
