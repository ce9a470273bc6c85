"""The values of the root graph: those the stream brings, those learned beside it, and the one an ending brings.

Here: which of them are told, and which wait or are passed over because others are newer. Never here: how messages and
state are told (`history`, `state`), and what they mean for what is being said (`speech`).

Rules:

1. The first values of the stream may go back behind what the client is known to hold: a resumed run begins without the
   pending writes of tasks that finished, and replays their updates, marked as cached. Such an opening is held until the
   next part says whether the run is a resumed one: then nothing is taken back, otherwise the client follows the thread.
   The values of a subgraph and the start of a task do not decide it.
2. Shown values (a checkpoint that somebody read) are all told, one after the other, until the stream brings some. Then
   they are newer only if their conversation holds the last message of the stream's, and behind it messages that never
   were there. Others, edited messages and all, are the stream's to tell: it goes on.
3. Shown values take nothing back but what earlier ones brought: what the client has beside them may be saved yet, or
   is dropped at the stream's next values. Nor is the state told of first ones that lack messages which the client is
   known to hold.
4. Values of the stream whose conversation ends before that of shown ones are older, until some catch up. They are not
   told, unless the run ends with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..losses import Losses
from ..messages.stream import Speech
from ..options import Options
from ..parts.channels import UnreadableChannel, channels, without_interrupts
from ..parts.message import fields
from ..wire.events import Event
from .messages import History
from .state import State
from .waiting import Waiting

_NONE: Any = object()
_CONVERSATION = "The conversation"
_STATE = "The state"


class RootValues:
    """The values of the root graph, as known and as told."""

    def __init__(
        self,
        history: History,
        speech: Speech,
        state: State,
        waiting: Waiting,
        options: Options,
        losses: Losses,
    ) -> None:
        self._history = history
        self._waiting = waiting
        self._speech = speech
        self._state = state
        self._losses = losses
        self._key = options.messages_key
        self.last: Any = None
        """The newest values, for the end."""
        self.is_told = False
        """Whether any were told."""
        self.is_resumed = False
        """Whether the run replays what finished before it."""
        self._held: Any = _NONE
        """An opening that waits (rule 1)."""
        self._held_goes_on = False
        """Whether the superstep of a waiting opening has not ended: it came with interrupts, in the middle of a run."""
        self._untold: Any = _NONE
        """The stream's last, if they were passed over (rule 4)."""
        self._streamed = False
        self._ahead = False
        """Whether the stream has yet to catch up with what was shown."""

    def holds(self, values: Any, going_on: bool) -> bool:
        """Whether values of the stream are an opening that waits for the next part (rule 1)."""
        if self.is_told:
            return False
        waiting = [wire["id"] for wire in self._waiting.stored(opening=True)]
        if not (self._history.goes_back(self._messages(values), waiting) or self._state.goes_back(values)):
            return False
        self.last = self._held = values
        self._held_goes_on = going_on
        self._streamed = True
        return True

    def open_now(self, *, is_older: bool = False) -> None:
        """Emits an opening that waited. `is_older`: it is older than what the client has, so nothing is removed."""
        held, self._held = self._held, _NONE
        is_older = is_older or self.is_resumed
        if held is not _NONE:
            self.settle(without_interrupts(held), going_on=is_older or self._held_goes_on, is_older=is_older)

    def streamed(self, values: Any, *, going_on: bool) -> None:
        """Tells values that the stream brings, if they are not older than shown ones."""
        messages = self._messages(values)
        self._streamed = True
        self._ahead = self._ahead and messages is not None and self._history.is_behind(messages)
        if self._ahead:
            self._untold = values
            return
        self._untold, self.last = _NONE, values
        self.settle(without_interrupts(values), going_on=going_on)

    def shown(self, values: Any) -> None:
        """Tells values learned beside the stream, if they are newer (rules 2 and 3)."""
        self.open_now(is_older=True)
        values = without_interrupts(values)
        messages = self._messages(values)
        if self._streamed and (messages is None or not self._history.is_ahead(messages)):
            return
        opening, self.is_told, self.last = not self.is_told, True, values
        unsaved = self._speech.unsaved()
        goes_back = opening and self._history.goes_back(messages, unsaved) and self._state.goes_back(values)
        if messages is not None:
            self._ahead = True
            self._losses.attempt(_CONVERSATION, self._show, messages, unsaved, opening, otherwise=None)
        if not goes_back:
            self._losses.attempt(_STATE, self._state.shown, values, otherwise=None)

    def settle(self, values: Any, *, going_on: bool, is_older: bool = False) -> None:
        """Tells values as they are: the conversation and the state (also called for the state an ending brings).

        `going_on`: the superstep is, so that what streamed may still be saved. `is_older`: an opening older than what
        the client has; its state is not emitted.
        """
        messages = self._messages(values)
        if messages is not None:
            self._losses.attempt(_CONVERSATION, self._converse, messages, going_on, otherwise=None)
        elif not going_on:
            self._speech.forget()
        if not going_on:
            self._waiting.settled()
        if not is_older:
            self._losses.attempt(_STATE, self._state.told, values, otherwise=None)
        self.is_told = True

    def _converse(self, messages: Sequence[Any], going_on: bool) -> None:
        opening = not self.is_told
        waiting = self._waiting.stored(opening=opening) if opening or not going_on else []
        unsaved = self._speech.unsaved() if going_on else self._unsaved(messages, waiting)
        self._history.told(messages, unsaved, opening=opening, going_on=going_on, waiting=waiting)
        if not going_on:
            self._speech.settle()

    def _show(self, messages: Sequence[Any], unsaved: set[str], opening: bool) -> None:
        self._history.shown(messages, unsaved, self._speech.shown, opening=opening)

    def judge(self) -> None:
        """The run ended, and no better values are known than the stream's last: what was not saved is taken back."""
        if self._untold is not _NONE:
            self.last = self._untold
            self.settle(without_interrupts(self._untold), going_on=False)
            return
        waiting = self._waiting.stored(opening=False)
        self._history.judged(self._unsaved(self._messages(self.last) or (), waiting), waiting)
        self._speech.settle()

    def _unsaved(self, messages: Sequence[Any], waiting: Sequence[Event]) -> set[str]:
        """The ids emitted since the conversation was last judged. They are dropped if they are not stored, unless an
        interrupt is pending: then only those are whose message is stored under another id."""
        if self._waiting.is_pending:
            stored = [fields(message) for message in messages]
            ids = {message.get("id") for message in (*stored, *waiting)}
            answered = {message.get("tool_call_id") for message in stored}
            answered |= {message.get("toolCallId") for message in waiting}
            self._history.kept.update(self._speech.not_among(ids, answered))
        return self._speech.unsaved()

    def _messages(self, values: Any) -> Sequence[Any] | None:
        messages = (channels(values) or {}).get(self._key)
        if type(messages) is UnreadableChannel:
            self._losses.channel(self._key, messages.error)
        return messages if issubclass(type(messages), list | tuple) else None  # asking the object may raise
