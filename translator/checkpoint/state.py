"""The graph's state as `STATE_SNAPSHOT` and `STATE_DELTA`. Messages are not state: `messages.py` has them.

Rules:

1. Only the channels that the options show. Values that are no mapping (the functional API) are the state as a whole.
2. The first state event of a run is a snapshot, whether values or a prediction come first. With `first_state="delta"`
   it may be a delta, where the client's state is known and the delta is the smaller. A state that the client is known
   to have needs no event.
3. Later ones are a delta against the view. A channel is compared, by its frozen bytes, when a node wrote it (`updates`)
   or when it is another object than before. So an edit in place that a node returned is seen; any other is emitted
   when the channel is next written.
4. A change that no delta can express for the client is emitted as a snapshot.
5. A predicted value stays until its call is answered, a node writes its channel, or the run ends: the values that come
   before, while the tool runs, do not have it yet.
6. The option `state` restricts this: `initial` emits the first values only, `final` the last only, `all` a snapshot for
   each change, `none` nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..client.view import ClientView
from ..jsonable.json_diff import diff, escape
from ..jsonable.to_json import Frozen, freeze, to_json, to_text
from ..losses import Losses, Reason
from ..options import CLIENT_CHANNELS, Options
from ..parts.channels import UnreadableChannel, channels
from ..wire import events
from ..wire.events import Event
from ..wire.frame_limit import MAX_VALUE, truncated

_NEVER: Any = object()


class State:
    """The root graph's state channels: which of them have changed, and which values are predicted."""

    def __init__(self, view: ClientView, options: Options, losses: Losses) -> None:
        self._view = view
        self._options = options
        self._losses = losses
        self._written: set[str] = set()
        self._seen: dict[str, tuple[Any, bytes]] = {}
        """By channel: the object seen last, and the frozen bytes that the client has."""
        self._predicted: set[str] = set()
        """Channels whose predicted values stay (rule 5)."""
        self._released: set[str] = set()
        """Channels whose predicted values do not stay any longer; the next values have the true ones."""
        self._ever_written: set[str] = set()
        """All channels that nodes wrote in the run."""
        self._has_begun = False
        self._last: Any = _NEVER

    def written(self, names: Iterable[str]) -> None:
        """Nodes wrote these channels: they are compared when the next values come."""
        names = set(names)
        self._written |= names
        self._ever_written |= names
        self.release(names)

    def unseen(self) -> list[str]:
        """The channels that nodes wrote, if clients see none of them, though nobody has excluded them."""
        options = self._options
        seen = {options.messages_key, "messages", "structured_response"}
        if options.state == "none" or any(name in seen or options.shows_channel(name) for name in self._ever_written):
            return []
        kept = options.state_exclude | CLIENT_CHANNELS
        return sorted(name for name in self._ever_written if not name.startswith("_") and name not in kept)

    def would_revert(self, values: Any) -> bool:
        """Whether the first `values` would change a channel that the client is known to have; new channels do not
        count."""
        visible, known = self._visible(values), self._view.base
        if self._has_begun or not self._view.knows_state or not isinstance(visible, dict):
            return False
        if not isinstance(known, dict):
            return True
        return any(
            name not in visible or diff(value, _freeze(visible[name]).json) != [] for name, value in known.items()
        )

    def on_values(self, values: Any) -> Event | None:
        """The event of the root graph's `values`; None if they change nothing at the client."""
        mode = self._options.state
        self._last = values
        self._released.clear()
        if mode in ("none", "final") or (mode == "initial" and self._has_begun):
            self._losses.drop("state with the option", mode, Reason.OPTION)
            return None
        return self._event(values)

    def on_checkpoint(self, values: Any) -> Event | None:
        """The event of values that were read beside the stream, in the middle of a superstep: what nodes wrote in it is
        still compared when its values come."""
        written, released = set(self._written), set(self._released)
        event = self.on_values(values)
        self._written |= written
        self._released |= released
        return event

    def release(self, names: Collection[str]) -> None:
        """Ends the predictions of these channels until the next values, which have the true ones."""
        self._released |= self._predicted.intersection(names)
        self._predicted.difference_update(names)

    def end_predictions(self) -> Event | None:
        """The event with which the last known values replace predicted ones, when the run ended in any way."""
        if not (self._predicted or self._released):
            return None
        self._predicted.clear()
        self._released.clear()
        return None if self._last is _NEVER else self._event(self._last)

    def finish(self) -> Event | None:
        """The event of the state that `final` kept back, when the run ended in success or an interrupt."""
        return None if self._options.state != "final" or self._last is _NEVER else self._event(self._last)

    def predict(self, name: str, value: Any) -> Event | None:
        """The event of a predicted value of a channel; None if the channel is not to be visible."""
        view = self._view
        if not self._options.shows_channel(name):
            self._losses.drop("state channel", name, Reason.OPTION)
            return None
        if not view.knows_state or not isinstance(view.base, dict):
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
        return self._options.first_state == "snapshot" and not self._view.run_has_snapshot

    def _event(self, values: Any) -> Event | None:
        visible = self._visible(values)
        view = self._view
        predicted = self._predicted.intersection(view.base if isinstance(view.base, dict) else ())
        if predicted and isinstance(visible, dict):
            visible |= {name: view.base[name] for name in predicted}
        snapshots = self._options.state == "all" or not view.knows_state or not isinstance(view.base, dict)
        is_first, self._has_begun = not self._has_begun, True
        written, self._written = self._written, predicted
        if not isinstance(visible, dict) or snapshots or is_first:
            return self._whole(visible)
        return self._changes(visible, written)

    def _whole(self, visible: Any) -> Event | None:
        view = self._view
        frozen = self._freeze_all(visible) if isinstance(visible, dict) else _freeze(visible).json
        if view.knows_state:
            operations = diff(view.base, frozen)
            if operations == []:
                return None
            takes_delta = self._options.state == "deltas" and not self._needs_snapshot
            if operations is not None and takes_delta and len(operations[0]["path"]) > 0:
                return events.state_delta(operations)
        return events.state_snapshot(frozen)

    def _changes(self, visible: dict[str, Any], written: Collection[str]) -> Event | None:
        state = self._view.base
        gone = [name for name in state if name not in visible]
        operations: list[Event] | None = [{"op": "remove", "path": "/" + escape(name)} for name in gone]
        for name in gone:  # a channel may come back as the very value it had
            self._seen.pop(name, None)
        for name, value in visible.items():
            before, data = self._seen.get(name, (_NEVER, b""))
            if name in self._predicted or (value is before and name not in written):
                continue
            frozen = _freeze(value)
            self._seen[name] = (value, frozen.data)
            if frozen.data != data:
                more = _operations(state, name, frozen.json)
                operations = None if operations is None or more is None else operations + more
        if operations is None or (operations and self._needs_snapshot):
            return events.state_snapshot(self._freeze_all(visible))
        return events.state_delta(operations) if operations else None

    def _freeze_all(self, visible: dict[str, Any]) -> dict[str, Any]:
        frozen: dict[str, Frozen] = {name: _freeze(value) for name, value in visible.items()}
        self._seen = {name: (visible[name], item.data) for name, item in frozen.items()}
        return {name: item.json for name, item in frozen.items()}

    def _visible(self, values: Any) -> Any:
        """The channels that the options show, as they are; of values that are no mapping, all as JSON."""
        named = channels(values)
        if named is None:
            return to_json(values)
        visible: dict[str, Any] = {}
        for name, value in named.items():
            try:
                if self._options.shows_channel(name):
                    if type(value) is UnreadableChannel:
                        raise value.error
                    visible[to_text(name)] = value
                elif name != self._options.messages_key:
                    self._losses.drop("state channel", name, Reason.OPTION)
            except Exception as error:
                self._losses.channel(name, error)
        return visible


def _freeze(value: Any) -> Frozen:
    """A channel's value frozen; one that is too large for a frame is truncated, which a small change leaves alike."""
    frozen = freeze(value)
    return frozen if len(frozen.data) <= MAX_VALUE else Frozen(frozen.data, truncated(frozen.json, MAX_VALUE))


def _operations(state: Mapping[str, Any], name: str, value: Any) -> list[Event] | None:
    path = "/" + escape(name)
    if name not in state:
        return None if name == "__proto__" else [{"op": "add", "path": path, "value": value}]
    return diff(state[name], value, path)
