"""The HTTP that a dialect sees: a parsed and authenticated request, and its reply.

The server does everything that all dialects need before a handler runs: limits, path guard,
authentication, and waiting for a state as fresh as the caller requires. A handler is a plain
function from an `Exchange` to a `Reply`; it never sees the framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from lakewarden.config.defaults import ADMIN, AUTH, BATCH_ROWS, HOST, PAGE_ROWS, PLAYGROUND, PORT
from lakewarden.http.strict_json import read_object
from lakewarden.kernel.errors import Unavailable, WardenError
from lakewarden.service.denials import Denials, DeniedDecision
from lakewarden.service.plugin_polls import Plugin, PluginPolls
from lakewarden.service.provider_login import ProviderLogin
from lakewarden.service.server_figures import ServerFigures
from lakewarden.service.usage import Usage

if TYPE_CHECKING:
    from lakewarden.config.effective import EffectiveSetting
    from lakewarden.config.system_settings import SystemSettings
    from lakewarden.kernel.request import Request
    from lakewarden.service.actor import Actor
    from lakewarden.service.audit import AuditEvent
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.live import Live
    from lakewarden.service.password import Hashing
    from lakewarden.service.push import Connect
    from lakewarden.service.sealed_properties import Sealing
    from lakewarden.service.state import RealmState, State
    from lakewarden.service.write_transaction import WriteTransaction

T = TypeVar("T")
S = TypeVar("S", bound="SystemSettings")

JSON: Final = "application/json"

LARGE_BYTES: Final = 64 * 1_024
"""A write with a larger body never blocks others, unless it was retried many times."""


READS: Final = "reads"
WRITES: Final = "writes"
LOGINS: Final = "logins"
BULK: Final = "bulk"
"""The classes of requests for the rate limits of a caller."""


class Refused(WardenError):
    """The request was refused before its handler saw it.

    `status` is the plain HTTP status: 400, 403 (a page of another site), 413 (body), 414
    (address), 415 (content type or compressed), 421 (host), 429 (too many requests), 431
    (headers), 503 (took too long). A dialect may use another status if its contract says so
    (AuthZEN: 400 for a wrong content type).
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WouldBlock(Exception):
    """An `inline` handler must write or compute for long: a worker thread takes the request over.

    It is raised before anything is written.
    """


@dataclass(frozen=True, slots=True)
class Services:
    """Values of the configuration that dialects need.

    `public_url` is the address under which clients reach this server, without a trailing slash;
    `reserved_names` are names of users with powers from the settings, which nobody can choose;
    `secret_keys` seal secrets, new ones with the first key; `weakened` are sentences about
    protections that are switched off; `systems` are the settings of the systems by name. `live`
    reads the databases of live catalogs; None: there are none.
    `actor_of_token` returns the holder of a token, or None; `root_parent` is the parent of sessions
    that the root token opens: see `service.session`.
    `sealing` seals secrets; None: there is no key, and no secret is stored. `passwords` hashes
    them; None: nobody signs in with a password. `usage` counts what was allowed and done,
    `denials` the reads that were denied. `playground`: scenarios of callers are run. `settings`
    are all effective settings, `without_effect` the ones that change nothing, `figures` counts.
    `provider_login`: people log in to the pages at an identity provider; None: they do not.
    `plugin_polls` records the polls of this process, `plugins` returns those of all processes:
    when each plugin last had the newest documents. `connect_target` connects to the targets of
    pushes, None: none; targets that are added by requests must be on one of the `push_hosts`.
    """

    public_url: str = f"http://{HOST}:{PORT}"
    admin: str = ADMIN
    reserved_names: tuple[str, ...] = (ADMIN,)
    auth: str = AUTH
    secret_keys: tuple[str, ...] = ()
    weakened: tuple[str, ...] = ()
    batch_rows: int = BATCH_ROWS
    page_rows: int = PAGE_ROWS
    systems: Mapping[str, SystemSettings] = field(default_factory=dict)
    live: Live | None = None
    sealing: Sealing | None = None
    passwords: Hashing | None = None
    actor_of_token: Callable[[str, State, float], Actor | None] = lambda *_: None
    root_parent: str | None = None
    usage: Usage = field(default_factory=Usage)
    denials: Denials = field(default_factory=Denials)
    playground: bool = PLAYGROUND
    settings: tuple[EffectiveSetting, ...] = ()
    without_effect: tuple[str, ...] = ()
    figures: Callable[[], ServerFigures] = ServerFigures
    provider_login: ProviderLogin | None = None
    plugin_polls: PluginPolls = field(default_factory=PluginPolls)
    plugins: Callable[[], Mapping[Plugin, float]] = dict
    push_hosts: tuple[str, ...] = ()
    connect_target: Connect | None = None

    def of(self, section: type[S]) -> S:
        """The settings of a system; its defaults if nothing is configured."""
        for settings in self.systems.values():
            if isinstance(settings, section):
                return settings
        return section()


@dataclass(slots=True)
class Exchange:
    """One HTTP request, read and authenticated.

    `path` is below the realm's prefix, decoded; `params` are the path's parameters, decoded;
    names of `headers` are in lower case. `state` is as fresh as the caller requires; `now` is
    the server's clock, read once. `address` is the caller's; `inline` handlers do not get it.
    `on_loop`: the handler runs on the event loop, and may raise `WouldBlock`. `denied_operation` is
    the latest denied operation.
    """

    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, tuple[str, ...]]
    headers: Mapping[str, str]
    body: bytes
    actor: Actor
    realm: str
    state: State
    now: float
    service: DecisionService
    services: Services
    address: str = ""
    on_loop: bool = False
    denied_operation: str = field(default="", init=False)

    def json(self) -> dict[str, object]:
        """The body, a JSON object; raises `BadInput` or `LimitExceeded` (R-30)."""
        return read_object(self.body)

    def one(self, name: str, otherwise: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else otherwise

    def count_use(self, request: Request) -> None:
        """Counts an operation that was allowed and done."""
        user, on = request.principal.name, request.target
        self.services.usage.count(self.realm, user, request.operation, on.type, on.name, self.now)

    def denied(self, *events: AuditEvent) -> None:
        """Records denied reads in the audit trail, one row for many of a kind."""
        rows = []
        for event in events:
            self.denied_operation = event.operation
            count = self.services.denials.count(self.realm, event.actor, event.operation, self.now)
            if count:
                rows.append(replace(event, details={**event.details, "reads": count}))

        def record(transaction: WriteTransaction) -> None:
            for row in rows:
                transaction.record(row)

        if rows:
            with suppress(Unavailable):  # the reads are denied in any case
                self.write(record)

    def denied_decision(self, event: AuditEvent, decision: DeniedDecision) -> str:
        """Like `denied`, for a decision that an engine shows; returns its id, "" if not stored."""
        self.denied_operation = event.operation
        if self.on_loop and self.services.denials.is_due(decision, self.now):
            raise WouldBlock
        count = self.services.denials.count_decision(decision, self.now)
        if count is None:
            return ""
        if count:
            details = {**event.details, **decision.details, "reads": count}
            row = replace(event, details=details)
            try:
                self.write(lambda transaction: transaction.record(row))
            except Unavailable:
                return ""
        return decision.id

    @property
    def realm_state(self) -> RealmState:
        return self.state.realm(self.realm)

    def write(self, job: Callable[[WriteTransaction], T], *, late: bool = False) -> T:
        """Runs the job as one write; `state` includes it afterwards.

        Write through this method, not through `service`: the reply then names the new revision. The
        job may run more than once, so its only side effects may be those on its transaction.
        """
        result = self.service.write(
            self.actor,
            job,
            late=late,
            large=len(self.body) > LARGE_BYTES,
        )
        self.state = self.service.state
        return result


@dataclass(slots=True)
class Reply:
    """The response. `headers` are added to those of every response; each cookie is one header."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()


Handler = Callable[[Exchange], Reply]
"""Runs in a worker thread, or on the event loop if its route is `inline`."""


@dataclass(frozen=True, slots=True)
class Route:
    """A method and a path, and the declared operation that guards it.

    `path` is written `/api/metalakes/{metalake}`. A route without an operation says `why`.
    `inline` handlers do no I/O and take no time, or raise `WouldBlock`; `encoded_slash` allows an
    encoded slash in a parameter; a `public` route also accepts requests without credentials (the
    actor is then `anonymous`). Without an `Authorization` header, a route may accept the cookie of
    a `session`; `unauthenticated` then sends the 401 instead of the dialect. `body_limit`, in
    bytes, replaces the limit of 1 MiB; an `engine` route accepts tokens for engines, also in the
    query's `token`; `accepts` are the content types of a body besides JSON ones, `*/*` for all.
    `concealed` replaces every response with a status other than 200 if the query has a `token`,
    for clients that would show the address to their users.
    `announced` are headers of every response, including errors.
    Requests count towards the limit of the `rate_class`; by default, the other fields determine it.
    """

    method: str
    path: str
    operation: str
    handler: Handler
    inline: bool = False
    why: str = ""
    body_limit: int | None = None
    encoded_slash: bool = False
    public: bool = False
    accepts: tuple[str, ...] = ()
    session: bool = False
    unauthenticated: Callable[[str], Reply] | None = None
    rate_class: str = ""
    engine: bool = False
    concealed: Callable[[Reply], Reply] | None = None
    announced: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts_as(self) -> str:
        """The class of its requests: `READS`, `WRITES`, `LOGINS` or `BULK`."""
        if self.rate_class:
            return self.rate_class
        if self.body_limit is not None:
            return BULK
        return READS if self.inline or self.method == "GET" else WRITES


OWN_MODELS: Final = "*"
"""In `Dialect.models`: every custom model."""


class Dialect(Protocol):
    """One wire protocol.

    `models` are the models whose realms it serves: at the top level for the realm with the
    dialect's name, otherwise for the first by name; below `/r/NAME` for each. `OWN_MODELS` among
    them are custom models, below `/r/NAME` only. Without models it serves every realm, at the top
    level for `_server`. `anonymous` is the user of a request without credentials where names are
    trusted; None: there is none.
    """

    name: str
    models: tuple[str, ...]
    anonymous: str | None

    def routes(self) -> Sequence[Route]: ...

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """The response to an error; only a `WardenError` has details."""
        ...

    def unauthenticated(self, why: str) -> Reply: ...

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """The response to an unknown path (404), or an unsupported method (405, with `allowed`).

        The server adds the header `Allow`.
        """
        ...
