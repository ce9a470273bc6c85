"""JSON-RPC over standard input and output: `Stdio`, the transport of the protocol's SDK, and `take_stdio`.

Rules:

1. Standard input and output belong to the protocol. `take_stdio` is called before anything of a user is imported: what
   Python, C code and subprocesses print after that goes to standard error, and they find standard input empty.
2. A line that is no JSON, and JSON that is no message, is answered with -32700 or -32600, and the next line is read. So
   is a line of more than `LONGEST_LINE` bytes, of which no more is kept; where its beginning has the id of a request,
   that request is answered.
3. A message of more than `LARGEST_SENT` bytes is not sent, since it would end the connection of many clients.
4. Messages are written in the order in which they are sent, by a thread of their own: an editor that does not read
   stops the senders, and not the event loop. An `Answer` also has what is done right after its response is sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

import orjson

Message = dict[str, Any]

LONGEST_LINE: Final = 64 * 1024 * 1024
"""Bytes of a message that is read. Clients on the TypeScript SDK send up to 32 MiB."""
LARGEST_SENT: Final = 32 * 1024 * 1024
"""Bytes of a message that is sent. Clients on the TypeScript SDK read no larger one, and end."""
_CHUNK: Final = 256 * 1024
_WAITING_LINES: Final = 64
"""Lines that are read and not yet taken."""
_WAITING_BYTES: Final = 4 * 1024 * 1024
"""Bytes that are not yet written, beyond which `send` waits."""
_FLUSH: Final = 2.0
"""Seconds for which `close` waits until all is written."""
_TOO_LONG: Final = b"\0"
"""Marks the beginning of a line that is too long: no message begins with this byte."""
_BEGINNING: Final = 512
"""How many bytes of a line that is too long are searched for its id."""
_ID: Final = re.compile(rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(\d{1,18}|"[^"\\]*")\s*,')
_PARSE, _INVALID = (-32700, "Parse error"), (-32600, "Invalid request")

_log = logging.getLogger(__name__)


class Answer(dict[str, Any]):
    """The result of a request, and what is done right after its response is on its way."""

    def __init__(self, result: Message, then: Callable[[], None]) -> None:
        super().__init__(result)
        self.then = then


_request: ContextVar[object] = ContextVar("agui_acp_request", default=None)


def current_request() -> object:
    """The id of the request that is being handled: a string or a number; None outside of a request."""
    return _request.get()


class TooLargeError(Exception):
    """A message has more bytes than are sent."""


def take_stdio() -> tuple[int, int]:
    """Duplicates of standard input and output, which no subprocess inherits. From here on the input is empty, and the
    output goes to standard error."""
    sys.stdout.flush()
    own = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return own


class Stdio:
    """Messages as lines, from one file descriptor and to another. Made in a running event loop."""

    def __init__(self, reads: int, writes: int) -> None:
        self._reads, self._writes = reads, writes
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._free_lines = threading.Semaphore(_WAITING_LINES)
        self._output: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_flushed = asyncio.Event()
        self._is_closed = False
        threading.Thread(target=self._read, name="acp reads", daemon=True).start()
        threading.Thread(target=self._write, name="acp writes", daemon=True).start()

    async def send(self, message: Message) -> None:
        """Sends a message behind those before it; waits while too much is not yet written. Raises `TooLargeError`,
        and `ConnectionError` when the editor is gone; a response to an editor that is gone is dropped."""
        if self._is_closed and "method" not in message:
            return
        if self._is_closed:
            raise ConnectionError("the editor has closed the connection")
        line = _encoded(message)
        if len(line) > LARGEST_SENT:
            raise TooLargeError(f"a message has {len(line)} bytes, and at most {LARGEST_SENT} are sent")
        self._waiting += len(line)
        self._output.put(line)
        result = message.get("result")
        if isinstance(result, Answer):
            result.then()
        if self._waiting > _WAITING_BYTES:
            self._has_room.clear()
            await self._has_room.wait()

    async def receive(self) -> Message | None:
        """The next message; None when the editor is gone. Tasks that begin before the next call handle this message:
        `current_request` is its id."""
        while (line := await self._lines.get()) is not None:
            self._free_lines.release()
            if not line.strip():
                continue
            message, error = _read_message(line)
            if message is not None:
                _request.set(message.get("id") if "method" in message else None)
                return message
            if error is not None:
                _log.warning("A line was no message: %s.", error[1])
                with suppress(ConnectionError):
                    await self.send(_refusal(_id_of(line), *error))
        return None

    async def close(self) -> None:
        """Waits until all is written, if the editor reads it. Nothing is sent afterwards."""
        if not self._is_closed:
            self._is_closed = True
            self._output.put(None)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_flushed.wait(), _FLUSH)

    # --- the two threads ----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        line, beginning = bytearray(), b""  # of a line that is too long: its beginning
        with suppress(RuntimeError):  # the event loop is closed, since the process ends
            try:
                while chunk := os.read(self._reads, _CHUNK):
                    *ended, rest = chunk.split(b"\n")
                    for part in ended:
                        self._put(beginning or b"".join((line, part)))
                        line, beginning = bytearray(), b""
                    if not beginning:
                        line += rest
                    if len(line) > LONGEST_LINE:
                        line, beginning = bytearray(), _TOO_LONG + bytes(line[:_BEGINNING])
            except OSError as error:
                _log.warning("Standard input can't be read: %s.", error)
            if line or beginning:
                self._put(beginning or bytes(line))
            self._put(None)

    def _put(self, line: bytes | None) -> None:
        self._free_lines.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def _write(self) -> None:
        with suppress(RuntimeError):  # as above
            try:
                while (line := self._output.get()) is not None:
                    left = memoryview(line)
                    while left:
                        left = left[os.write(self._writes, left) :]
                    self._loop.call_soon_threadsafe(self._written, len(line))
            except OSError:  # the reader is gone
                self._loop.call_soon_threadsafe(self._lost)
            self._loop.call_soon_threadsafe(self._is_flushed.set)

    def _written(self, size: int) -> None:
        self._waiting -= size
        if self._waiting <= _WAITING_BYTES:
            self._has_room.set()

    def _lost(self) -> None:
        self._is_closed = True
        self._has_room.set()


def _encoded(message: Message) -> bytes:
    """The line of a message, with its end."""
    try:
        return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate in a text
        return json.dumps(message, default=str).encode() + b"\n"


def _read_message(line: bytes) -> tuple[Message | None, tuple[int, str] | None]:
    """The message of a line, or the error that answers it; neither for a response that can't be one."""
    if line.startswith(_TOO_LONG):
        return None, (-32600, f"Invalid request: a message of more than {LONGEST_LINE} bytes")
    try:
        message = orjson.loads(line)
    except ValueError:
        return None, _PARSE
    if not isinstance(message, dict):
        return None, _INVALID
    has_id = "id" in message
    if has_id and (isinstance(message["id"], bool) or not isinstance(message["id"], str | int | None)):
        return None, _INVALID
    if "method" in message:
        return (message, None) if isinstance(message["method"], str) else (None, _INVALID)
    if not has_id or not ({"result", "error"} & message.keys()):
        return None, _INVALID
    if "error" in message and not isinstance(message["error"], dict):
        return {**message, "error": {"code": -32603, "message": "Internal error"}}, None
    return message, None


def _id_of(line: bytes) -> Any:
    """The id of a request that is too long, if it comes before its parameters; None: it is not known."""
    found = _ID.match(line, len(_TOO_LONG)) if line.startswith(_TOO_LONG) else None
    return None if found is None else orjson.loads(found[1])


def _refusal(request_id: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
