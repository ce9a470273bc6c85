"""The schemas of a platform's assistants, kept for a while: `SchemaCache`. No I/O.

What a platform answers depends on who requests it, so schemas are kept by the credentials of the request: the headers
of its client. They expire, because an assistant can be given another graph. Credentials are kept as digests only.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from langgraph_sdk.client import LangGraphClient

Schemas = Mapping[str, Any]

EXPIRES_AFTER: Final = 300.0
"""Seconds for which schemas are kept."""
_MOST: Final = 256
"""Entries that are kept; beyond, the oldest goes."""


class SchemaCache:
    """Schemas by assistant and credentials. `clock`: seconds, of any origin."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[tuple[str, bytes], tuple[float, Schemas]] = OrderedDict()

    def get(self, client: LangGraphClient, assistant: str) -> Schemas | None:
        """The schemas of an assistant (or of a graph, by its name) as this client was given them; None if they are not
        kept, or not any more."""
        key = assistant, _credentials(client)
        until, schemas = self._entries.get(key, (-1.0, {}))
        if until > self._clock():
            return schemas
        self._entries.pop(key, None)
        return None

    def put(self, client: LangGraphClient, assistant: str, schemas: Schemas) -> None:
        """Keeps what this client was given."""
        key = assistant, _credentials(client)
        self._entries.pop(key, None)
        self._entries[key] = self._clock() + EXPIRES_AFTER, schemas
        if len(self._entries) > _MOST:
            self._entries.popitem(last=False)


def _credentials(client: LangGraphClient) -> bytes:
    """A digest of what this client's requests are authenticated by."""
    http = client.http.client
    digest = sha256()
    for name, value in sorted((name.lower(), value) for name, value in http.headers.raw):
        digest.update(b"%d:%d:" % (len(name), len(value)) + name + value)
    digest.update(str(id(http.auth) if http.auth is not None else 0).encode())
    return digest.digest()
