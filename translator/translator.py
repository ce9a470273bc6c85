"""The state machine: parts in, events out. It routes; what a kind of part means is in the module of its concern.

States and legal moves:

    new --start()--> live --feed(part)*--> live --finish(ending)--> over

Any other call raises `TranslatorMisuseError` and changes nothing. `feed` raises for a part it cannot read, also without
change; nothing that is *in* a part raises. After a platform's `error` part the run is over in all but name: later parts
are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, Literal, ParamSpec

from .checkpoint.messages import History
from .checkpoint.predicted_state import Predictions
from .checkpoint.state import State
from .checkpoint.values import RootValues
from .checkpoint.waiting import Waiting
from .client.open_items import OpenItems
from .client.view import ClientView
from .endings import Cancelled, Ending, Failed, Finished, Lost
from .errors import TranslatorMisuseError, UnreadablePartError
from .jsonable.to_json import ON_UNREADABLE, to_json, to_text
from .losses import Losses
from .messages.model_calls import task_of
from .messages.stream import Speech
from .messages.visibility import Speakers
from .options import PROTOCOL_VERSION, Options
from .outbox import Outbox
from .parts.channels import as_sequence, channels, written_channels, written_messages
from .parts.part import IGNORED_MODES, Namespace, Part, is_platform_part, message_chunk, read_part
from .parts.platform_messages import AccumulatedMessages
from .run.custom import custom_event
from .run.ending import counted, failure_of, result_of, unanswered
from .run.error_detail import NEUTRAL, Failure, failure_of_result
from .run.interrupts import Interrupts
from .run.steps import Steps
from .run.subagents import Subagent, Subagents
from .run.usage import Usage
from .wire import events
from .wire.events import Event
from .wire.older_clients import for_client_version

_NONE: Mapping[Any, Any] = {}
_Given = ParamSpec("_Given")


def _logging_values(
    translate: Callable[Concatenate[Translator, _Given], list[Event]],
) -> Callable[Concatenate[Translator, _Given], list[Event]]:
    """A method of the translator during which a value that cannot be read is logged as one of its run."""

    @wraps(translate)
    def logging_values(self: Translator, /, *args: _Given.args, **given: _Given.kwargs) -> list[Event]:
        before = ON_UNREADABLE.set(self.losses.value)
        try:
            return translate(self, *args, **given)
        finally:
            ON_UNREADABLE.reset(before)

    return logging_values


class Translator:
    """Translates one run's stream. Deterministic: the same parts, ids, options and view give the same events.

    `thread_id`, `run_id`: as `RUN_STARTED` tells them. `view`: what the client holds when the stream begins, and goes
    on as `.view`; None: unknown. `parent_run_id`: the run this one continues, if there is one.
    """

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        options: Options | None = None,
        view: ClientView | None = None,
        *,
        parent_run_id: str | None = None,
    ) -> None:
        self.options = options or Options()
        self.thread_id = to_text(str(thread_id))
        self.run_id = to_text(str(run_id))
        self._parent_run_id = parent_run_id
        self._phase: Literal["new", "live", "over"] = "new"
        self.view = ClientView(version=self.options.protocol_version) if view is None else view
        self.outbox = Outbox(self.view)
        self.usage = Usage()
        self.losses = Losses(self.thread_id, self.run_id)
        self.interrupts = Interrupts(self.losses)
        self.state = State(self.outbox, self.options, self.losses)
        self._history = History(self.outbox, self.options, self.losses)
        self._speakers = Speakers(self.options, self.losses)
        self.subagents = Subagents(self.view, self.options, self._speakers)
        self.steps = Steps(self.options, self.subagents)
        self.speech = Speech(
            self.outbox,
            self.options,
            self._speakers,
            self.subagents,
            self.usage,
            Predictions(self.options, self.state.predict, self.state.release),
            self._history,
            self.losses,
        )
        self._waiting = Waiting(self.view, self.options, self.interrupts, self.subagents, self.losses)
        self.root = RootValues(self._history, self.speech, self.state, self._waiting, self.options, self.losses)
        self._accumulated = AccumulatedMessages()
        self._is_platform = False
        """Whether parts came as a platform's stream has them."""
        self._error_data: Any = None
        """What a platform's `error` part said."""
        self._is_quick = False
        """Whether a chunk may take the short way: the run is live and has no error, and no raw events are told."""
        self._routes: dict[str, Callable[[Part], None]] = {
            "messages": self._messages,
            "messages/partial": self._accumulated_messages,
            "messages/complete": self._accumulated_messages,
            "messages/metadata": lambda part: self._accumulated.learn(part.data),
            "updates": self._updates,
            "values": self._values,
            "custom": self._custom,
            "tasks": self._tasks,
            "metadata": self._metadata,
            "error": self._error,
        }

    def start(self) -> list[Event]:
        """`RUN_STARTED`. Raises `TranslatorMisuseError` if it was called before."""
        self._expect("new")
        self._phase = "live"
        self._is_quick = not self.options.raw_events
        self.outbox.tell(events.run_started(self.thread_id, self.run_id, PROTOCOL_VERSION, self._parent_run_id))
        return self.outbox.take()

    def feed(self, part: Any) -> list[Event]:
        """The events for the next part of the stream, in any of the shapes of `parts`.

        Raises `UnreadablePartError` for what is no part, `TranslatorMisuseError` before the start and after the end.
        """
        try:
            if self._is_quick and (chunk := message_chunk(part)) is not None:
                event = self.speech.chunk_of_text(chunk[1], chunk[2])
                if event is not None:
                    return [event]
        except Exception:  # `_fed` reads the part again, and reports what is wrong with it
            pass
        return self._fed(part)

    @_logging_values
    def _fed(self, part: Any) -> list[Event]:
        self._expect("live")
        read = _read(part)
        if read is None or self._error_data is not None:
            return []
        self._is_platform = self._is_platform or is_platform_part(part)
        if self.options.raw_events:
            self.outbox.tell(events.raw(to_json(read._asdict())))
        route = self._routes.get(read.mode)
        if route is not None:
            self._tell(route, read, read.mode)
        elif read.mode not in IGNORED_MODES:
            self.losses.warn(f"Parts of the unknown mode {to_text(read.mode)[:40]!r} are passed over")
        return self.outbox.take()

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
        self._is_quick = False
        if self._error_data is not None and (ending is None or isinstance(ending, Finished)):
            ending = Failed(self._error_data)
        if ending is None and self._is_platform:
            self.losses.warn("A platform's stream stopped, and no ending was given: `finish(ending)`, or `at_end`")
            ending = Lost("The stream stopped, and how the run ended is not known.")
        self._end(Finished() if ending is None else ending)
        return self.outbox.take()

    @_logging_values
    def apply_checkpoint(self, values: Any, ns: Namespace = (), interrupts: Any = None) -> list[Event]:
        """The events for what a checkpoint of the thread has and the stream has not shown yet.

        `values`: the values of the graph at `ns`, as of its `values` part; None is nothing.
        `interrupts`: those that are pending there; an empty tuple for a static breakpoint.

        Of the root's values, messages and state that the client lacks are emitted. What is streaming continues; if the
        values have it whole, it is completed and closed, and no chunk of it is emitted any more. Nothing is removed but
        what came from an earlier checkpoint, never streamed, and is not in this one. Values that are older than the
        stream's last, or may be, emit nothing (see `checkpoint/values.py`).

        Of a subgraph that waits at an interrupt: before the first part, the run continues in that subgraph, and its
        messages are not removed; before `finish`, with its interrupts, `finish` emits those of its messages that the
        stream did not bring.

        Raises `TranslatorMisuseError` before the start and after the end.
        """
        self._expect("live")
        if ns:
            self._tell(self._waits, Part(ns, "values", values, interrupts=interrupts), "checkpoint")
        elif values is not None:
            self._tell(self.root.shown, values, "checkpoint")
        if not ns and interrupts is not None:
            self.interrupts.add((), interrupts)
        return self.outbox.take()

    def _waits(self, part: Part) -> None:
        self._waiting.known(part.ns, part.data)
        if part.interrupts is not None:
            self.outbox.tell_all(self.subagents.on_values(part.ns, channels(part.data)))
            self.interrupts.add(part.ns, part.interrupts)

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they came; None before any."""
        return self.root.last

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """What the run has stopped at: interrupts that wait for answers, or a static breakpoint; None for neither."""
        if not self.interrupts:
            return None
        return "interrupt" if self.interrupts.by_namespace else "breakpoint"

    def end_subagent(self, subagent: Subagent, failure: Failure | None = None) -> None:
        """Ends a subagent: failed; suspended, if an interrupt was raised inside it; or done."""
        self.speech.end_within(subagent.ns)
        self.outbox.tell_all(self.steps.end_superstep(subagent.ns))
        depth = len(subagent.ns)
        inside = [interrupt_id for ns, interrupt_id in self.interrupts.by_namespace if ns[:depth] == subagent.ns]
        self.outbox.tell_all(self.subagents.end(subagent, inside, failure))

    def _end(self, ending: Ending) -> None:
        """Emits the end of the run: what is still open is closed, then the terminal event follows.

        A step that raises is counted as a loss, and the rest follows. After success or an interrupt the client's
        messages and state become the checkpoint's. After any other ending nothing is compared, and partial text stays.
        """
        attempt = self.losses.attempt
        attempt("The opening", self.root.open_now, otherwise=None)
        if isinstance(ending, Finished):
            self._end_messages()
            attempt("The interrupts of the ending", self.interrupts.add_last, ending.interrupts, otherwise=None)
            attempt("The last state", self._last_values, ending, otherwise=None)
            attempt("The state", self.state.finish, otherwise=None)
        neutral = None if isinstance(ending, Finished) else Failure(NEUTRAL)
        failure = attempt("The error", failure_of, ending, self.options.error_detail, otherwise=neutral)
        self._close(failure)
        if isinstance(ending, Finished):
            outcome, result = self._outcome(ending)
            terminal = events.run_finished(self.thread_id, self.run_id, outcome, result, self._usage())
        elif isinstance(ending, Cancelled) or failure is None:
            terminal = events.run_finished(self.thread_id, self.run_id, {"type": "cancelled"}, None, self._usage())
        else:
            terminal = events.run_error(failure.message, failure.code, self._usage(), failure.metadata)
        self.outbox.tell(for_client_version(counted(terminal, len(self.losses)), self.options.protocol_version))

    def _last_values(self, ending: Finished) -> None:
        if ending.state is None:
            self.root.judge()
        else:
            self.root.last = ending.state
            self.root.settle(ending.state, going_on=False)

    def _outcome(self, ending: Finished) -> tuple[Event | None, Any]:
        """The outcome of a finished run and its result; the events for older clients are emitted here."""
        attempt = self.losses.attempt
        if not self.interrupts:
            result = attempt("The result", result_of, ending, self.root.last, otherwise=None)
            return {"type": "success"}, result
        if self.options.interrupts != "outcome":
            none: list[Event] = []
            legacy = attempt("Legacy interrupts", self.interrupts.legacy, self.subagents.tag_at, otherwise=none)
            self.outbox.tell_all(legacy)
        if self.options.interrupts == "legacy":
            return None, None
        items = attempt("The details of the interrupts", self._interrupts, otherwise=None)
        return {"type": "interrupt", "interrupts": items or self.interrupts.bare(self.run_id)}, None

    def _interrupts(self) -> list[Event]:
        return self.interrupts.items(self.run_id, unanswered(self.view.messages), self.subagents.tag_at)

    def _usage(self) -> list[Event]:
        return self.losses.attempt("The token usage", self.usage.totals, otherwise=[])

    def _close(self, failure: Failure | None) -> None:
        """Closes what is open: messages, then steps, then subagents, innermost first."""
        attempt = self.losses.attempt
        self._end_messages()
        attempt("The true values of predicted state", self.state.end_predictions, otherwise=None)
        attempt("The end of the steps", lambda: self.outbox.tell_all(self.steps.end_superstep(())), otherwise=None)
        none: list[Subagent] = []
        for subagent in attempt("The end of the subagents", self.subagents.running, otherwise=none):
            attempt("The end of a subagent", self.end_subagent, subagent, failure, otherwise=None)
        self.outbox.tell_all(self.view.open.closings())  # empty, unless one of these raised

    def _end_messages(self) -> None:
        self.losses.attempt("The end of the messages", self.speech.end_all, otherwise=None)
        self._close_messages()

    def _close_messages(self) -> None:
        """Closes the messages that the client still has open: there are any only if ending them raised."""
        opened = self.view.open
        left = opened.closings(OpenItems(steps=opened.steps, started=opened.started, ended=opened.ended))
        if left:
            self.outbox.tell_all(left)
            self.speech.realign()

    def _expect(self, phase: str) -> None:
        if self._phase != phase:
            needs = {"new": "start() comes once, first", "live": "feed() and finish() come between start() and the end"}
            raise TranslatorMisuseError(f"{needs[phase]}; this translator is {self._phase}")

    def _tell(self, route: Callable[[Any], None], told: Any, mode: str) -> None:
        try:
            route(told)
        except Exception as error:  # the last resort: nothing known does it, and a value does not end a stream
            self._unforeseen(f"A part of the mode {mode!r}", error)

    def _unforeseen(self, what: str, error: Exception) -> None:
        """Counts a loss, numbered so that each counts, and takes over what the client has open."""
        self.losses.unforeseen(f"{what} ({len(self.losses) + 1})", error)
        self.speech.realign()

    def _messages(self, part: Part) -> None:
        self.root.open_now()
        message, metadata = part.data
        self._heard(part.ns, message, _NONE if metadata is None else metadata)

    def _accumulated_messages(self, part: Part) -> None:
        for message in part.data if isinstance(part.data, list) else ():
            try:
                for chunk in self._accumulated.read(part.mode, message):
                    self._messages(chunk)
            except Exception as error:  # the last resort, message by message
                self._unforeseen(f"A message of the mode {part.mode!r}", error)

    def _heard(self, ns: Namespace, message: Any, metadata: Mapping[str, Any]) -> None:
        self.outbox.tell_all(self.subagents.on_message(ns, metadata))
        self.outbox.tell_all(self.steps.on_message(ns, metadata))
        answered = self.speech.heard(ns, message, metadata)
        for subagent in self.subagents.answered(message, answered, tuple(task_of(metadata).split("|"))):
            self.end_subagent(subagent, failure_of_result(message, self.options.error_detail))

    def _updates(self, part: Part) -> None:
        data = part.data if isinstance(part.data, Mapping) else {}
        if "__interrupt__" in data:
            self.interrupts.add(part.ns, data["__interrupt__"])
        marks = data.get("__metadata__")
        cached = isinstance(marks, Mapping) and marks.get("cached") is True
        if cached:
            self.root.is_resumed = True
        else:
            self.root.open_now()
        for node, output in data.items():
            name = to_text(node)
            if name not in ("__interrupt__", "__metadata__"):
                try:
                    self._updated(part.ns, name, output, cached=cached)
                except Exception as error:  # the last resort, node by node
                    self._unforeseen("The output of a node", error)

    def _updated(self, ns: Namespace, node: str, output: Any, *, cached: bool) -> None:
        if cached:
            self._replayed(ns, node, output)
        else:
            self.outbox.tell_all(self.steps.on_update(ns, node))
            self.speech.returned(ns, node, output)
        self._waiting.returned(ns, node, output)
        if not ns:
            names = written_channels(output)
            self.state.write(names)
            self._history.write(names)

    def _replayed(self, ns: Namespace, node: str, output: Any) -> None:
        """Tells the messages of a cached update: a finished sibling's, which no other part of a resumed run carries."""
        if self.root.is_told and not ns:
            for message in written_messages(output, self.options.messages_key):
                self.speech.whole(ns, message, {"langgraph_node": node}, replayed=True)

    def _values(self, part: Part) -> None:
        named = channels(part.data) or _NONE
        interrupts = as_sequence(part.interrupts) or as_sequence(named.get("__interrupt__"))
        if interrupts:
            self.interrupts.add(part.ns, interrupts)
        if part.ns:
            self._child_values(part, going_on=bool(interrupts))
            return
        self.root.open_now()
        if not interrupts:
            self._waiting.superstep_of_root_ended()
            try:
                self._superstep_ended()
            except Exception as error:  # the last resort: the values count
                self._unforeseen("An end of a superstep", error)
                self._close_messages()
        self.outbox.tell_all(self.subagents.on_values((), named))
        if self.losses.attempt("The opening", self.root.holds, part.data, bool(interrupts), otherwise=False):
            return
        self.root.streamed(part.data, going_on=bool(interrupts))

    def _child_values(self, part: Part, *, going_on: bool) -> None:
        self._waiting.values(part.ns, part.data)
        self.outbox.tell_all(self.subagents.on_values(part.ns, channels(part.data)))
        self.outbox.tell_all(self.steps.on_graph(part.ns))
        if not going_on:
            self._waiting.superstep_ended(part.ns)
            self.speech.end_within(part.ns)
            for subagent in self.subagents.running(part.ns):
                self.end_subagent(subagent)
            self.outbox.tell_all(self.steps.end_superstep(part.ns))

    def _superstep_ended(self) -> None:
        for part in self._accumulated.rest():
            self._messages(part)
        self.speech.end_all()
        for subagent in self.subagents.running():
            self.end_subagent(subagent)
        self.outbox.tell_all(self.steps.end_superstep(()))

    def _custom(self, part: Part) -> None:
        self.root.open_now()
        subagent = self.subagents.of(part.ns)
        if self.subagents.hides(subagent):
            return
        event = custom_event(part.data, self.view, self.subagents.tag(subagent))
        if event["type"] == "ACTIVITY_SNAPSHOT":
            self._history.kept.add(event["messageId"])
        self.outbox.tell(event)

    def _tasks(self, part: Part) -> None:
        if not (isinstance(part.data, Mapping) and "input" in part.data):
            self.root.open_now()
        if isinstance(part.data, Mapping):
            if asked := as_sequence(part.data.get("interrupts")):
                self.interrupts.add(part.ns, asked)
            segment, runs_tool = self.subagents.on_task(part.ns, part.data)
            self._speakers.task(part.ns, segment, runs_tool=runs_tool)
            self.outbox.tell_all(self.steps.on_task(part.ns, part.data))

    def _metadata(self, part: Part) -> None:
        """The server begins the run, or began it anew: then what was open never ends by itself."""
        if isinstance(part.data, Mapping) and "attempt" in part.data:
            self._superstep_ended()

    def _error(self, part: Part) -> None:
        self._error_data = part.data if part.data is not None else {}
        self._is_quick = False


def _read(part: Any) -> Part | None:
    try:
        return read_part(part)
    except UnreadablePartError:
        raise
    except Exception as error:  # a part whose own shape raises when it is read
        raise UnreadablePartError(f"expected a part of a LangGraph stream, got {type(part).__name__}") from error
