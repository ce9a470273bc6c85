"""Reads a thread of a server of this package, or of any server that has the route `/watch`: `watch_served`."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Final
from urllib.parse import quote

import httpx
from ag_ui.core import BaseEvent
from langgraph_sdk.client import LangGraphClient
from pydantic import ValidationError

from ....translator import to_model
from ...errors import ConnectionLost, Report, log_context
from ...platform.calls import Contact, Retries, RetryPolicy
from ...platform.http import event_stream
from ..check.server import Endpoint

_SILENCE: Final = 45.0
"""Seconds without a byte after which a stream is lost. The server sends a comment every 15 seconds."""

_log = logging.getLogger(__name__)


async def watch_served(
    http: httpx.AsyncClient, endpoint: Endpoint, thread_id: str, report: Report
) -> AsyncGenerator[BaseEvent, None]:
    """Yields the state of a thread, and then every run on it, until the server refuses it. After a lost connection it
    continues with the event after the last one, if the server still has it, and otherwise with snapshots.

    - `endpoint`: the URLs of the agent.
    - `report`: called when the connection is lost and when it is back.

    Raises `PlatformError` if the server refuses the thread, and `ConnectionLost` if the server does not answer at the
    beginning. A server that has answered once is never given up.
    """
    label = log_context(endpoint.agent, thread_id)
    contact = Contact(RetryPolicy().endless, report, label)
    retries = Retries(contact)
    url = f"{endpoint.base}/watch/{quote(thread_id, safe='')}"
    query = {"agent": endpoint.agent} if endpoint.agent else None
    last_id: str | None = None
    while True:
        try:
            async with event_stream(
                LangGraphClient(http), url, params=query, last_event_id=last_id, read_timeout=_SILENCE
            ) as received:
                contact.answered()
                contact.begin_stream()
                retries.progressed()
                async for _, event, id_ in received:
                    last_id = id_ or last_id
                    try:
                        yield to_model(event)
                    except ValidationError:
                        _log.debug("An event is left out, because ag-ui-protocol does not have its type (%s).", label)
            lost = ConnectionLost("the server has ended the stream")
        except ConnectionLost as error:
            lost = error
        await retries.pause(lost)
