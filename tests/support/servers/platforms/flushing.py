"""A route added to a dev server that keeps its data in files: `POST /flush` writes them now, not in ten seconds.

Only such a server imports this module.
"""

from langgraph_runtime_inmem import _persistence  # type: ignore[import-untyped]
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def flush(request: Request) -> Response:
    """Writes threads, runs and checkpoints to their files; nothing else runs on the server's loop meanwhile."""
    for kept in list(_persistence._stores.values()):
        store = kept()
        if store is not None:
            store.sync()
    return Response(status_code=204)


app = Starlette(routes=[Route("/flush", flush, methods=["POST"])])
