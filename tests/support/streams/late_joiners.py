"""Recorded runs, told to those who joined late or missed something in the middle; and whether they were shown anything
that the run, told from its start, never showed.

Here: `Told`, the uncut run and what it showed at any time; `cut`, the same run with a hole. Never here: judgements.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from langgraph_agui.connect.platform.join.partial_messages import PartialMessageFilter
from langgraph_agui.translator import ClientView, Ending, Failed, Finished, Options, PartReader
from langgraph_agui.translator.parts.part import Part

from fixtures.recordings import Recording
from tests.support.streams.translator_runs import TranslatorRun, options_for, view_for

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")


def texts(view: ClientView) -> Iterator[tuple[str, bytes]]:
    """What a client can read: each text by the id of its message, and of its call: which of two calls with one id gets
    another depends on which comes first. Arguments without JSON's spaces and escapes, and where none came (`{}`), none.
    """
    for message in view.messages:
        if message["role"] in ("assistant", "reasoning", "tool"):
            if content := message.get("content"):
                yield message["id"], _bytes(str(content))
            for call in message.get("toolCalls", ()):
                arguments = _plain(call["function"]["arguments"])
                if arguments not in ("", "{}"):
                    yield f"{message['id']} {call['id'].removeprefix(message['id'] + '-')}", _bytes(arguments)


def root_values(parts: Iterable[Part]) -> Part | None:
    """The part that holds what the thread holds after a superstep, if there is one."""
    return next((part for part in parts if part.mode == "values" and not part.ns and not _has_interrupts(part)), None)


def _has_interrupts(part: Part) -> bool:
    return bool(part.interrupts) or (isinstance(part.data, dict) and "__interrupt__" in part.data)


def _plain(arguments: str) -> str:
    """JSON as it is streamed, piece by piece, and as it is stored differ in this."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), arguments.replace(" ", ""))


def _bytes(text: str) -> bytes:
    """A text of which every beginning is one, also within a surrogate pair."""
    return text.encode("utf-16-le", "surrogatepass")


@dataclass(slots=True)
class Told:
    """A recorded run, told from its start."""

    recording: Recording
    options: Options = field(init=False)
    parts: list[Any] = field(init=False)
    """Those of the recording, as they came."""
    read: list[list[Part]] = field(init=False)
    """What a reader of the whole stream makes of each."""
    texts: dict[str, set[bytes]] = field(init=False)
    """Every text there was at any time, by what it is the text of."""

    def __post_init__(self) -> None:
        self.options = options_for("1.0.0", self.recording.about["messages_key"])
        reader = PartReader("platform")
        self.parts = self.recording.parts
        self.read = [reader.read(part) for part in self.parts]
        self.texts = {}
        for view in self._told():
            for name, text in texts(view):
                self.texts.setdefault(name, set()).add(text)

    def _told(self) -> Iterator[ClientView]:
        telling = TranslatorRun(self.options, view_for("1.0.0", (), {}))
        for part in self.parts:
            telling.feed(part)
            yield telling.view
        telling.finish(self.ending)
        yield telling.view

    @property
    def ending(self) -> Ending:
        """How the run ended, as the server tells it beside the stream."""
        if self.recording.ended == "error":
            return Failed(self.recording.about["error"])
        return Finished(state=self.recording.state["values"] or None)

    def values(self, place: int) -> Any:
        """The newest root values among the parts before this place, as a server has them for who asks."""
        found = next(filter(None, map(root_values, reversed(self.read[:place]))), None)
        return {} if found is None else found.data

    def newer(self, place: int) -> int:
        """Where the next root values are told, if any come."""
        return next((at + 1 for at in range(place, len(self.parts)) if root_values(self.read[at])), place)

    def never_showed(self, view: ClientView) -> list[tuple[str, bytes]]:
        """The texts of a view that are not the beginning of anything that was shown for the same message or call.

        Of one that never had this id: of anything. (The server's mode `messages` begins a message under the provider's
        id and goes on with it under LangChain's.)
        """
        return [(name, text) for name, text in texts(view) if not self._showed(name, text)]

    def _showed(self, name: str, text: bytes) -> bool:
        known = self.texts.get(name) or set().union(*self.texts.values())
        return any(each.startswith(text) for each in known)


@dataclass(slots=True)
class Late:
    """What a latecomer was told."""

    telling: TranslatorRun
    start: int
    """The places of the parts that were missed: from here,"""
    stop: int
    """before here."""
    muted: list[int] = field(default_factory=list)
    """The places of parts that were not passed on."""
    wrong: list[tuple[str, bytes]] = field(default_factory=list)
    """What was shown that the run never showed."""


def cut(run: Told, start: int, stop: int, read: int | None = None) -> Late:
    """The run as it is told to who missed the parts from `start` to `stop`, and read the thread's state then; or later,
    at `read`, while the parts since `stop` were on their way."""
    late = Late(TranslatorRun(run.options, view_for("1.0.0", (), {})), start, stop)
    reader, latecomer = PartReader("platform"), PartialMessageFilter()
    for place, part in enumerate(run.parts):
        if place == stop:
            reader.gap()
            latecomer.gap()
            late.telling.feeds.append(late.telling.translator.apply_checkpoint(run.values(read or stop)))
        elif start <= place < stop:
            continue
        for each in reader.read(part):
            if not latecomer.passes(each):
                late.muted.append(place)
            elif late.telling.feed(each):
                late.wrong += run.never_showed(late.telling.view)
    late.telling.finish(run.ending)
    late.wrong += run.never_showed(late.telling.view)
    return late
