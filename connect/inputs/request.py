"""Holds a client's input with everything that is chosen for it: `RunRequest`. Runs in this process and on a platform
are started with it. Which kind of run that is, `plan` decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ag_ui.core import RunAgentInput

from ...translator import ClientView, Options
from ..events.readers import Reader, for_version
from ..run_outcome import PastErrors
from . import Intake
from .answers.resume import without_answers
from .breakpoints import NOWHERE, Breakpoints, breakpoints_asked
from .intake import Prepared, call_prepare
from .off_loop import off_loop, size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One input of one client."""

    run_input: RunAgentInput
    options: Options
    intake: Intake
    added: Prepared
    """What the owner's hook adds."""
    past_errors: PastErrors
    view: ClientView
    """What the client is known to have."""
    breakpoints: Breakpoints = NOWHERE
    """Where its runs pause."""
    follows: bool = False
    """Whether a run of the same input came before it."""
    before: Sequence[str] | None = None
    """The ids of the thread's messages when the input arrived, if it has waited since; else None."""

    @classmethod
    async def of(
        cls, run_input: RunAgentInput, options: Options, intake: Intake, past_errors: PastErrors
    ) -> RunRequest:
        """Makes the request for an input, and calls the owner's hook. `options` may be for any protocol version."""
        version = run_input.protocol_version
        return cls(
            run_input=run_input,
            options=for_version(options, version),
            intake=intake,
            added=await call_prepare(intake, run_input),
            past_errors=past_errors,
            view=await off_loop(ClientView, size_of(run_input), run_input.messages, run_input.state, version),
            breakpoints=breakpoints_asked(run_input),
        )

    def reader(self) -> Reader:
        """Returns a reader for the client."""
        return Reader(self.options, self.view)

    def without_answers(self, view: ClientView) -> RunRequest:
        """Returns the rest of the input, as a run that follows the one with its answers. `view` is what the client has
        by then."""
        intake = replace(self.intake, shortened="continue", busy="queue")
        return replace(self, run_input=without_answers(self.run_input), intake=intake, view=view, follows=True)
