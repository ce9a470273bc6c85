"""The public ways to run a client's input: `run`, and `run_sse`. Here: what callers give, checked, and errors as the
stream's; never what an input asks for (`intake`)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Final

from ag_ui.core import BaseEvent, RunAgentInput

from ..translator import Options
from .api import HEARTBEAT
from .backend import Source, source_of
from .encoded import Batches, closing, to_batch
from .errors import (
    ConnectionLost,
    InvalidIdError,
    InvalidInputError,
    PlatformError,
    RunConflictError,
    ThreadNotFoundError,
    UnreadableError,
    failed,
)
from .inputs import Intake
from .inputs.channels import check, input_channels_of
from .local.source import Local
from .platform.retry import RetryPolicy
from .shown import options_for
from .streams import frames, models
from .submit import begin

_REFUSALS: Final = (
    RunConflictError,
    ThreadNotFoundError,
    InvalidIdError,
    InvalidInputError,
    UnreadableError,
    PlatformError,
    ConnectionLost,
)


def run(
    source: Any,
    input: RunAgentInput,  # noqa: A002 - the name AG-UI gives it
    *,
    options: Options | None = None,
    intake: Intake | None = None,
    retry: RetryPolicy | None = None,
) -> AsyncGenerator[BaseEvent, None]:
    """Runs what a client asks for, and tells it as `ag_ui.core` models, to its end.

    `source`: as for `connect`. `input`: what an AG-UI client posts; its messages and state are what it is known to
    hold, its `protocolVersion` the version it is told in. `options`: None shows the channels of the graph's output
    schema. `intake`: what of the input reaches the graph, and how its runs are started. `retry`: how long a platform
    that can't be reached is waited for.

    What goes wrong is told as `RUN_ERROR`; nothing raises but `TypeError`, at once, for arguments of another kind, and
    `ValueError` for an intake that names channels which the graph's input does not have.
    Closing the iterator stops no run, unless the intake says so (`on_disconnect`).
    """
    asked = source_of(source)
    _check(asked, input, options, intake, retry)
    return models(_run(asked, input, options, intake, retry), input.protocol_version)


def run_sse(
    source: Any,
    input: RunAgentInput,  # noqa: A002 - the name AG-UI gives it
    *,
    options: Options | None = None,
    intake: Intake | None = None,
    retry: RetryPolicy | None = None,
    heartbeat: float | None = HEARTBEAT,
) -> AsyncGenerator[bytes, None]:
    """The same as SSE frames; what is ready together in one piece, and a comment after `heartbeat` seconds of silence
    (None: never)."""
    asked = source_of(source)
    _check(asked, input, options, intake, retry)
    return frames(_run(asked, input, options, intake, retry), input.protocol_version, heartbeat)


def _check(source: Source, given: Any, options: Any, intake: Any, retry: Any) -> None:
    if not isinstance(given, RunAgentInput):
        raise TypeError(f"input: expected RunAgentInput, got {type(given).__name__}")
    kinds = (("options", options, Options), ("intake", intake, Intake), ("retry", retry, RetryPolicy))
    for name, value, kind in kinds:
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"{name}: expected {kind.__name__} or None, got {type(value).__name__}")
    if isinstance(source, Local) and intake is not None:
        check(input_channels_of(source.graph, (options or options_for(source.graph)).messages_key), intake)


async def _run(
    source: Source, given: RunAgentInput, options: Options | None, intake: Intake | None, retry: RetryPolicy | None
) -> Batches:
    try:
        begun = await begin(source, given, options=options, intake=intake or Intake(), retry=retry)
        async with closing(begun) as batches:
            async for batch in batches:
                yield batch
    except _REFUSALS as error:
        yield to_batch([failed(error, options or Options())])
