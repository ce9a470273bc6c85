"""Clients that connect to a thread of a server: what each is told, what it holds meanwhile, and what it ends with.

Here: `ReaderClients`, the comparison of an end with a thread's state, and what must hold after every event. Never here:
runs, and how their pace is set (`gates`).
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from types import TracebackType
from typing import Any, Self

from langgraph_agui.connect import RetryPolicy, connect, watch
from langgraph_agui.connect.testing.expected import comparable, expected
from langgraph_agui.translator import ClientView, Options

from fixtures.gated import ARGS, FAST_WORDS, FIRST, INSIDE, LEFT, RIGHT, SECOND
from tests.support.clients.agui_client import AguiClient, Answer, protocol

Event = dict[str, Any]

_HALF = FAST_WORDS // 2
SPOKEN = (
    *(FIRST, SECOND, INSIDE, LEFT, RIGHT, "Looking.", "really: yes", "surely: yes"),
    *(" ".join(f"w{place}" for place in range(start, start + _HALF)) for start in (0, _HALF)),
)
"""What the gated graphs say, each in one message."""
CALLED = (json.dumps(ARGS), json.dumps(ARGS, separators=(",", ":")))
"""The arguments of their only call, in both forms that are told."""
_SAY = ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "MESSAGES_SNAPSHOT")
_WITHIN = 30.0
_PATIENT = RetryPolicy(first_answer=_WITHIN)
"""Waits as long for a server's first answer as tests wait for all else: on a loaded machine it may take longer than the
default of five seconds."""


class ReaderClientError(AssertionError):
    """A guest was not told in time what it waits for; says what it was told."""


class ReaderClient:
    """One client of this version, connected with nothing in its hands or with a view."""

    def __init__(self, version: str, view: ClientView | None) -> None:
        self.version = version
        self.came_with = view
        self.events: list[Event] = []
        self.view = ClientView([], {}, version=protocol(version)) if view is None else view.copy()
        self.cut: list[str] = []
        """What was shown of a text, or of arguments, that is not the beginning of what was said."""
        self._changed = asyncio.Event()
        self._is_over = False

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def texts(self) -> list[str]:
        """What it holds of assistants' texts."""
        return [str(each.get("content", "")) for each in self.view.messages if each["role"] == "assistant"]

    @property
    def end(self) -> str:
        """How the last run ended: success, interrupt, cancelled, or an error's code."""
        return ending(self.events[-1])

    @property
    def ends(self) -> list[str]:
        """How the runs that it was told ended, in order."""
        return [ending(event) for event in self.events if event["type"] in ("RUN_FINISHED", "RUN_ERROR")]

    @property
    def run_ids(self) -> list[str]:
        """The runs it was told, in order."""
        return [event["runId"] for event in self.events if event["type"] == "RUN_STARTED"]

    async def hear(self, told: AsyncIterator[Any]) -> None:
        """Reads to the end."""
        try:
            async for event in told:
                self.take(event.model_dump(mode="json", by_alias=True, exclude_unset=True))
        finally:
            self._is_over = True
            self._tell()

    def take(self, event: Event) -> None:
        self.events.append(event)
        self.view.apply(event)
        if event["type"] in _SAY:
            told = self.view.message(event["messageId"]) if "messageId" in event else None
            for message in self.view.messages if told is None else [told]:
                self.cut += _cut(message)
        self._tell()

    async def sees(self, wanted: str | Callable[[ClientView], bool]) -> None:
        """Returns when it holds an assistant's text that is exactly this; or when this holds of its view."""
        await self._until(lambda: wanted in self.texts if isinstance(wanted, str) else wanted(self.view), str(wanted))

    async def told(self, kind: str) -> None:
        """Returns when an event of this type was told."""
        await self._until(lambda: kind in self.kinds, kind)

    async def ended(self, runs: int) -> None:
        """Returns when so many runs have ended."""
        await self._until(lambda: len(self.ends) >= runs, f"the end of {runs} runs")

    async def over(self) -> Self:
        """Returns when its stream has ended."""
        await self._until(lambda: self._is_over, "the end")
        return self

    async def _until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(_WITHIN):
                while not condition():
                    if self._is_over:
                        raise ReaderClientError(f"the stream ended without {what!r}: {self.events}")
                    await self._changed.wait()
        except TimeoutError:
            raise ReaderClientError(f"{what!r} did not come: {self.events}") from None

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class ReaderClients:
    """Whoever connects within the block; at its end those who still read are sent home."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "ReaderClients":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        for said in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(said, Exception) and error is None:
                raise said

    def connect(
        self, thread_id: str, version: str = "1.0.0", view: ClientView | None = None, **how: Any
    ) -> ReaderClient:
        """A client that connects now. Options that are not given show every channel."""
        guest = ReaderClient(version, view)
        how = {"options": Options(protocol_version=protocol(version)), "retry": _PATIENT, **how}
        told = connect(self._source, thread_id, view=view, **how)
        self._tasks.append(asyncio.create_task(_heard(guest, told)))
        return guest

    def watch(self, thread_id: str, version: str = "1.0.0", options: Options | None = None) -> ReaderClient:
        """A client that watches from now on. `options`: None shows every channel."""
        guest = ReaderClient(version, None)
        options = options or Options(protocol_version=protocol(version))
        told = watch(self._source, thread_id, options=options, retry=_PATIENT)
        self._tasks.append(asyncio.create_task(_heard(guest, told)))
        return guest


async def _heard(guest: ReaderClient, told: Any) -> None:
    async with contextlib.aclosing(told):
        await guest.hear(told)


def _cut(message: Mapping[str, Any]) -> list[str]:
    """What of a message is not the beginning of what was said, its text or its arguments."""
    if message["role"] != "assistant":
        return []
    text = str(message.get("content", ""))
    called = [str(call["function"]["arguments"]) for call in message.get("toolCalls") or ()]
    cut = [shown for shown in called if not any(whole.startswith(shown) for whole in CALLED)]
    return cut if any(whole.startswith(text) for whole in SPOKEN) else [*cut, text]


def ending(event: Mapping[str, Any]) -> str:
    """How a terminal event says that a run ended: success, interrupt, cancelled, or an error's code."""
    if event["type"] == "RUN_ERROR":
        return str(event.get("code"))
    return str(event.get("outcome", {}).get("type")) if event["type"] == "RUN_FINISHED" else f"no end: {event['type']}"


def played(agui_client: AguiClient, guest: ReaderClient) -> Answer:
    """What the real client of its version says and holds, given the same."""
    held = guest.came_with
    return agui_client.play(
        guest.events,
        version=guest.version,
        mode="connect",
        messages=[] if held is None else held.messages,
        state={} if held is None else held.state,
    )


def values_of(state: Mapping[str, Any]) -> Any:
    """What a client must hold of a state that was asked for with its subgraphs: the values, with the messages behind
    them that subgraphs have said which wait."""
    values = state["values"] or {}
    inner = [task["state"] for task in state.get("tasks") or () if isinstance(task.get("state"), Mapping)]
    waiting = [message for each in inner for message in values_of(each).get("messages", ()) if each.get("next")]
    if not waiting:
        return values
    held = {message["id"] for message in values.get("messages", ())}
    own = [message for message in waiting if message["id"] not in held and message["type"] != "human"]
    return {**values, "messages": [*values.get("messages", ()), *own]}


def assert_holds(agui_client: AguiClient, guest: ReaderClient, values: Any) -> None:
    """The real client took every event without a word, and ends with what the thread holds; after a run that broke off,
    with what it said last besides."""
    options = Options(protocol_version=protocol(guest.version))
    answer = played(agui_client, guest)
    assert (answer.error, answer.warnings) == (None, [])
    saved = comparable(expected(values, options).messages)
    messages = [message for message in answer.messages if message.get("activityType") != "run_error"]
    if guest.end not in ("success", "interrupt"):
        ids = {json.loads(form).get("id") for form in saved if form and isinstance(form, str)}
        messages = [message for message in messages if message["id"] in ids or message["role"] != "assistant"]
    assert comparable(messages) == saved
    assert answer.state == expected(values, options).state
