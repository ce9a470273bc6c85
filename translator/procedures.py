"""What a part of a stream, a checkpoint and the ending of a run cause: the sequences that involve several packages.

Each procedure yields events one by one. `Translator` applies each event to the view before it asks for the next one.
The packages `messages`, `run` and `checkpoint` do not import each other: if one needs something that another knows, a
procedure asks for it here and passes it as an argument.

Rules

1. A part of a stream first releases the first values of a run, if they were waiting for it (`checkpoint/values.py` says
   which parts do not release them).
2. When a superstep has ended, what is open in it is closed innermost first: messages, subagents, steps.
3. The items of one part (the outputs of nodes, the messages of one list) do not affect each other. If one raises, which
   no known value causes, it counts as a loss, and the others are translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from .checkpoint.messages import Messages
from .checkpoint.state import State
from .checkpoint.values import RootValues
from .checkpoint.waiting import Waiting
from .client.open_items import OpenItems
from .client.view import ClientView
from .endings import Ending, Finished
from .jsonable.to_json import to_json, to_text
from .ledger import Ledger
from .losses import Losses, Reason
from .messages.model_calls import task_of
from .messages.predicted_state import Predictions
from .messages.stream import MessageStream
from .messages.visibility import VisibilityRules
from .options import Options
from .owner import RUN, Owner
from .parts.channels import as_sequence, channels, written_channels, written_messages
from .parts.message import fields
from .parts.part import NOTE, UNREAD, Namespace, Part
from .run.custom import custom_event, written_state
from .run.delegations import called_tool
from .run.ending import error_activity, failed, failure_of, result_of
from .run.error_detail import NEUTRAL, Failure, failure_of_result
from .run.interrupts import Interrupts
from .run.progress import Progress, Status, ToolProgress, emitted_progress, written_progress
from .run.steps import Steps
from .run.subagents import Subagent, Subagents
from .wire import events
from .wire.events import Event

_NONE: Mapping[Any, Any] = {}
_NOTHING: Any = object()


class Procedures:
    """The handlers of one run, and the order in which they are called."""

    def __init__(self, thread_id: str, run_id: str, options: Options, view: ClientView, losses: Losses) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._options = options
        self._view = view
        self._losses = losses
        self._ledger = ledger = Ledger(view, losses)
        self._interrupts = Interrupts(losses)
        self.visibility = VisibilityRules(options, losses)
        self._subagents = Subagents(view, options, self.visibility)
        self._steps = Steps(options, self._subagents)
        self._progress = ToolProgress(view, options, ledger)
        self._state = State(view, options, losses)
        self._messages = Messages(view, options, ledger, losses)
        predictions = Predictions(view, options, self._state.predict, self._state.release)
        self._stream = MessageStream(view, options, ledger, self.visibility, predictions, losses, self._messages.remove)
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
        self.next_delta = self._stream.next_delta
        """Returns the event for a chunk that only continues its message."""
        self._output: Any = _NOTHING
        """The last output of a node of the root graph, if it came before the first values."""
        self.error: Any = None
        """The data of a platform's `error` part, after which the run has failed."""
        self.of_mode: Mapping[str, Callable[[Part], Iterator[Event]]] = {
            "messages": self._on_message,
            "updates": self._on_updates,
            "values": self._on_values,
            "custom": self._on_custom,
            "tasks": self._on_tasks,
            "tools": self._on_tools,
            "metadata": self._on_metadata,
            "error": self._on_error,
            UNREAD: self._on_unread,
            NOTE: self._on_note,
        }
        """By mode: the procedure that yields the events of a part."""

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they came; None before the first."""
        return self._root.last

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """What the run has stopped at: interrupts that wait for answers, or a static breakpoint; None if at neither."""
        if not self._interrupts:
            return None
        return "interrupt" if self._interrupts.places else "breakpoint"

    def _owner(self, ns: Namespace) -> Owner:
        """Who emits what comes from the graph at `ns`."""
        subagents = self._subagents
        subagent = subagents.of(ns)
        if subagent is None:
            return RUN
        return Owner(subagent.id, subagents.tag(subagent), len(subagent.ns), subagents.hides(subagent))

    def _visible_owner(self, ns: Namespace) -> Owner | None:
        return self._owner(ns) if self._subagents.is_visible(ns) else None

    def set_platform(self) -> None:
        """The parts come from a platform: it leaves out channels, and marks no structured output."""
        self._root.has_all_channels = False
        self.visibility.expects_marks = False

    # --- messages -------------------------------------------------------------------------------------------------

    def not_stored(self, messages: Iterable[Any]) -> dict[str, list[Event]]:
        """The messages with text that the run emitted and that are not among these (`Translator.not_stored`)."""
        return self._ledger.texts_not_stored({fields(message).get("id") for message in messages})

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
        if call_id is not None:
            yield from self._progress.answered(ns, call_id, failed=fields(message).get("status") == "error")
        for subagent in self._subagents.answered(message, call_id, tuple(task_of(metadata).split("|"))):
            yield from self._end_subagent(subagent, failure_of_result(message, self._options.error_detail))

    # --- nodes and values -----------------------------------------------------------------------------------------

    def _on_updates(self, part: Part) -> Iterator[Event]:
        data = part.data if isinstance(part.data, Mapping) else {}
        if "__interrupt__" in data:
            self._interrupts.add(part.ns, data["__interrupt__"])
        marks = data.get("__metadata__")
        is_cached = isinstance(marks, Mapping) and marks.get("cached") is True
        if is_cached and self._may_be_replayed(data):
            self._root.is_resumed = True
        else:
            yield from self._root.release()
        for node, output in data.items():
            name = to_text(node)
            if name not in ("__interrupt__", "__metadata__"):
                with self._losses.guard("The output of a node"):
                    yield from self._on_node_output(part.ns, name, output, is_cached=is_cached)

    def _may_be_replayed(self, outputs: Mapping[Any, Any]) -> bool:
        """Whether cached updates may belong to tasks that finished in an earlier run, which a resumed run replays.

        LangGraph marks the hits of a node's own cache (`CachePolicy`) in the same way
        (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py), but the client
        does not have the messages of a hit."""
        key = self._options.messages_key
        ids = [fields(message).get("id") for output in outputs.values() for message in written_messages(output, key)]
        return not (ids and self._view.knows_messages) or any(isinstance(i, str) and self._view.has(i) for i in ids)

    def _on_node_output(self, ns: Namespace, node: str, output: Any, *, is_cached: bool) -> Iterator[Event]:
        if is_cached:
            yield from self._on_cached_output(ns, node, output)
            yield from self._steps.on_update(ns, node, is_cached=True)
        else:
            for subagent, result in self._subagents.returned(ns, output):
                yield from self._end_subagent(subagent, failure_of_result(result, self._options.error_detail))
            yield from self._steps.on_update(ns, node)
            self._stream.on_node_output(ns, node, output)
            if not ns and self._root.last is None:
                self._output = output
        self.visibility.on_node_output(ns, node, output)
        self._waiting.on_node_output(ns, node, output)
        if not ns:
            names = written_channels(output)
            self._state.written(names)
            self._messages.written(names)

    def _on_cached_output(self, ns: Namespace, node: str, output: Any) -> Iterator[Event]:
        """A cached update belongs to a sibling that has finished: no other part of a resumed run has its messages."""
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
        # A graph yields values before a node runs, and more of them later. A function yields values once: its result.
        has_messages = type(named.get(self._options.messages_key)) in (list, tuple)
        is_first = self._root.last is None
        self._messages.is_function = has_messages and is_first and _are_same(part.data, self._output)
        self._output = _NOTHING
        if not interrupts:
            self._waiting.root_values_came()
            with self._losses.guard("The end of a superstep") as end:
                yield from self._superstep_ended()
            if end.raised:
                yield from self._close_messages()
        with self._losses.guard("The subagents"):
            self.visibility.on_values((), named)
            yield from self._subagents.on_values((), named)
        is_deferred = False
        with self._losses.guard("The first values"):
            is_deferred = self._root.defers(part.data, is_partial=bool(interrupts))
        if not is_deferred:
            yield from self._root.on_values(part.data, is_partial=bool(interrupts))

    def _on_child_values(self, part: Part, *, is_partial: bool) -> Iterator[Event]:
        ns = part.ns
        self._waiting.on_values(ns, part.data)
        self.visibility.on_values(ns, part.data)
        yield from self._subagents.on_values(ns, channels(part.data))
        yield from self._steps.on_graph(ns)
        if not is_partial:
            self._waiting.superstep_ended(ns)
            yield from self._stream.close(ns)
            yield from self._results_in(ns, (channels(part.data) or _NONE).get(self._options.messages_key))
            yield from self._progress.superstep_ended(ns, is_waiting=bool(self._interrupts))
            for subagent in self._subagents.running(ns):
                yield from self._end_subagent(subagent)
            yield from self._steps.end_superstep(ns)

    def _results_in(self, ns: Namespace, messages: Any) -> Iterator[Event]:
        """The results among a subgraph's messages that no part has brought."""
        owner = self._visible_owner(ns)
        if owner is None:
            return
        for message in [*self._stream.results_in(messages, owner)][::-1]:
            yield from self._stream.on_whole(ns, message, _NONE, owner)
            if (call_id := self._stream.answered(message, owner)) is not None:
                failed = fields(message).get("status") == "error"
                yield from self._progress.answered(ns, call_id, failed=failed)

    def _superstep_ended(self) -> Iterator[Event]:
        """Closes what is open in a superstep of the root graph that has ended."""
        yield from self._stream.close()
        yield from self._progress.superstep_ended((), is_waiting=bool(self._interrupts))
        for subagent in self._subagents.running():
            yield from self._end_subagent(subagent)
        yield from self._steps.end_superstep(())

    def on_checkpoint(
        self, values: Any, ns: Namespace, interrupts: Sequence[Any], at_breakpoint: bool
    ) -> Iterator[Event]:
        """The events for a checkpoint that was read during the stream (`Translator.apply_checkpoint`)."""
        self.visibility.on_values(ns, values)
        if ns:
            self._waiting.on_checkpoint(ns, values)
            if interrupts or at_breakpoint:
                yield from self._subagents.on_values(ns, channels(values))
        elif values is not None:
            self._subagents.on_checkpoint(channels(values))
            yield from self._root.on_checkpoint(values)
        self._interrupts.add_pending(ns, interrupts, at_breakpoint=at_breakpoint)

    # --- the rest of a run ----------------------------------------------------------------------------------------

    def _on_custom(self, part: Part) -> Iterator[Event]:
        yield from self._root.release()
        owner = self._owner(part.ns)
        payload = to_json(part.data)
        if owner.is_hidden:
            name = payload.get("name") if isinstance(payload, dict) else None
            self._losses.drop("custom event", name if isinstance(name, str) else None, Reason.SUBAGENT)
            return
        progress = written_progress(payload)
        if progress is not None:
            yield from self._on_progress(part.ns, progress)
            return
        written = written_state(payload) if owner.writes_state else None
        if written is None:
            event = custom_event(payload, self._view, owner.tag)
            if event["type"] == "ACTIVITY_SNAPSHOT":
                self._ledger.keep([event["messageId"]])
            yield event
            return
        for name, value in written.items():
            predicted = self._state.predict(name, value)
            if predicted is not None:
                yield predicted

    def _on_tools(self, part: Part) -> Iterator[Event]:
        progress = emitted_progress(part.data)
        if progress is not None:
            yield from self._on_progress(part.ns, progress)

    def _on_progress(self, ns: Namespace, progress: Progress) -> Iterator[Event]:
        """A tool reports its progress, for a call that the graph at `ns`, or a graph around it, made."""
        graph = self.visibility.graph_of_call(ns, progress.call_id, self._owner(ns).depth)
        owner = self._visible_owner(graph)
        if owner is not None:
            yield from self._progress.on_progress(progress, graph, owner)
        else:
            why = Reason.SUBAGENT if self._owner(graph).is_hidden else Reason.IN_TOOL
            self._losses.drop("progress of the tool call", progress.call_id, why)

    def _on_tasks(self, part: Part) -> Iterator[Event]:
        if not (isinstance(part.data, Mapping) and "input" in part.data):
            yield from self._root.release()
        if isinstance(part.data, Mapping):
            if asked := as_sequence(part.data.get("interrupts")):
                self._interrupts.add(part.ns, asked)
            segment = f"{part.data.get('name')}:{part.data.get('id')}"
            self.visibility.on_task(part.ns, segment, called_tool(part.data.get("input")))
            yield from self._steps.on_task(part.ns, part.data)

    def _on_metadata(self, part: Part) -> Iterator[Event]:
        """The server starts the run, or has started it again: then what was open would never end by itself."""
        if isinstance(part.data, Mapping) and "attempt" in part.data:
            yield from self._superstep_ended()

    def _on_error(self, part: Part) -> Iterator[Event]:
        self.error = part.data if part.data is not None else {}
        self._stream.stop()
        yield from ()

    def _on_note(self, part: Part) -> Iterator[Event]:
        """Logs what the reader says about the stream as a whole."""
        self._losses.warn(part.data)
        yield from ()

    def _on_unread(self, part: Part) -> Iterator[Event]:
        """Counts what the reader of the stream could not read as a loss."""
        self._losses.fault(*part.data)
        yield from ()

    def _end_subagent(self, subagent: Subagent, failure: Failure | None = None) -> Iterator[Event]:
        """Ends a subagent. It has failed, or is suspended by an interrupt that was raised inside it, or is done."""
        yield from self._stream.close(subagent.ns)
        yield from self._steps.end_superstep(subagent.ns)
        depth = len(subagent.ns)
        inside = [interrupt_id for ns, interrupt_id in self._interrupts.places if ns[:depth] == subagent.ns]
        yield from self._subagents.end(subagent, inside, failure)

    # --- the end of a run -----------------------------------------------------------------------------------------

    def failure(self, ending: Ending) -> Failure | None:
        """What an ending makes of the items that are still open: they fail like this, or None if the run finished."""
        with self._losses.guard("The error"):
            return failure_of(ending, self._options.error_detail)
        return None if isinstance(ending, Finished) else Failure(NEUTRAL)

    def end(self, ending: Ending, failure: Failure | None) -> Iterator[Event]:
        """The events before the terminal event: they close what is still open.

        After success or an interrupt, the client's messages and state become those of the checkpoint. After any other
        ending, only first values that were waiting are compared with the client's, and partial text stays.
        """
        guard = self._losses.guard
        with guard("The first values"):
            yield from self._root.release()
        if isinstance(ending, Finished):
            yield from self._end_messages()
            with guard("The interrupts of the ending"):
                self._interrupts.add_last(ending.interrupts, at_breakpoint=ending.at_breakpoint)
            with guard("The interrupts that were caught"):
                self._interrupts.forget_caught()
            with guard("The last values"):
                yield from self._root.at_end(ending.state)
            with guard("The last state"):
                if (event := self._state.finish()) is not None:
                    yield event
            with guard("The channels that nobody sees"):
                if not self._interrupts and (unseen := self._state.unseen()):
                    names = to_text(", ".join(unseen))
                    self._losses.warn(
                        f"The run has written only channels that clients do not see; Options(state_include=...) shows "
                        f"them: {names}"
                    )
        status: Status = "stopped" if not isinstance(ending, Finished) else "waiting" if self._interrupts else "done"
        with guard("The progress of tools"):
            yield from self._progress.end(status)
        yield from self._close(failure)
        with guard("The older forms of the ending"):
            if not isinstance(ending, Finished):
                yield from error_activity(ending, failure, self._run_id, self._options)
            elif self._interrupts and self._options.interrupts != "outcome":
                yield from self._interrupts.legacy(self._view.messages, self._owner)

    def terminal(self, ending: Ending, failure: Failure | None) -> Event:
        """The terminal event of a run with this ending."""
        usage: list[Event] = []
        with self._losses.guard("The token usage"):
            usage = self._stream.usage.totals()
        if not isinstance(ending, Finished):
            return failed(ending, failure, self._thread_id, self._run_id, usage)
        outcome, result = self._outcome(ending)
        return events.run_finished(self._thread_id, self._run_id, outcome, result, usage)

    def _outcome(self, ending: Finished) -> tuple[Event | None, Any]:
        """The outcome of a finished run, and its result."""
        if not self._interrupts:
            result = None
            with self._losses.guard("The result"):
                result = result_of(ending, self._root.last)
            return {"type": "success"}, result
        if self._options.interrupts == "legacy":
            return None, None
        items = self._interrupts.bare(self._run_id)
        with self._losses.guard("The details of the interrupts"):
            items = self._interrupts.items(self._run_id, self._view.messages, self._owner)
        return {"type": "interrupt", "interrupts": items}, None

    def _close(self, failure: Failure | None) -> Iterator[Event]:
        """Closes what is open: messages, steps, then subagents, innermost first."""
        guard = self._losses.guard
        yield from self._end_messages()
        with guard("The true values of predicted state"):
            if (event := self._state.end_predictions()) is not None:
                yield event
        with guard("The end of the steps"):
            yield from self._steps.end_superstep(())
        running: list[Subagent] = []
        with guard("The end of the subagents"):
            running = self._subagents.running()
        for subagent in running:
            with guard("The end of a subagent"):
                yield from self._end_subagent(subagent, failure)
        for _ in range(2):  # something is left only if one of these raised, or if an event that closes it was lost
            with guard("What is open"):
                if self._view.has_open_items:
                    yield from self._view.open.closings()

    def _end_messages(self) -> Iterator[Event]:
        with self._losses.guard("The end of the messages"):
            yield from self._stream.close()
        yield from self._close_messages()

    def _close_messages(self) -> Iterator[Event]:
        """Closes the messages that the client still has open, which it has only if closing them raised."""
        with self._losses.guard("The messages that are open"):
            if self._view.has_open_messages:
                opened = self._view.open
                yield from opened.closings(OpenItems(steps=opened.steps, started=opened.started, ended=opened.ended))


def _are_same(values: Any, output: Any) -> bool:
    """Whether values are the output of a node; False if they cannot be compared."""
    try:
        return values is output or bool(values == output)
    except Exception:  # a user's class, or an array, which cannot be converted to bool
        return False
