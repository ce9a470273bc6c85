"""What a person at a screen sees of an application (`fixtures/applications`): for who started each run, for who came
while it ran, and for who came after it.

Here: `Visit`, which plays an application to the real client, and the lines of a screen. Never here: what is right.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, connect_sse, run_sse
from langgraph_agui.connect.local.backend import Local
from langgraph_agui.connect.local.run.runs import Runs
from langgraph_agui.translator import ClientView, Options

from fixtures.applications.application import Application, Turn
from fixtures.providers.api import answering_by
from fixtures.recordings import part_of, row_of
from tests.support.clients.agui_client import AguiClient, Answer, protocol
from tests.support.clients.chatting import Chat, Event, events_of
from tests.support.streams.translator_runs import view_for
from tests.support.sweeps import Choice, every

Line = tuple[str, str]
"""What it is, and its text."""


@dataclass
class Joined:
    """What somebody saw who came at some time."""

    answer: Answer
    seen: set[Line]


@dataclass
class Visited:
    """One run of a conversation, as it was seen."""

    number: int
    turn: Turn
    begun: ClientView
    """What the client had when it asked."""
    parts: list[Any]
    """The parts of the run, as JSON."""
    events: list[Event]
    watched: list[Line]
    """What who started the run saw at its end."""
    state: Any
    asks: list[Event]
    seen: set[Line]
    """What was seen at any time."""
    joined: list[Joined]
    """What those saw who came in the middle."""
    reloaded: Joined
    frames: bytes
    stored: Any
    """The values of the thread after it."""
    options: Options

    @property
    def parts_of_a_platform(self) -> list[Any]:
        """The parts as a platform has them: in the usual modes, and with no mark of the handler that only runs of this
        process have."""
        parts: list[Any] = []
        for ns, mode, data in self.parts:
            if mode == "messages":
                message, metadata = data
                unmarked = {name: value for name, value in metadata.items() if name != "agui_structured"}
                parts.append((ns, mode, [message, unmarked]))
            elif mode in ("updates", "values", "custom"):
                parts.append((ns, mode, data))
        return parts


@dataclass
class Visit:
    """A person who uses an application, with a client of this version."""

    application: Application
    client: AguiClient
    version: str
    chosen: Choice
    _parts: list[Any] = field(default_factory=list)

    async def visited(self) -> AsyncIterator[Visited]:
        """The runs, one after the other."""
        with answering_by(self.application.replies):
            graph = self.application.build(InMemorySaver())
            self._tap(graph)
            async with Runs() as runs:
                source = Local(graph, runs=runs)
                options = replace(await source.options(), protocol_version=protocol(self.version))
                chat = Chat(self.client, source, version=self.version)
                for number, turn in enumerate(self.application.turns):
                    yield await self._visit(chat, source, options, number, turn)

    def _tap(self, graph: Any) -> None:
        """Keeps a copy of the parts of each run, as JSON at the moment when they came."""
        astream = graph.astream

        async def tapped(*args: Any, **how: Any) -> AsyncIterator[Any]:
            async with aclosing(astream(*args, **how)) as parts:
                async for part in parts:
                    self._parts.append(part_of(row_of(part)))
                    yield part

        graph.astream = tapped

    async def _visit(self, chat: Chat, source: Local, options: Options, number: int, turn: Turn) -> Visited:
        given, intake = self._asked(chat, turn, f"user-{number}")
        begun = view_for(self.version, [dict(each) for each in chat.messages], chat.state)
        self._parts = []
        pieces: list[bytes] = []
        late: list[asyncio.Task[bytes]] = []
        async with aclosing(run_sse(source, chat.input(**given), intake=intake)) as stream:
            async for piece in stream:
                pieces.append(piece)
                if self.chosen is every or len(pieces) in (2, 5, 15, 40):
                    late.append(asyncio.create_task(_all(connect_sse(source, "t", options=options))))
        frames = b"".join(pieces)
        seen = seen_by(begun, pieces)
        events = chat.hears(frames.decode())
        joined = [self._joined(await each) for each in late]
        reloaded = await _all(connect_sse(source, "t", options=options))
        state: Any = await source.graph.aget_state({"configurable": {"thread_id": "t"}})
        return Visited(
            number=number,
            turn=turn,
            begun=begun,
            parts=self._parts,
            events=events,
            watched=lines_of(chat.messages),
            state=chat.state,
            asks=chat.interrupts,
            seen=seen,
            joined=joined,
            reloaded=self._joined(reloaded),
            frames=frames + reloaded,
            stored=state.values,
            options=options,
        )

    def _joined(self, frames: bytes) -> Joined:
        answer = self.client.play(frames=frames, version=self.version, mode="connect")
        assert answer.accepted, (answer.error, answer.warnings)
        return Joined(answer, seen_by(view_for(self.version, [], {}), [frames]))

    def _asked(self, chat: Chat, turn: Turn, message_id: str) -> tuple[dict[str, Any], Intake | None]:
        """Changes what the client holds, as the person does; what else its input has, and what of it is taken."""
        schema = {"type": "object", "properties": {}}
        tools = [{"name": name, "description": name, "parameters": schema} for name in self.application.tools]
        given: dict[str, Any] = {"tools": tools}
        if turn.edits is not None:
            place = [at for at, message in enumerate(chat.messages) if message["role"] == "user"][turn.edits[0]]
            chat.messages = [*chat.messages[:place], {**chat.messages[place], "content": turn.edits[1]}]
        if turn.says is not None:
            chat.messages = [*chat.messages, {"id": message_id, "role": "user", "content": turn.says}]
        for call, content in (turn.returns or {}).items():
            result = {"id": f"of-{call}", "role": "tool", "toolCallId": call, "content": content}
            chat.messages = [*chat.messages, result]
        if turn.fills_in is not None:
            chat.state = {**chat.state, **turn.fills_in}
        if turn.answers:
            given["resume"] = [
                {"interruptId": each["id"], "status": "resolved", "payload": payload}
                for each, payload in zip(chat.interrupts, turn.answers, strict=True)
            ]
        return given, None if turn.fills_in is None else Intake(state=frozenset(turn.fills_in))


async def _all(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in stream])


def seen_by(begun: ClientView, pieces: Iterable[bytes]) -> set[Line]:
    """Every line that a client showed after one of these pieces."""
    view, seen = begun.copy(), set[Line]()
    for piece in pieces:
        for event in events_of(piece.decode()):
            view.apply(event)
        seen.update(lines_of(view.messages))
    return seen


def lines_of(messages: Iterable[Mapping[str, Any]]) -> list[Line]:
    """The lines of a screen."""
    lines: list[Line] = []
    for message in messages:
        inner = "> " if "subagentRunId" in message else ""
        role, content = message["role"], message.get("content") or ""
        text = content if isinstance(content, str) else json.dumps(content)
        if role == "activity":
            lines.append((f"{inner}activity", message["activityType"]))
        elif role == "tool":
            is_failed = "error" in message or (message.get("metadata") or {}).get("status") == "error"
            lines.append((inner + ("failed" if is_failed else "result"), text))
        elif text:
            kind = {"reasoning": "thought"}.get(role, role)
            lines.append((inner + kind, text + _sources(message)))
        functions = [call["function"] for call in message.get("toolCalls") or ()]
        lines += [(f"{inner}call", f"{each['name']} {_plain(each['arguments'])}") for each in functions]
    return lines


def read_lines(table: str) -> list[Line]:
    """The lines of a screen as they are written by hand."""
    rows = [row.strip() for row in table.strip().splitlines() if row.strip()]
    found: list[Line] = []
    for row in rows:
        inner, rest = ("> ", row[2:]) if row.startswith("> ") else ("", row)
        kind, _, text = rest.partition(" ")
        name, _, arguments = text.strip().partition(" ")
        said = f"{name} {_plain(arguments)}" if kind == "call" else text.strip().replace("\\n", "\n")
        found.append((inner + kind, said))
    return found


def is_beginning(line: Line, allowed: Sequence[Line]) -> bool:
    """Whether a line is the beginning of one of these."""
    return any(kind == line[0] and text.startswith(line[1]) for kind, text in allowed)


def _sources(message: Mapping[str, Any]) -> str:
    citations = (message.get("metadata") or {}).get("citations") or ()
    return "".join(f" [{each['url']}]" for each in citations)


def _plain(arguments: str) -> str:
    """Arguments without the spaces between JSON's signs, as far as they have come; empty ones are none."""
    return arguments.replace(", ", ",").replace(": ", ":").removeprefix("{}")
