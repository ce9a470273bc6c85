"""Continues a lost run of another process, or of this one before it was started again: `continue_run`.

The thread is claimed with the next fence and under the same run id, and the input of the run is submitted again,
without what the thread already has of it (`run.run_input`). The inputs that were queued behind the run when it was
handed over are queued behind it again. The run ends at once, and its graph is not called, if

| what is known | it ends |
|---|---|
| somebody wanted it to stop | as cancelled |
| it was lost `MOST_LOSSES` times | as failed, because it may be what ends the processes |
| the graph can't be made for it | as failed |
| a node that comes next is not in the graph any more | as failed: LangGraph would ignore the node, and succeed |
| its newest checkpoint is at a static breakpoint | there: LangGraph would go past the breakpoint |

In any other case the graph decides. If the run had already ended when its process was lost, it has nothing left to do.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.types import StateSnapshot

from ...translator import Cancelled, ClientView, Ending, Failed, Finished, Options
from ..errors import log_context
from ..idle import idle_view
from ..inputs import Intake, Prepared
from ..inputs.configs import merge_configs
from ..inputs.request import RunRequest
from ..run_outcome import UNFINISHED, RunOutcome
from .checkpointers import Graph, reading, wait_for_answer
from .checkpoints.history import values_of
from .checkpoints.outcome import subgraphs
from .checkpoints.progress import Progress, next_nodes
from .checkpoints.thread_state import newest, outcome_at
from .encryption import SealedError, unseal
from .port import LocalPort, configs_of
from .run.configs import graph_config
from .run.run_input import MOST_LOSSES, RunInput, UnreadableInputError
from .source import GraphSource
from .store.active_run import ThreadNow
from .store.records import LostRun
from .submit import submit_queued, submit_rest
from .thread import LocalThread

_log = logging.getLogger(__name__)


async def continue_run(source: GraphSource, intake: Intake, options: Options, lost: LostRun) -> None:
    """Continues a lost run, or ends it; see above.

    - `source`: the source of its agent.
    - `intake`, `options`: those with which the agent is served.

    Raises `RunConflictError` if another process has continued it, `UnreadableInputError` if this process can't read its
    input, and `UnreadableError` for an error of the checkpointer.
    """
    run_input = _read_input(source, lost)
    queued = await _queued(run_input, source, intake, options)
    source = source.for_user(run_input.user, {})
    losses = run_input.losses + (not lost.is_handed_over)
    run_input = replace(run_input, attempt=run_input.attempt + 1, losses=losses)
    thread = LocalThread(source, lost.thread.thread_id)
    request = _request(run_input, lost, intake, options)
    context = run_input.context
    if run_input.has_own_context:
        own = intake.context
        context = {**own, **context} if context is not None and isinstance(own, Mapping) else own
    label = thread.label(run_input.run_id)
    with ExitStack() as left:
        made, ending = None, _ending_before(lost, run_input, label)
        if source.factory is not None and ending is None:
            config = merge_configs(*configs_of(source, request), {"configurable": {"run_id": run_input.run_id}})
            try:
                made = left.enter_context(
                    await source.factory.make("threads.create_run", config, source.user, label, context)
                )
            except Exception as error:
                _log.error("The lost run fails: its graph could not be made (%s).", label, exc_info=error)
                ending = Failed(error)
        graph = source.graph if made is None else made.graph
        now = ThreadNow(None, None, lost.number, has_inputs=False)
        port = LocalPort(thread, request, now, None, made, lambda run, _: run.attach(request.reader()))
        with reading(label):
            config = graph_config(graph, *configs_of(source, request))
            state = await wait_for_answer(newest(graph, config), source.read_timeout)
            is_stopped = (await wait_for_answer(outcome_at(graph, state, None), source.read_timeout)).stopped
            gone = await wait_for_answer(_nodes_gone(graph, state), source.read_timeout)
        progress = await port.progress(run_input)
        if ending is None:
            gone |= progress.next - graph.nodes.keys()
            ending = _ending_at(progress, gone, run_input, label, is_stopped=is_stopped)
        view = _view(thread.id, run_input, progress, values_of(state), options)
        setup = port.setup(run_input.after(progress), context, options, view)
        run = await source.runs.begin(
            replace(
                setup,
                waiting=subgraphs(state, failed=True) if progress.has_begun or not run_input.is_turn else (),
                stamp=lost.claim.metadata,
                revision=lost.number,
                continues=lost.number,
                run_input=run_input,
                ending=ending,
            )
        )
    submit_queued(queued, run)
    if run_input.client_input is not None:
        client_input = RunAgentInput.model_validate(run_input.client_input)
        submit_rest(source, await RunRequest.of(client_input, options, intake, "error"), run)


def _read_input(source: GraphSource, lost: LostRun) -> RunInput:
    """Returns the input of a lost run. Raises `UnreadableInputError`."""
    try:
        return RunInput.from_json(unseal(lost.stored_input, source.key(lost.thread.thread_id).cipher))
    except SealedError as error:
        raise UnreadableInputError(str(error)) from error


async def _queued(
    run_input: RunInput, source: GraphSource, intake: Intake, options: Options
) -> list[tuple[GraphSource, RunRequest]]:
    """Returns the requests of the inputs that are queued behind the run, with the sources of their users. They are made
    before the run continues, so that this process has them in its queue as soon as it has the run."""
    requests = []
    for queued in run_input.queued:
        client_input = RunAgentInput.model_validate(queued["input"])
        try:
            request = await RunRequest.of(client_input, options, replace(intake, busy="queue"), "error")
        except Exception:
            label = log_context(source.agent, client_input.thread_id, client_input.run_id)
            _log.exception("A queued input that was handed over could not be run (%s).", label)
        else:
            requests.append((source.for_user(queued["user"], {}), replace(request, before=queued["before"])))
    return requests


def _request(run_input: RunInput, lost: LostRun, intake: Intake, options: Options) -> RunRequest:
    """Returns the request of the run, without the input of its client, which nobody reads again."""
    client_input = RunAgentInput(
        thread_id=lost.thread.thread_id,
        run_id=run_input.run_id,
        parent_run_id=run_input.parent_run_id,
        state=None,
        messages=[],
        tools=[],
        context=[],
        forwarded_props=None,
    )
    return RunRequest(
        run_input=client_input,
        options=options,
        intake=intake,
        added=Prepared(config=run_input.config),
        past_errors="error",
        view=ClientView(),
    )


def _ending_before(lost: LostRun, run_input: RunInput, label: str) -> Ending | None:
    """Returns how the run ends whatever its thread has; None if that decides."""
    if lost.is_stopping:
        return Cancelled()
    if run_input.losses >= MOST_LOSSES:
        _log.error("The run was lost with its process %d times, and is not tried again (%s).", MOST_LOSSES, label)
        return _failed(f"The run was lost with its process {MOST_LOSSES} times, and is not tried again.")
    return None


def _ending_at(
    progress: Progress, gone: Collection[str], run_input: RunInput, label: str, *, is_stopped: bool
) -> Ending | None:
    """Returns how the run ends at the checkpoint where it would continue; None if it continues there. `gone`: the nodes
    that come next there, and that its graph does not have."""
    if run_input.is_turn and not progress.has_begun:
        return None
    if gone:
        names = ", ".join(map(repr, sorted(gone)))
        _log.error("The lost run fails: its graph has no node %s any more (%s).", names, label)
        return _failed(f"The run was to continue at {names}, which its graph does not have any more.")
    return Finished(at_breakpoint=True) if progress.has_begun and is_stopped else None


async def _nodes_gone(graph: Graph, state: StateSnapshot) -> set[str]:
    """Returns the nodes that come next in the unfinished subgraphs of a graph, and that these do not have. `state`: the
    state of the graph, with those of its subgraphs."""
    gone, inside = set[str](), dict(graph.get_subgraphs())
    for task in state.tasks:
        subgraph, inner = inside.get(task.name), task.state
        if isinstance(subgraph, Pregel) and isinstance(inner, StateSnapshot):
            saver = graph.checkpointer
            stored = await saver.aget_tuple(inner.config) if isinstance(saver, BaseCheckpointSaver) else None
            if stored is not None:
                gone |= next_nodes(stored) - subgraph.nodes.keys()
            gone |= await _nodes_gone(subgraph.copy(update={"checkpointer": saver}), inner)
    return gone


def _failed(message: str) -> Failed:
    return Failed({**_UNFINISHED, "message": message})


_UNFINISHED: Final[Mapping[str, Any]] = UNFINISHED.error


def _view(
    thread_id: str, run_input: RunInput, progress: Progress, stored: Mapping[str, Any], options: Options
) -> ClientView:
    """Returns the view with which the run continues: the values of the thread, and the messages of the run's input that
    the thread does not have yet."""
    values = dict(stored)
    new = run_input.values.get(options.messages_key) if run_input.is_turn and not progress.has_begun else None
    if isinstance(new, Sequence):
        values[options.messages_key] = [*(values.get(options.messages_key) or ()), *new]
    view = idle_view(thread_id, RunOutcome(run_input.run_id, values, Finished()), options)
    return ClientView(view.messages, view.state, view.version)
