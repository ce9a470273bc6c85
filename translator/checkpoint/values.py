"""Decides which values of the root graph are emitted at once, which are deferred, and which are ignored because newer
values are known. The values come from `values` parts, from checkpoints that are read during the stream, and from the
ending of the run.

Rules:

1. The first values of a stream may be older than the client's messages and state. When LangGraph resumes a run, it
   first emits values without the pending writes of the tasks that had already finished. Before it starts any task, it
   repeats the updates of the finished ones, marked `{"__metadata__": {"cached": True}}`
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). So if the first
   values lack messages that the client knows, or would change the client's state, they are deferred until the next part
   shows whether the run was resumed. If it was, nothing is removed, and the state in these values is not emitted. If
   not, the client's messages and state become equal to these values. Some parts do not show whether the run was
   resumed, and do not release the first values. They are the values of a subgraph, the start of a task, the progress of
   a tool (in the mode `tools` or `custom`), and the parts `metadata` and `error`. The progress matters for protocol v3,
   whose streams contain no updates: the result of a finished tool stays displayed while another tool is running.
2. The stream delivers the values of a superstep when the superstep ends, before LangGraph saves the checkpoint
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). A stream that is
   joined late may begin with any part, so every checkpoint is emitted until the stream has delivered values. From then
   on, a checkpoint counts as newer only if it contains the last message of the stream's values, followed by at least
   one message that was never read before. Any other checkpoint is ignored, even if its messages were edited, because
   the stream itself delivers such an edit.
3. A checkpoint removes only messages that came from earlier checkpoints. All other messages that the client displays
   may still be stored later. If they are not, the next values of the stream remove them. The first checkpoint is older
   than the client's state if it lacks messages that the client is known to have, and would also change that state. In
   that case, the state in the checkpoint is not emitted.
4. Values of the stream are older than a checkpoint if the checkpoint contains their last message, followed by further
   messages. Such values are not emitted, unless they are the last values of the run.
5. A message that was emitted during a superstep is removed if the values at the end of that superstep do not contain
   it. While an interrupt is pending, the message stays, because the superstep has not ended: the interrupted tasks run
   again when the run continues (https://docs.langchain.com/oss/python/langgraph/interrupts). During that time, a
   message is removed only if it is stored under another id. This is the option `unsaved="step"`, the default, where
   "step" means a superstep of the root graph. With `run`, the message stays until the run has finished, and with `keep`
   it stays. After any ending but `Finished`, nothing is removed.
6. If the values have no messages channel, no text of a model is stored, so rule 5 removes all of that text. A page that
   is loaded again would not find the text in the thread either. Streams of a platform are an exception. They contain
   only the channels of the graph's output schema, because langgraph-api passes `output_keys=graph.output_channels` to
   `astream` (https://pypi.org/project/langgraph-api/). The graph may have a messages channel that is missing from such
   a stream. So the messages stay until the state in the ending shows that there is no such channel.
7. A superstep that writes nothing ends without values (`superstep.py`). The messages that were emitted in it are
   removed as soon as the tasks that emitted them have returned, unless an interrupt is pending (rule 5).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..ledger import Ledger, Overlap
from ..losses import Losses, Reason
from ..options import Options
from ..parts.channels import UnreadableChannel, channels, without_interrupts
from ..parts.held_calls import messages_in
from ..parts.message import fields_of
from ..wire.events import Event
from .reconcile import StoredMessages
from .state import State
from .waiting_subgraphs import SubgraphMessages

_NONE: Any = object()


class SuperstepEnd(NamedTuple):
    """The result of processing the values at the end of a superstep of the root graph."""

    is_compared: bool
    """Whether the client's messages were compared with the stored ones."""


class Checkpoint(NamedTuple):
    """A checkpoint that is newer than the last values, with the facts that were known when it was read."""

    values: Any
    stored: Mapping[str, Event] | None
    """The messages of the checkpoint in AG-UI form, by id; None if there is no messages channel."""
    pending: set[str]
    """The ids of the messages that were pending when the checkpoint was read."""
    has_compared: bool
    """Whether earlier values or checkpoints had been compared with the client's messages and state."""
    is_older: bool
    """Whether the state in the checkpoint is older than the client's state (rule 3)."""


class RootValues:
    """Emits the values of the root graph, following the rules of this module.

    The generators that emit values return a `SuperstepEnd` if the values end a superstep, and None otherwise.
    `in_subgraphs`: the messages of the subgraphs in which the run is waiting (`waiting_subgraphs.py`).
    """

    def __init__(
        self, messages: StoredMessages, state: State, ledger: Ledger, options: Options, losses: Losses
    ) -> None:
        self._messages = messages
        self._state = state
        self._ledger = ledger
        self._losses = losses
        self._key = options.messages_key
        self._unsaved = options.unsaved
        self.last: Any = None
        """The newest known values."""
        self.has_compared = False
        """Whether any values or checkpoints have been compared with the client's messages and state."""
        self.is_resumed = False
        """Whether the run was resumed, which means that it repeats the updates of tasks that had already finished (rule
        1)."""
        self.has_all_channels = True
        """Whether the values contain all channels of the graph (rule 6)."""
        self.is_deferring = False
        """Whether the first values are deferred until the next part arrives (rule 1)."""
        self._deferred: Any = None
        """The first values, if they are deferred."""
        self._deferred_is_partial = False
        """Whether the deferred values had interrupts, which means that their superstep has not ended."""
        self._ignored: Any = _NONE
        """The last values of the stream, if they were ignored (rule 4)."""
        self._has_stream_values = False
        """Whether the stream has delivered any values."""
        self._has_ended = False
        """Whether the run has ended."""
        self._is_ahead = False
        """Whether a checkpoint was newer than all values that the stream has delivered so far (rule 4)."""

    def defers(self, values: Any, in_subgraphs: SubgraphMessages, *, is_partial: bool) -> bool:
        """Defers these values until the next part arrives, if rule 1 demands it. Returns whether they were deferred."""
        if self.has_compared:
            return False
        ids = [message["id"] for message in in_subgraphs.stored]
        is_older = self._messages.would_remove(self._channel(values), ids) or self._state.would_revert(values)
        if is_older:
            self.last = self._deferred = values
            self._deferred_is_partial = is_partial
            self._has_stream_values = self.is_deferring = True
        return is_older

    def emit_deferred(
        self, in_subgraphs: SubgraphMessages, *, is_older: bool = False
    ) -> Generator[Event, None, SuperstepEnd | None]:
        """Yields the events for the first values if they were deferred. `is_older`: whether these values are known to
        be older than the client's messages and state, so that nothing is removed."""
        if not self.is_deferring:
            return None
        deferred, self._deferred, self.is_deferring = self._deferred, None, False
        is_older = is_older or self.is_resumed
        is_partial = is_older or self._deferred_is_partial
        return (yield from self._reconcile(deferred, in_subgraphs, is_partial=is_partial, is_older=is_older))

    def on_values(
        self, values: Any, in_subgraphs: SubgraphMessages, *, is_partial: bool
    ) -> Generator[Event, None, SuperstepEnd | None]:
        """Yields the events for values of the stream, unless they are older than a checkpoint."""
        self._has_stream_values = True
        if self._is_ahead:
            messages = self._channel(values)
            self._is_ahead = messages is not None and self._messages.is_behind(messages)
        if self._is_ahead:
            self._ignored = values
            self._losses.drop("set of values from the stream", None, Reason.OLDER)
            return None
        self._ignored, self.last = _NONE, values
        return (yield from self._reconcile(values, in_subgraphs, is_partial=is_partial))

    def read_checkpoint(self, values: Any) -> Checkpoint | None:
        """Reads the values of a checkpoint for `on_checkpoint`, which then yields the events. Returns None if the
        checkpoint is not newer than the known values (rule 2)."""
        values = without_interrupts(values)
        messages = self._channel(values)
        if self._has_stream_values and (messages is None or not self._messages.is_ahead(messages)):
            self._losses.drop("checkpoint", None, Reason.OLDER)
            return None
        has_compared, self.has_compared, self.last = self.has_compared, True, values
        pending = self._ledger.pending()
        lacks_messages = not has_compared and self._messages.would_remove(messages, pending)
        is_older = lacks_messages and self._state.would_revert(values)
        if not is_older:
            with self._losses.guard("The plan"):
                self._messages.read_plan(values)
        self._is_ahead = self._is_ahead or messages is not None
        stored: Mapping[str, Event] | None = None
        with self._losses.guard("The messages"):
            stored = None if messages is None else self._messages.read_checkpoint(messages)
        return Checkpoint(values, stored, pending, has_compared, is_older)

    def on_checkpoint(self, checkpoint: Checkpoint, overlap: Overlap) -> Iterator[Event]:
        """Yields the events for a checkpoint (rule 3). `overlap`: how the streaming messages differ from the messages
        of the checkpoint."""
        values, stored, pending, has_compared, is_older = checkpoint
        if stored is not None:
            with self._losses.guard("The messages"):
                yield from self._messages.reconcile_checkpoint(stored, pending, overlap, has_compared=has_compared)
        if not is_older:
            with self._losses.guard("The state"):
                if (event := self._state.on_checkpoint(values)) is not None:
                    yield event

    def remove_unsaved(self, in_subgraphs: SubgraphMessages) -> Generator[Event, None, SuperstepEnd | None]:
        """Yields the events that remove the messages emitted since the last values, because no task has written to a
        channel (rule 7)."""
        messages = self._channel(self.last)
        shows_messages = messages is not None or self._lacks_channel(self.last)
        if not (self.has_compared and shows_messages):
            return None
        self._keep_unsaved(messages or (), in_subgraphs)
        yield from self._messages.without_channel() if messages is None else self._messages.remove_unsaved()
        return self._superstep_end(messages)

    def only_displayed(self, in_subgraphs: SubgraphMessages) -> list[Event]:
        """The messages that the client displays but no checkpoint contains. This method is called while an interrupt is
        pending (rule 5)."""
        ids, answered = _stored_ids(self._channel(self.last) or (), in_subgraphs.stored)
        return self._ledger.only_displayed(ids, answered)

    def at_end(self, in_subgraphs: SubgraphMessages, state: Any = None) -> Generator[Event, None, SuperstepEnd | None]:
        """Yields the events for the end of a run. They remove the messages that were not stored. `state`: the values in
        the ending; None if no values are known that are newer than those of the stream."""
        self._has_ended = True
        if not in_subgraphs.is_pending:
            self._ledger.make_unsaved_pending()
        if state is None and self._ignored is not _NONE:
            state = self._ignored
        if state is not None:
            self.last, self.has_all_channels = state, True
            return (yield from self._reconcile(state, in_subgraphs, is_partial=False))
        messages = self._channel(self.last)
        self._keep_unsaved(messages or (), in_subgraphs)
        if messages is None and self._lacks_channel(self.last):
            yield from self._messages.without_channel()
        else:
            yield from self._messages.at_end(in_subgraphs.stored)
        return SuperstepEnd(is_compared=True)

    def _reconcile(
        self, values: Any, in_subgraphs: SubgraphMessages, *, is_partial: bool, is_older: bool = False
    ) -> Generator[Event, None, SuperstepEnd | None]:
        """Yields the events after which the client's messages and state equal these values.

        `is_partial`: whether the superstep of these values has yet to end. If so, streamed messages may still be
        stored. `is_older`: whether the values are older than the client's messages and state. If so, the state in them
        is not emitted.
        """
        losses = self._losses
        values = without_interrupts(values)
        messages = self._channel(values)
        ended: SuperstepEnd | None = None
        if not is_older:
            try:
                self._messages.read_plan(values)
            except Exception as error:
                losses.fault("The plan", error)
        if messages is not None or self._lacks_channel(values):
            try:
                ended = yield from self._reconcile_messages(messages, in_subgraphs, is_partial=is_partial)
            except Exception as error:
                losses.fault("The messages", error)
        elif not is_partial:
            ended = SuperstepEnd(is_compared=False)
        if not is_older:
            try:
                if (event := self._state.on_values(values)) is not None:
                    yield event
            except Exception as error:
                losses.fault("The state", error)
        self.has_compared = True
        return ended

    def _reconcile_messages(
        self, messages: Sequence[Any] | None, in_subgraphs: SubgraphMessages, *, is_partial: bool
    ) -> Generator[Event, None, SuperstepEnd | None]:
        has_compared = self.has_compared
        if not is_partial:
            self._keep_unsaved(messages or (), in_subgraphs)
        if messages is not None:
            stored = [] if has_compared and is_partial else in_subgraphs.stored
            yield from self._messages.on_values(
                messages, has_compared=has_compared, is_partial=is_partial, in_subgraphs=stored
            )
        elif not is_partial:
            yield from self._messages.without_channel()
        return None if is_partial else self._superstep_end(messages)

    def _superstep_end(self, messages: Sequence[Any] | None) -> SuperstepEnd:
        """The result for a superstep that ends with these stored messages. Without a messages channel, there is nothing
        to compare, unless `unsaved` removes all text of models, which includes the text that is still to come."""
        return SuperstepEnd(is_compared=messages is not None or self._unsaved == "step")

    def _keep_unsaved(self, messages: Sequence[Any], in_subgraphs: SubgraphMessages) -> None:
        """Tells the ledger which of the superstep's messages stay although they are not stored (rule 5)."""
        if in_subgraphs.is_pending or self._unsaved == "keep":
            self._ledger.keep(self._not_stored(messages, in_subgraphs))
        elif self._unsaved == "run" and not self._has_ended:
            self._ledger.keep_until_end(self._not_stored(messages, in_subgraphs))

    def _not_stored(self, messages: Sequence[Any], in_subgraphs: SubgraphMessages) -> set[str]:
        """The ids of the pending messages that no checkpoint contains."""
        ids, answered = _stored_ids(messages, in_subgraphs.stored)
        return self._ledger.not_stored(ids, answered)

    def _lacks_channel(self, values: Any) -> bool:
        """Whether these values show that the graph has no messages channel, or that no node has written to it yet (rule
        6). A channel that cannot be read may contain messages, so it does not count as missing."""
        channel = (channels(values) or {}).get(self._key)
        return self.has_all_channels and values is not None and type(channel) is not UnreadableChannel

    def _channel(self, values: Any) -> Sequence[Any] | None:
        """The value of the messages channel; None if the channel does not exist or cannot be read."""
        messages = messages_in(channels(values), self._key)
        if type(messages) is UnreadableChannel:
            self._losses.channel(self._key, messages.error)
        return messages if issubclass(type(messages), (list, tuple)) else None  # `isinstance` may raise an exception


def _stored_ids(messages: Sequence[Any], in_subgraphs: Sequence[Event]) -> tuple[set[Any], set[Any]]:
    """The ids of the stored messages, and the ids of the tool calls that these messages answer. `messages`: the stored
    messages of the root graph. `in_subgraphs`: the messages of the subgraphs that are waiting at an interrupt."""
    stored = [fields_of(message) for message in messages]
    ids = {message.get("id") for message in (*stored, *in_subgraphs)}
    answered = {message.get("tool_call_id") for message in stored}
    return ids, answered.union(message.get("toolCallId") for message in in_subgraphs)
