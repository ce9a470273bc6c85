"""The response that is an event stream: `EventStream`. `transmission` sends its events."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...events.streams import Wire
from ..errors import NO_SNIFFING
from .sender import Sender
from .shutdown import Closing
from .transmission import Stream, transmit

HEADERS = {
    "Cache-Control": "no-store, no-transform",
    "X-Accel-Buffering": "no",
    **NO_SNIFFING,
}


class EventStream(Response):
    """A response that sends the events of a stream to one reader as they are emitted.

    `wire`: the encoding of events. `heartbeat`: seconds without an event after which a comment is sent. None: never.
    `send_timeout`: seconds within which the reader has to take a message. `headers`: those of the protocol.
    """

    def __init__(
        self,
        stream: Stream,
        wire: Wire,
        closing: Closing,
        heartbeat: float | None,
        send_timeout: float,
        *,
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(None, headers={"Content-Type": wire.media_type, **HEADERS, **headers})
        del self.headers["content-length"]
        self._stream = stream
        self._wire = wire
        self._closing = closing
        self._heartbeat = heartbeat
        self._send_timeout = send_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends all events, until the stream or the server ends or the reader leaves."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        sender = Sender(receive, send, start, self._heartbeat, self._send_timeout, self._wire)
        await transmit(self._stream, self._wire, sender, self._closing, has_body=scope["method"] != "HEAD")
