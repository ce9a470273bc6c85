"""The state machine: parts in, events out.

States and legal moves

    new --start()--> live --feed(part)*--> live --finish(ending)--> over

`apply_checkpoint` is legal whenever `feed` is. What only reads (`values`, `interrupted`, `not_stored`, `view`) is
always legal. Any other order of calls raises `TranslatorMisuseError` and changes nothing. `feed` raises
`UnreadablePartError` for a part that it cannot read, and then changes nothing; the contents of a part never raise.
After a platform's `error` part the run has failed, and later parts are ignored.

How a part becomes events

1. `parts/reader.py` reads the part, whatever its shape, and knows where the parts come from. `feed` finds the procedure
   for its mode (`procedures.py`). A chunk that only continues a text or the arguments of a tool call takes a shorter
   path (`MessageStream.next_delta`), the same one for objects and for JSON. That path makes a single short event and
   applies it itself. It is never taken before the start or after the end, because no message is open then.
2. Procedures call handlers in three packages: `messages` (what streams), `run` (subagents, steps, interrupts, the
   ending) and `checkpoint` (what is stored). These packages do not import each other. They share the `Ledger`, which
   holds every fact about the messages of the run, and the view, which holds what the client has and what is open there.
3. Procedures and handlers yield events; they do not emit them. Each event is applied to the view before the next one is
   made (`_applied`), so a handler always sees the client as it is.
4. If a handler raises, which no known value causes, the events it made before still count, the loss is counted and
   logged, and the stream continues (`losses.py`). If an event cannot be framed or applied, only that event is lost,
   together with the events that the client would refuse without it. The start and the one terminal event always come.
5. `translate.py` turns the events into bytes (`wire/sse.py`) or models. An event that is too large for a frame was
   split before it was applied (`wire/frame_limit.py`).

Where it is decided

==================================================  ==================================================
whether a stream that stopped shows its run's end   `parts/reader.py`, "Where parts come from"
what of a model call is visible                     `messages/visibility.py`
whether a chunk is emitted, even a late one         `messages/stream.py`, rules 1, 5 and 6
why something was not emitted                       `losses.py`, `Reason`; `Losses.drop` logs it at DEBUG
under which id a message is emitted                 `messages/model_calls.py`, rule 4
the id of a tool call, and which result answers it  `calls.py`; a result has the id it is stored under. The result of
                                                    a tool that the provider runs gets its id in `wire/ids.py`
whether the client has a stored message             `checkpoint/messages.py`
which values are older, so they wait or are dropped `checkpoint/values.py`
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

_Parameters = ParamSpec("_Parameters")


def _logging_values(
    translate: Callable[Concatenate[Translator, _Parameters], list[Event]],
) -> Callable[Concatenate[Translator, _Parameters], list[Event]]:
    """A method of the translator that logs each value it cannot read as belonging to its run."""

    @wraps(translate)
    def logging_values(self: Translator, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> list[Event]:
        before = WARN.set(self._losses.warn)
        try:
            return translate(self, *args, **kwargs)
        finally:
            WARN.reset(before)

    return logging_values


class Translator:
    """Translates one run's stream. Deterministic: the same parts, ids, options and view give the same events.

    `thread_id`, `run_id`: the ids in `RUN_STARTED`. `view`: what the client has when the stream begins; None if that is
    unknown. `parent_run_id`: the run that this one continues, if there is one.
    `source`: where the parts come from: `"local"` is a graph in this process; `"platform"` is a LangGraph server, read
    through the SDK, a `RemoteGraph` or a recording; with None the shapes of the parts decide. It determines what
    `finish` does with a stream that stops without an ending, and whether text that may be structured output is held.
    `saving_nodes`: the `saving_nodes` of earlier runs of the same graph.

    Raises `ValueError` if the view belongs to a client that declares a protocol version and the options are for a
    client that declares none.
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
        """`RUN_STARTED`. `trace_id`: the trace of the run, if there is one; the event's metadata names it (`traceId`).
        Raises `TranslatorMisuseError` if the translator has been started before."""
        self._expect("new")
        self._phase = "live"
        started = events.run_started(self._thread_id, self._run_id, PROTOCOL_VERSION, self._parent_run_id, trace_id)
        return [self._surely_applied(started)]

    def feed(self, part: Any) -> list[Event]:
        """The events for the next part of the stream, in any shape that LangGraph, its SDK or a `PartReader` yields.

        Raises `UnreadablePartError` for anything that is not a part, and `TranslatorMisuseError` before the start and
        after the end.
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
            self._procedures.set_platform()
        if self._procedures.error is not None:
            for late in parts:
                self._losses.drop("part of the mode", to_text(late.mode), Reason.FAILED)
            return []
        made: list[Event] = []
        if self._options.raw_events:
            made = self._applied(_raw(part), "A raw event")
        for received in parts:
            made += self._translated(received)
        return made

    def _translated(self, part: Part) -> list[Event]:
        """The events of one part of the stream, made by the procedure for its mode."""
        procedure = self._procedures.of_mode.get(part.mode)
        if procedure is not None:
            return self._applied(procedure(part), f"A part of the mode {part.mode!r}")
        if part.mode not in IGNORED_MODES:
            self._losses.warn(f"Parts of the unknown mode {to_text(part.mode)[:40]!r} are ignored")
        return []

    @_logging_values
    def finish(self, ending: Ending | BaseException | None = None) -> list[Event]:
        """The events that end the stream: they close what is open, then comes the one terminal event.

        `ending`: how the run ended; an exception means `Failed`. With None the stream decides. After an `error` part
        the run has failed. A local graph's stream ends with the interrupts it had, or in success. A platform's stream
        ends as `Lost`, because it stops in the same way whatever became of the run. `source` says which of the two it
        is. Without `source`, a stream counts as a platform's if any part was a ready `Part`, or had a shape that a
        local graph never yields (an event of the SDK, a message as JSON).

        Raises `TranslatorMisuseError` before the start and after the end, and `TypeError` for anything that is not an
        ending; then nothing has changed.
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

        `values`: the values of the graph at `ns`, in the form of its `values` part; None if there are none.
        `interrupts`: the interrupts that are pending there. `at_breakpoint`: whether the graph waits at a static
        breakpoint, which has no interrupt.

        For the root graph, the messages and the state that the client lacks are emitted. A message that is streaming
        continues; if the values have it whole, it is completed and closed, and no more of its chunks are emitted. A
        message is removed if it came from an earlier checkpoint, never streamed and is not in this one, or if it is a
        streamed copy of a message that the values have under another id. Values that are, or may be, older than the
        last values of the stream emit nothing (see `checkpoint/values.py`).

        For a subgraph that waits at an interrupt, the time of the call matters. Before the first part it means that the
        run continues in that subgraph, so its messages are not removed. Before `finish`, together with what the
        subgraph waits for, it makes `finish` emit those of its messages that the stream did not bring.

        Raises `TranslatorMisuseError` before the start and after the end.
        """
        self._expect("live")
        return self._applied(self._procedures.on_checkpoint(values, ns, interrupts, at_breakpoint), "A checkpoint")

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they came; None before the first."""
        return self._procedures.values

    @property
    def saving_nodes(self) -> frozenset[str]:
        """The nodes that have saved JSON as a message in a platform's run: this run, or the earlier ones that the
        translator was told of. Their text is not held, even if it begins like JSON."""
        return frozenset(self._procedures.visibility.saving)

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """What the run has stopped at: interrupts that wait for answers, or a static breakpoint; None if at neither."""
        return self._procedures.interrupted

    def not_stored(self, messages: Iterable[Any]) -> dict[str, list[Event]]:
        """The assistant messages with text that this run emitted and that a checkpoint does not have under any id.

        `messages`: the checkpoint's messages, in any form (see `parts/message.py`). The result has the messages as the
        client has them, by the name of the node of the root graph that said them; the name is empty if that is not
        known. Messages of subagents and from inside a tool call are left out, because they do not belong to the thread.
        Emits nothing; may be called at any time."""
        return self._procedures.not_stored(messages)

    # --- how events leave -----------------------------------------------------------------------------------------

    def _applied(self, made: Iterable[Event], what: str) -> list[Event]:
        """The events of a procedure, each applied to the view before the next one is made.

        For a client that declares no version, an event is replaced by one that it can read, or left out. An event that
        is too large for a frame is split or truncated. An event that raises is lost, and so are the events that the
        client would refuse without it."""
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
                except Exception as error:  # `guard` would cost an object for each event
                    losses.fault(f"An event {event['type']}", error)
        return emitted

    def _surely_applied(self, event: Event) -> Event:
        """An event that every stream needs: its start or its end. It is emitted whatever raises."""
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
    del part["from_start"]  # the reader adds it; it is not in the stream
    yield events.raw(to_json(part))
