"""Runs a compiled graph, and returns the events that its client receives: `record`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import orjson
from ag_ui.core import RunAgentInput

from ...translator import ClientView, Options
from ..api import connect_sse, run_sse
from ..inputs import Intake
from ..local.checkpointers import Graph
from ..local.run.runs import RunSetup, runs_of


async def record(
    graph: Graph,
    input: Any,  # noqa: A002 - LangGraph's own name for it
    config: Mapping[str, Any] | None = None,
    *,
    before: ClientView | None = None,
    options: Options | None = None,
    context: Any = None,
) -> list[dict[str, Any]]:
    """Runs a compiled graph to its end, as a server does, and returns the events that the client receives as
    dictionaries.

    `input`, `config` and `context` are as for `graph.ainvoke`; a string is the message of a user. Without a thread id
    in `config`, the run has a new thread. A `RunAgentInput` is run like the request of a front end, with its own thread
    id and messages; `config`, `before` and `context` are ignored then. `before` is what the client has, as returned by
    `check_stream`, by default nothing. By default, `options` show the channels of the graph's output schema.

    An exception of the graph becomes the last event, `RUN_ERROR`. Raises what `start` raises. If the test is cancelled,
    the run is cancelled too.

    Example:
        events = await record(graph, "Hi!")
        assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["Hello ", "there."]
    """
    if isinstance(input, RunAgentInput):
        frames = run_sse(graph, input, options=options, heartbeat=None)
    else:
        values = {"messages": [{"role": "user", "content": input}]} if isinstance(input, str) else input
        config = dict(config or {})
        config["configurable"] = {"thread_id": str(uuid4()), **config.get("configurable", {})}
        view = ClientView([], {}) if before is None else before
        setup = RunSetup(
            graph=graph,
            input=values,
            config=config,
            options=options,
            intake=Intake(on_disconnect="cancel"),
            context=context,
            view=view,
        )
        run = await runs_of(graph, None).begin(setup)
        frames = connect_sse(graph, run.thread_id, run_id=run.run_id, view=view, heartbeat=None)
    async with aclosing(frames):
        data = b"".join([frame async for frame in frames])
    return [orjson.loads(frame.partition(b"data: ")[2]) for frame in data.split(b"\n\n") if frame]
