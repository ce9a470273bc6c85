"""What pages expect that were written for another library's server: `CompatibleWith`. Only defaults are changed: an
owner's own choice wins.

| `ag-ui-langgraph` | here |
|---|---|
| an interrupt is the custom event `on_interrupt`; its run has no outcome | `Options(interrupts="legacy")` |
| what subagents emit is the agent's | `Options(subagents="inline")` |
| the client's state is written to the graph | `Intake(state="all")` |
| dispatched events, and those that nodes emit by hand | `Intake(dispatched_events=True)`, in this process |

The state of a run begins with a snapshot anyway. Not emitted are the messages in the state, and `RAW` events; not taken
is `forwardedProps` as input of the graph: that needs `Intake.prepare`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...translator import Options
from ..inputs import Intake
from ..inputs.intake import ALL

CompatibleWith = Literal["ag-ui-langgraph"]


def compatible_options(options: Options) -> Options:
    """The options for such pages."""
    interrupts = "legacy" if options.interrupts == "outcome" else options.interrupts
    subagents = "inline" if options.subagents == "attributed" else options.subagents
    return replace(options, interrupts=interrupts, subagents=subagents)


def compatible_intake(intake: Intake, *, is_local: bool) -> Intake:
    """The intake for such pages. `is_local`: whether the graph runs in this process."""
    return replace(intake, state=intake.state or ALL, dispatched_events=intake.dispatched_events or is_local)
