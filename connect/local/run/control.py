"""`Control`: asks the graph of a run to stop when its present superstep is stored. LangGraph can do that since 1.2.
Graphs of earlier versions are stopped only by cancelling them."""

from __future__ import annotations

from typing import Any

try:
    from langgraph.errors import GraphDrained
    from langgraph.runtime import RunControl
except ImportError:
    _has_control = False
else:
    _has_control = True


class Control:
    """The control of one run."""

    def __init__(self) -> None:
        self._control = RunControl() if _has_control else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `astream` for it."""
        return {} if self._control is None else {"control": self._control}

    def stop_after_superstep(self) -> None:
        """Asks the graph to stop."""
        if self._control is not None:
            self._control.request_drain()


def has_stopped_after_superstep(error: BaseException | None) -> bool:
    """Returns whether a graph has raised this because it was asked to stop, and has work left."""
    return _has_control and isinstance(error, GraphDrained)
