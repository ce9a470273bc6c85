"""The state machine: parts in, events out.

States and legal moves

    new --start()--> live --feed(part)*--> live --finish(ending)--> over

`apply_checkpoint` is legal where `feed` is; what only reads (`values`, `interrupted`, `not_stored`, `view`) always. Any
other order of calls raises `TranslatorMisuseError` and changes nothing. `feed` raises `UnreadablePartError` for a part
that it cannot read, and changes nothing then; nothing that is *in* a part raises. After a platform's `error` part the
run has failed, and later parts are ignored.

How a part becomes events

1. `parts/reader.py` reads it, in any shape, and knows where the parts come from. `feed` finds the procedure for its
   mode (`procedures.py`). A chunk that only continues a text or the arguments of a tool call takes a shorter way
   (`MessageStream.next_delta`), the same for objects and for JSON, which applies its one, short event itself. Before
   the start and after the end no message is open: none takes it.
2. Procedures call handlers of three rooms: `messages` (what streams), `run` (subagents, steps, interrupts, the ending)
   and `checkpoint` (what is stored). The rooms do not know each other. What they share is the `Ledger`, which has every
   fact about a message of the run, and the view, which has what the client has and what is open there.
3. Procedures and handlers give events and emit none. Each event is applied to the view before the next one is made
   (`_applied`), so that a handler always sees the client as it is.
4. Where a handler raises, which no known value causes, the events made before count, the loss is counted and logged,
   and the stream continues (`losses.py`). Where an event cannot be framed or applied, that event alone is lost, with
   what the client would refuse without it. The start and the one terminal event always come.
5. `translate.py` makes bytes of the events (`wire/sse.py`), or models. An event that is too large for a frame has been
   split before it was applied (`wire/frame_limit.py`).

Where it is decided

==================================================  ==================================================
whether a stream that stopped shows its run's end   `parts/reader.py`, "Where parts come from"
what of a model call is visible                     `messages/visibility.py`
whether a chunk is emitted, a late one too          `messages/stream.py`, rules 1, 5 and 6
why something was not emitted                       `losses.py`, `Reason`; `Losses.drop` logs it at DEBUG
under which id a message is emitted                 `messages/model_calls.py`, rule 4
under which id a tool call is, and what answers it  `calls.py`; the result's own id is the stored one, and that of
                                                    a tool which the provider runs is made in `wire/ids.py`
whether the client has a stored message             `checkpoint/messages.py`
which values are older, and wait or are ignored     `checkpoint/values.py`
what begins a step, and what ends it                `run/steps.py`
what a late joiner is missing                       `client/catch_up.py`; messages: `client/missing_messages.py`;
                                                    what is open: `client/open_items.py`
how the run ends                                    `procedures.py`, and `run/ending.py`
==================================================  ==================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec

from .client.view import ClientView
from .endings import Ending, Failed, Finished, Lost, as_ending
from .errors import TranslatorMisuseError
from .jsonable.to_json import WARN, to_json, to_text
from .losses import Losses, Reason
from .options import PROTOCOL_VERSION, Options
from .parts.part import IGNORED_MODES, Namespace, Part
from .parts.reader import PartReader, Source, message_payload, part_of
from .procedures import Procedures
from .run.ending import counted
from .run.error_detail import NEUTRAL
from .wire import events
from .wire.events import Event
from .wire.frame_limit import framed
from .wire.older_clients import for_client_version

_Given = ParamSpec("_Given")


def _logging_values(
    translate: Callable[Concatenate[Translator, _Given], list[Event]],
) -> Callable[Concatenate[Translator, _Given], list[Event]]:
    """A method of the translator during which a value that cannot be read is logged as one of its run."""

    @wraps(translate)
    def logging_values(self: Translator, /, *args: _Given.args, **given: _Given.kwargs) -> list[Event]:
        before = WARN.set(self._losses.warn)
        try:
            return translate(self, *args, **given)
        finally:
            WARN.reset(before)

    return logging_values


class Translator:
    """Translates one run's stream. Deterministic: the same parts, ids, options and view give the same events.

    `thread_id`, `run_id`: as `RUN_STARTED` has them. `view`: what the client has when the stream begins; None:
    unknown. `parent_run_id`: the run that this one continues, if there is one.
    `source`: where the parts come from: `"local"`, a graph of this process, or `"platform"`, a LangGraph server, by the
    SDK, a `RemoteGraph` or a recording; None: as far as their shapes show it. It decides what `finish` makes of a
    stream that stops without an ending, and whether text that may be structured output is held.
    `saving_nodes`: those of earlier runs of the same graph.

    Raises `ValueError` if the view is of a client that declares a protocol version and the options are for one that
    declares none.
    """

    view: ClientView
    """What the client has after the events emitted so far."""

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        options: Options | None = None,
        view: ClientView | None = None,
        *,
        parent_run_id: str | None = None,
        source: Source | None = None,
        saving_nodes: Iterable[str] = (),
    ) -> None:
        self._options = options = options or Options()
        if view is not None and view.version is not None and options.protocol_version is None:
            raise ValueError(
                "the options are for a client that declares no protocol version, and the view is of one that declares "
                f"{view.version!r}: give both the same, as `ClientView(..., version=options.protocol_version)`"
            )
        self._thread_id = to_text(str(thread_id))
        self._run_id = to_text(str(run_id))
        self._parent_run_id = None if parent_run_id is None else to_text(str(parent_run_id))
        self._phase: Literal["new", "live", "over"] = "new"
        self.view = view = ClientView(version=options.protocol_version) if view is None else view
        self._losses = losses = Losses(self._thread_id, self._run_id)
        self._procedures = Procedures(self._thread_id, self._run_id, options, view, losses)
        self._procedures.visibility.saving.update(saving_nodes)
        self._reader = PartReader(source)

    def start(self, trace_id: str | None = None) -> list[Event]:
        """`RUN_STARTED`. `trace_id`: the trace of the run, if there is one; its metadata names it (`traceId`). Raises
        `TranslatorMisuseError` if it was called before."""
        self._expect("new")
        self._phase = "live"
        started = events.run_started(self._thread_id, self._run_id, PROTOCOL_VERSION, self._parent_run_id, trace_id)
        return [self._surely_applied(started)]

    def feed(self, part: Any) -> list[Event]:
        """The events for the next part of the stream, in any of the shapes that LangGraph, its SDK and a `PartReader`
        give it.

        Raises `UnreadablePartError` for what is no part, `TranslatorMisuseError` before the start and after the end.
        """
        try:
            if type(part) is tuple and type(part[0]) is tuple:  # (namespace, mode, payload): one call less a token
                _, mode, payload = part
                payload = payload if mode == "messages" else None
            else:
                payload = message_payload(part)
            if payload is not None:
                message, metadata = payload
                event = self._procedures.next_delta(message, metadata)
                if event is not None:
                    return [event]
        except Exception:  # `_fed` reads the part again, and reports what is wrong with it
            pass
        return self._fed(part)

    @_logging_values
    def _fed(self, part: Any) -> list[Event]:
        self._expect("live")
        parts = self._reader.read(part)
        if self._reader.source == "platform":
            self._procedures.is_of_platform()
        if self._procedures.error is not None:
            for late in parts:
                self._losses.drop("part of the mode", to_text(late.mode), Reason.FAILED)
            return []
        self._procedures.visibility.expects_marks = self._reader.source != "platform"
        made: list[Event] = []
        if self._options.raw_events:
            made = self._applied(_raw(part), "A raw event")
        for each in parts:
            made += self._translated(each)
        return made

    def _translated(self, part: Part) -> list[Event]:
        """The events of one part of the stream, as its mode has them."""
        procedure = self._procedures.of_mode.get(part.mode)
        if procedure is not None:
            return self._applied(procedure(part), f"A part of the mode {part.mode!r}")
        if part.mode not in IGNORED_MODES:
            self._losses.warn(f"Parts of the unknown mode {to_text(part.mode)[:40]!r} are ignored")
        return []

    @_logging_values
    def finish(self, ending: Ending | BaseException | None = None) -> list[Event]:
        """The events that end the stream: closes what is open, then the one terminal event.

        `ending`: how the run ended; an exception is `Failed`. None: as the stream shows it. That is a failure after an
        `error` part; the interrupts it had, or success, for a local graph's; `Lost` for a platform's, because that
        stops in the same way whatever became of the run. Which of the two it is, `source` says. Without it a stream is
        a platform's if any part had a shape that a local graph does not give it (of the SDK, messages as JSON), or was
        a ready `Part`.

        Raises `TranslatorMisuseError` before the start and after the end, `TypeError` for what is no ending; then
        nothing has changed.
        """
        self._expect("live")
        ending = as_ending(ending)
        self._phase = "over"
        if self._procedures.error is not None and (ending is None or isinstance(ending, Finished)):
            ending = Failed(self._procedures.error)
        if ending is None and self._reader.source == "platform":
            self._losses.warn(
                "A platform's stream stopped, and no ending was given: `finish(ending)`, or `at_end`; or, for a stream "
                'of a local graph, `source="local"`'
            )
            ending = Lost("The stream stopped, and how the run ended is not known.")
        ending = Finished() if ending is None else ending
        failure = self._procedures.failure(ending)
        emitted = self._applied(self._procedures.end(ending, failure), "The end of the run")
        terminal = events.run_error(NEUTRAL)
        with self._losses.guard("The terminal event"):
            terminal = self._procedures.terminal(ending, failure)
            terminal = for_client_version(terminal, self._options.protocol_version) or terminal
            if not self.view.accepts(terminal):  # something could not be closed: only `RUN_ERROR` does not ask for that
                self._losses.refused(terminal)
                terminal = events.run_error(NEUTRAL)
        return [*emitted, self._surely_applied(terminal)]

    @_logging_values
    def apply_checkpoint(
        self, values: Any, ns: Namespace = (), interrupts: Sequence[Any] = (), *, at_breakpoint: bool = False
    ) -> list[Event]:
        """The events for what a checkpoint of the thread has and the stream has not brought yet.

        `values`: the values of the graph at `ns`, as of its `values` part; None is nothing.
        `interrupts`: those that are pending there. `at_breakpoint`: whether it waits at a static breakpoint, which has
        none.

        Of the root's values, messages and state that the client does not have are emitted. What is streaming continues;
        if the values have it whole, it is completed and closed, and no chunk of it is emitted any more. Removed is
        only what came from an earlier checkpoint, never streamed and is not in this one, and a streamed copy of what
        the values have under another id. Values that are older
        than the stream's last, or may be, emit nothing (see `checkpoint/values.py`).

        Of a subgraph that waits at an interrupt: before the first part, the run continues in that subgraph, and its
        messages are not removed; before `finish`, with what it waits for, `finish` emits those of its messages that the
        stream did not bring.

        Raises `TranslatorMisuseError` before the start and after the end.
        """
        self._expect("live")
        return self._applied(self._procedures.on_checkpoint(values, ns, interrupts, at_breakpoint), "A checkpoint")

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they came; None before any."""
        return self._procedures.values

    @property
    def saving_nodes(self) -> frozenset[str]:
        """The nodes of the graph that have saved JSON as a message which a platform streamed, in this run or the
        earlier ones that the translator was given: text of theirs that begins like JSON is not held."""
        return frozenset(self._procedures.visibility.saving)

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """What the run has stopped at: interrupts that wait for answers, or a static breakpoint; None for neither."""
        return self._procedures.interrupted

    def not_stored(self, messages: Iterable[Any]) -> dict[str, list[Event]]:
        """The assistant messages with text that this run emitted, as the client has them, and that a checkpoint with
        these `messages` (in any form, see `parts/message.py`) does not have, under any id: by the node of the root
        graph that they are of; an empty name where that is not known. Without those of subagents and from inside a tool
        call, which are no part of the thread. Emits nothing; may be called at any time."""
        return self._procedures.not_stored(messages)

    # --- how events leave -----------------------------------------------------------------------------------------

    def _applied(self, made: Iterable[Event], what: str) -> list[Event]:
        """The events of a procedure, each applied to the view before the next one is made. For a client that declares
        no version an event becomes one that it reads, or is left out; one that is too large for a frame is split or
        truncated. One that raises is lost, and so is what the client would refuse without it."""
        emitted: list[Event] = []
        view, losses, version = self.view, self._losses, self._options.protocol_version
        with losses.guard(what):
            for event in made:
                try:
                    readable = for_client_version(event, version)
                    for frame in () if readable is None else framed(readable):
                        if view.accepts(frame):
                            view.apply_emitted(frame)
                            emitted.append(frame)
                        else:
                            losses.refused(frame)
                except Exception as error:  # not `guard`, which is made anew for each event
                    losses.fault(f"An event {event['type']}", error)
        return emitted

    def _surely_applied(self, event: Event) -> Event:
        """An event without which the stream is none: its start or its end. It is emitted whatever raises."""
        is_start = event["type"] == "RUN_STARTED"
        try:
            (frame,) = framed(event if is_start else counted(event, len(self._losses)))
            self.view.apply_emitted(frame)
        except Exception as error:
            self._losses.fault(f"A part of the event {event['type']}", error)
            frame = to_json(event if is_start else counted(event, len(self._losses)))
            with self._losses.guard(f"The event {event['type']}"):
                self.view.apply_emitted(frame)
        return frame

    def _expect(self, phase: str) -> None:
        if self._phase != phase:
            needs = {"new": "start() comes once, first", "live": "feed() and finish() come between start() and the end"}
            raise TranslatorMisuseError(f"{needs[phase]}; this translator is {self._phase}")


def _raw(raw: Any) -> Iterator[Event]:
    part = part_of(raw)._asdict()
    del part["from_start"]  # a reader's, not the stream's
    yield events.raw(to_json(part))
