"""Serves the inspector, a page that shows the threads of the served agents: `pages` answers the requests for its files.
`sent` makes the page of a run, as a file that a user sends to somebody.

The files in `built/` are made from `clients/inspector` by running `npm run build` there. They contain no data, so every
client may load them. The page gets its data from the same routes as any client, and these authenticate its user.
Nothing in a message becomes markup. The page's policy allows only its own scripts, only images that are contained in a
message, and no requests to other servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from types import MappingProxyType
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Refusal
from ..routing import Handler

PAGE: Final = "index.html"
"""The file that answers `GET /`."""
SENT_PAGE: Final = "run.html"
"""The page of a run that is sent, still without the run. The inspector loads it when a user saves a run."""
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The Content-Security-Policy of the page."""

_HEADERS: Final = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
)
_TYPES: Final = MappingProxyType({".html": "text/html", ".js": "text/javascript", ".css": "text/css"})


class _File(NamedTuple):
    content: bytes
    media_type: str


@cache
def built_files() -> Mapping[str, _File]:
    """Returns the files of the page by name: `index.html`, `run.html`, a script and a style. The names of the last two
    contain a hash of their content."""
    page_files = {}
    for file in files(__package__).joinpath("built").iterdir():
        media_type = next((kind for ending, kind in _TYPES.items() if file.name.endswith(ending)), None)
        if media_type is not None:
            page_files[file.name] = _File(file.read_bytes(), media_type)
    return page_files


def _page_endpoint() -> Handler:
    """Returns the handler for `GET /`. Raises `KeyError` if the package was installed without the page's files."""
    page = built_files()[PAGE]

    async def inspect(request: Request) -> Response:
        """The inspector, a page that shows threads live."""
        if not request.url.path.endswith("/"):  # the page has relative URLs
            headers = {"Location": f"{request.url.path.rpartition('/')[2]}/"}
            return Response(None, HTTPStatus.TEMPORARY_REDIRECT, headers)
        return _response(page, "no-cache")

    return inspect


def pages() -> dict[str, Handler]:
    """Returns the handlers for the page, its script and its style, and for the page of a run, by path."""
    files = {f"/inspector/{name}": _endpoint(name) for name in sorted(built_files().keys() - {PAGE})}
    return {**files, "/": _page_endpoint()}


def _endpoint(name: str) -> Handler:
    file = built_files()[name]
    has_hash = name != SENT_PAGE  # a name with a hash never has other content
    caching = "public, max-age=31536000, immutable" if has_hash else "no-cache"

    async def answer(request: Request) -> Response:
        if request.url.path.endswith("/"):
            raise Refusal(HTTPStatus.NOT_FOUND, "not_found", "There is nothing here.")
        return _response(file, caching)

    return answer


def _response(file: _File, caching: str) -> Response:
    return Response(file.content, HTTPStatus.OK, {**_HEADERS, "Cache-Control": caching}, file.media_type)
