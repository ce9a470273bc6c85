"""A client's input, with all that is chosen for it: `RunRequest`. What a run is begun with, in this process and on a
platform; never which run that is (`plan`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import RunAgentInput

from ...translator import ClientView, Options
from ..events.readers import Reader, for_version
from ..run_outcome import PastErrors
from . import Intake
from .answers.resume import without_answers
from .intake import Prepared, prepared
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
    follows: bool = False
    """Whether it comes after a run of the same input."""
    before: Sequence[Any] | None = None
    """The thread's messages when it came, where it has waited since; else None."""

    @classmethod
    async def of(
        cls, run_input: RunAgentInput, options: Options, intake: Intake, past_errors: PastErrors
    ) -> RunRequest:
        """The request of an input; the owner's hook is called. `options`: with any protocol version."""
        version = run_input.protocol_version
        return cls(
            run_input=run_input,
            options=for_version(options, version),
            intake=intake,
            added=await prepared(intake, run_input),
            past_errors=past_errors,
            view=await off_loop(ClientView, size_of(run_input), run_input.messages, run_input.state, version),
        )

    def reader(self) -> Reader:
        """A reader for its client."""
        return Reader(self.options, self.view)

    def without_answers(self, view: ClientView) -> RunRequest:
        """The rest of the input, as a run that follows the one with its answers; the client has `view` by then."""
        intake = replace(self.intake, shortened="continue", busy="queue")
        return replace(self, run_input=without_answers(self.run_input), intake=intake, view=view, follows=True)
