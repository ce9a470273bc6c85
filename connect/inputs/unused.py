"""What clients send and a graph has no field for: logged once for each kind, and kept for `/info`.

It is no error: a page sends its tools and its state to every agent. But an owner whose tool is never called, or whose
graph never sees a page's state, must find out why.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

WHY: Final = {
    "tools": "neither its state nor its context has a field for them (`copilotkit`, `ag-ui`, `tools`)",
    "context": "neither its state nor its context has a field for it (`copilotkit`, `ag-ui`, `context`)",
    "state": "Intake.state does not name what was changed",
    "forwardedProps": "Intake.prepare, which would read them, is not set",
}
"""By kind: why it reaches no graph."""

_log = logging.getLogger(__name__)


def note_unused(known: set[str], kinds: Iterable[str], label: str) -> None:
    """Adds kinds (keys of `WHY`) to those `known` to be unused, and logs each that is new. `label`: of
    `errors.log_context`."""
    for kind in kinds:
        if kind not in known:
            known.add(kind)
            _log.warning(
                "What clients send as %s reaches no graph (%s): %s. This is logged once.", kind, label, WHY[kind]
            )
