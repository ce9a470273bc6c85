"""Leaves out values of an input if an earlier input has already written to their channels at the same checkpoint:
`without_pending`. No I/O."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

_log = logging.getLogger(__name__)


def without_pending(values: Mapping[str, Any], pending: Collection[str], label: str) -> dict[str, Any]:
    """Returns the values whose channels are not `pending`. A pending channel was already written at this checkpoint by
    an earlier input, and a second value would make the thread unreadable in LangGraph. The values that are left out are
    logged. `label` is a context for log lines; see `errors.log_context`."""
    left_out = sorted(values.keys() & set(pending))
    if left_out:
        _log.warning(
            "The values of an input for %s are left out, because an earlier input has written there and its run has "
            "not completed a step since (%s).",
            ", ".join(map(repr, left_out)),
            label,
        )
    return {name: value for name, value in values.items() if name not in left_out}
