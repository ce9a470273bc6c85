"""Emits the graph's state as `STATE_SNAPSHOT` and `STATE_DELTA`. Messages are not part of the state (see
`reconcile.py`).

Rules:

1. Only the channels that the options make visible are emitted. Only `values` and `updates` of the root graph count. The
   contents are taken from `values`, because `updates` are not reduced yet: merging them would lose what parallel tasks
   write to one channel (https://github.com/ag-ui-protocol/ag-ui/issues/2628). What a subgraph writes reaches the state
   when the values of the root graph contain it, because LangGraph applies a subgraph's output when the node that runs
   it returns (https://docs.langchain.com/oss/python/langgraph/use-subgraphs). With the functional API, the payload of
   `values` may be any object. If it is not a mapping, the whole payload is the state.
2. The first state event of a run is a snapshot, even if a prediction causes it. A server between this one and the
   client may compute the state of a run from its events alone. For example, `compactEvents` of `@ag-ui/client`, which
   CopilotKit's Node runtime uses, begins with an empty state
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/compact/compact.ts). With
   `first_state="delta"`, the first event is a delta if the client's state is known and the delta is smaller than a
   snapshot. If the client is known to have the state already, no event is emitted.
3. Later events are deltas against the state in the view. A channel is compared if a node wrote to it (`updates`), or if
   its value is a different object than before. The bytes of its JSON are compared. If a node edits a value in place and
   does not return the channel, the edit is only emitted after the next write to the channel. A checkpointer may not
   store such an edit any earlier (`message_cache.py`, rule 1).
4. If the JSON Patch library of the client cannot apply a change as a delta (`jsonable/json_diff.py`, rule 5), the
   change is emitted as a snapshot.
5. A predicted value stays in effect until its tool call is answered, a node writes to its channel, or the run ends.
   Until then, the predicted value replaces the channel's value in `values` parts, which do not contain the new value
   while the tool is running, because LangGraph applies the writes of a node only when its superstep ends
   (https://docs.langchain.com/oss/python/langgraph/graph-api).
6. The option `state` can change these rules, because AG-UI leaves it to the agent how often it emits snapshots and
   deltas (https://docs.ag-ui.com/concepts/state). With `initial`, only the first values are emitted; with `final`, only
   the last ones. With `all`, each change is emitted as a snapshot. With `none`, nothing is emitted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
    """Tracks which state channels of the root graph have changed and which values are predicted, and makes the state
    events."""

    def __init__(self, view: ClientView, options: Options, losses: Losses) -> None:
        self._view = view
        self._options = options
        self._losses = losses
        self._written: set[str] = set()
        self._seen: dict[str, tuple[Any, bytes]] = {}
        """For each channel, the value that was read last, and the bytes of its JSON. The client has this JSON."""
        self._predicted: set[str] = set()
        """The channels with predicted values that have not been replaced yet (rule 5)."""
        self._ended_predictions: set[str] = set()
        """The channels whose predictions have ended. The next values contain the real values of these channels."""
        self._ever_written: set[str] = set()
        """All channels that nodes have written to during the run."""
        self._names: dict[Any, str | None] = {}
        """For each channel, the name under which clients see it; None if they do not see it."""
        self._has_compared = False
        """Whether any values have been compared with the client's state."""
        self._last: Any = _NEVER

    def record_written(self, names: Collection[str]) -> None:
        """Records that nodes wrote to these channels, and ends their predictions. The channels are compared when the
        next values arrive."""
        self._written.update(names)
        self._ever_written.update(names)
        self.end_predictions_of(names)

    def unseen(self) -> list[str]:
        """The channels that nodes have written to, if clients see none of these channels and no option excludes them.
        Otherwise the list is empty."""
        options = self._options
        seen = {options.messages_key, "messages", "structured_response"}
        if options.state == "none" or any(name in seen or options.shows_channel(name) for name in self._ever_written):
            return []
        kept = options.state_exclude | CLIENT_CHANNELS
        return sorted(name for name in self._ever_written if not name.startswith("_") and name not in kept)

    def would_revert(self, values: Any) -> bool:
        """Whether the first `values` of a run would change or remove a channel in the client's state. New channels do
        not count. The result is False if the client's state is unknown."""
        visible, known = self._visible(values), self._view.base
        if self._has_compared or not self._view.knows_state or not isinstance(visible, dict):
            return False
        if not isinstance(known, dict):
            return True
        return any(
            name not in visible or diff(value, _freeze(visible[name]).json) != [] for name, value in known.items()
        )

    def on_values(self, values: Any) -> Event | None:
        """Returns the event for `values` of the root graph; None if no event is needed."""
        mode = self._options.state
        self._last = values
        self._ended_predictions.clear()
        if mode in ("none", "final") or (mode == "initial" and self._has_compared):
            self._losses.drop("state with the option", mode, Reason.OPTION)
            return None
        return self._event(values)

    def on_checkpoint(self, values: Any) -> Event | None:
        """Returns the event for the values of a checkpoint that was read before the end of the current superstep. The
        channels that nodes have written to in this superstep are compared again when its values arrive."""
        written, ended = set(self._written), set(self._ended_predictions)
        event = self.on_values(values)
        self._written |= written
        self._ended_predictions |= ended
        return event

    def end_predictions_of(self, names: Collection[str]) -> None:
        """Ends the predictions for these channels. The next values contain their real values."""
        if not self._predicted:
            return
        self._ended_predictions |= self._predicted.intersection(names)
        self._predicted.difference_update(names)

    def end_all_predictions(self) -> Event | None:
        """Returns the event that replaces predicted values with the real ones at the end of a run; None if no event is
        needed."""
        if not (self._predicted or self._ended_predictions):
            return None
        self._predicted.clear()
        self._ended_predictions.clear()
        return None if self._last is _NEVER else self._event(self._last)

    def finish(self) -> Event | None:
        """Returns the event for the last values if the option `state` is `final`; otherwise None. This method is called
        when the run has finished or stopped at an interrupt."""
        return None if self._options.state != "final" or self._last is _NEVER else self._event(self._last)

    def predict(self, name: str, value: Any) -> Event | None:
        """Returns the event for a predicted value of a channel; None if no event is needed, for example because the
        channel is not visible."""
        view = self._view
        if not self._options.shows_channel(name):
            self._losses.drop("state channel", name, Reason.OPTION)
            return None
        if not view.knows_state or not isinstance(view.base, dict):
            return None
        if self._options.state != "deltas" or name in self._ended_predictions:
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
        """Whether the run must begin with a snapshot and has not had one yet."""
        return self._options.first_state == "snapshot" and not self._view.run_has_snapshot

    def _event(self, values: Any) -> Event | None:
        visible = self._visible(values)
        view = self._view
        predicted = [name for name in view.base if name in self._predicted] if isinstance(view.base, dict) else []
        if predicted and isinstance(visible, dict):
            visible |= {name: view.base[name] for name in predicted}
        snapshots = self._options.state == "all" or not view.knows_state or not isinstance(view.base, dict)
        has_compared, self._has_compared = self._has_compared, True
        written, self._written = self._written, set(predicted)
        if not isinstance(visible, dict) or snapshots or not has_compared:
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
            replaces_whole = operations is not None and operations[0]["path"] == ""  # the delta would not be smaller
            if operations is not None and takes_delta and not replaces_whole:
                return events.state_delta(operations)
        return events.state_snapshot(frozen)

    def _changes(self, visible: dict[str, Any], written: Collection[str]) -> Event | None:
        state = self._view.base
        gone = [name for name in state if name not in visible]
        operations: list[Event] | None = [{"op": "remove", "path": "/" + escape(name)} for name in gone]
        for name in gone:  # the channel may return later with the same object as its value
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
        """The visible channels, with values that have not been converted to JSON. If the values are not a mapping, the
        whole value is returned as JSON."""
        named = channels(values)
        if named is None:
            return to_json(values)
        visible: dict[str, Any] = {}
        for name, value in named.items():
            try:
                if name not in self._names:
                    self._names[name] = to_text(name) if self._options.shows_channel(name) else None
                shown = self._names[name]
                if shown is not None:
                    if type(value) is UnreadableChannel:
                        raise value.error
                    visible[shown] = value
                elif name != self._options.messages_key:
                    self._losses.drop("state channel", name, Reason.OPTION)
            except Exception as error:
                self._losses.channel(name, error)
        return visible


def _freeze(value: Any) -> Frozen:
    """The JSON of a channel's value. If the value is too large for a frame, it is truncated. Even then, a small change
    to the value changes only a small part of the result."""
    frozen = freeze(value)
    return frozen if len(frozen.data) <= MAX_VALUE else Frozen(frozen.data, truncated(frozen.json, MAX_VALUE))


def _operations(state: Mapping[str, Any], name: str, value: Any) -> list[Event] | None:
    path = "/" + escape(name)
    if name not in state:
        return None if name == "__proto__" else [{"op": "add", "path": path, "value": value}]
    return diff(state[name], value, path)
