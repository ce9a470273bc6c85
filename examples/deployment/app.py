"""AG-UI inside a LangGraph deployment: `http.app` of its `langgraph.json`. No second server, and the same threads.

    langgraph dev --config examples/deployment/langgraph.json

serves the agent at http://127.0.0.1:2024/agui/agent, and `runtimeUrl="http://127.0.0.1:2024/agui"` is what CopilotKit
asks for.

- It is mounted under a prefix because `http.app` comes before the deployment's own routes: without one, its `/info` and
  `/{agent}` would hide `/info` and `/threads`.
- `get_client()` without a URL talks to the deployment it is in, past its network and past its authentication: whoever
  reaches `/agui` reaches every thread. `"enable_custom_route_auth": true` beside `"app"` keeps strangers out. To keep
  users apart as the deployment does, name its own address, `get_client(url=...)`, and what it knows them by,
  `Agent(source=..., headers=("authorization",))`; or give `agui_app` an `authorize` of your own.
- Before langgraph-api 0.10 what comes without a URL comes all at once, when the run is over: name the address there.
"""

from langgraph_agui.connect import Platform
from langgraph_agui.connect.serve import agui_app
from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.routing import Mount

agui = agui_app({"agent": Platform(get_client(), "agent")})
app = Starlette(routes=[Mount("/agui", agui)])
