"""Where runs are: a compiled graph of this process (`Local`) or a LangGraph server (`Platform`), and what is taken as
one."""

from __future__ import annotations

from typing import Any

from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph

from .errors import type_of
from .local.source import Local
from .platform.source import Platform, platform_of

_ACCEPTED = (
    "expected a compiled graph, a RemoteGraph, an asynchronous client of langgraph_sdk (get_client()), "
    "or Local(graph) or Platform(client) of one"
)

Source = Local | Platform


def source_of(given: Any) -> Source:
    """The source that `given` is or stands for; raises `TypeError`, saying what came and what is accepted."""
    if isinstance(given, Local):
        return given
    if isinstance(given, Pregel):
        return Local(given)
    if (platform := platform_of(given)) is not None:
        return platform
    if isinstance(given, RemoteGraph):
        raise TypeError(f"this RemoteGraph has no asynchronous client; {_ACCEPTED}")
    raise TypeError(f"{_ACCEPTED}; got {type_of(given)}")
