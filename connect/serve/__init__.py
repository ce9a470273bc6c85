"""AG-UI over HTTP for the graphs of this process and of platforms: the one folder that imports Starlette.

`app`, `routes` and `fastapi_routes` put routes together. A protocol is a folder (`agui`, `copilotkit`, `websocket`): it
makes an operation of a request (`operations`), and bytes of what it gives (`protocol`). `service` does what operations
say. What a request passes before that is in `routing` and `requests`, how a stream is sent in `streams`.
"""

from .agents import Agent
from .app import agui_app
from .fastapi_routes import add_agui_routes
from .limits import Limits
from .requests.users import Action, Authenticate, Authorize
from .routes import AguiRoutes, agui_routes

__all__ = [
    "Action",
    "Agent",
    "AguiRoutes",
    "Authenticate",
    "Authorize",
    "Limits",
    "add_agui_routes",
    "agui_app",
    "agui_routes",
]
