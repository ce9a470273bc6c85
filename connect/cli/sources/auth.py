"""Loads the `auth` object of `langgraph.json`, which identifies and authorizes a project's users: `auth_of`. Its
decisions are applied in `serve.requests.langgraph_auth`."""

from __future__ import annotations

import asyncio

from langgraph_sdk import Auth

from ...serve.requests.langgraph_auth import LangGraphAuth
from ..errors import Failure
from .graphs import import_target
from .project import Project


async def auth_of(project: Project) -> LangGraphAuth | None:
    """Returns the handlers for a project's users, or None if the project has no `auth`. Raises `Misuse` and `Failure`
    for an `auth` that can't be loaded, because a project with users must not be served without them."""
    if project.auth is None:
        return None
    auth = await asyncio.to_thread(import_target, project, project.auth)
    if not isinstance(auth, Auth):
        raise Failure(f"{project.auth.written}: expected a langgraph_sdk.Auth, got {type(auth).__name__}")
    try:
        return LangGraphAuth(auth)
    except ValueError as error:
        raise Failure(f"{project.auth.written}: {error}") from error
