"""What a client is told that joins a stream late, or again."""

from typing import TYPE_CHECKING, Any

from .opened import Open

if TYPE_CHECKING:
    from .view import ClientView

__all__ = ["prelude", "resync"]


def prelude(view: "ClientView") -> list[dict[str, Any]]:
    """Not yet."""
    return []


def resync(view: "ClientView", reader: Open) -> list[dict[str, Any]]:
    """Not yet."""
    return []
