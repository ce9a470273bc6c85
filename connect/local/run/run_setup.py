"""`RunSetup`: the description of a run that is to begin, which `Runs.begin` takes. `start` and `Runs.start` make one of
their arguments; for the input of a client, `local.submit` makes a more detailed one."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from ....translator import ClientView, Options
from ...inputs.intake import OnCancel, OnDisconnect
from ...run_outcome import Subgraph
from ..checkpointers import Graph
from ..factory import MadeGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """A run that is to begin.

    `graph`, `input`, `config`, `run_id`, `options`, `agent`, `on_disconnect`, `context`, `timeout`: see `start`.
    `view`: The view of the client that starts the run, if it is known.
    `parent_run_id`: As in `RUN_STARTED`.
    `waiting`: The subgraphs in which it continues.
    `stamp`: The metadata of a thread that it creates; None takes those of the agent.
    `dispatched_events`, `mark_structured_output`, `on_cancel`: See `Intake`.
    `revision`: See `RunStore.claim`.
    `newest`: The id of the newest checkpoint of the thread and its subgraphs at this revision, empty if there is none;
        None reads it when the run begins.
    `made`: The graph that was made for this run alone, and is left when the run has stopped. `graph` then stands for
        all graphs of the agent.
    """

    graph: Graph
    input: Any
    config: Mapping[str, Any] | None = None
    run_id: str | None = None
    options: Options | None = None
    agent: str | None = None
    on_disconnect: OnDisconnect = "continue"
    context: Any = None
    timeout: float | None = None
    view: ClientView | None = None
    parent_run_id: str | None = None
    waiting: Iterable[Subgraph] = ()
    stamp: Mapping[str, Any] | None = None
    dispatched_events: bool = False
    mark_structured_output: bool = True
    on_cancel: OnCancel = "discard"
    revision: int | None = None
    newest: str | None = None
    made: MadeGraph | None = None


class FormerOfFunction(TypedDict, total=False):
    """The former arguments of `start`."""

    view: ClientView | None


class FormerOfMethod(FormerOfFunction, total=False):
    """The former arguments of `Runs.start`; see `RunSetup`."""

    parent_run_id: str | None
    waiting: Iterable[Subgraph]
    stamp: Mapping[str, Any] | None
    dispatched_events: bool
    mark_structured_output: bool
    on_cancel: OnCancel
    revision: int | None
    newest: str | None
    made: MadeGraph | None


def warn_of_former(names: Collection[str]) -> None:
    """Warns the caller of `start` or `Runs.start` that these arguments are deprecated."""
    if names:
        warnings.warn(
            f"start: {', '.join(sorted(names))}: will not be taken any more. `run` runs the input of a client, as its "
            "`Intake` says",
            DeprecationWarning,
            stacklevel=3,
        )
