"""Leaves out values of an input whose channels an earlier input has written at the same checkpoint: `without_pending`.
No I/O."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

_log = logging.getLogger(__name__)


def without_pending(values: Mapping[str, Any], pending: Collection[str], label: str) -> dict[str, Any]:
    """The values whose channels are not `pending`, that is, not written at this checkpoint by an earlier input already:
    a second value there would make the thread unreadable in LangGraph. What is left out is logged. `label`: as
    `errors.log_context`."""
    left_out = sorted(values.keys() & set(pending))
    if left_out:
        _log.warning(
            "What an input writes to %s is left out: an earlier one has written there, and its run has not ended a "
            "step since (%s).",
            ", ".join(map(repr, left_out)),
            label,
        )
    return {name: value for name, value in values.items() if name not in left_out}
