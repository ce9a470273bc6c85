"""`serve --reload`: the server is a process of its own, which is started again when a file of the project changes.

This process imports nothing of the project: it has the socket, which each server process gets, and watches the
project's folders. A server process that can't start prints why, and the next change starts it again.
"""

from __future__ import annotations

from collections.abc import Callable
from socket import socket

import uvicorn
from uvicorn.supervisors import ChangeReload

from ..errors import Misuse
from .serve import ServeSettings, listening, platform_url, project, set_logging, token_to_print

Serve = Callable[[list[socket] | None], None]
"""Serves on the first of these sockets. It is called in the server process, so it must be picklable."""


def serve_reloading(settings: ServeSettings, serve: Serve) -> None:
    """Serves until a signal comes, and again after each change. Raises `Misuse` and `Failure` for what no change of a
    file makes right."""
    if platform_url(settings) is not None:
        raise Misuse("--reload is for graphs of your own; a server reloads its graphs itself")
    if settings.token is not None:
        token_to_print(settings)
    set_logging(settings)
    found = project(settings)
    folders = dict.fromkeys(map(str, (found.folder, *found.first, *found.last)))
    # The app is named for the sake of the config alone: `serve` makes it.
    config = uvicorn.Config("langgraph_agui.connect.cli:main", reload=True, reload_dirs=[*folders], log_config=None)
    with listening(settings.host, settings.port) as bound:
        ChangeReload(config, target=serve, sockets=[bound]).run()
