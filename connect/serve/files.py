"""The limit of files that the process may open (`ulimit -n`), each connection being one: `file_limit`; and
`quiet_accepting`, for a server that has reached it. What is refused is in `limits`.

If an event loop can't accept a connection because no file is left, it logs each attempt, thousands of times a second.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE)
"""The errors of a process, and of a machine, that can open no more files."""
_RESERVE: Final = 64
"""Files that are not for readers, at least."""
_RESERVED_PART: Final = 8
"""One file in so many is not for readers."""
_LOG_EVERY: Final = 60.0
"""Seconds between two lines about the same."""

_log = logging.getLogger(__name__)


def file_limit() -> int | None:
    """How many files the process may open; None if there is no limit."""
    try:
        import resource
    except ImportError:
        return None
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def reserved(limit: int) -> int:
    """How many of these files are not for readers: for other connections, for databases, and for the graphs."""
    return max(_RESERVE, limit // _RESERVED_PART)


class FewFiles:
    """Warns that connections are refused, at most once a minute."""

    def __init__(self) -> None:
        self._at = -math.inf

    def warn(self) -> None:
        """Warns, unless it has within the last minute."""
        now = asyncio.get_running_loop().time()
        if now - self._at >= _LOG_EVERY:
            self._at = now
            _log.warning(
                "No more connections can be accepted: this process may open %s files (ulimit -n). They are refused "
                "until others are closed.",
                file_limit(),
            )


@contextmanager
def quiet_accepting() -> Iterator[None]:
    """In the block, errors of the event loop about connections that it could not accept because no file is left become
    one warning a minute. The loop stops accepting for a second after each such error."""
    loop, few_files = asyncio.get_running_loop(), FewFiles()
    before = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in EXHAUSTED and "socket" in context:
            few_files.warn()
        elif before is None:
            loop.default_exception_handler(context)
        else:
            before(loop, context)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        if loop.get_exception_handler() is handle:
            loop.set_exception_handler(before)
