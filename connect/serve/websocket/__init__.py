"""One thread over a WebSocket: what a client sends (`commands`), and how it is carried out (`sockets`)."""

from .sockets import WebSockets

__all__ = ["WebSockets"]
