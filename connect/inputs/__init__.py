"""What of a client's `RunAgentInput` reaches a graph: planning, without I/O.

`plan` decides which run an input asks for, by the thread's state (`thread_state`), its messages (`messages`) and its
answers to interrupts (the room `answers`); `graph_input` makes what the graph gets.
"""

from .intake import Busy, Intake, Prepared

__all__ = ["Busy", "Intake", "Prepared"]
