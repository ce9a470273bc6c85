"""Which channels of a platform's graph have reducers: `with_reducers`. Neither schemas nor states say it; so a thread
that is made for it, and deleted again, is asked. Never what is written to a channel (`intake.places`).

An overwrite is written to every channel, twice. One with a reducer takes it as what it is; a plain one keeps it as its
value. One with a reducer that has no value to begin with keeps the first as well, and takes the second. No node runs;
conditional edges from the start do, and where one of them fails nothing is known.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

from langgraph.graph import START
from langgraph_sdk.client import LangGraphClient

from ..errors import ConnectionLost, PlatformError
from ..inputs.channels import OVERWRITE, InputChannels
from .retry import RetryPolicy
from .thread import answer

_log = logging.getLogger(__name__)
_ASKED: Final = {OVERWRITE: None}


async def with_reducers(
    client: LangGraphClient, graph_id: str, places: InputChannels, policy: RetryPolicy
) -> InputChannels:
    """The places of a graph, with what is known of its reducers.

    As they were where the platform does not say, or it is not known what channels the graph has: a line in the log
    says so. To be asked once for a graph: it costs five requests.
    """
    names = (places.channels or frozenset()) - {places.messages_key}
    if places.reducers is not None or not names:
        return places
    try:
        second, first = await _asked(client, graph_id, sorted(filter(None, names)), policy)
    except (PlatformError, ConnectionLost, LookupError, TypeError) as error:
        _log.warning("what channels of %r have reducers is not known: %s", graph_id, error)
        return places
    reducers = {name for name in names if name in second and second[name] != _ASKED}
    return replace(places, reducers=frozenset(reducers), begun=frozenset(n for n in reducers if first.get(n) != _ASKED))


async def _asked(
    client: LangGraphClient, graph_id: str, names: list[str], policy: RetryPolicy
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The channels after the second write, and after the first."""
    threads, thread_id, values = client.threads, str(uuid4()), dict.fromkeys(names, _ASKED)
    mark = {"graph_id": graph_id}
    make = partial(threads.create, thread_id=thread_id, graph_id=graph_id, metadata=mark, if_exists="do_nothing")
    try:
        await answer(make, policy)
        for _ in range(2):
            await answer(lambda: threads.update_state(thread_id, values, as_node=START), policy)
        states: list[Any] = await answer(lambda: threads.get_history(thread_id), policy)
    finally:
        with suppress(PlatformError, ConnectionLost):
            await answer(lambda: threads.delete(thread_id), policy)
    return states[0]["values"], states[-1]["values"]
