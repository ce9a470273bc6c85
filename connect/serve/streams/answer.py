"""Sends a response that is not a stream: `Answer`. Its reader is subject to the same limits as that of a stream.

The body is sent in pieces. If a reader does not take a piece within `send_timeout`, its connection is dropped, and the
rest is not sent. While an answer that is larger than a piece is sent, it counts as a reader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ...access import identity_of
from ..errors import Refusal, request_label, response_to
from ..limits import Capacity
from ..requests.users import user_of
from .app_handlers import answered_here
from .connection import PIECE, Connection
from .shutdown import Closing, StreamInterrupted

_log = logging.getLogger(__name__)


class Answer(Response):
    """A response, sent to one reader. `capacity`: the limit on readers. `send_timeout`: seconds within which the reader
    has to take a piece."""

    def __init__(
        self, response: Response, request: Request, capacity: Capacity, closing: Closing, send_timeout: float
    ) -> None:
        self.status_code = response.status_code
        self.body = response.body
        self.background = response.background
        self.raw_headers = response.raw_headers
        self._request = request
        self._capacity = capacity
        self._closing = closing
        self._send_timeout = send_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the whole response, unless the reader does not take it or the server ends."""
        connection = Connection(receive)
        try:
            with self._place():
                async with self._closing.opened(is_answer=True), asyncio.timeout(self._send_timeout) as timeout:
                    for message in self._messages():
                        await send(message)
                        timeout.reschedule(asyncio.get_running_loop().time() + self._send_timeout)
                    timeout.reschedule(None)
                    await connection.drained(self._send_timeout)
        except Refusal as refusal:
            response = response_to(answered_here(refusal, self._request, self._closing))
            await response(scope, receive, send)
        except TimeoutError:
            label = request_label(self._request)
            _log.warning("A reader did not read its answer within %g seconds (%s).", self._send_timeout, label)
            await connection.dropped()
        except StreamInterrupted:
            await connection.dropped()

    def _place(self) -> AbstractContextManager[None]:
        if len(self.body) <= PIECE:
            return nullcontext()
        return self._capacity.reader(identity_of(user_of(self._request)))

    def _messages(self) -> Iterator[Message]:
        yield {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        body = memoryview(self.body)
        if len(body) <= PIECE:
            yield {"type": "http.response.body", "body": bytes(body), "more_body": False}
            return
        for start in range(0, len(body), PIECE):
            yield {"type": "http.response.body", "body": bytes(body[start : start + PIECE]), "more_body": True}
        yield {"type": "http.response.body", "body": b"", "more_body": False}
