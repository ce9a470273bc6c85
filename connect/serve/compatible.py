"""Adjusts options and intake for pages that were written for the server of another library: `CompatibleWith`. Only
defaults are changed. An owner's own choice stays.

| `ag-ui-langgraph` | here |
|---|---|
| an interrupt is the custom event `on_interrupt`; its run has no outcome | `Options(interrupts="legacy")` |
| subagents' events are emitted as the agent's own | `Options(subagents="inline")` |
| the client's state is input of the graph | `Intake(state="all")` |
| dispatched events are emitted, such as `manually_emit_message` | `Intake(dispatched_events=True)`, in this process |

The state of a run begins with a snapshot in any case. `RAW` events and the messages in the state are never emitted.
`forwardedProps` reach the graph only through `Intake.prepare`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...translator import Options
from ..inputs import Intake
from ..inputs.intake import ALL

CompatibleWith = Literal["ag-ui-langgraph"]


def compatible_options(options: Options) -> Options:
    """Returns these options, changed for such pages."""
    interrupts = "legacy" if options.interrupts == "outcome" else options.interrupts
    subagents = "inline" if options.subagents == "attributed" else options.subagents
    return replace(options, interrupts=interrupts, subagents=subagents)


def compatible_intake(intake: Intake, *, is_local: bool) -> Intake:
    """Returns this intake, changed for such pages. `is_local` says whether the graph runs in this process."""
    return replace(intake, state=intake.state or ALL, dispatched_events=intake.dispatched_events or is_local)
