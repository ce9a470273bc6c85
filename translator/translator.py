"""Implements the state machine that takes the parts of a stream and returns events.

States and legal calls

    new --start()--> live --feed(part)*--> live --finish(ending)--> over

`apply_checkpoint` may be called in the same state as `feed`. Members that only read (`values`, `interrupted`,
`not_stored`, `waiting_messages`, `asking_calls`, `view`) may be used at any time. A call in the wrong state raises
`TranslatorMisuseError` and changes nothing. If `feed` cannot read a part, it raises `UnreadablePartError` and changes
nothing. The contents of a readable part never cause an exception. If a platform sends an `error` part, the run has
failed, and all later parts are ignored.

How a part becomes events

1. `parts/reader.py` reads a part of any shape, and determines where the parts come from. `feed` then calls the
   procedure for the part's mode (`procedures.py`). A chunk that only continues a text or the arguments of a tool call
   takes a shorter path (`MessageStream.next_delta`), which is the same for objects and for JSON. The shorter path makes
   a single short event and applies that event to the view itself. It is never taken before the start or after the end,
   because no message is open at those times.
2. Procedures call handlers in three packages: `messages` (messages that stream), `run` (subagents, steps, interrupts,
   the ending) and `checkpoint` (stored messages and state). These packages do not import each other. They share a few
   objects. The view contains the client's messages and state, and the items that are open at the client. The `Ledger`
   records what is known about the messages of the run, and `ToolTasks` which tasks run tools. `Snapshots` makes the
   messages snapshots, and `Losses` counts and logs what is left out.
3. Procedures and handlers yield events; they do not emit them. Each event is applied to the view before the next one is
   asked for (`_applied`), so a handler sees the current messages and state of the client. The exceptions are events
   that a function returns in a list, such as the events of one complete message. The whole list is made from the same
   view.
4. If a handler raises an exception, the events that it made before are still emitted, the loss is counted and logged,
   and the stream continues (`losses.py`). This is a safeguard; no known input causes such an exception. If an event
   cannot be framed or applied, it is left out, and so are any events that the client would refuse without it. The first
   event and the terminal event are always emitted.
5. `translate.py` converts the events to bytes (`wire/sse.py`) or models. Events that are too large for a frame have
   already been split at this point (`wire/frame_limit.py`).

Where each decision is made

===================================================  ==============================================================
whether a stream's end shows how the run ended       `parts/reader.py`, "Where parts come from"
which parts of a model call are visible              `messages/visibility.py`
which tasks and graphs run inside tools              `tool_tasks.py`
whether a chunk is emitted, even a late one          `messages/stream.py`, rules 1, 5 and 6
whether a complete message is emitted                `messages/stream.py`, rules 2 to 4 and 7
why something was not emitted                        `losses.py`, `Reason`; the logger
                                                     `langgraph_agui.translator.losses` has it at DEBUG
the id under which a message is emitted              `messages/model_calls.py`, rule 4
the id of a tool call, and which result answers it   `call_ids.py`. A result has the id it is stored under; the
                                                     result of a tool that the provider runs gets its id
                                                     in `wire/ids.py`
the order of the checks that may rule out a chunk    `messages/stream.py`, "Order of the decisions"
whether the client already has a stored message      `checkpoint/reconcile.py`
whether stored messages need a `MESSAGES_SNAPSHOT`   `checkpoint/reconcile.py`, rules 3 and 4. Other causes: an id
                                                     that is used again (`messages/block_events.py`, rule 2), edited
                                                     arguments and waiting messages (`procedures.py`)
what a snapshot makes the client drop                `snapshots.py`, and `client/snapshot_rules.py`
how structured output stays out of the chat          `messages/visibility.py`, rules 5 and 6
whether state is a snapshot or a delta               `checkpoint/state.py`, rules 2 to 4 and 6
whose state counts                                   `ToolTasks.writes_state` (`tool_tasks.py`)
which older values are deferred or ignored           `checkpoint/values.py`, rules 1 to 4
when text that nobody saved is removed               `checkpoint/values.py`, rules 5 to 7; without a `values`
                                                     part, `checkpoint/superstep.py`
which messages stay displayed at an interrupt        `checkpoint/values.py`, rule 5; `checkpoint/waiting_subgraphs.py`
how state is predicted from arguments                `messages/predicted_state.py`
what begins a step, and what ends it                 `run/steps.py`
what a late joiner is missing                        `ClientView.catch_up` (`client/view.py`); the order:
                                                     `client/catch_up.py`; messages:
                                                     `client/missing_messages.py`; open items:
                                                     `client/open_items.py`
what a page that is loaded again displays            the checkpoint: `convert/conversation.py`
what such a page also displays while a node waits    `checkpoint/waiting_subgraphs.py` (messages in the checkpoints of
                                                     subgraphs), and `Translator.waiting_messages` (messages that
                                                     no checkpoint contains)
which tool call an interrupt belongs to              `run/interrupts.py`, rule 4
what becomes of open items at the end                `Procedures._close`
how the run ends                                     `procedures.py`, and `run/terminal.py`
how a stream ends to which nobody gave an ending     `Translator.finish`
what a client gets that declares no version          `wire/older_clients.py`; `client/snapshot_rules.py`
how large an event may be                            `wire/frame_limit.py`; for tool results also
                                                     `Options.result_limit`
why the same parts give the same bytes               `jsonable/to_json.py`, and `wire/ids.py`
===================================================  ==============================================================

Where to add new code

===================================================  ==============================================================
an event type                                        `wire/events.py` first; "Add an event type" in
                                                     CONTRIBUTING.md has the list, and a test enforces it
a provider, or a content block                       `content/read_blocks.py`. Blocks of unknown types are
                                                     dropped with a reason
a form of reasoning                                  `BLOCK_TYPES` and `read`, or `KWARGS`, in
                                                     `content/reasoning.py`; `messages/reasoning_events.py`
                                                     stays as it is
a stream protocol, or a shape of parts               `parts/reader.py`; "Add a stream protocol" in
                                                     CONTRIBUTING.md has the list
===================================================  ==============================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from .client.view import ClientView
from .endings import Ending, Failed, Finished, Lost, as_ending
from .errors import TranslatorMisuseError
from .jsonable.to_json import WARN, to_json, to_text
from .losses import Losses, Reason
from .options import PROTOCOL_VERSION, Options
from .parts.part import IGNORED_MODES, Namespace, Part
from .parts.reader import PartReader, Source, message_payload, part_of
from .procedures import Procedures
from .run.error_detail import NEUTRAL
from .run.terminal import counted
from .wire import events
from .wire.events import Event
from .wire.frame_limit import framed
from .wire.older_clients import for_client_version


class Translator:
    """Translates the stream of one run. The translation is deterministic: the same parts, ids, options and view produce
    the same events.

    `thread_id`, `run_id`: the ids in `RUN_STARTED`. `view`: the messages and the state that the client has when the
    stream begins; None if they are unknown. `parent_run_id`: the run that this one continues, if there is one.
    `source`: where the parts come from. `"local"`: a graph in this process. `"platform"`: a LangGraph server, read with
    the SDK, a `RemoteGraph` or a recording. With None, the shapes of the parts decide. The source determines how
    `finish` treats a stream that stops without an ending, and whether text that may be structured output is held back.
    `saving_nodes`: the contents of the property `saving_nodes` after earlier runs of the same graph.

    Raises `ValueError` if the view belongs to a client that declares a protocol version but the options are for a
    client that declares none.
    """

    view: ClientView
    """The client's messages and state after the events emitted so far."""

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
                "the options are for a client that declares no protocol version, but the view's client declares "
                f"{view.version!r}: give both the same version, as `ClientView(..., version=options.protocol_version)`"
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
        """Starts the run and returns `RUN_STARTED`. `trace_id`: the id of the run's trace, if there is one. The event's
        metadata contains it as `traceId`. Raises `TranslatorMisuseError` if the translator has already been started."""
        self._expect("new")
        self._phase = "live"
        started = events.run_started(self._thread_id, self._run_id, PROTOCOL_VERSION, self._parent_run_id, trace_id)
        return [self._surely_applied(started)]

    def feed(self, part: Any) -> list[Event]:
        """Returns the events for the next part of the stream. The part may have any shape that LangGraph, its SDK or a
        `PartReader` yields.

        Raises `UnreadablePartError` if `part` is not a part of a stream, and `TranslatorMisuseError` if this method is
        called before the start or after the end.
        """
        try:
            if type(part) is tuple and type(part[0]) is tuple:  # (namespace, mode, payload); reading it here is faster
                _, mode, payload = part
                payload = payload if mode == "messages" else None
            else:
                payload = message_payload(part)
            if payload is not None:
                message, metadata = payload
                event = self._procedures.next_delta(message, metadata)
                if event is not None:
                    return [event]
        except Exception:  # `_fed` reads the part again and reports any error
            pass
        self._expect("live")
        before = WARN.set(self._losses.warn)  # so that a line about a value names the thread and the run
        try:
            return self._fed(part)
        finally:
            WARN.reset(before)

    def _fed(self, part: Any) -> list[Event]:
        parts = self._reader.read(part)
        if self._reader.source == "platform" and not self._procedures.is_platform:
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
        """Returns the events that the procedure for the part's mode makes."""
        made = self._procedures.on_part(part)
        if made is not None:
            return self._applied(made, "A part of the mode %r", part.mode)
        if part.mode not in IGNORED_MODES:
            self._losses.warn(f"Parts of the unknown mode {to_text(part.mode)[:40]!r} are ignored")
        return []

    def finish(self, ending: Ending | BaseException | None = None) -> list[Event]:
        """Ends the run, and returns the events that close the open items, followed by the terminal event.

        `ending`: how the run ended; an exception means `Failed`. If the stream contained an `error` part, the run has
        failed even if `ending` is `Finished`. If `ending` is None, the outcome is taken from the stream:

        - If the stream contained an `error` part, the run has failed.
        - The run of a local graph has stopped at the interrupts that the stream contained. If the stream contained
          none, the run has succeeded.
        - The run of a platform counts as `Lost`, because a platform's stream stops in the same way however the run
          ended.

        `source` distinguishes a local graph from a platform. Without `source`, a stream counts as a platform's if any
        part was a `Part` object, or had a shape that a local graph never yields (an event of the SDK, a message as
        JSON).

        Raises `TranslatorMisuseError` if this method is called before the start or after the end, and `TypeError` if
        `ending` is not an ending. In both cases, nothing changes.
        """
        self._expect("live")
        ending = as_ending(ending)
        self._phase = "over"
        before = WARN.set(self._losses.warn)
        try:
            return self._finished(ending)
        finally:
            WARN.reset(before)

    def _finished(self, ending: Ending | None) -> list[Event]:
        if self._procedures.error is not None and (ending is None or isinstance(ending, Finished)):
            ending = Failed(self._procedures.error)
        if ending is None and self._reader.source == "platform":
            self._losses.warn(
                "A platform's stream stopped, and no ending was given: pass one to `finish`, or return one from "
                '`at_end`; for a local graph, pass `source="local"`'
            )
            ending = Lost("The stream stopped, and it is not known how the run ended.")
        ending = Finished() if ending is None else ending
        failure = self._procedures.failure(ending)
        emitted = self._applied(self._procedures.on_end(ending, failure), "The end of the run")
        terminal = events.run_error(NEUTRAL)
        with self._losses.guard("The terminal event"):
            terminal = self._procedures.terminal(ending, failure)
            terminal = for_client_version(terminal, self._options.protocol_version) or terminal
            if not self.view.accepts(terminal):  # an item could not be closed, so the client accepts only `RUN_ERROR`
                self._losses.refused(terminal)
                terminal = events.run_error(NEUTRAL)
        return [*emitted, self._surely_applied(terminal)]

    def apply_checkpoint(
        self, values: Any, ns: Namespace = (), interrupts: Sequence[Any] = (), *, at_breakpoint: bool = False
    ) -> list[Event]:
        """Returns the events for messages and state that a checkpoint of the thread contains but the stream has not
        delivered yet.

        `values`: the values of the graph at `ns`, in the form of a `values` part of that graph; None if there are none.
        `interrupts`: the interrupts that are pending in that graph. `at_breakpoint`: whether the graph is waiting at a
        static breakpoint, which has no interrupt.

        For the root graph, the messages and the state that the client lacks are emitted. A message that is still
        streaming continues, unless the values contain the complete message. In that case, the message is completed and
        closed, and its later chunks are not emitted. A message is removed if it came from an earlier checkpoint, never
        streamed, and is not in this checkpoint. If the values contain a streamed message under another id, the streamed
        copy is removed. If the values may be older than the last values of the stream, nothing is emitted (see
        `checkpoint/values.py`).

        For a subgraph that is waiting at an interrupt, it matters when this method is called. A call before the first
        part means that the run continues in that subgraph, so the subgraph's messages are not removed. If this method
        is called before `finish`, with the interrupts that are pending in the subgraph, `finish` also emits the
        messages of the subgraph that were missing from the stream.

        Raises `TranslatorMisuseError` before the start and after the end.
        """
        self._expect("live")
        before = WARN.set(self._losses.warn)
        try:
            return self._applied(self._procedures.on_checkpoint(values, ns, interrupts, at_breakpoint), "A checkpoint")
        finally:
            WARN.reset(before)

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they were received; None if no values have been received
        yet."""
        return self._procedures.values

    @property
    def saving_nodes(self) -> frozenset[str]:
        """The nodes that are known to save JSON as messages. They did so in this run, or were passed to the
        constructor. Text from these nodes is not held back, even if it begins like JSON. Only a platform's run adds
        nodes."""
        return frozenset(self._procedures.visibility.saving)

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """The reason why the run has stopped: interrupts that have not been answered, or a static breakpoint. None if
        neither is the case."""
        return self._procedures.interrupted

    def not_stored(self, messages: Iterable[Any]) -> dict[str, list[Event]]:
        """Returns the assistant messages with text that this run has emitted but a checkpoint does not contain.

        `messages`: the checkpoint's messages, in any form (see `parts/message.py`). The result maps the name of each
        node of the root graph to the client's copies of the messages that the node produced. If the node is unknown,
        the name is empty. Messages of subagents, and messages produced during a tool call, are left out, because they
        do not belong to the thread. This method emits nothing, and may be called at any time.
        """
        return self._procedures.not_stored(messages)

    def waiting_messages(self) -> list[Event]:
        """Returns the client's copies of the messages that this run has emitted but no checkpoint contains. The
        messages between them, and the one before the first of them, are in the result with only their `id`, so that a
        page that is loaded again displays all messages in the same order. The result is empty unless the run has
        stopped at an interrupt.

        A node that is waiting at an interrupt starts over when the run continues. LangGraph therefore does not store
        the messages that the node has produced so far, but the client displays them in the meantime. Messages of
        subagents, and activities, are left out. This method emits nothing, and may be called at any time.
        """
        return self._procedures.waiting_messages()

    def asking_calls(self) -> dict[str, str | None]:
        """Returns, for the id of each interrupt at which this run has stopped, the id of the tool call that it belongs
        to. It is None if the interrupt does not belong to a tool call, or if the tool call is unknown.

        A checkpoint does not always show the tool call. This method emits nothing, and may be called at any time.
        """
        return self._procedures.asking_calls()

    # --- how events leave -----------------------------------------------------------------------------------------

    def _applied(self, made: Iterable[Event], what: str, *names: str) -> list[Event]:
        """Returns the events of a procedure, after applying each event to the view before the next one is made. `what`:
        a description of the item that the events are made for, with one of `names` in place of each `%r`.

        For a client that declares no version, an event that the client cannot read is converted or left out. An event
        that is too large for a frame is split or truncated. If handling an event raises an exception, that event is
        left out, and so are any events that the client would refuse without it.
        """
        emitted: list[Event] = []
        view, losses, version = self.view, self._losses, self._options.protocol_version
        try:
            for event in made:
                try:
                    readable = event if version is not None else for_client_version(event, version)
                    for frame in () if readable is None else framed(readable):
                        if view.accepts(frame):
                            view.apply_emitted(frame)
                            emitted.append(frame)
                        else:
                            losses.refused(frame)
                except Exception as error:
                    losses.fault(f"An event {event['type']}", error)
        except Exception as error:
            losses.fault(what % names, error)
        return emitted

    def _surely_applied(self, event: Event) -> Event:
        """Applies the first or the last event of the stream, and returns it even if an exception occurs."""
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
            needs = {
                "new": "start() must be called once, first",
                "live": "feed() and finish() must be called between start() and the end",
            }
            raise TranslatorMisuseError(f"{needs[phase]}; this translator is {self._phase}")


def _raw(raw: Any) -> Iterator[Event]:
    part = part_of(raw)._asdict()
    del part["from_start"]  # the reader adds this field; the stream does not contain it
    yield events.raw(to_json(part))
