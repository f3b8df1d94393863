"""One route of the administration API: the types of its bodies, and the operation that guards it.

The routes and `openapi.json` are both generated from the table of endpoints.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import gt, lt
from typing import Final, TypeVar

import msgspec

from lakewarden.http import strict_json
from lakewarden.http.admin import deprecations, problem
from lakewarden.http.admin.bodies.base import NextPage, RequestBody, ResponseBody
from lakewarden.http.admin.deprecations import DEPRECATED, Deprecation
from lakewarden.http.exchange import JSON, Exchange, Reply, Route
from lakewarden.http.sign_in import keep_alive
from lakewarden.kernel.errors import BadInput
from lakewarden.service.control import Denied
from lakewarden.service.page_size import MAX_PAGE, PAGE_ROWS, check_page_size

PREFIX: Final = "/api/v1"
_OF_THE_SERVER: Final = frozenset({"consistency"})
"""Query parameters that the server itself reads."""

T = TypeVar("T")
S = TypeVar("S", bound=RequestBody)
P = TypeVar("P", str, int)


@dataclass(frozen=True, slots=True)
class WithCookie:
    """A response body, or None, with a cookie."""

    body: ResponseBody | None
    cookie: str


HandlerResult = ResponseBody | Denied | WithCookie | Reply | None
"""The result of a handler: a body, a denial, a whole reply, or None for success."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter; `kind` is `string` or `integer`.

    A value must be one of `choices`, if there are any. `pattern`, `minimum` and `maximum` describe
    it; the handler checks them.
    """

    name: str
    title: str
    kind: str = "string"
    required: bool = False
    choices: Sequence[str] = ()
    pattern: str = ""
    minimum: int | None = None
    maximum: int | None = None

    @property
    def schema(self) -> dict[str, object]:
        """The accepted values, as JSON Schema."""
        limits = {
            "minLength": 1 if self.required else None,
            "enum": list(self.choices),
            "pattern": self.pattern,
            "minimum": self.minimum,
            "maximum": self.maximum,
        }
        return {"type": self.kind, **{k: v for k, v in limits.items() if v not in ([], "", None)}}


MAX_NUMBER: Final = 999_999_999
"""The largest whole number that a query parameter accepts."""


def some_of(name: str, title: str, values: Iterable[str]) -> Parameter:
    """A query parameter that accepts some of the words, separated by commas."""
    any_value = "|".join(sorted(values))
    title = f"{title}: comma-separated list of {any_value.replace('|', ', ')}"
    return Parameter(name, title, pattern=f"^({any_value})(,({any_value}))*$")


SKIP: Final = Parameter(
    "page.skip",
    "number of rows to skip before the page, without a token",
    "integer",
    minimum=0,
    maximum=MAX_NUMBER,
)

CONTINUED: Final = (
    Parameter("page.token", "`next_token` of the previous page"),
    Parameter("page.limit", "maximum number of results", "integer", minimum=1, maximum=MAX_PAGE),
)
"""The parameters of a list that is read from its beginning."""

PAGED: Final = (*CONTINUED, SKIP)
"""The parameters of a list that can be read from any position."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method and a path below `/api/v1`, with the operation that guards it.

    If the operation depends on the request's subject, the use case checks the variant for it.
    `request` and `response` are the types of the bodies, None without one.
    """

    method: str
    path: str
    operation: str
    handler: Callable[..., HandlerResult]
    title: str
    request: type[RequestBody] | None = None
    response: type[ResponseBody] | None = None
    query: Sequence[Parameter] = ()
    status: int = 200
    encoded_slash: bool = False
    body_limit: int | None = None
    public: bool = False
    rate_class: str = ""

    @property
    def key(self) -> str:
        """Its name in tables: method and path."""
        return f"{self.method} {self.path}"

    @property
    def address(self) -> str:
        """The whole path."""
        return PREFIX + self.path

    def route(self) -> Route:
        """The route in the form of the server."""
        return Route(
            self.method,
            self.address,
            self.operation,
            self.handle,
            encoded_slash=self.encoded_slash,
            body_limit=self.body_limit,
            public=self.public,
            rate_class=self.rate_class,
            announced=deprecations.headers(self._deprecated()),
        )

    def _deprecated(self) -> Sequence[Deprecation]:
        """The deprecations that affect every request: of the endpoint, and of response members."""
        own = DEPRECATED.get(self.key)
        fields = () if self.response is None else self.response.__struct_fields__
        return [
            *(() if own is None else (own,)),
            *deprecations.of_members(self.response, fields).values(),
        ]

    def handle(self, exchange: Exchange) -> Reply:
        """Reads the request, calls the handler, writes the response."""
        reply = self._handled(exchange)
        if not DEPRECATED:
            return reply
        sent = () if self.request is None else exchange.json()
        found = (
            *self._deprecated(),
            *deprecations.of_parameters(self.key, exchange.query).values(),
            *deprecations.of_members(self.request, sent).values(),
        )
        return replace(reply, headers={**reply.headers, **deprecations.headers(found)})

    def _handled(self, exchange: Exchange) -> Reply:
        self._check_query(exchange)
        arguments: list[object] = [exchange]
        if self.request is not None:
            arguments.append(read(exchange, self.request))
        elif exchange.body.strip():
            raise BadInput("expected no body", where="body")
        answer = self.handler(*arguments)
        keep_alive(exchange)
        cookies: tuple[str, ...] = ()
        if isinstance(answer, WithCookie):
            cookies, answer = (answer.cookie,), answer.body
        if isinstance(answer, Denied):
            return problem.denied(exchange, answer)
        if isinstance(answer, Reply):
            return answer
        if answer is None:
            return Reply(204, cookies=cookies)
        return Reply(self.status, msgspec.json.encode(answer), JSON, cookies=cookies)

    def _check_query(self, exchange: Exchange) -> None:
        declared = {parameter.name for parameter in self.query}
        for name, values in exchange.query.items():
            if name not in declared | _OF_THE_SERVER:
                expected = ", ".join(sorted(declared)) or "none"
                raise BadInput(f"unknown parameter; expected one of: {expected}", where=name)
            if len(values) > 1:
                raise BadInput("must not be repeated", where=name)
        for parameter in self.query:
            name, value = parameter.name, exchange.one(parameter.name)
            takes_words = name in exchange.query and (parameter.choices or parameter.pattern)
            if not value and (parameter.required or takes_words):
                raise BadInput("expected a value", where=name)
            if value and parameter.choices and value not in parameter.choices:
                expected = ", ".join(parameter.choices)
                raise BadInput(f"expected one of: {expected}", where=name)


def read(exchange: Exchange, request: type[S]) -> S:
    """The body as its type; raises `BadInput` with the path of what does not fit."""
    try:
        return msgspec.convert(exchange.json(), request)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at ")
        where = path.strip("`").removeprefix("$").removeprefix(".")
        message = reason[:1].lower() + reason[1:]
        raise BadInput(message, where=f"body.{where}" if where else "body") from None


@contextmanager
def naming_body() -> Iterator[None]:
    """Maps fields of the question, in errors of a use case, to fields of the body."""
    try:
        yield
    except BadInput as error:
        raise BadInput(error.message, where=f"body.{error.where}".rstrip(".")) from None


@contextmanager
def in_field(path: str) -> Iterator[None]:
    """Errors inside the block are about this field of the body."""
    try:
        yield
    except BadInput as error:
        raise BadInput(error.message, where=path) from None


def number(exchange: Exchange, name: str, otherwise: int) -> int:
    """A query parameter that is a whole number; raises `BadInput`, also for an empty one."""
    if name not in exchange.query:
        return otherwise
    text = exchange.one(name)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadInput(f"expected a whole number, got `{text}`", where=name)
    return int(text)


def values_of(exchange: Exchange, name: str, values: Iterable[str]) -> frozenset[str]:
    """A query parameter with some of the words, separated by commas; raises `BadInput`."""
    chosen = frozenset(exchange.one(name).split(",")) if name in exchange.query else frozenset()
    if not chosen <= frozenset(values):
        raise BadInput(f"expected some of: {', '.join(sorted(values))}", where=name)
    return chosen


def moment(seconds: float) -> datetime:
    """Seconds since the epoch as a time in UTC; beyond the calendar, its first or last time."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


def moment_or_none(seconds: float | None) -> datetime | None:
    """Like `moment`; None stays None."""
    return None if seconds is None else moment(seconds)


def seconds(exchange: Exchange, name: str, otherwise: float) -> float:
    """A query parameter that is a time, in seconds since the epoch; raises `BadInput`."""
    if name not in exchange.query:
        return otherwise
    try:
        time = datetime.fromisoformat(exchange.one(name))
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        expected = "expected a time with an offset, like 2026-11-24T18:00:00Z"
        raise BadInput(expected, where=name)
    return time.timestamp()


# Pages


def token_after(place: str | int | None, *question: object) -> NextPage:
    """The token of the page after `place`; valid for the same question only."""
    if place is None:
        return NextPage()
    text = json.dumps([place, _digest(question)], ensure_ascii=False)
    return NextPage(next_token=base64.urlsafe_b64encode(text.encode()).decode().rstrip("="))


def place_of(token: str, kind: type[P], *question: object, where: str = "page.token") -> P | None:
    """The place of a page token, of the expected type; None without a token.

    The digest separates pages of different questions and is no secret, so the place is validated
    as well: it may come from anybody. Raises `BadInput`.
    """
    if not token:
        return None
    try:
        padded = token + "=" * (-len(token) % 4)
        content = strict_json.read(base64.b64decode(padded, b"-_", validate=True))
    except (BadInput, ValueError):
        raise BadInput("not a token of this server", where=where) from None
    if not isinstance(content, list) or len(content) != 2:
        raise BadInput("not a token of this server", where=where)
    place, digest = content
    if digest != _digest(question):
        raise BadInput("the token belongs to another query", where=where)
    if (isinstance(place, int) and place < 0) or type(place) is not kind:
        raise BadInput("not a token of this server", where=where)
    return place


def _digest(question: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(question).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def cut(
    rows: Sequence[T],
    key: Callable[[T], str],
    token: str,
    limit: int,
    *question: object,
    skip: int = 0,
    descends: bool = False,
) -> tuple[Sequence[T], NextPage]:
    """A page of a list that is sorted by `key`, and the next token. Raises `BadInput`.

    `skip` applies without a token. A list that `descends` is sorted in reverse.
    """
    check_page_size(limit, where="page.limit")
    after = place_of(token, str, *question)
    follows = lt if descends else gt
    remaining = rows[skip:] if after is None else [row for row in rows if follows(key(row), after)]
    on_page = remaining[:limit]
    more = len(remaining) > limit
    return on_page, token_after(key(on_page[-1]) if more else None, *question)


def cut_of(
    exchange: Exchange,
    rows: Sequence[T],
    key: Callable[[T], str],
    *question: object,
    descends: bool = False,
) -> tuple[Sequence[T], NextPage]:
    """Like `cut`, with token and limit of the query."""
    limit, skip = number(exchange, "page.limit", PAGE_ROWS), number(exchange, "page.skip", 0)
    token, asked = exchange.one("page.token"), (exchange.path, *question)
    return cut(rows, key, token, limit, *asked, skip=skip, descends=descends)
