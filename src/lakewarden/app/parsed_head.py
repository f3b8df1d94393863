"""Parsed request heads, cached for requests with the same head.

A caller sends the same head repeatedly: only its length, id and trace differ. The meaning of the
rest (route, credentials as sent, required freshness) depends only on its bytes and on the existing
realms. So the parsed head is cached by these bytes while a state is the newest. Whether the caller
is authenticated is never cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.app import http_head as heads
from lakewarden.app.freshness import AT_LEAST, CONSISTENCY, NEWEST, Consistency, read_consistency
from lakewarden.app.http_head import Pair
from lakewarden.app.request_origin import RequestOrigin
from lakewarden.app.routing import NoRoute, RouteMatch, Table
from lakewarden.authn import cookie, header
from lakewarden.authn.header import (
    Basic,
    Bearer,
    Credentials,
    EngineToken,
    Nothing,
    Session,
    Unreadable,
)
from lakewarden.config.settings import Limits
from lakewarden.http.exchange import Refused
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import split_path
from lakewarden.service.state import State
from lakewarden.service.token import PREFIX

MOST_KEPT: Final = 4_096
"""The most cached heads; at this number the cache is cleared."""

ADMIN: Final = "admin"
"""The name of our own API among the dialects."""

MOST_BYTES: Final = 4_096
"""A larger head is not cached."""


@dataclass(frozen=True, slots=True)
class ParsedHead:
    """The parsed head of a request.

    `size` is the bytes of the cached headers, `path` the path below the realm's prefix,
    `body_limit` is in bytes; `takes_body`: the route accepts its content type; `rate_class` is its
    class for rate limits.
    """

    match: RouteMatch
    headers: Mapping[str, str]
    credentials: Credentials
    query: Mapping[str, tuple[str, ...]]
    consistency: Consistency
    size: int
    path: str
    body_limit: int
    takes_body: bool
    rate_class: str


class HeadCache:
    """The parsed heads for one state. Belongs to one event loop."""

    def __init__(
        self,
        table: Table,
        limits: Limits,
        public_url: str = "",
        origin: RequestOrigin | None = None,
    ) -> None:
        self._table = table
        self._limits = limits
        self._origin = RequestOrigin(public_url=public_url) if origin is None else origin
        self._public_url = public_url
        self._state: State | None = None
        self._kept: dict[tuple[str, bytes, bytes, tuple[Pair, ...]], ParsedHead] = {}

    def known(
        self, method: str, path: bytes, query: bytes, headers: Sequence[Pair], state: State
    ) -> ParsedHead | None:
        """The cached parsed head at the same state; None if there is none."""
        if self._state is not state:
            self._kept.clear()
            self._state = state
        return self._kept.get((method, path, query, tuple(headers)))

    def read(
        self, method: str, path: bytes, query: bytes, headers: Sequence[Pair], state: State
    ) -> ParsedHead | NoRoute:
        """Parses a head; raises `Refused` and `BadInput`."""
        limits = self._limits
        heads.check_address(path, query, limits.url_bytes)
        head = heads.read(headers, limits.header_bytes)
        self._origin.check(method, head.headers)
        match = self._find(method, path, state)
        if isinstance(match, NoRoute):
            return match
        heads.check_encoding(head.headers)
        fields = heads.query_of(query)
        credentials = header.read(head.authorization)
        if match.route.engine:
            credentials = _of_engine(credentials, fields)
        elif isinstance(credentials, Nothing):
            credentials = self._session(method, match, head.headers)
        parsed = ParsedHead(
            match=match,
            headers=head.headers,
            credentials=credentials,
            query=fields,
            consistency=_consistency(head.headers, fields),
            size=head.size,
            path="/" + "/".join(match.segments),
            body_limit=match.route.body_limit or limits.body_bytes,
            takes_body=heads.is_accepted(head.headers, match.route),
            rate_class=match.route.counts_as,
        )
        if head.size <= MOST_BYTES and state is self._state:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[method, path, query, tuple(headers)] = parsed
        return parsed

    def _session(self, method: str, match: RouteMatch, headers: Mapping[str, str]) -> Credentials:
        """The session in a cookie, on the routes that accept one.

        The session of the pages counts for our own API and, below `/r/REALM`, for the dialects of
        the systems. A request must confirm it, except when it reads our own API. On the login
        routes, an unconfirmed old session is ignored.
        """
        route, is_own = match.route, match.dialect.name == ADMIN
        of_pages: Credentials = Nothing()
        below_realm = match.realm is not None and bool(match.dialect.models)
        if (is_own or below_realm) and not route.public:
            of_pages = cookie.read_pages(headers, self._public_url)
        if isinstance(of_pages, Session):
            if (is_own and method == "GET") or cookie.is_confirmed(headers, of_pages):
                return of_pages
            if not route.session:
                raise Refused(403, f"expected the header `{cookie.CSRF}` of this session")
        if route.session:
            return cookie.read(headers, self._public_url)
        return of_pages

    def _find(self, method: str, path: bytes, state: State) -> RouteMatch | NoRoute:
        """The route of a path; raises `BadInput` for a path that is refused (R-42)."""
        try:
            return self._table.find(method, split_path(path), state)
        except BadInput:
            escaped = path.upper()
            if b"%2F" not in escaped and b"%5C" not in escaped:
                raise
            match = self._table.find(method, split_path(path, encoded_slash=True), state)
            if isinstance(match, RouteMatch) and match.route.encoded_slash:
                return match
            raise


def _of_engine(credentials: Credentials, query: Mapping[str, tuple[str, ...]]) -> Credentials:
    """The token of an engine: from the header, or from the query if there is no header.

    Clients that support only a user and a password send it as the password.
    """
    if isinstance(credentials, Bearer):
        return EngineToken(credentials.text)
    if isinstance(credentials, Basic) and credentials.password.startswith(PREFIX):
        return EngineToken(credentials.password, in_query=True)
    tokens = query.get("token", ())
    if not isinstance(credentials, Nothing) or not tokens:
        return credentials
    if len(tokens) > 1:
        return Unreadable("more than one `token` in the query", doubled=True)
    return EngineToken(tokens[0], in_query=True)


def _consistency(headers: Mapping[str, str], query: Mapping[str, tuple[str, ...]]) -> Consistency:
    """The required freshness of the answer, from a header or the query."""
    at_least, consistency = headers.get(AT_LEAST), headers.get(CONSISTENCY)
    if consistency is None and "consistency" in query:
        consistency = query["consistency"][0]
    if at_least is None and consistency is None:
        return NEWEST
    return read_consistency(at_least, consistency)
