"""Loads the `auth` of `langgraph.json`, the object that knows a project's users: `auth_of`. What it decides is in
`serve.requests.langgraph_auth`."""

from __future__ import annotations

import asyncio

from langgraph_sdk import Auth

from ...serve.requests.langgraph_auth import LangGraphAuth
from ..errors import Failure
from .graphs import imported
from .project import Project


async def auth_of(project: Project) -> LangGraphAuth | None:
    """The hooks of the project's users; None: it has no `auth`. Raises `Misuse` and `Failure` for what can't be loaded:
    a project that has users is not served without them."""
    if project.auth is None:
        return None
    found = await asyncio.to_thread(imported, project, project.auth)
    if not isinstance(found, Auth):
        raise Failure(f"{project.auth.written}: expected a langgraph_sdk.Auth, got {type(found).__name__}")
    try:
        return LangGraphAuth(found)
    except ValueError as error:
        raise Failure(f"{project.auth.written}: {error}") from error
