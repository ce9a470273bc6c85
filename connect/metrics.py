"""Counts and measures with OpenTelemetry's metrics API, if that is installed (the extra `otel`). Pure listeners: other
modules report here what they do anyway, and nothing here decides anything.

An application chooses the SDK and its exporter, and sets its `MeterProvider` before it makes run stores and serves.
`langgraph-agui serve --metrics` sets one, which Prometheus can read. Without a provider nothing is recorded, and
nothing is measured for it (`is_on`).

`INSTRUMENTS` lists all instruments, with what they say. Names are those of OpenTelemetry's conventions where there is
one: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/ and
https://opentelemetry.io/docs/specs/semconv/db/database-metrics/. No content, no thread and no user is in an attribute,
so that the number of series stays small.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, NamedTuple, TypeVar, cast

from .errors import code_of

try:
    from opentelemetry import metrics
except ModuleNotFoundError:
    _has_api = False
else:
    _has_api = True

_NAME: Final = "langgraph_agui"
_Made = TypeVar("_Made")


class Instrument(NamedTuple):
    """An instrument: its kind in OpenTelemetry, its unit, what it says, and the attributes of its values.
    `boundaries`: those of a histogram's buckets."""

    kind: Literal["counter", "up_down_counter", "histogram"]
    unit: str
    says: str
    attributes: tuple[str, ...] = ()
    boundaries: tuple[float, ...] = ()


_RUN_SECONDS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600)
_WAIT_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_CALL_SECONDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)
_TOKENS: Final = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)

INSTRUMENTS: Final[Mapping[str, Instrument]] = {
    "gen_ai.invoke_agent.duration": Instrument(
        "histogram",
        "s",
        "Runs of this process that have ended: from the start of the run until its graph has stopped",
        ("gen_ai.agent.name", "langgraph_agui.outcome", "error.type"),
        _RUN_SECONDS,
    ),
    "gen_ai.client.token.usage": Instrument(
        "histogram",
        "{token}",
        "Tokens that a run used, by provider, model and kind (input or output)",
        ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.token.type"),
        _TOKENS,
    ),
    "langgraph_agui.run.active": Instrument(
        "up_down_counter", "{run}", "Runs that are active in this process", ("gen_ai.agent.name",)
    ),
    "langgraph_agui.run.time_to_first_event": Instrument(
        "histogram",
        "s",
        "From the start of a run to its first event that shows something: text, reasoning, a tool call or an activity",
        ("gen_ai.agent.name",),
        _WAIT_SECONDS,
    ),
    "langgraph_agui.run.continued": Instrument(
        "counter", "{run}", "Runs of other processes, or of an earlier one, that this process continues"
    ),
    "langgraph_agui.run.handed_over": Instrument(
        "counter", "{run}", "Runs that this process has given up, so that another one continues them"
    ),
    "langgraph_agui.run.lost": Instrument(
        "counter",
        "{run}",
        "Runs that nobody continues: their process is lost, as readers in this process found out, or this process has "
        "given them up after three attempts",
    ),
    "langgraph_agui.input.queued": Instrument(
        "up_down_counter", "{input}", "Inputs of this process that wait for the end of another run of their thread"
    ),
    "langgraph_agui.reader.active": Instrument("up_down_counter", "{reader}", "Streams that are open to clients"),
    "langgraph_agui.event.delay": Instrument(
        "histogram",
        "s",
        "From the moment at which a run of this process emits an event until a reader's connection has taken it, for "
        "the first event of each batch",
        (),
        _CALL_SECONDS,
    ),
    "db.client.operation.duration": Instrument(
        "histogram",
        "s",
        "Commands to the run store (Redis or SQLite), by name; those that failed have an error type",
        ("db.system.name", "db.operation.name", "error.type"),
        _CALL_SECONDS,
    ),
    "langgraph_agui.checkpointer.read.duration": Instrument(
        "histogram",
        "s",
        "Reads of a thread by its checkpointer, or of its titles by the graph's store; those that failed have an error "
        "type",
        ("error.type",),
        _CALL_SECONDS,
    ),
}
"""All instruments, by name."""

_NO_COMMANDS: Final = frozenset(
    {"aclose", "interrupt_read", "other_loop", "read", "start", "subscribe", "subscribe_lost", "unsubscribe"}
)
"""The methods of a run database that are not measured: they wait for something to happen, or send nothing."""


def _made() -> dict[str, Any]:
    meter = metrics.get_meter(_NAME)
    made: dict[str, Any] = {}
    for name, each in INSTRUMENTS.items():
        extra = {"explicit_bucket_boundaries_advisory": each.boundaries} if each.kind == "histogram" else {}
        made[name] = getattr(meter, f"create_{each.kind}")(name, each.unit, each.says, **extra)
    return made


_instruments: dict[str, Any] = _made() if _has_api else {}
"""Those of OpenTelemetry's API, which do nothing until a provider is set."""


def is_on() -> bool:
    """Whether a provider is set, which records what is measured."""
    return _has_api and not type(metrics.get_meter_provider()).__module__.startswith("opentelemetry.metrics")


def run_started(agent: str, *, is_continued: bool) -> None:
    """Counts a run that is active from now on."""
    _add("langgraph_agui.run.active", 1, {"gen_ai.agent.name": agent})
    if is_continued:
        _add("langgraph_agui.run.continued", 1)


def run_shows(agent: str, seconds: float) -> None:
    """Takes the seconds from a run's start to the first event that shows something."""
    _record("langgraph_agui.run.time_to_first_event", seconds, {"gen_ai.agent.name": agent})


def run_ended(
    agent: str, outcome: str, seconds: float, code: str | None, usage: tuple[Mapping[str, Any], ...] = ()
) -> None:
    """Counts a run that is no longer active. `outcome`, `seconds`, `code`, `usage`: as in `RunSummary`."""
    _add("langgraph_agui.run.active", -1, {"gen_ai.agent.name": agent})
    attributes = {"gen_ai.agent.name": agent, "langgraph_agui.outcome": outcome}
    _record("gen_ai.invoke_agent.duration", seconds, attributes | ({"error.type": code} if code else {}))
    for item in usage:
        of = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": str(item.get("provider") or "unknown")}
        if item.get("model"):
            of["gen_ai.request.model"] = str(item["model"])
        for kind in ("input", "output"):
            if count := item.get(f"{kind}Tokens"):
                _record("gen_ai.client.token.usage", int(count), {**of, "gen_ai.token.type": kind})


def run_handed_over(agent: str) -> None:
    """Counts a run that another process is to continue."""
    _add("langgraph_agui.run.active", -1, {"gen_ai.agent.name": agent})
    _add("langgraph_agui.run.handed_over", 1)


def run_lost() -> None:
    """Counts a run that nobody continues."""
    _add("langgraph_agui.run.lost", 1)


def input_queued(change: Literal[1, -1]) -> None:
    """Counts one queued input more, or one less."""
    _add("langgraph_agui.input.queued", change)


def reader_active(change: Literal[1, -1]) -> None:
    """Counts one open stream more, or one less."""
    _add("langgraph_agui.reader.active", change)


def event_sent(emitted_at: float) -> None:
    """Takes the moment, by `clock`, at which an event was emitted that a connection has just taken."""
    _record("langgraph_agui.event.delay", clock() - emitted_at)


def read_ended(seconds: float, error: BaseException | None) -> None:
    """Takes the seconds of a read by a checkpointer or a store, and how it failed."""
    failure = {"error.type": type(error).__name__} if error is not None else {}
    _record("langgraph_agui.checkpointer.read.duration", seconds, failure)


def measured(database: _Made, system: str) -> _Made:
    """Returns a run database whose commands are measured; the database itself if nothing is recorded. `system`: its
    name in OpenTelemetry's conventions."""
    return cast(_Made, _Measured(database, system)) if is_on() else database


clock: Callable[[], float] = time.perf_counter
"""Seconds, for what is measured."""


class _Measured:
    """Passes everything on to a run database, and measures its commands."""

    def __init__(self, database: Any, system: str) -> None:
        self._database, self._system = database, system

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._database, name)
        if iscoroutinefunction(value) and name not in _NO_COMMANDS:
            value = self._command(name, value)
            setattr(self, name, value)
        return value

    def _command(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        attributes = {"db.system.name": self._system, "db.operation.name": name}

        @wraps(call)
        async def command(*args: Any, **kwargs: Any) -> Any:
            start, failure = clock(), {}
            try:
                return await call(*args, **kwargs)
            except Exception as error:
                failure = {"error.type": code_of(error)}
                raise
            finally:
                _record("db.client.operation.duration", clock() - start, {**attributes, **failure})

        return command


def _add(name: str, change: int, attributes: Mapping[str, str] | None = None) -> None:
    if _has_api:
        _instruments[name].add(change, attributes)


def _record(name: str, value: float, attributes: Mapping[str, str] | None = None) -> None:
    if _has_api:
        _instruments[name].record(value, attributes)
