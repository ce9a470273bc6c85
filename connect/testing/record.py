"""`record`: a run of a compiled graph as the list of events that its client gets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import orjson
from ag_ui.core import RunAgentInput

from ...translator import ClientView, Options
from ..api import connect_sse, run_sse
from ..local.checkpointers import Graph
from ..local.run.run_setup import RunSetup
from ..local.run.runs import runs_of


async def record(
    graph: Graph,
    input: Any,  # noqa: A002 - the name LangGraph gives it
    config: Mapping[str, Any] | None = None,
    *,
    before: ClientView | None = None,
    options: Options | None = None,
    context: Any = None,
) -> list[dict[str, Any]]:
    """Runs a compiled graph to its end, as it is served, and returns the events that the client gets, as wire dicts.

    `input`, `config`, `context`: what `graph.ainvoke` takes; a text is the message of a user. Without a thread id in
    `config` the run has a thread of its own. A `RunAgentInput` is run as a front end's request, with its own thread id
    and messages, and without `config`, `before` and `context`. `before`: what the client has, such as `check_stream`
    returned it; None is a client with nothing. `options`: None shows the channels of the graph's output schema.

    What the graph raises is the last event, `RUN_ERROR`. Raises what `start` raises. A test that is cancelled here
    cancels the run.

    Example:
        events = await record(graph, "Hi!")
        assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Hello ", "there."]
    """
    if isinstance(input, RunAgentInput):
        frames = run_sse(graph, input, options=options, heartbeat=None)
    else:
        given = {"messages": [{"role": "user", "content": input}]} if isinstance(input, str) else input
        config = dict(config or {})
        config["configurable"] = {"thread_id": str(uuid4()), **config.get("configurable", {})}
        view = ClientView([], {}) if before is None else before
        setup = RunSetup(
            graph=graph,
            input=given,
            config=config,
            options=options,
            on_disconnect="cancel",
            context=context,
            view=view,
        )
        run = await runs_of(graph, None).begin(setup)
        frames = connect_sse(graph, run.thread_id, run_id=run.run_id, view=view, heartbeat=None)
    async with aclosing(frames):
        data = b"".join([frame async for frame in frames])
    return [orjson.loads(frame.partition(b"data: ")[2]) for frame in data.split(b"\n\n") if frame]
