"""Produces the events for a part of the stream, for a checkpoint, and for the end of a run, by calling the handlers of
several packages in turn.

Each procedure yields events one by one. `Translator` applies each event to the view before it asks for the next one.
The packages `messages`, `run` and `checkpoint` do not import each other. If one of them needs a fact that another one
knows, a procedure asks the other one for the fact and passes it on as an argument.

Rules:

1. If the first values of a run were deferred, the next part of the stream releases them, and their events come first.
   `checkpoint/values.py`, rule 1, lists the parts that do not release them.
2. When a superstep has ended, the items that are open in it are closed from the innermost to the outermost: messages,
   subagents, steps.
3. The items of one part (the outputs of nodes, the messages of one list) do not affect each other. If translating an
   item raises an exception, only that item counts as a loss, and the others are still translated. This is a safeguard;
   no known input causes such an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from .checkpoint.reconcile import StoredMessages
from .checkpoint.state import State
from .checkpoint.superstep import Superstep
from .checkpoint.values import RootValues, SuperstepEnd
from .checkpoint.waiting_subgraphs import SubgraphMessages, WaitingSubgraphs
from .client.open_items import OpenItems
from .client.view import ClientView
from .convert.compare import by_id, has_edited_arguments
from .convert.to_agui import to_agui
from .endings import Ending, Finished
from .jsonable.to_json import to_json, to_text
from .ledger import Ledger, Overlap
from .losses import Losses, Reason
from .messages.model_calls import task_of
from .messages.predicted_state import Predictions
from .messages.stream import MessageStream
from .messages.visibility import VisibilityRules
from .options import Options
from .owner import RUN, Owner
from .parts.channels import as_sequence, channels, updates_in, writes_channels, written_messages
from .parts.message import fields_of, kind_of, mapping_in
from .parts.part import NOTE, UNREAD, Namespace, Part
from .run.custom import custom_event, written_state
from .run.error_detail import NEUTRAL, Failure, failure_of_result
from .run.interrupts import Interrupts
from .run.page_calls import awaited_calls
from .run.progress import Progress, Status, ToolProgress, emitted_progress, written_progress
from .run.steps import Steps
from .run.subagents import Subagent, Subagents
from .run.terminal import error_activity, failed, failure_of, result_of
from .snapshots import Snapshots
from .tool_tasks import ToolTasks
from .wire import events
from .wire.events import Event

_NONE: Mapping[Any, Any] = {}
_NOTHING: Any = object()


class Procedures:
    """Creates the handlers of one run, and calls them in the right order."""

    def __init__(self, thread_id: str, run_id: str, options: Options, view: ClientView, losses: Losses) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._options = options
        self._view = view
        self._losses = losses
        self._ledger = ledger = Ledger(view, losses)
        self._interrupts = Interrupts(losses)
        self._tools = tools = ToolTasks()
        self.visibility = VisibilityRules(options, tools, losses)
        self._subagents = Subagents(view, options, tools)
        self._steps = Steps(options, self._subagents)
        self._progress = ToolProgress(view, options, ledger)
        self._state = State(view, options, losses)
        self._snapshots = snapshots = Snapshots(view, options, ledger)
        self._messages = StoredMessages(view, options, ledger, losses, snapshots)
        self._predictions = Predictions(view, options)
        self._stream = MessageStream(
            view, options, ledger, tools, self.visibility, self._predictions, snapshots, losses
        )
        self._subgraphs = WaitingSubgraphs(view, options, losses)
        self._superstep = Superstep()
        self._root = RootValues(self._messages, self._state, ledger, options, losses)
        self.next_delta = self._stream.next_delta
        """Returns the event for a chunk that only continues its message."""
        self._output: Any = _NOTHING
        """The last output of a node of the root graph, if it was received before the first values."""
        self.is_platform = False
        """Whether the parts are known to come from a platform."""
        self.error: Any = None
        """The data of a platform's `error` part; None as long as no such part has arrived."""
        self._of_mode: Mapping[str, Callable[[Part], Iterator[Event]]] = {
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
        """For each mode, the procedure that yields the events for a part of that mode."""

    def on_part(self, part: Part) -> Iterator[Event] | None:
        """Returns the events for a part of the stream; None if parts of its mode are not translated."""
        procedure = self._of_mode.get(part.mode)
        if procedure is None:
            return None
        may_predict = part.mode == "messages" or self._predictions  # only a message begins a tool call
        return self._with_predictions(procedure(part)) if may_predict else procedure(part)

    def on_checkpoint(
        self, values: Any, ns: Namespace, interrupts: Sequence[Any], at_breakpoint: bool
    ) -> Iterator[Event]:
        """Returns the events for a checkpoint that was read during the stream (`Translator.apply_checkpoint`)."""
        return self._with_predictions(self._on_checkpoint(values, ns, interrupts, at_breakpoint))

    def on_end(self, ending: Ending, failure: Failure | None) -> Iterator[Event]:
        """Returns the events before the terminal event, which close the items that are still open.

        After success or an interrupt, the client's messages and state become equal to those of the checkpoint. After
        any other ending, partial text stays. In that case, only the first values (if they are still deferred) and the
        real values of predicted state are emitted.
        """
        return self._with_predictions(self._on_end(ending, failure))

    def _with_predictions(self, made: Iterator[Event]) -> Iterator[Event]:
        """Yields these events, and adds the events for state that is predicted from the tool calls among them."""
        predictions, guard = self._predictions, self._losses.guard
        for event in made:
            if "toolCallId" not in event or event["toolCallId"] not in predictions:
                yield event
                continue
            with guard("The state that is predicted"):
                if (announced := predictions.announced(event)) is not None:
                    yield announced
                yield from self._predicted(predictions.ended(event))
            yield event
            with guard("The state that is predicted"):
                if event["toolCallId"] in predictions:
                    yield from self._predicted(predictions.grown(event))

    def _predicted(self, values: Mapping[str, Any]) -> Iterator[Event]:
        """Yields one event for each predicted channel. Each event is computed from the state that the client has after
        the previous one."""
        for name, value in values.items():
            if (event := self._state.predict(name, value)) is not None:
                yield event

    @property
    def values(self) -> Any:
        """The newest known values of the root graph, as they were received; None if no values have been received
        yet."""
        return self._root.last

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """The reason why the run has stopped: interrupts that have not been answered, or a static breakpoint. None if
        neither is the case, or if the run only waits for the page."""
        if not self._interrupts.asks:
            return None
        return "interrupt" if self._interrupts.places else "breakpoint"

    def _owner(self, ns: Namespace) -> Owner:
        """The owner of the messages and tool calls of the graph at `ns`."""
        subagents = self._subagents
        subagent = subagents.of(ns) if ns else None
        if subagent is None:
            return RUN
        return Owner(subagent.id, subagents.tag(subagent), len(subagent.ns), subagents.hides(subagent))

    def _visible_owner(self, ns: Namespace) -> Owner | None:
        return self._owner(ns) if self._subagents.is_visible(ns) else None

    def _owns_calls(self, ns: Namespace) -> bool:
        """Whether the tool calls of the graph at `ns` belong to messages of the thread itself."""
        owner = self._visible_owner(ns)
        return owner is not None and owner.id is None

    def set_platform(self) -> None:
        """Records that the parts come from a platform, which leaves out some channels and does not mark structured
        output."""
        self.is_platform = True
        self._root.has_all_channels = False
        self.visibility.expects_marks = False

    # --- root values ----------------------------------------------------------------------------------------------

    def _stored_in_subgraphs(self) -> SubgraphMessages:
        """The messages that count as stored because they are in the checkpoints of subgraphs that are waiting at an
        interrupt."""
        if not self._subgraphs.namespaces:
            return SubgraphMessages([], bool(self._interrupts))
        owners = {ns: self._visible_owner(ns) for ns in self._subgraphs.namespaces}
        places, at_breakpoint = self._interrupts.namespaces, self._interrupts.is_at_breakpoint
        has_compared = self._root.has_compared
        stored = self._subgraphs.stored(owners, places, at_breakpoint=at_breakpoint, has_compared=has_compared)
        return SubgraphMessages(stored, bool(self._interrupts))

    def _emit_deferred(self, *, is_older: bool = False) -> Iterable[Event]:
        """Returns the events for the first values, if they were deferred (rule 1)."""
        if not self._root.is_deferring:
            return ()
        return self._reconciled(self._root.emit_deferred(self._stored_in_subgraphs(), is_older=is_older))

    def _reconciled(self, made: Generator[Event, None, SuperstepEnd | None]) -> Iterator[Event]:
        """Yields the events for root values. If the values end a superstep, this method also calls the handlers for the
        end of a superstep."""
        ended = yield from made
        if ended is None:
            return
        self._stream.on_superstep_end(is_compared=ended.is_compared)
        if not self._interrupts:  # with interrupts, these are the last values of the run, with pending writes applied
            self._subgraphs.root_superstep_ended()

    # --- messages -------------------------------------------------------------------------------------------------

    def not_stored(self, messages: Iterable[Any]) -> dict[str, list[Event]]:
        """Returns the assistant messages with text that the run has emitted but `messages` does not contain (see
        `Translator.not_stored`)."""
        return self._ledger.texts_not_stored({fields_of(message).get("id") for message in messages})

    def waiting_messages(self) -> list[Event]:
        """Returns the messages that no checkpoint contains, if the run is waiting at an interrupt (see
        `Translator.waiting_messages`)."""
        with self._losses.guard("The messages of a run that waits"):
            return self._root.only_displayed(self._stored_in_subgraphs()) if self._interrupts else []
        return []

    def asking_calls(self) -> dict[str, str | None]:
        """Returns the tool calls that the pending interrupts belong to (see `Translator.asking_calls`)."""
        with self._losses.guard("The tool calls of the interrupts"):
            items = self._interrupt_items() if self._interrupts.places else []
            return {item["id"]: item.get("toolCallId") for item in items}
        return {}

    def _interrupt_items(self) -> list[Event]:
        return self._interrupts.items(self._run_id, self._view.messages, self._owner, self._owns_calls)

    def _on_message(self, part: Part) -> Iterator[Event]:
        yield from self._emit_deferred()
        message, metadata = part.data
        metadata = _NONE if metadata is None else metadata
        ns = part.ns
        if ns:
            yield from self._subagents.on_message(ns, metadata)
        yield from self._steps.on_message(ns, metadata)
        self._superstep.read_message(ns, metadata)
        owner = self._owner(ns)
        if kind_of(fields_of(message)) != "tool":
            yield from self._stream.on_message(ns, message, metadata, owner)
            return
        with self._losses.guard("A tool result"):
            yield from self._stream.on_message(ns, message, metadata, owner)
        yield from self._on_result(ns, message, metadata, owner)

    def _on_result(self, ns: Namespace, message: Any, metadata: Mapping[str, Any], owner: Owner) -> Iterator[Event]:
        """Yields the events that follow a tool result. They end the progress and the subagent that belong to the tool
        call."""
        call_id = self._stream.call_answered_by(message, owner)
        if call_id is not None:
            self._end_predictions(ns, [str(fields_of(message).get("tool_call_id"))])
            yield from self._progress.on_result(ns, call_id, failed=fields_of(message).get("status") == "error")
        for subagent in self._subagents.ended_by_message(message, call_id, tuple(task_of(metadata).split("|"))):
            yield from self._end_subagent(subagent, failure_of_result(message, self._options.error_detail))

    def _end_predictions(self, ns: Namespace, answered: Iterable[str]) -> None:
        """Ends the predictions from tool calls of the graph at `ns` that have been answered. `answered`: the ids that
        the results name."""
        if not self._predictions.has_predicted:
            return
        owner = self._owner(ns)
        if self._tools.writes_state(ns, owner):
            for call_id in answered:
                emitted_id = self._ledger.call_ids.call_of_result(call_id, owner)
                if emitted_id is not None:
                    self._state.end_predictions_of(self._predictions.predicted_by(emitted_id))

    # --- nodes and values -----------------------------------------------------------------------------------------

    def _on_updates(self, part: Part) -> Iterator[Event]:
        data = part.data if type(part.data) is dict or isinstance(part.data, Mapping) else {}
        if "__interrupt__" in data:
            self._interrupts.add(part.ns, data["__interrupt__"])
        is_cached = "__metadata__" in data and mapping_in(data, "__metadata__").get("cached") is True
        if is_cached and self._may_be_replayed(data):
            self._root.is_resumed = True
        else:
            yield from self._emit_deferred()
        for node, output in data.items():
            name = to_text(node)
            if name not in ("__interrupt__", "__metadata__"):
                try:
                    yield from self._on_node_output(part.ns, name, output, is_cached=is_cached)
                except Exception as error:
                    self._losses.fault("The output of a node", error)
        if self._superstep.has_unsaved_messages:
            yield from self._remove_unsaved_messages()

    def _may_be_replayed(self, outputs: Mapping[Any, Any]) -> bool:
        """Whether these cached updates may come from an earlier run, and are repeated because the run was resumed.

        LangGraph also marks updates as cached if they come from a node's own cache (`CachePolicy`,
        https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). The client does
        not know the messages in such updates, and that is how the two cases are told apart.
        """
        key = self._options.messages_key
        written = [written_messages(updates_in(output), key) for output in outputs.values()]
        ids = [fields_of(message).get("id") for messages in written for message in messages]
        return not (ids and self._view.knows_messages) or any(isinstance(i, str) and self._view.has(i) for i in ids)

    def _on_node_output(self, ns: Namespace, node: str, output: Any, *, is_cached: bool) -> Iterator[Event]:
        updates = updates_in(output)
        if is_cached:
            yield from self._on_cached_updates(ns, node, updates)
            yield from self._steps.on_update(ns, node, is_cached=True)
        else:
            for subagent, result in self._subagents.ended_by_updates(ns, updates):
                yield from self._end_subagent(subagent, failure_of_result(result, self._options.error_detail))
            yield from self._steps.on_update(ns, node)
            self._stream.read_updates(ns, node, updates)
            if not ns and self._root.last is None:
                self._output = output
        answered = self._tools.read_updates(ns, node, updates)
        if answered and not is_cached:  # the stream contains no message for a result that the node returned as a dict
            self._end_predictions(ns, answered)
        self._subgraphs.read_updates(ns, node, updates)
        if ns:
            yield from () if is_cached else self._on_edited_calls(ns, updates)
        else:
            names = [name for update in updates for name in update if isinstance(name, str)]
            self._superstep.read_output(node, has_written=bool(names) or writes_channels(output))
            self._state.record_written(names)
            self._messages.record_written(names)

    def _on_cached_updates(self, ns: Namespace, node: str, updates: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
        """Yields the events for cached updates, which come from a task that finished in an earlier run. No other part
        of the resumed run contains the messages of that task."""
        if self._root.has_compared and not ns:
            for message in written_messages(updates, self._options.messages_key):
                yield from self._stream.on_whole(ns, message, {"langgraph_node": node}, RUN, is_replayed=True)

    def _on_edited_calls(self, ns: Namespace, updates: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
        """Yields the snapshot that changes the arguments of tool calls which the client displays, if a node of a
        subgraph has edited them, for example with the answer of a person. The values of the root graph do not contain
        the edited calls before the subgraph has ended, but the calls' results are visible at once."""
        written = written_messages(updates, self._options.messages_key)
        messages = [message for message in written if kind_of(fields_of(message)) == "ai"]
        if not messages or self._visible_owner(ns) is None:
            return
        edited: dict[str, Event] = {}
        for message in messages:
            message_id = fields_of(message).get("id")
            copy = self._view.message(message_id) if isinstance(message_id, str) else None
            if copy is not None and copy.get("toolCalls") and self._ledger.streaming(copy["id"]) is None:
                made = by_id(to_json(to_agui(message, 0, self._options, self._losses)))
                calls = made.get(copy["id"], _NONE).get("toolCalls")
                if calls and has_edited_arguments(copy["toolCalls"], calls):
                    edited[copy["id"]] = {**copy, "toolCalls": calls}
        if edited:
            yield from self._snapshots.of([edited.get(message["id"], message) for message in self._view.messages])

    def _remove_unsaved_messages(self) -> Iterator[Event]:
        """Yields the events that remove the messages emitted in this superstep, because no later values will contain
        them. While an interrupt is pending, the messages stay."""
        if self._interrupts:
            return
        self._superstep.reset()
        yield from self._stream.close()
        with self._losses.guard("The messages"):
            ended = yield from self._root.remove_unsaved(self._stored_in_subgraphs())
            if ended is not None:
                self._stream.on_superstep_end(is_compared=ended.is_compared)

    def _on_values(self, part: Part) -> Iterator[Event]:
        named = channels(part.data) or _NONE
        interrupts = as_sequence(part.interrupts) or as_sequence(named.get("__interrupt__"))
        if interrupts:
            self._interrupts.add(part.ns, interrupts)
        if part.ns:
            yield from self._on_child_values(part, is_partial=bool(interrupts))
            return
        yield from self._emit_deferred()
        # A graph yields values before its first node runs, and again later. A function (`@entrypoint`) yields only its
        # result. That is also the output of its only node, which has arrived in an `updates` part before.
        has_messages = type(named.get(self._options.messages_key)) in (list, tuple)
        had_values = self._root.last is not None
        self._messages.is_function = has_messages and not had_values and _are_same(part.data, self._output)
        self._output = _NOTHING
        if not interrupts:
            self._subgraphs.root_values_came()
            yield from self._superstep_ended()
        try:
            self._tools.read_values((), named)
            yield from self._subagents.on_values((), named)
        except Exception as error:
            self._losses.fault("The subagents", error)
        if not self._root.has_compared:
            with self._losses.guard("The results of the page"):
                self._keep_page_results(named.get(self._options.messages_key))
        in_subgraphs = self._stored_in_subgraphs()
        is_deferred = False
        try:
            is_deferred = self._root.defers(part.data, in_subgraphs, is_partial=bool(interrupts))
        except Exception as error:
            self._losses.fault("The first values", error)
        if not is_deferred:
            yield from self._reconciled(self._root.on_values(part.data, in_subgraphs, is_partial=bool(interrupts)))

    def _on_child_values(self, part: Part, *, is_partial: bool) -> Iterator[Event]:
        ns, guard = part.ns, self._losses.guard
        with guard("The values of a subgraph"):
            self._subgraphs.read_values(ns, part.data)
            self._tools.read_values(ns, part.data)
            yield from self._subagents.on_values(ns, channels(part.data))
            yield from self._steps.on_graph(ns)
        if is_partial:
            return
        self._subgraphs.superstep_ended(ns)
        with guard("The end of the messages"):
            yield from self._stream.close(ns)
        with guard("The tool results of a subgraph"):
            yield from self._results_in(ns, (channels(part.data) or _NONE).get(self._options.messages_key))
        yield from self._end_superstep(ns)

    def _results_in(self, ns: Namespace, messages: Any) -> Iterator[Event]:
        """Yields the events for tool results that only the values of a subgraph contain."""
        owner = self._visible_owner(ns)
        if owner is None:
            return
        for message in [*self._stream.results_in(messages, owner)][::-1]:
            yield from self._stream.on_whole(ns, message, _NONE, owner)
            if (call_id := self._stream.call_answered_by(message, owner)) is not None:
                failed = fields_of(message).get("status") == "error"
                yield from self._progress.on_result(ns, call_id, failed=failed)

    def _superstep_ended(self) -> Iterator[Event]:
        """Yields the events that close the items that are still open when a superstep of the root graph has ended."""
        self._superstep.reset()
        yield from self._end_messages()
        yield from self._end_superstep(())

    def _end_superstep(self, ns: Namespace) -> Iterator[Event]:
        """Yields the events that end the subagents, the steps and the tool progress of the graph at `ns`, because
        one of its supersteps has ended. The messages have already been closed."""
        try:
            yield from self._progress.superstep_ended(ns, is_waiting=bool(self._interrupts))
        except Exception as error:
            self._losses.fault("The progress of tools", error)
        yield from self._end_subagents_and_steps(ns)

    def _end_subagents_and_steps(self, ns: Namespace, failure: Failure | None = None) -> Iterator[Event]:
        """Yields the events that end the subagents and the steps of the graph at `ns`, from the innermost to the
        outermost. `failure`: as for `_end_subagent`."""
        running: list[Subagent] = []
        try:
            running = self._subagents.running(ns)
        except Exception as error:
            self._losses.fault("The end of the subagents", error)
        for subagent in running:
            with self._losses.guard("The end of a subagent"):
                yield from self._end_subagent(subagent, failure)
        try:
            yield from self._steps.end_superstep(ns)
        except Exception as error:
            self._losses.fault("The end of the steps", error)

    def _on_checkpoint(
        self, values: Any, ns: Namespace, interrupts: Sequence[Any], at_breakpoint: bool
    ) -> Iterator[Event]:
        self._tools.read_values(ns, values)
        if ns:
            self._subgraphs.read_checkpoint(ns, values)
            if interrupts or at_breakpoint:
                yield from self._subagents.on_values(ns, channels(values))
        elif values is not None:
            self._subagents.read_checkpoint(channels(values))
            yield from self._emit_deferred(is_older=True)
            checkpoint = self._root.read_checkpoint(values)
            if checkpoint is not None:
                overlap = Overlap(set(), set())
                if checkpoint.stored is not None:
                    overlap = yield from self._stream.on_checkpoint(checkpoint.stored)
                yield from self._root.on_checkpoint(checkpoint, overlap)
        self._interrupts.add_pending(ns, interrupts, at_breakpoint=at_breakpoint)

    # --- the rest of a run ----------------------------------------------------------------------------------------

    def _on_custom(self, part: Part) -> Iterator[Event]:
        owner = self._owner(part.ns)
        payload = to_json(part.data)
        progress = written_progress(payload)
        if progress is None:
            yield from self._emit_deferred()
        if owner.is_hidden:
            name = payload.get("name") if isinstance(payload, dict) else None
            self._losses.drop("custom event", name if isinstance(name, str) else None, Reason.SUBAGENT)
            return
        if progress is not None:
            yield from self._on_progress(part.ns, progress)
            return
        written = written_state(payload) if self._tools.writes_state(part.ns, owner) else None
        if written is None:
            event = custom_event(payload, self._view, owner.tag)
            if event["type"] == "ACTIVITY_SNAPSHOT":
                self._ledger.keep([event["messageId"]])
            yield event
            return
        yield from self._predicted(written)

    def _on_tools(self, part: Part) -> Iterator[Event]:
        progress = emitted_progress(part.data)
        if progress is not None:
            yield from self._on_progress(part.ns, progress)

    def _on_progress(self, ns: Namespace, progress: Progress) -> Iterator[Event]:
        """Yields the events for the progress that a tool reports. The graph at `ns`, or a graph that encloses it, made
        the tool call."""
        graph = self._tools.graph_of_call(ns, progress.call_id, self._owner(ns).depth)
        owner = self._visible_owner(graph)
        if owner is not None:
            yield from self._progress.on_progress(progress, graph, owner)
        else:
            why = Reason.SUBAGENT if self._owner(graph).is_hidden else Reason.IN_TOOL
            self._losses.drop("progress of the tool call", progress.call_id, why)

    def _on_tasks(self, part: Part) -> Iterator[Event]:
        if not (isinstance(part.data, Mapping) and "input" in part.data):
            yield from self._emit_deferred()
        if isinstance(part.data, Mapping):
            call_id = self._tools.record_task(part.ns, part.data)
            if asked := as_sequence(part.data.get("interrupts")):
                self._interrupts.add(part.ns, asked, call_id)
            yield from self._steps.on_task(part.ns, part.data)
            if not part.ns:
                self._superstep.read_task(part.data)
                if self._superstep.has_unsaved_messages:
                    yield from self._remove_unsaved_messages()

    def _on_metadata(self, part: Part) -> Iterator[Event]:
        """Handles the start of the run on a server. If the server retries the run, this method yields the events
        that close the items of the earlier attempt, because the stream will never close them."""
        if isinstance(part.data, Mapping) and "attempt" in part.data:
            yield from self._superstep_ended()

    def _on_error(self, part: Part) -> Iterator[Event]:
        self.error = part.data if part.data is not None else {}
        self._stream.stop()
        yield from ()

    def _on_note(self, part: Part) -> Iterator[Event]:
        """Logs a message from the reader about the whole stream."""
        self._losses.warn(part.data)
        yield from ()

    def _on_unread(self, part: Part) -> Iterator[Event]:
        """Counts a loss for a value that the reader of the stream could not read."""
        self._losses.fault(*part.data)
        yield from ()

    def _end_subagent(self, subagent: Subagent, failure: Failure | None = None) -> Iterator[Event]:
        """Yields the events that end a subagent. The subagent has failed, has finished, or is suspended by an interrupt
        inside it."""
        with self._losses.guard("The end of the messages"):
            yield from self._stream.close(subagent.ns)
        with self._losses.guard("The end of the steps"):
            yield from self._steps.end_superstep(subagent.ns)
        depth = len(subagent.ns)
        inside = [interrupt_id for ns, interrupt_id in self._interrupts.places if ns[:depth] == subagent.ns]
        is_suspended = any(ns[:depth] == subagent.ns for ns in self._interrupts.namespaces)
        yield from self._subagents.end(subagent, inside, failure, is_suspended=is_suspended)

    # --- the end of a run -----------------------------------------------------------------------------------------

    def failure(self, ending: Ending) -> Failure | None:
        """Returns the failure to report for the items that are still open; None if the run finished."""
        with self._losses.guard("The error"):
            return failure_of(ending, self._options.error_detail)
        return None if isinstance(ending, Finished) else Failure(NEUTRAL)

    def _on_end(self, ending: Ending, failure: Failure | None) -> Iterator[Event]:
        guard = self._losses.guard
        with guard("The first values"):
            yield from self._emit_deferred()
        if isinstance(ending, Finished):
            yield from self._end_messages()
            with guard("The interrupts of the ending"):
                self._interrupts.add_last(ending.interrupts, at_breakpoint=ending.at_breakpoint)
            with guard("The interrupts that were caught"):
                self._interrupts.forget_caught()
            with guard("The last values"):
                yield from self._reconciled(self._root.at_end(self._stored_in_subgraphs(), ending.state))
            with guard("The messages of a run that waits"):
                yield from self._snapshots.with_waiting(ending.waiting_messages)
            with guard("The tool calls of the page"):
                yield from self._hidden_page_calls()
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
            elif self._interrupts.asks and self._options.interrupts in ("legacy", "both"):
                yield from self._interrupts.legacy(self._view.messages, self._owner)

    def terminal(self, ending: Ending, failure: Failure | None) -> Event:
        """Returns the terminal event of a run with this ending."""
        usage: list[Event] = []
        with self._losses.guard("The token usage"):
            usage = self._stream.usage.totals()
        if not isinstance(ending, Finished):
            return failed(ending, failure, self._thread_id, self._run_id, usage)
        outcome, result = self._outcome(ending)
        return events.run_finished(self._thread_id, self._run_id, outcome, result, usage)

    def _outcome(self, ending: Finished) -> tuple[Event | None, Any]:
        """Returns the outcome and the result of a finished run."""
        if not self._interrupts.asks:
            result, pending = None, []
            with self._losses.guard("The result"):
                result = result_of(ending, self._root.last)
            with self._losses.guard("The tool calls of the page"):
                pending = self._interrupts.pending_page_calls(self._view.messages)
            return {"type": "success", **({"pendingToolCallIds": pending} if pending else {})}, result
        if self._options.interrupts == "legacy":
            return None, None
        items = self._interrupts.bare(self._run_id)
        with self._losses.guard("The details of the interrupts"):
            items = self._interrupt_items()
        return {"type": "interrupt", "interrupts": items}, None

    def _keep_page_results(self, messages: Any) -> None:
        """Keeps the results that the client has sent for tool calls which wait for the page (`run/page_calls.py`,
        rule 4). `messages`: those of the first values. Of several results for a call, the last one counts."""
        lists = [messages if isinstance(messages, (list, tuple)) else (), *self._subgraphs.messages]
        awaited = set[str]().union(*map(awaited_calls, lists))
        if awaited:
            tools = (message for message in self._view.messages if message["role"] == "tool")
            results = {message["toolCallId"]: message["id"] for message in tools if message["toolCallId"] in awaited}
            self._ledger.keep(results.values())

    def _hidden_page_calls(self) -> Iterator[Event]:
        """Yields the tool calls that wait for the page and that the client does not have, because it does not receive
        what the model that made them says (`run/page_calls.py`, rule 3)."""
        for call in self._interrupts.hidden_page_calls(self._view.messages):
            yield events.tool_start(call.id, call.name, None)
            yield events.tool_args(call.id, call.arguments)
            yield events.tool_end(call.id)

    def _close(self, failure: Failure | None) -> Iterator[Event]:
        """Yields the events that close the open items, from the innermost to the outermost: messages, subagents,
        steps."""
        guard = self._losses.guard
        yield from self._end_messages()
        with guard("The true values of predicted state"):
            if (event := self._state.end_all_predictions()) is not None:
                yield event
        yield from self._end_subagents_and_steps((), failure)
        # An item is still open only after an exception, or if its end event was left out. In the second round, an end
        # event that was left out of the first one is made again.
        for _ in range(2):
            with guard("What is open"):
                if self._view.has_open_items:
                    yield from self._view.open.closings()

    def _end_messages(self) -> Iterator[Event]:
        """Yields the events that close the messages that are still open."""
        try:
            yield from self._stream.close()
        except Exception as error:
            self._losses.fault("The end of the messages", error)
        if self._view.has_open_messages:  # closing them has raised an exception
            with self._losses.guard("The messages that are open"):
                opened = self._view.open
                yield from opened.closings(OpenItems(steps=opened.steps, started=opened.started, ended=opened.ended))


def _are_same(values: Any, output: Any) -> bool:
    """Whether values equal the output of a node. Values that cannot be compared count as different."""
    try:
        return values is output or bool(values == output)
    except Exception:  # a user's class may raise an exception, and an array cannot be converted to bool
        return False
