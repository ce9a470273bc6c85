"""The values of the root graph: those that the stream brings, those of checkpoints read beside it, and the one that an
ending brings. Here is decided which of them are emitted, which wait, and which are ignored because others are newer.

Rules

1. The first values of the stream may be older than what the client is known to have: a resumed run begins without the
   pending writes of tasks that finished, and replays their updates, marked as cached. Such values are deferred until
   the next part says whether the run is a resumed one. Then nothing is removed; otherwise the client follows the
   thread. The values of a subgraph and the start of a task do not decide it.
2. Checkpoints are all emitted, one after the other, until the stream brings values. From then on a checkpoint is newer
   only if its messages have the last message of the stream's, and behind it messages that never were there. Any other,
   with edited messages too, is ignored: the stream brings it.
3. A checkpoint removes only what earlier ones brought: what the client has beside them may be stored yet, or is removed
   at the stream's next values. Nor is its state emitted if it is the first and messages are missing that the client is
   known to have.
4. Values of the stream whose messages end before those of a checkpoint are older, until they catch up. They are not
   emitted, unless the run ends with them.
5. What was emitted in a superstep and is not in its values is removed. While an interrupt is pending it stays, because
   the superstep has not ended; only messages that are stored under another id go. The option `unsaved` keeps it longer.
6. In values without a messages channel nothing is stored that was said, so rule 5 applies to all of it: a page that is
   loaded again finds none of it in the thread. The stream of a platform has only the channels of the graph's output
   schema (langgraph-api gives `output_keys`), so its values do not show that a channel is missing: the state of the
   ending does, and until then what was emitted stays.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from ..ledger import Ledger, Overlap
from ..losses import Losses, Reason
from ..options import Options
from ..parts.channels import UnreadableChannel, channels, without_interrupts
from ..parts.message import fields
from ..wire.events import Event
from .messages import Messages
from .state import State
from .waiting import Waiting

_NONE: Any = object()


class RootValues:
    """The values of the root graph, as known and as emitted."""

    def __init__(
        self,
        messages: Messages,
        state: State,
        waiting: Waiting,
        ledger: Ledger,
        options: Options,
        losses: Losses,
        on_superstep_end: Callable[[bool], None],
        on_checkpoint: Callable[[Mapping[str, Event]], Generator[Event, None, Overlap]],
    ) -> None:
        """`on_superstep_end` is called when a superstep has been reconciled, with whether its messages were compared;
        `on_checkpoint` closes what streams and is whole in a checkpoint's messages, by id."""
        self._messages = messages
        self._state = state
        self._waiting = waiting
        self._ledger = ledger
        self._losses = losses
        self._key = options.messages_key
        self._unsaved = options.unsaved
        self._on_superstep_end = on_superstep_end
        self._on_checkpoint = on_checkpoint
        self.last: Any = None
        """The newest values, for the end."""
        self.has_emitted = False
        """Whether any were reconciled with the client."""
        self.is_resumed = False
        """Whether the run replays what finished before it."""
        self.has_all_channels = True
        """Whether values have all channels of the graph (rule 6)."""
        self._deferred: Any = _NONE
        """First values that wait (rule 1)."""
        self._deferred_is_partial = False
        """Whether the superstep of the deferred values has not ended: they came with interrupts, in the middle of a
        run."""
        self._ignored: Any = _NONE
        """The stream's last, if they were ignored (rule 4)."""
        self._has_streamed = False
        self._has_ended = False
        """Whether the run has ended."""
        self._is_ahead = False
        """Whether the stream has yet to catch up with a checkpoint."""

    def defers(self, values: Any, *, is_partial: bool) -> bool:
        """Whether values of the stream are first ones that wait for the next part (rule 1)."""
        if self.has_emitted:
            return False
        waiting = [message["id"] for message in self._waiting.stored(is_first=True)]
        is_older = self._messages.would_remove(self._channel(values), waiting) or self._state.would_revert(values)
        if is_older:
            self.last = self._deferred = values
            self._deferred_is_partial = is_partial
            self._has_streamed = True
        return is_older

    def release(self, *, is_older: bool = False) -> Iterator[Event]:
        """The events of first values that waited. `is_older`: they are older than what the client has, so that nothing
        is removed."""
        deferred, self._deferred = self._deferred, _NONE
        is_older = is_older or self.is_resumed
        if deferred is not _NONE:
            is_partial = is_older or self._deferred_is_partial
            yield from self.reconcile(without_interrupts(deferred), is_partial=is_partial, is_older=is_older)

    def on_values(self, values: Any, *, is_partial: bool) -> Iterator[Event]:
        """The events of values that the stream brings, if they are not older than a checkpoint."""
        messages = self._channel(values)
        self._has_streamed = True
        self._is_ahead = self._is_ahead and messages is not None and self._messages.is_behind(messages)
        if self._is_ahead:
            self._ignored = values
            self._losses.drop("values of the stream", None, Reason.OLDER)
            return
        self._ignored, self.last = _NONE, values
        yield from self.reconcile(without_interrupts(values), is_partial=is_partial)

    def on_checkpoint(self, values: Any) -> Iterator[Event]:
        """The events of a checkpoint's values, if they are newer (rules 2 and 3)."""
        yield from self.release(is_older=True)
        values = without_interrupts(values)
        messages = self._channel(values)
        if self._has_streamed and (messages is None or not self._messages.is_ahead(messages)):
            self._losses.drop("checkpoint", None, Reason.OLDER)
            return
        is_first, self.has_emitted, self.last = not self.has_emitted, True, values
        pending = self._ledger.pending()
        is_older = is_first and self._messages.would_remove(messages, pending) and self._state.would_revert(values)
        if not is_older:
            with self._losses.guard("The plan"):
                self._messages.read_plan(values)
        if messages is not None:
            self._is_ahead = True
            with self._losses.guard("The messages"):
                yield from self._reconcile_checkpoint(messages, pending, is_first)
        if not is_older:
            with self._losses.guard("The state"):
                if (event := self._state.on_checkpoint(values)) is not None:
                    yield event

    def reconcile(self, values: Any, *, is_partial: bool, is_older: bool = False) -> Iterator[Event]:
        """The events that make the client have these values: messages and state.

        `is_partial`: their superstep has not ended, so that what streamed may still be stored. `is_older`: they are
        older than what the client has; their state is not emitted.
        """
        messages = self._channel(values)
        if not is_older:
            with self._losses.guard("The plan"):
                self._messages.read_plan(values)
        if messages is not None or self._lacks_channel(values):
            with self._losses.guard("The messages"):
                yield from self._reconcile_messages(messages, is_partial)
        elif not is_partial:
            self._on_superstep_end(False)
        if not is_partial:
            self._waiting.root_superstep_ended()
        if not is_older:
            with self._losses.guard("The state"):
                if (event := self._state.on_values(values)) is not None:
                    yield event
        self.has_emitted = True

    def at_end(self, state: Any = None) -> Iterator[Event]:
        """The events of a run's end: what was not stored is removed. `state`: the values that the ending has; None: no
        better ones are known than the stream's last."""
        self._has_ended = True
        if not self._waiting.is_pending:
            self._ledger.release_unsaved()
        if state is None and self._ignored is not _NONE:
            state = self._ignored
        if state is not None:
            self.last, self.has_all_channels = state, True
            yield from self.reconcile(without_interrupts(state), is_partial=False)
            return
        messages, waiting = self._channel(self.last), self._waiting.stored(is_first=False)
        self._keep_unsaved(messages or (), waiting)
        if messages is None and self._lacks_channel(self.last):
            yield from self._messages.without_channel()
        else:
            yield from self._messages.at_end(waiting)
        self._on_superstep_end(True)

    def _reconcile_messages(self, messages: Sequence[Any] | None, is_partial: bool) -> Iterator[Event]:
        is_first = not self.has_emitted
        waiting = self._waiting.stored(is_first=is_first) if is_first or not is_partial else []
        if not is_partial:
            self._keep_unsaved(messages or (), waiting)
        if messages is not None:
            yield from self._messages.on_values(messages, is_first=is_first, is_partial=is_partial, waiting=waiting)
        elif not is_partial:
            yield from self._messages.without_channel()
        if not is_partial:
            self._on_superstep_end(messages is not None or self._unsaved == "step")

    def _reconcile_checkpoint(self, messages: Sequence[Any], pending: set[str], is_first: bool) -> Iterator[Event]:
        wanted = self._messages.on_checkpoint(messages)
        overlap = yield from self._on_checkpoint(wanted)
        yield from self._messages.reconcile_checkpoint(wanted, pending, overlap, is_first=is_first)

    def _keep_unsaved(self, messages: Sequence[Any], waiting: Sequence[Event]) -> None:
        """Decides what stays of what was emitted in the superstep and is not stored (rule 5)."""
        is_kept = self._waiting.is_pending or self._unsaved == "keep"
        if not is_kept and (self._unsaved == "step" or self._has_ended):
            return
        stored = [fields(message) for message in messages]
        ids = {message.get("id") for message in (*stored, *waiting)}
        answered = {message.get("tool_call_id") for message in stored}
        answered |= {message.get("toolCallId") for message in waiting}
        missing = self._ledger.not_stored(ids, answered)
        if is_kept:
            self._ledger.keep(missing)
        else:
            self._ledger.keep_unsaved(missing)

    def _lacks_channel(self, values: Any) -> bool:
        """Whether these values show that the graph has no messages channel, or that nothing has written it yet
        (rule 6). One that raises when it is read may have messages."""
        found = (channels(values) or {}).get(self._key)
        return self.has_all_channels and values is not None and type(found) is not UnreadableChannel

    def _channel(self, values: Any) -> Sequence[Any] | None:
        """The messages channel; None if there is none that can be read."""
        messages = (channels(values) or {}).get(self._key)
        if type(messages) is UnreadableChannel:
            self._losses.channel(self._key, messages.error)
        return messages if issubclass(type(messages), list | tuple) else None  # asking the object may raise
