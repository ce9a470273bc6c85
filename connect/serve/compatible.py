"""Adjusts options and intake for pages that were written for the server of another library: `CompatibleWith`. Only
defaults are changed. An owner's own choice stays.

| `ag-ui-langgraph` | here |
|---|---|
| an interrupt is the custom event `on_interrupt`; its run has no outcome | `Options(interrupts="legacy")` |
| subagents' events are emitted as the agent's own | `Options(subagents="inline")` |
| the client's state is input of the graph | `Intake(state="all")` |
| dispatched events are emitted, such as `manually_emit_message` | `Intake(dispatched_events=True)`, in this process |
| an aborted request stops its run | `Intake(on_disconnect="cancel")`, unless the request has an `Origin` |

A page's request has an `Origin`, and is also aborted when the page is closed or loaded again, so it stops nothing. A
server between page and graph sends none. CopilotKit's runtime reads each run to its end, whether or not the page is
still open, and aborts the request only to stop the run.

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
    return replace(options, interrupts=options.interrupts or "legacy", subagents=options.subagents or "inline")


def compatible_intake(intake: Intake, *, is_local: bool, is_page: bool) -> Intake:
    """Returns this intake, changed for such pages. `is_local` says whether the graph runs in this process, `is_page`
    whether the request is from a page and not from a server in between."""
    on_disconnect = intake.on_disconnect if is_page else "cancel"
    dispatched_events = intake.dispatched_events or is_local
    return replace(intake, state=intake.state or ALL, dispatched_events=dispatched_events, on_disconnect=on_disconnect)
