"""The pages as a dialect of the server: files below `/ui/`, and signing in.

| path         | answer                                                                |
|--------------|-----------------------------------------------------------------------|
| /            | 302 to `/ui/`                                                         |
| /ui/login    | the page to sign in on, without script; POST signs in                 |
| /ui/login/oidc, /ui/login/oidc/callback | to the identity provider and back         |
| /ui/NAME     | the built file of this name                                           |
| /ui/...      | `index.html`: the application reads the address                       |

Files need no credentials: the pages get their data from our own API. If nothing is built, a page
explains how to build it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import LOGINS, Exchange, Handler, Reply, Route
from lakewarden.ui import login, provider_login
from lakewarden.ui.built import INDEX, File, built_files

HTML: Final = "text/html; charset=utf-8"
HASHED: Final = "assets/"
"""Names below it change with the content."""

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; frame-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Headers of every response below `/ui/`."""

_FOR_GOOD: Final = "public, max-age=31536000, immutable"

NOT_BUILT: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>lakewarden</title></head>
<body><h1>The pages are not built</h1>
<p>The server works; only its pages are missing from this checkout.
Build them with <code>make ui</code> and start the server again.</p></body></html>
"""


class Pages:
    """`/ui/` and the login page, for every realm."""

    name = "ui"
    models: tuple[str, ...] = ()
    anonymous: str | None = None

    def __init__(self, files: dict[str, File] | None = None) -> None:
        self._files = built_files() if files is None else files

    @property
    def is_built(self) -> bool:
        """Whether there are pages to show."""
        return INDEX in self._files

    def routes(self) -> Sequence[Route]:
        def get(path: str, handler: Handler) -> Route:
            return Route("GET", path, "server.about", handler, inline=True, public=True)

        return (
            get("/", self._to_pages),
            get("/ui", self._file),
            get("/ui/login", login.form),
            Route(
                *("POST", "/ui/login", "caller.load", login.sign_in),
                public=True,
                accepts=("application/x-www-form-urlencoded",),
                rate_class=LOGINS,
            ),
            Route(
                *("GET", "/ui/login/oidc", "server.about", provider_login.start),
                public=True,
                rate_class=LOGINS,
            ),
            Route(
                *("GET", "/ui/login/oidc/callback", "caller.load", provider_login.finish),
                public=True,
                rate_class=LOGINS,
            ),
            get("/ui/{path:path}", self._file),
        )

    def _to_pages(self, exchange: Exchange) -> Reply:
        return Reply(302, b"", HTML, {"Location": "/ui/", **HEADERS})

    def _file(self, exchange: Exchange) -> Reply:
        name = exchange.params.get("path", "")
        file = self._files.get(name)
        if file is None and name.startswith(HASHED):
            return self.missing(exchange.method, exchange.path, ())
        if file is None:
            name, file = INDEX, self._files.get(INDEX)
        if file is None:
            return Reply(503, NOT_BUILT, HTML, HEADERS)
        content, coding = file.coded_for(exchange.headers.get("accept-encoding", ""))
        headers = {**HEADERS, "Vary": "Accept-Encoding"}
        if name.startswith(HASHED):
            headers["Cache-Control"] = _FOR_GOOD
        if coding:
            headers["Content-Encoding"] = coding
        return Reply(200, content, file.media_type, headers)

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        return login.failed(error)

    def unauthenticated(self, why: str) -> Reply:
        return _plain(401, why)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        if allowed:
            return _plain(405, "this method is not supported")
        return _plain(404, "this address does not exist")


def _plain(status: int, text: str) -> Reply:
    return Reply(status, text.encode(), "text/plain; charset=utf-8", HEADERS)
