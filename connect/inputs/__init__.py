"""Decides what a client's `RunAgentInput` does to a graph, without I/O.

`plan` decides what kind of run an input asks for. This depends on the thread's state (`thread_state`), the messages
(`messages`) and the answers to interrupts (`answers`). `graph_input` makes the input of the graph.
"""

from .intake import Busy, Intake, Prepared

__all__ = ["Busy", "Intake", "Prepared"]
