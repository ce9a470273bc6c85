"""Makes spans with OpenTelemetry's API, if that is installed (the extra `otel`): `Span`, `traced`.

| span | lasts |
|---|---|
| `langgraph_agui.run` | from the start of a local run until its graph has stopped. The graph runs within it |
| `langgraph_agui.submit` | from an input for a platform to the end of its client's events |
| `langgraph_agui.connect`, `langgraph_agui.watch` | as long as one reader of a thread reads |

Each is a child of the span that is active when it begins, such as that of the request. Attributes have the names of
OpenTelemetry's conventions for generative AI where there is one: `gen_ai.agent.name`, `gen_ai.conversation.id` (the
thread), `gen_ai.usage.input_tokens` and `output_tokens`, `error.type` (the code); else they begin with
`langgraph_agui.`: `run_id`, `outcome`, `events`, and `attempt` of a run that was continued. No content of a run is in a
span.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import Context
from typing import Any, Final, Literal

from .errors import code_of
from .events.encoded import Batches

try:
    from opentelemetry import context as contexts
    from opentelemetry import trace
except ModuleNotFoundError:
    _has_api = False
else:
    _has_api = True

Kind = Literal["run", "submit", "connect", "watch"]
"""What comes after `langgraph_agui.` in a span's name."""

_NAME: Final = "langgraph_agui"
_OUTCOMES: Final = {"success": "finished", "interrupt": "interrupted", "cancelled": "cancelled"}
"""As `RunSummary` has them, by the outcome in `RUN_FINISHED`."""


class Span:
    """One span, which begins when it is made. Without OpenTelemetry it does nothing. `agent`: its name, or its
    graph."""

    def __init__(self, kind: Kind, agent: object, thread_id: str | None = None, run_id: str | None = None) -> None:
        self._is_run = kind in ("run", "submit")
        self._span = trace.get_tracer(_NAME).start_span(f"{_NAME}.{kind}") if _has_api else None
        self._set("gen_ai.agent.name", str(getattr(agent, "name", agent)))
        self._set("gen_ai.operation.name", "invoke_agent" if self._is_run else None)
        self.identify(thread_id, run_id)

    def identify(self, thread_id: str | None, run_id: str | None) -> None:
        """Sets the thread and the run, if they become known after the beginning."""
        self._set("gen_ai.conversation.id", thread_id)
        self._set(f"{_NAME}.run_id", run_id)

    @property
    def is_recorded(self) -> bool:
        """Whether there is anything to be recorded."""
        return self._span is not None and self._span.is_recording()

    @property
    def trace_id(self) -> str | None:
        """The id of its trace, 32 hexadecimal digits; None if there is no trace."""
        return None if self._span is None else _trace_id(self._span)

    def within(self, context: Context) -> Context:
        """Makes the span active in a context, and returns that context."""
        if self._span is not None:
            context.run(contexts.attach, trace.set_span_in_context(self._span))
        return context

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes the span active in the block. An exception of the block makes it an error."""
        if self._span is None:
            yield
            return
        with trace.use_span(self._span, record_exception=False, set_status_on_exception=False):
            try:
                yield
            except Exception as error:
                self._fail(code_of(error))
                raise

    def end(
        self,
        outcome: str | None,
        *,
        events: int | None = None,
        code: str | None = None,
        tokens: Mapping[str, int] | None = None,
        attempt: int | None = None,
    ) -> None:
        """Ends the span. Call it once. `outcome`: as in `RunSummary`; None if the reader left. `code`: that of an
        error. `tokens`: how many were used, by `input_tokens` and `output_tokens`. Only the span of the run itself
        becomes an error when the run failed, not those of its readers."""
        if self._span is None:
            return
        self._set(f"{_NAME}.outcome", outcome)
        self._set(f"{_NAME}.events", events)
        self._set(f"{_NAME}.attempt", attempt)
        for kind, count in (tokens or {}).items():
            self._set(f"gen_ai.usage.{kind}", count)
        if self._is_run and outcome == "failed" and code is not None:
            self._fail(code)
        self._span.end()

    def _fail(self, code: str) -> None:
        if self._span is not None:
            self._set("error.type", code)
            self._span.set_status(trace.StatusCode.ERROR, code)

    def _set(self, name: str, value: str | int | None) -> None:
        if self._span is not None and value is not None:
            self._span.set_attribute(name, value)


def active_trace_id() -> str | None:
    """Returns the id of the active trace; None if there is no active trace."""
    return _trace_id(trace.get_current_span()) if _has_api else None


async def begun(making: Awaitable[Batches], span: Span) -> Batches:
    """Awaits the batches, and returns them as `traced` does. The span also ends if that fails."""
    try:
        with span.active():
            batches = await making
    except BaseException:
        span.end("failed")
        raise
    return traced(batches, span)


def traced(batches: Batches, span: Span) -> Batches:
    """Returns the batches, made within the span, which ends with them."""
    return _traced(batches, span) if span.is_recorded else batches


async def _traced(batches: Batches, span: Span) -> Batches:
    events = 0
    last: dict[str, Any] = {}
    try:
        async with aclosing(batches):
            while True:
                with span.active():
                    batch = await anext(batches, None)
                if batch is None:
                    return
                events += len(batch)
                last = batch[-1].event if batch else last
                yield batch
    finally:
        outcome = _OUTCOMES.get(str((last.get("outcome") or {}).get("type")))
        code = last.get("code")
        if last.get("type") == "RUN_ERROR":
            outcome = "cancelled" if code == "cancelled" else "failed"
        span.end(outcome, events=events, code=code)


def _trace_id(span: Any) -> str | None:
    context = span.get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None
