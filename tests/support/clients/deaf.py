"""Clients that send, and never read: `deaf_request`, and `DeafSocket`, a WebSocket of one."""

import asyncio
import json
import os
import socket
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

SMALL = 4_096
"""Bytes that the kernel keeps for them, or twice as many."""


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[socket.socket]:
    """A connection to a server of this machine, with little room for what comes."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    connection.setblocking(False)
    with connection:
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        yield connection


@asynccontextmanager
async def deaf_request(port: int, path: str) -> AsyncIterator[None]:
    """A `GET` whose answer is never read."""
    async with connected(port) as connection:
        await asyncio.get_running_loop().sock_sendall(connection, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        yield


class DeafSocket:
    """A WebSocket whose client reads nothing but the handshake."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    async def send(self, verb: str, count: int = 1) -> None:
        """Sends an object, as often as this."""
        await asyncio.get_running_loop().sock_sendall(self._connection, _frame({"do": verb}) * count)


@asynccontextmanager
async def deaf_socket(port: int, path: str) -> AsyncIterator[DeafSocket]:
    """A WebSocket of one that never reads."""
    loop, key = asyncio.get_running_loop(), b64encode(os.urandom(16)).decode()
    asked = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    async with connected(port) as connection:
        await loop.sock_sendall(
            connection, f"{asked}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += await loop.sock_recv(connection, 1)
        assert answer.startswith(b"HTTP/1.1 101"), answer
        yield DeafSocket(connection)


def _frame(what: dict[str, Any]) -> bytes:
    """A short text message of a client, under a mask of zeros."""
    text = json.dumps(what).encode()
    return bytes([0x81, 0x80 | len(text), 0, 0, 0, 0]) + text
