"""Reads at which nodes an input asks its run to pause: `breakpoints_asked`. No I/O.

A client names the nodes in `forwardedProps.command.interruptBefore` and `interruptAfter`, next to `checkpointId`. The
run stops before, or after, each of them, as if the graph had been compiled with these breakpoints. Rules:

1. Only a client that `Intake.breakpoints` admits may do this. A client that decides where a run stops decides also
   which nodes run: it could stop each run before the node that writes a bill, and then drop the rest.
2. The names must be those of the graph's own nodes. LangGraph ignores any other name, and the run would not stop.
3. The breakpoints of the graph's owner stay. LangGraph replaces them by those of a run.
4. They are for one run. The run that continues after a breakpoint has those that its own input names.

The checkpoints of the run have them in their metadata (`METADATA`), which tells a pause from a run that was killed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson
from ag_ui.core import RunAgentInput

from ..errors import InvalidInputError
from .intake import Intake

METADATA: Final = "agui_breakpoints"
"""The key in the metadata of a run's config. The value is JSON, since LangGraph copies only scalars to checkpoints."""

_BEFORE: Final = "interruptBefore"
_AFTER: Final = "interruptAfter"


@dataclass(frozen=True, slots=True)
class Breakpoints:
    """The names of the nodes before and after which a run stops. It is falsy without names."""

    before: Sequence[str] = ()
    after: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of a run with these breakpoints."""
        return {METADATA: orjson.dumps([self.before, self.after]).decode()} if self else {}

    def check_names(self, nodes: Collection[str]) -> None:
        """Raises `InvalidInputError` if a name is not among those of the graph's nodes."""
        for name, names in ((_BEFORE, self.before), (_AFTER, self.after)):
            if not set(nodes).issuperset(names):
                raise InvalidInputError(f"forwardedProps.command.{name}: expected names of the graph's nodes")


NOWHERE: Final = Breakpoints()


def breakpoints_asked(run_input: RunAgentInput) -> Breakpoints:
    """Returns the breakpoints that an input asks for. Raises `InvalidInputError`."""
    forwarded = run_input.forwarded_props
    command = forwarded.get("command") if isinstance(forwarded, Mapping) else None
    if not isinstance(command, Mapping):
        return NOWHERE
    return Breakpoints(_names(command, _BEFORE), _names(command, _AFTER))


def check_admitted(run_input: RunAgentInput, intake: Intake) -> None:
    """Raises `InvalidInputError` if an input asks for breakpoints, and the intake does not let clients set any."""
    if breakpoints_asked(run_input) and not intake.breakpoints:
        raise InvalidInputError("forwardedProps.command: clients of this agent may not set breakpoints")


def breakpoints_in(metadata: Mapping[str, Any] | None) -> Breakpoints:
    """Returns the breakpoints of a run by the metadata of its config, or of one of its checkpoints."""
    stored = (metadata or {}).get(METADATA)
    return Breakpoints(*orjson.loads(stored)) if isinstance(stored, str) else NOWHERE


def both(own: Literal["*"] | Sequence[str], asked: Sequence[str]) -> Literal["*"] | list[str]:
    """Returns the nodes at which a run stops: those of the owner, where `"*"` means all, and those of a client."""
    return "*" if own == "*" else sorted({*own, *asked})


def _names(command: Mapping[str, Any], name: str) -> tuple[str, ...]:
    names = command.get(name)
    if names is None:
        return ()
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise InvalidInputError(f"forwardedProps.command.{name}: expected a list of names of nodes")
    return tuple(names)
