"""Implements JSON-RPC over standard input and output: `Stdio`, the transport for the protocol's SDK, and `take_stdio`.

Rules:

1. Standard input and output belong to the protocol. `take_stdio` is called before any module of the user is imported.
   Whatever Python, C code and subprocesses print after that goes to standard error, and standard input is empty for
   them.
2. A line that is not JSON is answered with -32700, JSON that is not a message with -32600, and the next line is read. A
   line of more than `LONGEST_LINE` bytes is refused in the same way, without keeping it in memory. If its beginning
   contains the id of a request, the answer has that id.
3. A message of more than `LARGEST_SENT` bytes is not sent, because many clients would close the connection.
4. Messages are written in the order in which they are sent, by a separate thread, so that an editor that does not read
   blocks only the senders and not the event loop. An `Answer` can call a function right after its response is sent.
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
"""The longest line that is read, in bytes. Clients on the TypeScript SDK send up to 32 MiB."""
LARGEST_SENT: Final = 32 * 1024 * 1024
"""The largest message that is sent, in bytes. Clients on the TypeScript SDK end if they receive a larger one."""
_CHUNK: Final = 256 * 1024
_WAITING_LINES: Final = 64
"""How many lines are read in advance."""
_WAITING_BYTES: Final = 4 * 1024 * 1024
"""The number of unwritten bytes above which `send` waits."""
_FLUSH: Final = 2.0
"""How many seconds `close` waits until everything is written."""
_TOO_LONG: Final = b"\0"
"""Marks the beginning of a line that is too long. No JSON text begins with this byte."""
_BEGINNING: Final = 512
"""How many bytes of a line that is too long are searched for an id."""
_ID: Final = re.compile(rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(\d{1,18}|"[^"\\]*")\s*,')
_PARSE, _INVALID = (-32700, "Parse error"), (-32600, "Invalid request")

_log = logging.getLogger(__name__)


class Answer(dict[str, Any]):
    """The result of a request, with a function to call right after the response is sent."""

    def __init__(self, result: Message, then: Callable[[], None]) -> None:
        super().__init__(result)
        self.then = then


_request: ContextVar[object] = ContextVar("agui_acp_request", default=None)


def current_request() -> object:
    """Returns the id of the request that is being handled, a string or a number. Returns None outside a request."""
    return _request.get()


class TooLargeError(Exception):
    """The message has more bytes than may be sent."""


def take_stdio() -> tuple[int, int]:
    """Returns duplicates of standard input and output that subprocesses do not inherit. From here on, standard input is
    empty, and standard output goes to standard error."""
    sys.stdout.flush()
    own = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return own


class Stdio:
    """Reads messages as lines from one file descriptor, and writes them to another. Requires a running event loop."""

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
        """Sends a message after all earlier ones, and waits while too many bytes are unwritten. Raises `TooLargeError`.
        If the editor has closed the connection, raises `ConnectionError` for a request or a notification, and drops a
        response."""
        if self._is_closed and "method" not in message:
            return
        if self._is_closed:
            raise ConnectionError("the editor has closed the connection")
        line = _encode(message)
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
        """Returns the next message, or None once the editor has closed the connection. Sets `current_request` for the
        tasks that are started before the next call."""
        while (line := await self._lines.get()) is not None:
            self._free_lines.release()
            if not line.strip():
                continue
            message, error = _read_message(line)
            if message is not None:
                _request.set(message.get("id") if "method" in message else None)
                return message
            if error is not None:
                _log.warning("A line is not a message: %s.", error[1])
                with suppress(ConnectionError):
                    await self.send(_refusal(_id_of(line), *error))
        return None

    async def close(self) -> None:
        """Waits until everything is written, if the editor reads it. Nothing can be sent after that."""
        if not self._is_closed:
            self._is_closed = True
            self._output.put(None)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_flushed.wait(), _FLUSH)

    # --- the two threads ----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        line, beginning = bytearray(), b""  # `beginning` is set only for a line that is too long
        with suppress(RuntimeError):  # the process is ending, and the event loop is closed
            try:
                while chunk := os.read(self._reads, _CHUNK):
                    *ends, rest = chunk.split(b"\n")
                    for end in ends:
                        self._queue_line(beginning or b"".join((line, end)))
                        line, beginning = bytearray(), b""
                    if not beginning:
                        line += rest
                    if len(line) > LONGEST_LINE:
                        line, beginning = bytearray(), _TOO_LONG + bytes(line[:_BEGINNING])
            except OSError as error:
                _log.warning("Standard input can't be read: %s.", error)
            if line or beginning:
                self._queue_line(beginning or bytes(line))
            self._queue_line(None)

    def _queue_line(self, line: bytes | None) -> None:
        self._free_lines.acquire()
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def _write(self) -> None:
        with suppress(RuntimeError):  # as above
            try:
                while (line := self._output.get()) is not None:
                    left = memoryview(line)
                    while left:
                        left = left[os.write(self._writes, left) :]
                    self._loop.call_soon_threadsafe(self._note_written, len(line))
            except OSError:  # the editor has closed the pipe
                self._loop.call_soon_threadsafe(self._note_closed)
            self._loop.call_soon_threadsafe(self._is_flushed.set)

    def _note_written(self, size: int) -> None:
        self._waiting -= size
        if self._waiting <= _WAITING_BYTES:
            self._has_room.set()

    def _note_closed(self) -> None:
        self._is_closed = True
        self._has_room.set()


def _encode(message: Message) -> bytes:
    """Returns a message as a line."""
    try:
        return orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a lone surrogate in a text
        return json.dumps(message, default=str).encode() + b"\n"


def _read_message(line: bytes) -> tuple[Message | None, tuple[int, str] | None]:
    """Returns the message in a line, or the error that answers it. Returns neither if the line is an invalid response,
    which is not answered."""
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
    """Returns the id of a request that is too long, if the id comes before the parameters, else None."""
    match = _ID.match(line, len(_TOO_LONG)) if line.startswith(_TOO_LONG) else None
    return None if match is None else orjson.loads(match[1])


def _refusal(request_id: Any, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
