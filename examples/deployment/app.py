"""AG-UI inside a LangGraph deployment: `http.app` of its `langgraph.json`. No second server, and the same threads.

    cd examples/deployment && langgraph dev

serves the agent at http://127.0.0.1:2024/agui/agent, and `runtimeUrl="http://127.0.0.1:2024/agui"` is what CopilotKit
asks for.

- It is mounted under a prefix because `http.app` comes before the deployment's own routes: without one, its `/info` and
  `/{agent}` would hide `/info` and `/threads`.
- The deployment runs the lifespan of `app` alone, which therefore enters the one of `agui`: that ends open streams when
  the server stops.
- `get_client()` without a URL talks to the deployment it is in, past its network and past its authentication: every
  client that reaches `/agui` reaches every thread. `"enable_custom_route_auth": true` beside `"app"` lets in only users
  of the deployment. To separate them as the deployment does, give its own address, `get_client(url=...)`, and the
  header that identifies them, `Agent(source=..., headers=("authorization",))`; or an `authorize` of your own.
- Before langgraph-api 0.10 the events of a client without a URL come all at once, when the run is over: give the
  address there.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from langgraph_agui.connect import Platform
from langgraph_agui.connect.serve import agui_app
from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.routing import Mount

agui = agui_app({"agent": Platform(get_client(), "agent")})


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """The lifespan of `agui`, which nobody else enters."""
    async with agui.router.lifespan_context(agui):
        yield


app = Starlette(routes=[Mount("/agui", agui)], lifespan=lifespan)
