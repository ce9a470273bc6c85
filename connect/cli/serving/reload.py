"""Implements `serve --reload`: runs the server in a process of its own, and restarts it when a file of the project
changes.

This process imports nothing of the project. It holds the socket, which it passes to each server process, and watches
the project's folders. If a server process can't start, it prints the reason, and the next change starts a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import socket

import uvicorn
from uvicorn.supervisors import ChangeReload

from ..errors import Misuse
from .serve import ServeSettings, listen, platform_url, project, set_logging, token_to_print

Serve = Callable[[list[socket] | None], None]
"""Serves on the first of the sockets. It runs in the server process, so it must be picklable."""


def serve_reloading(settings: ServeSettings, serve: Serve) -> None:
    """Serves until a signal arrives, and restarts after each change. Raises `Misuse` and `Failure` for errors that no
    change of a file would repair."""
    if platform_url(settings) is not None:
        raise Misuse("--reload is only for your own graphs; a server reloads its own graphs")
    if settings.token is not None:
        token_to_print(settings)
    set_logging(settings)
    graphs = project(settings)
    folders = dict.fromkeys(map(str, (graphs.folder, *graphs.first, *graphs.last)))
    # `Config` needs the name of an app, which is not used: `serve` makes the app.
    config = uvicorn.Config("langgraph_agui.connect.cli:main", reload=True, reload_dirs=[*folders], log_config=None)
    with listen(settings.host, settings.port) as bound:
        ChangeReload(config, target=serve, sockets=[bound]).run()
