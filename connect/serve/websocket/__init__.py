"""Serves a thread over a WebSocket: `commands` parses what a client sends, and `sockets` carries it out."""

from .sockets import WebSockets

__all__ = ["WebSockets"]
