"""An app with one large thread, `t`, as a process serves it. Nothing but a server imports this module.

`GET /inside` says what the process has. The variable `READERS` is `Limits.readers`.
"""

import ctypes
import os
from contextlib import suppress
from typing import Any, Final

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect import Local, Runs
from langgraph_agui.connect.serve import Agent, Limits, agui_app
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.support.servers.gated_server import inside

SIZE: Final = 5_000_000
"""Bytes of the thread: nearly all of it is one message."""
SEND_TIMEOUT: Final = 2.0


async def _answering(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", "x" * SIZE)]}


_runs = Runs()
_graph = StateGraph(MessagesState).add_node("answering", _answering).add_edge(START, "answering")
_source = Local(_graph.compile(InMemorySaver()), agent="large", runs=_runs)
_readers = int(os.environ.get("READERS", "0")) or None
app = agui_app(
    {"large": Agent(_source)},
    limits=Limits(send_timeout=SEND_TIMEOUT, **({} if _readers is None else {"readers": _readers})),
    websocket=True,
)


async def _inside(request: Request) -> JSONResponse:
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed is the machine's again
    return JSONResponse(inside(app, _runs))


app.router.routes.insert(0, Route("/inside", _inside))
