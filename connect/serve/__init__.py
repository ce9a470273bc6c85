"""The graphs of this process, or of a platform, behind AG-UI's HTTP: the one folder that imports Starlette."""

from .agents import Agent
from .app import agui_app
from .limits import Limits
from .service import Authenticate, Authorize

__all__ = ["Agent", "Authenticate", "Authorize", "Limits", "agui_app"]
