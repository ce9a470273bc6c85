"""Sets Python's garbage collector up for a process that serves: `set_up_collector`."""

from __future__ import annotations

import gc
from typing import Final

_YOUNG: Final = 5_000
"""How many containers are made, and not freed, before the young ones are collected.

LangChain keeps the chunks of a message until the message is complete. With Python's default of 700, the collector
examines them again and again, and finds nothing: for 200 runs at once it took a third of the CPU time. With larger
numbers than this, it takes about as long, and each collection stops the event loop for longer.
"""


def set_up_collector() -> None:
    """Excludes all objects that exist now from garbage collection, and lets it run less often. Call it when everything
    is imported. Does not change the threshold of a collector that is off or has a larger one.
    """
    gc.collect()
    gc.freeze()  # a full collection of all imported objects would block the event loop for 0.1 s
    young, *older = gc.get_threshold()
    if 0 < young < _YOUNG:
        gc.set_threshold(_YOUNG, *older)
