"""What of a client's `RunAgentInput` reaches a graph: planning without I/O; never how a run is started or told."""

from .intake import Busy, Intake, Prepared

__all__ = ["Busy", "Intake", "Prepared"]
