"""Serves the features: `python -m tests.browser.features_server PORT ORIGIN GATE`.

GET  /features    the rows of the table, for the test
GET  /ran         the tools of the server that have run next to tools of a page
POST /token       a token of the user Ada
/users            an agent for the users of such tokens
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import uvicorn
from langgraph_agui.connect.serve import agui_app
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from .features import FEATURES, agentic_chat_reasoning, agents, page_tools


def features(_: Request) -> JSONResponse:
    """Says which features there are, and whether each needs to be configured."""
    return JSONResponse([{"name": each.name, "needs": each.needs, "isRequest": each.is_request} for each in FEATURES])


class Users:
    """Whose tokens are valid: those that were given out."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._numbers = count(1)

    def token(self, _: Request) -> JSONResponse:
        """Gives out another token."""
        self._given.add(token := f"ada-{next(self._numbers)}")
        return JSONResponse({"token": token, "expiresIn": 3600})

    def authenticate(self, request: Request) -> str | None:
        """Returns the user of a request."""
        _, _, token = request.headers.get("authorization", "").partition(" ")
        return token.partition("-")[0] if token in self._given else None

    def authorize(self, user: Any, action: str, agent: str, thread_id: str | None) -> dict[str, str]:
        """Lets users do everything with their own threads."""
        return {"person": user}


def serve(port: int, origin: str, gate: int) -> None:
    """Serves until it is told to stop."""
    ran: list[str] = []
    everybody = agui_app({**agents(gate), **page_tools(ran.append)}, origins=[origin])
    of_users = Users()
    users = agui_app(
        agentic_chat_reasoning(),
        origins=[origin],
        authenticate=of_users.authenticate,
        authorize=of_users.authorize,
    )
    cross_origin = [Middleware(CORSMiddleware, allow_origins=[origin], allow_methods=["*"])]
    routes = [
        Route("/features", features),
        Route("/ran", lambda _: JSONResponse(ran)),
        Route("/token", of_users.token, methods=["POST"], middleware=cross_origin),
        Mount("/users", users),
        Mount("/", everybody),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with everybody.router.lifespan_context(everybody), users.router.lifespan_context(users):
            yield

    app = Starlette(routes=routes, lifespan=lifespan)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
