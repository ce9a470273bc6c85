"""What of a client's `RunAgentInput` reaches a graph: planning, without I/O."""

from .intake import Busy, Intake, Prepared

__all__ = ["Busy", "Intake", "Prepared"]
