"""Serves the npm package for pages (`clients/typescript`) as an archive, so that a page can install the package that
fits its server: `pages` answers `GET /client.tgz`.

    npm install http://127.0.0.1:8000/client.tgz

The files in `built/` are made from `clients/typescript` by running `npm run ship` there. They contain no data, so every
client may load them. The archive has the same bytes each time, because npm notes its hash in the lock file of a page.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from ..routing import Handler

PATH: Final = "/client.tgz"
"""The path of the archive."""

_CODE: Final = (".js", ".d.ts")
"""The ends of the names of files that are in the package's folder `dist`."""
_OLD: Final = 499_162_500
"""The time of the files, in seconds since 1970, which is the one that `npm pack` writes."""


@cache
def archive() -> bytes:
    """Returns the archive, as `npm pack` would make it."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as package:
        for file in sorted(files(__package__).joinpath("built").iterdir(), key=lambda file: file.name):
            folder = "package/dist" if file.name.endswith(_CODE) else "package"
            data = file.read_bytes()
            member = tarfile.TarInfo(f"{folder}/{file.name}")
            member.size, member.mtime = len(data), _OLD
            package.addfile(member, io.BytesIO(data))
    return gzip.compress(content.getvalue(), mtime=0)


def pages() -> dict[str, Handler]:
    """Returns the handler of the archive, by path."""

    async def answer(request: Request) -> Response:
        headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        return Response(archive(), HTTPStatus.OK, headers, "application/gzip")

    return {PATH: answer}
