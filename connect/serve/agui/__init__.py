"""Plain AG-UI over HTTP: what a stock client and a bare `EventSource` request (`runs`)."""

from .runs import endpoints

__all__ = ["endpoints"]
