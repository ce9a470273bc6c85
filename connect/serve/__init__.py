"""AG-UI over HTTP for the graphs of this process and of platforms: the one folder that imports Starlette.

`app`, `routes` and `fastapi_routes` put routes together, `agent_routes`, `threads` and `copilotkit` read requests, and
`service` does what they want; before it the room `requests`, after it the room `streams`.
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
