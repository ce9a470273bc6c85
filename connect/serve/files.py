"""Reads the limit on files that the process may have open (`ulimit -n`), which includes connections: `file_limit`.
`quiet_accepting` is for a server that has reached the limit. What such a server refuses is decided in `limits`.

If an event loop can't accept a connection because too many files are open, it logs each attempt, thousands of times a
second.
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
"""The error numbers when a process, or the whole machine, can open no more files."""
_RESERVE: Final = 64
"""The least number of files that are kept free of readers."""
_RESERVED_PART: Final = 8
"""One in this many files is kept free of readers."""
_LOG_EVERY: Final = 60.0
"""Seconds between two warnings."""

_log = logging.getLogger(__name__)


def file_limit() -> int | None:
    """Returns how many files the process may open, or None if there is no limit."""
    try:
        import resource
    except ImportError:
        return None
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if soft == resource.RLIM_INFINITY else soft


def reserved(limit: int) -> int:
    """Returns how many of these files are kept for other connections, for databases and for the graphs."""
    return max(_RESERVE, limit // _RESERVED_PART)


class FewFiles:
    """Warns that connections are refused, at most once a minute."""

    def __init__(self) -> None:
        self._at = -math.inf

    def warn(self) -> None:
        """Logs the warning, unless it was logged within the last minute."""
        time = asyncio.get_running_loop().time()
        if time - self._at >= _LOG_EVERY:
            self._at = time
            _log.warning(
                "No more connections can be accepted: this process may open %s files (ulimit -n). They are refused "
                "until others are closed.",
                file_limit(),
            )


@contextmanager
def quiet_accepting() -> Iterator[None]:
    """Within the block, logs one warning a minute for the event loop's errors about connections that it could not
    accept because too many files were open. After each such error, the loop accepts no connections for a second."""
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
