"""AG-UI over HTTP for the graphs of this process and of platforms: the one folder that imports Starlette.

`app`, `routes` and `fastapi_routes` assemble the routes. Each protocol is a folder (`agui`, `copilotkit`, `websocket`)
that turns a request into an operation (`operations`), and the result of the operation into bytes (`protocol`).
`service` performs the operations. `routing` and `requests` contain the checks that a request passes before that, and
`streams` sends event streams.
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
