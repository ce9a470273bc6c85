"""The graph's state as `STATE_SNAPSHOT` and `STATE_DELTA`. The conversation is not state: `history` has it.

Rules:

1. Only the channels the options show. A graph whose values are no mapping (the functional API) is shown as what it is.
2. The first state event of a run is a snapshot, whether values or a prediction come first. With `first_state="delta"`
   it may be a delta, where the client's state is known and the delta is the smaller. A state that the client is known
   to have needs no event.
3. Later ones are a delta against the view. A channel is looked at when a node wrote it (`updates`) or when it is
   another object than before, and then compared by its frozen bytes: an edit in place that a node returned is seen, one
   that nobody returned is told when the channel is next written.
4. What cannot be told as a delta the client would apply is told as a snapshot.
5. A predicted value holds until its call is answered, a node writes its channel, or the run ends; the values that come
   before, while the tool runs, do not have it yet.
6. `initial` tells the first values only, `final` the last only, `all` a snapshot for each change, `none` nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..jsonable.json_diff import diff, escape
from ..jsonable.to_json import Frozen, freeze, to_json, to_text
from ..losses import Losses
from ..options import Options
from ..outbox import Outbox
from ..parts.channels import UnreadableChannel, channels
from ..wire import events
from ..wire.events import Event

_UNTOLD: Any = object()


class State:
    """What the client holds of the graph's state, and what it is to hold."""

    def __init__(self, outbox: Outbox, options: Options, losses: Losses) -> None:
        self._outbox = outbox
        self._options = options
        self._losses = losses
        self._written: set[str] = set()
        self._seen: dict[str, tuple[Any, bytes]] = {}
        """By channel: the object seen last, and the frozen bytes the client holds."""
        self._predicted: set[str] = set()
        """Channels whose predicted values hold (rule 5)."""
        self._released: set[str] = set()
        """Channels whose predicted values hold no longer; the next values have the true ones."""
        self._opened = False
        self._last: Any = _UNTOLD

    def write(self, names: Iterable[str]) -> None:
        """Nodes wrote these channels: they are looked at when the next values come."""
        names = set(names)
        self._written |= names
        self.release(names)

    def goes_back(self, values: Any) -> bool:
        """Whether the first `values` would change what the client is known to hold; what is new to it goes on."""
        shown, held = self._shown(values), self._outbox.view.base
        if self._opened or not self._outbox.view.knows_state or not isinstance(shown, dict):
            return False
        if not isinstance(held, dict):
            return True
        return any(name not in shown or diff(value, freeze(shown[name]).json) != [] for name, value in held.items())

    def told(self, values: Any) -> None:
        """Tells the root graph's `values`."""
        mode = self._options.state
        self._last = values
        self._released.clear()
        if mode in ("none", "final") or (mode == "initial" and self._opened):
            return
        self._tell(values)

    def shown(self, values: Any) -> None:
        """Tells values that were learned beside the stream, in the middle of a superstep: what nodes wrote in it is
        still looked at when its values come."""
        written, released = set(self._written), set(self._released)
        self.told(values)
        self._written |= written
        self._released |= released

    def release(self, names: Collection[str]) -> None:
        """Ends the predictions of these channels until the next values, which have the true ones."""
        self._released |= self._predicted.intersection(names)
        self._predicted.difference_update(names)

    def end_predictions(self) -> None:
        """The run ended in any way: emits the last known values of predicted channels."""
        if self._predicted or self._released:
            self._predicted.clear()
            self._released.clear()
            if self._last is not _UNTOLD:
                self._tell(self._last)

    def finish(self) -> None:
        """The run ended in success or an interrupt: emits the state that `final` kept back."""
        if self._options.state == "final" and self._last is not _UNTOLD:
            self._tell(self._last)

    def predict(self, name: str, value: Any) -> Event | None:
        """The event that tells a predicted value of a channel; None if the channel is not to be told."""
        view = self._outbox.view
        if not self._options.shows_channel(name) or not view.knows_state or not isinstance(view.base, dict):
            return None
        if self._options.state != "deltas" or name in self._released:
            return None
        self._seen.pop(name, None)
        self._written.add(name)
        self._predicted.add(name)
        operations = _operations(view.base, name, value)
        if not operations:
            return None
        if self._needs_snapshot:
            return events.state_snapshot({**view.base, name: value})
        return events.state_delta(operations)

    @property
    def _needs_snapshot(self) -> bool:
        """Whether the run has had no snapshot, and no delta may come before one."""
        return self._options.first_state == "snapshot" and not self._outbox.view.run_has_snapshot

    def _tell(self, values: Any) -> None:
        shown = self._shown(values)
        view = self._outbox.view
        predicted = self._predicted.intersection(view.base if isinstance(view.base, dict) else ())
        if predicted and isinstance(shown, dict):
            shown |= {name: view.base[name] for name in predicted}
        snapshots = self._options.state == "all" or not view.knows_state or not isinstance(view.base, dict)
        opening, self._opened = not self._opened, True
        if not isinstance(shown, dict) or snapshots or opening:
            self._tell_whole(shown, opening)
        else:
            self._tell_changes(shown)
        self._written = predicted

    def _tell_whole(self, shown: Any, opening: bool) -> None:
        view = self._outbox.view
        frozen = self._freeze_all(shown) if isinstance(shown, dict) else freeze(shown).json
        if view.knows_state:
            operations = diff(view.base, frozen)
            if operations == []:
                return
            takes_delta = self._options.state == "deltas" and not self._needs_snapshot
            if operations is not None and takes_delta and len(operations[0]["path"]) > 0:
                self._outbox.tell(events.state_delta(operations))
                return
        self._outbox.tell(events.state_snapshot(frozen))

    def _tell_changes(self, shown: dict[str, Any]) -> None:
        state = self._outbox.view.base
        gone = [name for name in state if name not in shown]
        operations: list[Event] | None = [{"op": "remove", "path": "/" + escape(name)} for name in gone]
        for name in gone:  # a channel may come back as the very value it had
            self._seen.pop(name, None)
        for name, value in shown.items():
            before, data = self._seen.get(name, (_UNTOLD, b""))
            if name in self._predicted or (value is before and name not in self._written):
                continue
            frozen = freeze(value)
            self._seen[name] = (value, frozen.data)
            if frozen.data != data:
                more = _operations(state, name, frozen.json)
                operations = None if operations is None or more is None else operations + more
        if operations is None or (operations and self._needs_snapshot):
            self._outbox.tell(events.state_snapshot(self._freeze_all(shown)))
        elif operations:
            self._outbox.tell(events.state_delta(operations))

    def _freeze_all(self, shown: dict[str, Any]) -> dict[str, Any]:
        frozen: dict[str, Frozen] = {name: freeze(value) for name, value in shown.items()}
        self._seen = {name: (shown[name], item.data) for name, item in frozen.items()}
        return {name: item.json for name, item in frozen.items()}

    def _shown(self, values: Any) -> Any:
        named = channels(values)
        if named is None:
            return to_json(values)
        shown: dict[str, Any] = {}
        for name, value in named.items():
            try:
                if self._options.shows_channel(name):
                    if type(value) is UnreadableChannel:
                        raise value.error
                    shown[to_text(name)] = value
            except Exception as error:
                self._losses.channel(name, error)
        return shown


def _operations(state: Mapping[str, Any], name: str, value: Any) -> list[Event] | None:
    path = "/" + escape(name)
    if name not in state:
        return None if name == "__proto__" else [{"op": "add", "path": path, "value": value}]
    return diff(state[name], value, path)
