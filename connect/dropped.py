"""What clients send and an agent has no place for: logged once, and kept for `/info`.

Nothing of it is an error: a page sends its tools and its state to every agent. But an owner whose tool is never called,
or whose graph never sees a page's state, must find out why.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable
from typing import Final

from .backend import Source
from .errors import where
from .local.run_store import Graph
from .local.source import Local

WHY: Final = {
    "tools": "neither its state nor its context has a field for them (`copilotkit`, `ag-ui`, `tools`)",
    "context": "neither its state nor its context has a field for it (`copilotkit`, `ag-ui`, `context`)",
    "state": "Intake.state does not name what was changed",
    "forwardedProps": "Intake.prepare, which would read them, is not set",
}
"""Of each kind, why it reaches no graph."""

_log = logging.getLogger(__name__)
_of_graphs: weakref.WeakKeyDictionary[Graph, dict[str | None, set[str]]] = weakref.WeakKeyDictionary()


def dropped(source: Source) -> set[str]:
    """The kinds (keys of `WHY`) of what clients have sent so far and the agent had no place for."""
    if isinstance(source, Local):
        return _of_graphs.setdefault(source.graph, {}).setdefault(source.agent, set())
    return source.dropped


def note_dropped(source: Source, kinds: Iterable[str], thread_id: str, run_id: str) -> None:
    """Notes what of an input had no place; the first of each kind is logged."""
    known = dropped(source)
    for kind in kinds:
        if kind not in known:
            known.add(kind)
            agent = (source.agent or source.graph) if isinstance(source, Local) else source.assistant_id
            place = where(agent, thread_id, run_id)
            _log.warning(
                "What clients send as %s reaches no graph (%s): %s. This is said once.", kind, place, WHY[kind]
            )
