"""Spans of runs, readers and submissions, as OpenTelemetry's SDK records them; and that it may be missing."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Local, Platform, RetryPolicy, Runs, RunSummary, connect, run, watch
from langgraph_agui.connect.local.run.run_input import RunInput
from langgraph_agui.connect.local.run.runs import RunSetup
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import Pause, ScriptedChatModel, text
from langgraph_agui.translator import ClientView, Translator
from langgraph_sdk import get_client
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fixtures.graphs.speech import said, speaker
from fixtures.scripts import end
from tests.support.servers.platforms.backend import Backend
from tests.support.servers.serving import dropping, events_of, posted, served
from tests.support.streams.pausing_graphs import HELLO, on, quick, speaking

ONCE = RetryPolicy(max_attempts=1)


class Spans:
    """The spans that have ended."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def named(self, kind: str) -> list[ReadableSpan]:
        """Those of one kind, in the order in which they ended."""
        return [each for each in self._exporter.get_finished_spans() if each.name == f"langgraph_agui.{kind}"]

    def only(self, kind: str) -> tuple[ReadableSpan, dict[str, Any]]:
        """The only one of its kind, and its attributes."""
        [span] = self.named(kind)
        return span, dict(span.attributes or {})


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
    yield Spans(exporter)
    provider.shutdown()


class Traced:
    """An app of which each request is a span, as OpenTelemetry's instrumentation of ASGI makes it."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.state = app.state

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with trace.get_tracer("asgi").start_as_current_span("langgraph_agui.request"):
            await self._app(scope, receive, send)


def trace_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return trace.format_trace_id(span.context.trace_id)


async def test_a_run_and_its_readers_are_spans_below_their_requests(spans: Spans) -> None:
    seen: list[str] = []

    async def look(state: MessagesState) -> None:
        with trace.get_tracer("model").start_as_current_span("inside"):
            seen.append(trace.format_trace_id(trace.get_current_span().get_span_context().trace_id))

    model = ScriptedChatModel(turns=[text("At once.") + end(input_tokens=7, output_tokens=3)])
    graph = StateGraph(MessagesState).add_node("look", look).add_node("speak", speaker(model))
    graph.add_edge(START, "look").add_edge("look", "speak")
    app = Traced(agui_app({"a": graph.compile(InMemorySaver())}))
    async with served(app) as server, server.client() as client:
        events = events_of((await client.post("/a", json=posted("t", "hi", run_id="r"))).text)
        reloaded = events_of((await client.post("/a/connect", json=posted("t", run_id="r"))).text)
    ran, known = spans.only("run")
    assert known == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "a",
        "gen_ai.conversation.id": "t",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
        "langgraph_agui.run_id": "r",
        "langgraph_agui.outcome": "finished",
        "langgraph_agui.events": len(events),
    }
    first, second = spans.named("request")
    assert ran.parent is not None
    assert ran.parent == first.context
    assert seen == [trace_id(ran)] == [trace_id(first)]
    assert events[0]["metadata"] == {"traceId": trace_id(ran)}
    read, known = spans.only("connect")
    assert read.parent == second.context
    assert known == {
        "gen_ai.agent.name": "a",
        "gen_ai.conversation.id": "t",
        "langgraph_agui.outcome": "finished",
        "langgraph_agui.events": len(reloaded),
    }


async def test_a_late_joiner_gets_the_trace_of_the_run_and_a_watcher_is_a_span(spans: Spans) -> None:
    graph = speaking(point := Pause(), InMemorySaver())
    async with Runs() as runs:
        source = Local(graph, runs=runs, agent="a")
        started = await runs.start(graph, HELLO, on("t"), run_id="r", agent="a")
        await point.reached.wait()
        async with aclosing(watch(source, "t")) as watched:
            joined = await anext(watched)
            point.open.set()
            await started.wait()
            metadata = joined.model_dump(by_alias=True)["metadata"]
    ran, _ = spans.only("run")
    assert metadata == {"traceId": trace_id(ran)}
    _, known = spans.only("watch")
    assert "langgraph_agui.outcome" not in known  # it has left


async def test_a_run_that_fails_is_an_error_and_the_reader_of_its_end_is_none(spans: Spans) -> None:
    async with Runs() as runs:
        source = Local(quick(InMemorySaver()), runs=runs, agent="a")
        failing = await runs.start(source.graph, None, on("t"), run_id="r", agent="a")
        await failing.wait()
        assert [event async for event in connect(source, "t")]
    ran, known = spans.only("run")
    assert (ran.status.status_code, ran.status.description) == (trace.StatusCode.ERROR, known["error.type"])
    assert (known["error.type"], known["langgraph_agui.outcome"]) == ("EmptyInputError", "failed")
    read, known = spans.only("connect")
    assert (read.status.status_code, known["langgraph_agui.outcome"]) == (trace.StatusCode.UNSET, "failed")


async def test_what_a_platform_does_not_answer_is_an_error_of_the_submission_and_of_the_reader(spans: Spans) -> None:
    async with dropping() as url, get_client(url=url) as client:
        gone = Platform(client, "away")
        thread = "11111111-1111-4111-8111-111111111111"
        for events in (run(gone, posted(thread, "hi", run_id="r"), retry=ONCE), connect(gone, thread, retry=ONCE)):
            assert [event async for event in events]
    for kind in ("submit", "connect"):
        span, known = spans.only(kind)
        assert (span.status.status_code, known["error.type"]) == (trace.StatusCode.ERROR, "lost")
        assert known["gen_ai.conversation.id"] == thread


async def test_a_run_of_a_platform_is_a_submission_whose_trace_its_start_names(spans: Spans, backend: Backend) -> None:
    async with get_client(url=backend.url) as client:
        given = posted("33333333-3333-4333-8333-333333333333", "hi", run_id="44444444-4444-4444-8444-444444444444")
        events = [each async for each in run(Platform(client, "gated_chat"), given)]
    submitted, known = spans.only("submit")
    assert events[0].model_dump(by_alias=True)["metadata"] == {"traceId": trace_id(submitted)}
    assert (known["langgraph_agui.outcome"], known["langgraph_agui.events"]) == ("finished", len(events))
    assert submitted.status.status_code is trace.StatusCode.UNSET


def test_the_trace_is_an_input_of_the_translator_and_a_fact_of_the_view() -> None:
    translator = Translator("t", "r")
    [started] = translator.start("0af7651916cd43dd8448eb211c80319c")
    assert started["metadata"] == {"traceId": "0af7651916cd43dd8448eb211c80319c"}
    assert translator.view.copy().catch_up(None)[0]["metadata"] == started["metadata"]
    view = ClientView()
    view.apply({**started, "metadata": {"traceId": 7}})
    assert view.trace_id is None


WITHOUT = """
import asyncio, sys
sys.modules["opentelemetry"] = None
from langgraph_agui.connect import connect, start
from fixtures.graphs.speech import said, speaker
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

graph = StateGraph(MessagesState).add_node("speak", speaker(said("fine"))).add_edge(START, "speak")
graph = graph.compile(InMemorySaver())

async def main():
    run = await start(graph, {"messages": []}, {"configurable": {"thread_id": "t"}})
    live = [event async for event in run]
    after = [event async for event in connect(graph, "t")]
    print(live[0].metadata, live[-1].type.value, after[-1].type.value)

asyncio.run(main())
"""


def test_without_the_extra_nothing_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["None", "RUN_FINISHED", "RUN_FINISHED"]


async def test_the_span_and_the_summary_of_a_run_that_is_continued_have_its_attempt(spans: Spans) -> None:
    summaries: list[RunSummary] = []
    graph = StateGraph(MessagesState).add_node("speak", speaker(said("At once."))).add_edge(START, "speak").compile()
    async with Runs(after_run=summaries.append) as runs:
        run_input = RunInput(run_id="r", attempt=2)
        setup = RunSetup(graph=graph, input={"messages": []}, agent="a", run_id="r", run_input=run_input)
        await (await runs.begin(setup)).wait()
    assert summaries[0].attempt == 2
    assert spans.only("run")[1]["langgraph_agui.attempt"] == 2
