"""A client's input as a run of this process: the thread is read, the run planned, started, and told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ag_ui.core import RunAgentInput
from langgraph.types import Command

from ..translator import ClientView, Options, to_langchain_messages
from .failures import checked_run_id, checked_thread_id
from .idle import PastErrors
from .intake import Intake
from .reader import Reader
from .sources import Local
from .told import Batches


async def begin_local(
    source: Local, given: RunAgentInput, options: Options | None, intake: Intake, past_errors: PastErrors
) -> Batches:
    """See `running.begin`."""
    thread_id = checked_thread_id(given.thread_id, in_url=False)
    run_id = checked_run_id(given.run_id, in_url=False)
    options = replace(options or await source.options(), protocol_version=given.protocol_version)
    view = ClientView(given.messages, given.state, given.protocol_version)
    config = {**intake.config, "configurable": {"thread_id": thread_id}}
    held: set[str] = set()
    if source.graph.checkpointer:
        state = await source.graph.aget_state(config)  # type: ignore[arg-type]
        held = {message.id for message in state.values.get("messages", ())}
    inputs: Any = {"messages": to_langchain_messages([each for each in given.messages if each.id not in held])}
    if given.resume:
        inputs = Command(resume={entry.interrupt_id: entry.payload for entry in given.resume})
    run = source.runs.start(source.graph, inputs, config, run_id=run_id, options=options, view=view, agent=source.agent)
    return run.attach(Reader(options, view))
