"""The state machine: parts in, events out.

States and legal moves

    new --start()--> live --feed(part)*--> live --finish(ending)--> over

Any other call raises `TranslatorMisuseError` and changes nothing. `feed` also raises for a part it cannot read, without
change; nothing that is *in* a part raises. After a platform's `error` part the run has failed, and later parts are
ignored.

How a part becomes events

1. `parts` reads it. `feed` finds the procedure for its mode here. A chunk that only continues a text takes a shorter
   way (`MessageStream.next_text`), the same for objects and for JSON.
2. Procedures call handlers of three rooms: `messages` (what streams), `run` (subagents, steps, interrupts, the ending)
   and `checkpoint` (what is stored). The rooms do not know each other. What they share is the `Ledger`, which has every
   fact about a message of the run, and the view, which has what the client has and what is open there.
3. Handlers give events and emit none. Each event is applied to the view before the next one is made (`_applied`), so
   that a handler always sees the client as it is.
4. Where a handler raises, which no known value causes, the events made before count, the loss is counted and logged,
   and the stream continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec

from .checkpoint.messages import Messages
from .checkpoint.state import State
from .checkpoint.values import RootValues
from .checkpoint.waiting import Waiting
from .client.long_snapshots import framed
from .client.open_items import OpenItems
from .client.view import ClientView
from .endings import Cancelled, Ending, Failed, Finished, Lost
from .errors import TranslatorMisuseError, UnreadablePartError
from .jsonable.to_json import ON_UNREADABLE, to_json, to_text
from .ledger import RUN, Ledger, Owner
from .losses import Losses
from .messages.model_calls import task_of
from .messages.predicted_state import Predictions
from .messages.stream import MessageStream
from .messages.visibility import VisibilityRules
from .options import PROTOCOL_VERSION, Options
from .parts.channels import as_sequence, channels, written_channels, written_messages
from .parts.part import IGNORED_MODES, Namespace, Part, is_platform_part, message_chunk, read_part
from .parts.platform_messages import AccumulatedMessages
from .run.custom import custom_event, written_state
from .run.ending import counted, failure_of, result_of
from .run.error_detail import NEUTRAL, Failure, failure_of_result
from .run.interrupts import Interrupts
from .run.steps import Steps
from .run.subagents import Subagent, Subagents
from .wire import events
from .wire.events import Event

_NONE: Mapping[Any, Any] = {}
_Given = ParamSpec("_Given")


def _logging_values(
    translate: Callable[Concatenate[Translator, _Given], list[Event]],
) -> Callable[Concatenate[Translator, _Given], list[Event]]:
    """A method of the translator during which a value that cannot be read is logged as one of its run."""

    @wraps(translate)
    def logging_values(self: Translator, /, *args: _Given.args, **given: _Given.kwargs) -> list[Event]:
        before = ON_UNREADABLE.set(self._losses.value)
        try:
            return translate(self, *args, **given)
        finally:
            ON_UNREADABLE.reset(before)

    return logging_values


class Translator:
    """Translates one run's stream. Deterministic: the same parts, ids, options and view give the same events.

    `thread_id`, `run_id`: as `RUN_STARTED` has them. `view`: what the client has when the stream begins; None:
    unknown. `parent_run_id`: the run that this one continues, if there is one.
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
    ) -> None:
        self._options = options = options or Options()
        self._thread_id = to_text(str(thread_id))
        self._run_id = to_text(str(run_id))
        self._parent_run_id = parent_run_id
        self._phase: Literal["new", "live", "over"] = "new"
        self.view = view = ClientView(version=options.protocol_version) if view is None else view
        self._losses = losses = Losses(self._thread_id, self._run_id)
        self._ledger = ledger = Ledger(view, losses)
        self._interrupts = Interrupts(losses)
        self._visibility = VisibilityRules(options, losses)
        self._subagents = Subagents(view, options, self._visibility)
        self._steps = Steps(options, self._subagents)
        self._state = State(view, options, losses)
        self._messages = Messages(view, options, ledger, losses)
        predictions = Predictions(view, options, self._state.predict, self._state.release)
        self._stream = MessageStream(
            view, options, ledger, self._visibility, predictions, losses, self._messages.remove
        )
        self._waiting = Waiting(view, options, self._interrupts, self._visible_owner, losses)
        self._root = RootValues(
            self._messages,
            self._state,
            self._waiting,
            ledger,
            options,
            losses,
            self._stream.on_superstep_end,
            self._stream.on_checkpoint,
        )
        self._accumulated = AccumulatedMessages()
        self._is_platform = False
        """Whether parts came as a platform's stream has them."""
        self._error: Any = None
        """What a platform's `error` part has."""
        self._takes_short_way = False
        """Whether a chunk may take the short way: the run is live and has not failed, and no raw events are emitted."""
        self._procedures: dict[str, Callable[[Part], Iterator[Event]]] = {
            "messages": self._on_message,
            "messages/partial": self._on_accumulated,
            "messages/complete": self._on_accumulated,
            "messages/metadata": self._on_messages_metadata,
            "updates": self._on_updates,
            "values": self._on_values,
            "custom": self._on_custom,
            "tasks": self._on_tasks,
            "metadata": self._on_metadata,
            "error": self._on_error,
        }

    def start(self) -> list[Event]:
        """`RUN_STARTED`. Raises `TranslatorMisuseError` if it was called before."""
        self._expect("new")
        self._phase = "live"
        self._takes_short_way = not self._options.raw_events
        started = events.run_started(self._thread_id, self._run_id, PROTOCOL_VERSION, self._parent_run_id)
        return self._applied([started], "The start")

    def feed(self, part: Any) -> list[Event]:
        """The events for the next part of the stream, in any of the shapes of `parts`.

        Raises `UnreadablePartError` for what is no part, `TranslatorMisuseError` before the start and after the end.
        """
        try:
            if self._takes_short_way and (chunk := message_chunk(part)) is not None:
                event = self._stream.next_text(chunk[0], chunk[1])
                if event is not None:
                    return [event]
        except Exception:  # `_fed` reads the part again, and reports what is wrong with it
            pass
        return self._fed(part)

    @_logging_values
    def _fed(self, part: Any) -> list[Event]:
        self._expect("live")
        read = _read(part)
        if read is None or self._error is not None:
            return []
        self._is_platform = self._is_platform or is_platform_part(part)
        raw = self._applied([events.raw(to_json(read._asdict()))], "A raw event") if self._options.raw_events else []
        procedure = self._procedures.get(read.mode)
        if procedure is not None:
            return raw + self._applied(procedure(read), f"A part of the mode {read.mode!r}")
        if read.mode not in IGNORED_MODES:
            self._losses.warn(f"Parts of the unknown mode {to_text(read.mode)[:40]!r} are ignored")
        return raw

    @_logging_values
    def finish(self, ending: Ending | None = None) -> list[Event]:
        """The events that end the stream: closes what is open, then the one terminal event.

        `ending`: how the run ended. None: as the stream shows it. That is a failure after an `error` part; the
        interrupts it had, or success, for the parts of a local graph; `Lost` for `StreamPart`s of a platform, because
        their stream stops in the same way whatever became of the run.

        Raises `TranslatorMisuseError` before the start and after the end.
        """
        self._expect("live")
        self._phase = "over"
        self._takes_short_way = False
        if self._error is not None and (ending is None or isinstance(ending, Finished)):
            ending = Failed(self._error)
        if ending is None and self._is_platform:
            self._losses.warn("A platform's stream stopped, and no ending was given: `finish(ending)`, or `at_end`")
            ending = Lost("The stream stopped, and how the run ended is not known.")
        return self._applied(self._end(Finished() if ending is None else ending), "The end")

    @_logging_values
    def apply_checkpoint(self, values: Any, ns: Namespace = (), interrupts: Any = None) -> list[Event]:
        """The events for what a checkpoint of the thread has and the stream has not brought yet.

        `values`: the values of the graph at `ns`, as of its `values` part; None is nothing.
        `interrupts`: those that are pending there; an empty tuple for a static breakpoint.

        Of the root's values, messages and state that the client does not have are emitted. What is streaming continues;
        if the values have it whole, it is completed and closed, and no chunk of it is emitted any more. Nothing is
        removed but what came from an earlier checkpoint, never streamed, and is not in this one. Values that are older
        than the stream's last, or may be, emit nothing (see `checkpoint/values.py`).

        Of a subgraph that waits at an interrupt: before the first part, the run continues in that subgraph, and its
        messages are not removed; before `finish`, with its interrupts, `finish` emits those of its messages that the
        stream did not bring.

        Raises `TranslatorMisuseError` before the start and after the end.
        """
        self._expect("live")
        return self._applied(self._on_checkpoint(values, ns, interrupts), "A checkpoint")

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they came; None before any."""
        return self._root.last

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """What the run has stopped at: interrupts that wait for answers, or a static breakpoint; None for neither."""
        if not self._interrupts:
            return None
        return "interrupt" if self._interrupts.by_namespace else "breakpoint"

    # --- how events leave -----------------------------------------------------------------------------------------

    def _applied(self, made: Iterable[Event], what: str) -> list[Event]:
        """The events of a procedure, each applied to the view before the next one is made. An event that is too large
        for a frame is split."""
        emitted: list[Event] = []
        apply = self.view.apply_emitted
        try:
            for event in made:
                growing = self.view.growing if event["type"] == "MESSAGES_SNAPSHOT" else ()
                for frame in framed(event, growing):
                    emitted.append(frame)
                    apply(frame)
        except Exception as error:  # the last resort: no known value does it, and none ends a stream
            self._unforeseen(what, error)
        return emitted

    def _unforeseen(self, what: str, error: Exception) -> None:
        """Counts a loss, numbered so that each counts."""
        self._losses.unforeseen(f"{what} ({len(self._losses) + 1})", error)

    def _expect(self, phase: str) -> None:
        if self._phase != phase:
            needs = {"new": "start() comes once, first", "live": "feed() and finish() come between start() and the end"}
            raise TranslatorMisuseError(f"{needs[phase]}; this translator is {self._phase}")

    def _owner(self, ns: Namespace) -> Owner:
        """Who emits what comes from the graph at `ns`."""
        subagents = self._subagents
        subagent = subagents.of(ns)
        if subagent is None:
            return RUN
        return Owner(subagent.id, subagents.tag(subagent), len(subagent.ns), subagents.hides(subagent))

    def _visible_owner(self, ns: Namespace) -> Owner | None:
        return self._owner(ns) if self._subagents.is_visible(ns) else None

    # --- messages -------------------------------------------------------------------------------------------------

    def _on_message(self, part: Part) -> Iterator[Event]:
        yield from self._root.release()
        message, metadata = part.data
        metadata = _NONE if metadata is None else metadata
        ns = part.ns
        yield from self._subagents.on_message(ns, metadata)
        yield from self._steps.on_message(ns, metadata)
        owner = self._owner(ns)
        yield from self._stream.on_message(ns, message, metadata, owner)
        call_id = self._stream.answered(message, owner)
        for subagent in self._subagents.answered(message, call_id, tuple(task_of(metadata).split("|"))):
            yield from self._end_subagent(subagent, failure_of_result(message, self._options.error_detail))

    def _on_accumulated(self, part: Part) -> Iterator[Event]:
        """A platform's `messages/partial` or `messages/complete`: whole messages, as far as they have come."""
        for message in part.data if isinstance(part.data, list) else ():
            try:
                for chunk in self._accumulated.read(part.mode, message):
                    yield from self._on_message(chunk)
            except Exception as error:  # the last resort, message by message
                self._unforeseen(f"A message of the mode {part.mode!r}", error)

    def _on_messages_metadata(self, part: Part) -> Iterator[Event]:
        self._accumulated.add_metadata(part.data)
        yield from ()

    # --- nodes and values -----------------------------------------------------------------------------------------

    def _on_updates(self, part: Part) -> Iterator[Event]:
        data = part.data if isinstance(part.data, Mapping) else {}
        if "__interrupt__" in data:
            self._interrupts.add(part.ns, data["__interrupt__"])
        marks = data.get("__metadata__")
        is_cached = isinstance(marks, Mapping) and marks.get("cached") is True
        if is_cached:
            self._root.is_resumed = True
        else:
            yield from self._root.release()
        for node, output in data.items():
            name = to_text(node)
            if name not in ("__interrupt__", "__metadata__"):
                try:
                    yield from self._on_node_output(part.ns, name, output, is_cached=is_cached)
                except Exception as error:  # the last resort, node by node
                    self._unforeseen("The output of a node", error)

    def _on_node_output(self, ns: Namespace, node: str, output: Any, *, is_cached: bool) -> Iterator[Event]:
        if is_cached:
            yield from self._on_cached_output(ns, node, output)
        else:
            for subagent, result in self._subagents.returned(ns, output):
                yield from self._end_subagent(subagent, failure_of_result(result, self._options.error_detail))
            yield from self._steps.on_update(ns, node)
            self._stream.on_node_output(ns, node, output)
        self._waiting.on_node_output(ns, node, output)
        if not ns:
            names = written_channels(output)
            self._state.written(names)
            self._messages.written(names)

    def _on_cached_output(self, ns: Namespace, node: str, output: Any) -> Iterator[Event]:
        """A cached update is that of a finished sibling: no other part of a resumed run has its messages."""
        if self._root.has_emitted and not ns:
            for message in written_messages(output, self._options.messages_key):
                yield from self._stream.on_whole(ns, message, {"langgraph_node": node}, RUN, is_replayed=True)

    def _on_values(self, part: Part) -> Iterator[Event]:
        named = channels(part.data) or _NONE
        interrupts = as_sequence(part.interrupts) or as_sequence(named.get("__interrupt__"))
        if interrupts:
            self._interrupts.add(part.ns, interrupts)
        if part.ns:
            yield from self._on_child_values(part, is_partial=bool(interrupts))
            return
        yield from self._root.release()
        if not interrupts:
            self._waiting.root_values_came()
            try:
                yield from self._superstep_ended()
            except Exception as error:  # the last resort: the values count
                self._unforeseen("An end of a superstep", error)
                yield from self._close_messages()
        yield from self._subagents.on_values((), named)
        if not self._losses.attempt("The first values", self._defers, part.data, bool(interrupts), otherwise=False):
            yield from self._root.on_values(part.data, is_partial=bool(interrupts))

    def _defers(self, values: Any, is_partial: bool) -> bool:
        return self._root.defers(values, is_partial=is_partial)

    def _on_child_values(self, part: Part, *, is_partial: bool) -> Iterator[Event]:
        ns = part.ns
        self._waiting.on_values(ns, part.data)
        yield from self._subagents.on_values(ns, channels(part.data))
        yield from self._steps.on_graph(ns)
        if not is_partial:
            self._waiting.superstep_ended(ns)
            yield from self._stream.close(ns)
            for subagent in self._subagents.running(ns):
                yield from self._end_subagent(subagent)
            yield from self._steps.end_superstep(ns)

    def _superstep_ended(self) -> Iterator[Event]:
        """A superstep of the root graph ended: what is open in it is closed."""
        for part in self._accumulated.remaining():
            yield from self._on_message(part)
        yield from self._stream.close()
        for subagent in self._subagents.running():
            yield from self._end_subagent(subagent)
        yield from self._steps.end_superstep(())

    def _on_checkpoint(self, values: Any, ns: Namespace, interrupts: Any) -> Iterator[Event]:
        if ns:
            self._waiting.on_checkpoint(ns, values)
            if interrupts is not None:
                yield from self._subagents.on_values(ns, channels(values))
        elif values is not None:
            yield from self._root.on_checkpoint(values)
        if interrupts is not None:
            self._interrupts.add(ns, interrupts)

    # --- the rest of a run ----------------------------------------------------------------------------------------

    def _on_custom(self, part: Part) -> Iterator[Event]:
        yield from self._root.release()
        owner = self._owner(part.ns)
        if owner.is_hidden:
            return
        payload = to_json(part.data)
        written = written_state(payload)
        if written is None:
            event = custom_event(payload, self.view, owner.tag)
            if event["type"] == "ACTIVITY_SNAPSHOT":
                self._ledger.keep([event["messageId"]])
            yield event
            return
        for name, value in written.items():
            predicted = self._state.predict(name, value)
            if predicted is not None:
                yield predicted

    def _on_tasks(self, part: Part) -> Iterator[Event]:
        if not (isinstance(part.data, Mapping) and "input" in part.data):
            yield from self._root.release()
        if isinstance(part.data, Mapping):
            if asked := as_sequence(part.data.get("interrupts")):
                self._interrupts.add(part.ns, asked)
            segment, call_id = self._subagents.on_task(part.ns, part.data)
            self._visibility.on_task(part.ns, segment, call_id)
            yield from self._steps.on_task(part.ns, part.data)

    def _on_metadata(self, part: Part) -> Iterator[Event]:
        """The server begins the run, or began it anew: then what was open never ends by itself."""
        if isinstance(part.data, Mapping) and "attempt" in part.data:
            yield from self._superstep_ended()

    def _on_error(self, part: Part) -> Iterator[Event]:
        self._error = part.data if part.data is not None else {}
        self._takes_short_way = False
        yield from ()

    def _end_subagent(self, subagent: Subagent, failure: Failure | None = None) -> Iterator[Event]:
        """Ends a subagent: failed; suspended, if an interrupt was raised inside it; or done."""
        yield from self._stream.close(subagent.ns)
        yield from self._steps.end_superstep(subagent.ns)
        depth = len(subagent.ns)
        inside = [interrupt_id for ns, interrupt_id in self._interrupts.by_namespace if ns[:depth] == subagent.ns]
        yield from self._subagents.end(subagent, inside, failure)

    # --- the end of a run -----------------------------------------------------------------------------------------

    def _end(self, ending: Ending) -> Iterator[Event]:
        """Closes what is still open; then the terminal event.

        A step that raises is counted as a loss, and the rest follows. After success or an interrupt the client's
        messages and state become the checkpoint's. After any other ending nothing is compared, and partial text stays.
        """
        losses = self._losses
        yield from losses.attempted("The first values", self._root.release)
        if isinstance(ending, Finished):
            yield from self._end_messages()
            losses.attempt("The interrupts of the ending", self._interrupts.add_last, ending.interrupts, otherwise=None)
            yield from losses.attempted("The last state", self._last_values, ending)
            yield from losses.attempted("The state", self._state.finish)
        neutral = None if isinstance(ending, Finished) else Failure(NEUTRAL)
        failure = losses.attempt("The error", failure_of, ending, self._options.error_detail, otherwise=neutral)
        yield from self._close(failure)
        none: list[Event] = []
        usage = losses.attempt("The token usage", self._stream.usage.totals, otherwise=none)
        if isinstance(ending, Finished):
            if self._interrupts and self._options.interrupts != "outcome":
                messages = self.view.messages
                yield from losses.attempted("Legacy interrupts", self._interrupts.legacy, messages, self._owner)
            outcome, result = self._outcome(ending)
            terminal = events.run_finished(self._thread_id, self._run_id, outcome, result, usage)
        elif failure is None or (isinstance(ending, Cancelled) and not self._options.legacy):
            terminal = events.run_finished(self._thread_id, self._run_id, {"type": "cancelled"}, None, usage)
        else:
            terminal = events.run_error(failure.message, failure.code, usage, failure.metadata)
        yield counted(terminal, len(losses))

    def _last_values(self, ending: Finished) -> Iterator[Event]:
        if ending.state is None:
            yield from self._root.at_end()
        else:
            self._root.last = ending.state
            yield from self._root.reconcile(ending.state, is_partial=False)

    def _outcome(self, ending: Finished) -> tuple[Event | None, Any]:
        """The outcome of a finished run, and its result."""
        attempt = self._losses.attempt
        if not self._interrupts:
            return {"type": "success"}, attempt("The result", result_of, ending, self._root.last, otherwise=None)
        if self._options.interrupts == "legacy":
            return None, None
        given = self._run_id, self.view.messages, self._owner
        items = attempt("The details of the interrupts", self._interrupts.items, *given, otherwise=None)
        return {"type": "interrupt", "interrupts": items or self._interrupts.bare(self._run_id)}, None

    def _close(self, failure: Failure | None) -> Iterator[Event]:
        """Closes what is open: messages, then steps, then subagents, innermost first."""
        losses = self._losses
        yield from self._end_messages()
        yield from losses.attempted("The true values of predicted state", self._state.end_predictions)
        yield from losses.attempted("The end of the steps", self._steps.end_superstep, ())
        none: list[Subagent] = []
        for subagent in losses.attempt("The end of the subagents", self._subagents.running, otherwise=none):
            yield from losses.attempted("The end of a subagent", self._end_subagent, subagent, failure)
        yield from self.view.open.closings()  # nothing, unless one of these raised

    def _end_messages(self) -> Iterator[Event]:
        yield from self._losses.attempted("The end of the messages", self._stream.close)
        yield from self._close_messages()

    def _close_messages(self) -> Iterator[Event]:
        """Closes the messages that the client still has open: there are any only if closing them raised."""
        opened = self.view.open
        yield from opened.closings(OpenItems(steps=opened.steps, started=opened.started, ended=opened.ended))


def _read(part: Any) -> Part | None:
    try:
        return read_part(part)
    except UnreadablePartError:
        raise
    except Exception as error:  # a part whose own shape raises when it is read
        raise UnreadablePartError(f"expected a part of a LangGraph stream, got {type(part).__name__}") from error
