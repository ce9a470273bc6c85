"""Uses of the public functions, right and wrong, for mypy (`make types`): a wrong one has an ignore comment with the
error that it must be, and mypy refuses a comment that ignores nothing. Nothing here is called."""

from collections.abc import AsyncGenerator
from typing import assert_type

from ag_ui.core import CustomEvent, Event, RunAgentInput, TextMessageContentEvent
from langgraph.graph import MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_agui.connect import (
    Local,
    Platform,
    Source,
    ThreadPage,
    ThreadState,
    cancel,
    connect,
    connect_sse,
    run,
    run_sse,
    thread,
    threads,
    watch,
    watch_sse,
)
from langgraph_agui.translator import ClientView, Options
from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

Graph = CompiledStateGraph[MessagesState, None, MessagesState, MessagesState]


async def right(graph: Graph, remote: RemoteGraph, client: LangGraphClient, given: RunAgentInput) -> None:
    sources: list[Source] = [graph, remote, client, Local(graph), Platform(client, "agent")]
    for source in sources:
        assert_type(connect(source, "t", run_id="r", options=Options(), view=ClientView()), AsyncGenerator[Event, None])
        assert_type(connect_sse(source, "t", heartbeat=None), AsyncGenerator[bytes, None])
        assert_type(watch(source, "t", poll=1), AsyncGenerator[Event, None])
        assert_type(watch(source, assistant_id="agent"), AsyncGenerator[Event, None])
        assert_type(watch_sse(source, assistant_id="agent"), AsyncGenerator[bytes, None])
        assert_type(run(source, given), AsyncGenerator[Event, None])
        assert_type(run_sse(source, {"threadId": "t", "runId": "r"}), AsyncGenerator[bytes, None])
        await cancel(source, "t", "r")
        assert_type(await thread(source, "t"), ThreadState | None)
        assert_type(await threads(source).search(status="waiting"), ThreadPage)
    async for event in run(graph, given):
        if isinstance(event, TextMessageContentEvent):
            assert_type(event.delta, str)
        elif event.type == "CUSTOM":
            assert isinstance(event, CustomEvent)


async def wrong(
    graph: Graph,
    builder: StateGraph[MessagesState],
    client: LangGraphClient,
    synchronous: SyncLangGraphClient,
    given: RunAgentInput,
) -> None:
    connect(builder, "t")  # type: ignore[arg-type]
    connect(synchronous, "t")  # type: ignore[arg-type]
    connect("http://localhost:2024", "t")  # type: ignore[arg-type]
    connect(graph, None)  # type: ignore[arg-type]
    connect(graph, "t", view=[])  # type: ignore[arg-type]
    connect(graph, "t", past_errors="none")  # type: ignore[arg-type]
    connect(graph, "t", options={})  # type: ignore[arg-type]
    run(graph, [given])  # type: ignore[arg-type]
    run(graph, given, intake={})  # type: ignore[arg-type]
    watch(client)  # type: ignore[call-overload]
    watch(client, "t", assistant_id="agent")  # type: ignore[call-overload]
    watch_sse(client, None)  # type: ignore[call-overload]
    await cancel(builder, "t")  # type: ignore[arg-type]
    async for event in connect(graph, "t"):
        print(event.delta)  # type: ignore[union-attr]
