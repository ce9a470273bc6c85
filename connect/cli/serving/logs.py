"""Writes the log of the commands that serve, to stderr: as text, or as JSON, one object a line (`set_up_logs`).

| key | |
|---|---|
| `time` | when, in UTC, in ISO 8601 |
| `level`, `logger`, `message` | as `logging` has them |
| `exception` | the traceback, if there is one |
| `client`, `method`, `path`, `status` | of the line about a request, which is logged when its answer begins |
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Literal

LogFormat = Literal["text", "json"]
"""How the log is written."""

_TEXT: Final = "%(levelname)s %(name)s: %(message)s"
_REQUESTS: Final = "uvicorn.access"
"""The logger of the lines about requests, whose arguments are the client, the method, the path, the version of HTTP and
the status."""
_REQUEST_KEYS: Final = ("client", "method", "path", None, "status")


def set_up_logs(level: str, log_format: LogFormat) -> None:
    """Logs to stderr, in this format, from this level on."""
    logging.basicConfig(level=level.upper(), format=_TEXT)
    if log_format == "json":
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonLines())


def print_log_lines(lines: Iterable[str]) -> None:
    """Writes lines as the log is written, whatever its level, so that nothing else is on stderr."""
    for line in filter(None, lines):
        record = logging.LogRecord(__name__.partition(".")[0], logging.INFO, "", 0, line, None, None)
        for handler in logging.getLogger().handlers:
            handler.emit(record)


class JsonLines(logging.Formatter):
    """Makes one line of JSON of each record."""

    def format(self, record: logging.LogRecord) -> str:
        """See the top of this module."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.name == _REQUESTS and isinstance(record.args, tuple) and len(record.args) == len(_REQUEST_KEYS):
            line |= {key: value for key, value in zip(_REQUEST_KEYS, record.args, strict=True) if key is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
