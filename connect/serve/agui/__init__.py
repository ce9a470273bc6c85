"""Plain AG-UI over HTTP: the requests of AG-UI's own client and of a bare `EventSource` (`runs`)."""

from .runs import endpoints

__all__ = ["endpoints"]
