"""Predicts state from the arguments of tool calls while the arguments are streaming (`Predictions`). The only event
that this module makes is the one that announces predictions.

`procedures.py` passes every event of such a tool call to this module. This module returns the predicted values, and
`checkpoint/state.py` makes the events for them. The real values arrive with a `values` part.

Rules:

1. Predictions come from the options and from the metadata of model calls. Two metadata keys are read: `predict_state`,
   which `ag-ui-langgraph` uses
   (https://github.com/ag-ui-protocol/ag-ui/blob/main/integrations/langgraph/python/ag_ui_langgraph/agent.py), and the
   key that CopilotKit's `copilotkit_customize_config` sets
   (https://github.com/CopilotKit/CopilotKit/blob/main/sdk-python/copilotkit/langgraph.py). Only the run's own tool
   calls are used, because a subagent has its own state (`ToolTasks.writes_state`).
2. The custom event `PredictState` precedes the start of such a tool call and lists the predictions for it. CopilotKit's
   client then predicts the state from the arguments itself.
3. The value so far is emitted each time the arguments have grown by half, and once when they are complete. This is
   usually a `STATE_DELTA`. Because JSON Patch (RFC 6902) cannot append to a string, each delta has to repeat the whole
   value. So the total size would be quadratic if there were one delta for each token.
4. A predicted value stays until the last tool call that predicted it has been answered. `checkpoint/state.py`, rule 5,
   lists the other events that end a prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from ..client.view import ClientView
from ..jsonable.partial_json import read_partial
from ..jsonable.to_json import to_json
from ..options import Options, Prediction
from ..wire import events
from ..wire.events import Event

_KEYS: Final = ("predict_state", "copilotkit:emit-intermediate-state")
_PREDICTION: Final = TypeAdapter(Prediction)
_FIRST: Final = 16
_GROWTH: Final = 1.5


class _Call:
    """A streaming tool call that has predictions."""

    __slots__ = ("next", "predictions", "size")

    def __init__(self, predictions: list[Prediction]) -> None:
        self.predictions = predictions
        self.size = 0
        """The number of characters of the arguments received so far."""
        self.next: float = _FIRST
        """The size at which values are predicted the next time (rule 3)."""


class Predictions:
    """The predictions of one run. `view`: the client's messages, with the arguments of each tool call so far."""

    def __init__(self, view: ClientView, options: Options) -> None:
        self._view = view
        self._known = list(options.predict_state)
        self._calls: dict[str, _Call] = {}
        """The streaming tool calls that have predictions, as a mapping from their ids."""
        self._predictors: dict[str, str] = {}
        """For each predicted state channel, the id of the last tool call that predicted a value for it."""

    def __bool__(self) -> bool:
        """Whether any tool call that has predictions is streaming."""
        return bool(self._calls)

    def __contains__(self, call_id: object) -> bool:
        """Whether a tool call with this id is streaming and has predictions."""
        return call_id in self._calls

    @property
    def has_predicted(self) -> bool:
        """Whether a value has been predicted for any channel."""
        return bool(self._predictors)

    def begin(self, metadata: Mapping[str, Any]) -> None:
        """Reads the predictions that the metadata of a new model call asks for."""
        for key in _KEYS:
            requests = metadata.get(key)
            for item in requests if isinstance(requests, (list, tuple)) else ():
                try:
                    prediction = _PREDICTION.validate_python(item)
                except Exception:  # not a prediction; invalid metadata must not end the stream
                    continue
                if prediction not in self._known:
                    self._known.append(prediction)

    def watch(self, call_id: str, tool: str | None) -> None:
        """Starts the predictions for a tool call that is about to be emitted under this id, if any predictions apply to
        its tool."""
        predictions = [item for item in self._known if item.tool == tool]
        if predictions:
            self._calls[call_id] = _Call(predictions)

    def announced(self, event: Event) -> Event | None:
        """Returns the event that lists the predictions for a tool call, if `event` starts that tool call (rule 2);
        otherwise None."""
        if event["type"] != "TOOL_CALL_START":
            return None
        return events.custom("PredictState", [_named(item) for item in self._calls[event["toolCallId"]].predictions])

    def grown(self, event: Event) -> dict[str, Any]:
        """Returns the predicted value of each channel after the client has received this event (rule 3). The result is
        empty unless the arguments have grown enough."""
        if event["type"] != "TOOL_CALL_ARGS":
            return {}
        call = self._calls[event["toolCallId"]]
        call.size += len(event["delta"])
        if call.size < call.next:
            return {}
        call.next = call.size * _GROWTH
        return self._values(event["toolCallId"], call)

    def ended(self, event: Event) -> dict[str, Any]:
        """Returns the final predicted value of each channel if this event ends a tool call (rule 3), and stops
        predicting from that tool call. For any other event, the result is empty."""
        if event["type"] != "TOOL_CALL_END":
            return {}
        return self._values(event["toolCallId"], self._calls.pop(event["toolCallId"]))

    def predicted_by(self, call_id: str) -> list[str]:
        """The channels whose predicted values end with the answer to this tool call (rule 4)."""
        return [name for name, predictor in self._predictors.items() if predictor == call_id]

    def _values(self, call_id: str, call: _Call) -> dict[str, Any]:
        emitted = self._view.call(call_id)
        args = read_partial(emitted["function"]["arguments"]) if emitted is not None else None
        if not isinstance(args, dict):
            return {}
        values: dict[str, Any] = {}
        for item in call.predictions:
            if item.tool_argument is None or item.tool_argument in args:
                values[item.state_key] = to_json(args if item.tool_argument is None else args[item.tool_argument])
        self._predictors.update(dict.fromkeys(values, call_id))
        return values


def _named(item: Prediction) -> dict[str, Any]:
    named = {"state_key": item.state_key, "tool": item.tool}
    return named if item.tool_argument is None else {**named, "tool_argument": item.tool_argument}
