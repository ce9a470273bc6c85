"""Tool arguments that will become state, emitted as state while they stream. The true value comes with `values`.

Rules:

1. Predictions come from the options and from the metadata of a model call: `predict_state`, as in `ag-ui-langgraph`,
   and the key that CopilotKit's `copilotkit_customize_config` sets
   (https://github.com/CopilotKit/CopilotKit/blob/main/sdk-python/copilotkit/langgraph.py). Only calls of the run itself
   are predicted, because a subagent has its own state (`Owner.writes_state`).
2. Before a predicted call starts, the custom event `PredictState` names the predictions, once per call. CopilotKit's
   client then predicts the state itself from the arguments.
3. The value so far is emitted as `STATE_DELTA` each time the arguments have grown by a half, and once when they are
   whole. JSON Patch (RFC 6902) cannot append to a string, so the cost of a delta per token would be quadratic.
4. A predicted value stays until the last call that predicted it is answered. `checkpoint/state.py` says what else ends
   it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from ..client.view import ClientView
from ..jsonable.partial_json import read_partial
from ..jsonable.to_json import to_json
from ..options import Options, Prediction
from ..wire import events
from ..wire.events import Event
from .tool_calls import ToolCall

_KEYS: Final = ("predict_state", "copilotkit:emit-intermediate-state")
_PREDICTION: Final = TypeAdapter(Prediction)
_FIRST: Final = 16
_GROWTH: Final = 1.5


class Predictions:
    """The predictions of one run. `view` has the arguments so far, `write` makes the event for a predicted value, and
    `release` ends predictions."""

    def __init__(
        self,
        view: ClientView,
        options: Options,
        write: Callable[[str, Any], Event | None],
        release: Callable[[Collection[str]], None],
    ) -> None:
        self._view = view
        self._options = options
        self._write = write
        self._release = release
        self._predictors: dict[str, str] = {}
        """By state channel: the last call that predicted it."""
        self._known = list(options.predict_state)
        self._next: dict[str, float] = {}

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """A model call began: its metadata may ask for predictions."""
        requests = [metadata.get(key) for key in _KEYS]
        for item in (item for items in requests if isinstance(items, list | tuple) for item in items):
            try:
                prediction = _PREDICTION.validate_python(item)
            except Exception:  # not a prediction: nothing in a call's metadata may end a stream
                continue
            if prediction not in self._known:
                self._known.append(prediction)

    def predicts(self, call: ToolCall) -> bool:
        """Whether state is predicted from the arguments of a call."""
        return any(item.tool == call.name for item in self._known)

    def on_fragment(self, call: ToolCall, fragment: list[Event]) -> Iterator[Event]:
        """The events of a tool call's fragment, and those of the state that is predicted from it."""
        mine = [item for item in self._known if item.tool == call.name] if self._known else []
        if mine and fragment[0]["type"] == "TOOL_CALL_START":
            yield events.custom("PredictState", [_named(item) for item in mine])
        yield from fragment
        if mine:
            yield from self._grown(call, mine)

    def on_end(self, call: ToolCall) -> Iterator[Event]:
        """The events of the state that is predicted from the whole arguments."""
        mine = [item for item in self._known if item.tool == call.name] if self._known else []
        if mine and call.is_emitted:
            self._next[call.emitted_id] = 0
            yield from self._grown(call, mine)

    def on_result(self, call_id: str) -> None:
        """A tool call has its result (rule 4)."""
        names = [name for name, predictor in self._predictors.items() if predictor == call_id]
        if names:
            self._release(names)

    def _grown(self, call: ToolCall, predictions: list[Prediction]) -> Iterator[Event]:
        if call.size < self._next.get(call.emitted_id, _FIRST):
            return
        self._next[call.emitted_id] = call.size * _GROWTH
        emitted = self._view.call(call.emitted_id)
        args = read_partial(emitted["function"]["arguments"]) if emitted is not None else None
        if not isinstance(args, dict):
            return
        values: dict[str, Any] = {}
        for item in predictions:
            if item.tool_argument is None or item.tool_argument in args:
                values[item.state_key] = args if item.tool_argument is None else args[item.tool_argument]
        for name, value in values.items():  # one event per channel: its delta is made against the client's state
            event = self._write(name, to_json(value))
            self._predictors[name] = call.id or call.emitted_id
            if event is not None:
                yield event


def _named(item: Prediction) -> dict[str, Any]:
    named = {"state_key": item.state_key, "tool": item.tool}
    return named if item.tool_argument is None else {**named, "tool_argument": item.tool_argument}
