"""One request from its first byte to its response, in front of every dialect.

| step | refused with                                                          |
|------|-----------------------------------------------------------------------|
| 1    | head: 414, 431, 400, 415; host 421; a page of another site 403         |
| 2    | path: split, then decoded; route found, else 404 or 405                |
| 3    | body, within its limits of size and time: 413, 408, 415; before a      |
|      | large one steps 4 and 5 as well                                        |
| 4    | a state as fresh as the request requires: 409, 503                     |
| 5    | the caller: 401; its rate limit: 429                                   |
| 6    | the handler: on the loop if it is inline, else in a worker thread,     |
|      | within the caller's share of the threads: 503                          |

A complete request with a cached head that need not wait is answered immediately
(`RequestPipeline.immediate_response`), without its own task. Every other request passes the same
steps as a coroutine.

Each refusal has the form of the dialect that owns the path. Every unexpected error becomes that
dialect's 500, which discloses nothing; no error of any kind ends in an allow.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakewarden.app import http_head as heads
from lakewarden.app import local_engine, log, metrics, tls
from lakewarden.app.client_address import Network, client_address, unmapped
from lakewarden.app.fair_queue import THREADS, FairQueue
from lakewarden.app.freshness import Consistency, Freshness, FreshState
from lakewarden.app.http_body import Disconnected, Receive, disconnected, read_body
from lakewarden.app.http_head import Pair
from lakewarden.app.parsed_head import HeadCache, ParsedHead
from lakewarden.app.problem import PROBLEM
from lakewarden.app.rate_limit import RateLimited, RateLimiter
from lakewarden.app.request_context import RequestContext
from lakewarden.app.request_origin import RequestOrigin
from lakewarden.app.request_report import report
from lakewarden.app.routing import NoRoute, Table, serves, top_realm
from lakewarden.app.trusted_proxy import TrustedProxy
from lakewarden.authn.authenticator import NOT_GOOD_HERE, Authenticator, Unauthenticated, named
from lakewarden.authn.header import Nothing
from lakewarden.config.rate_limits import RateLimits
from lakewarden.config.settings import Limits
from lakewarden.http.exchange import (
    JSON,
    LOGINS,
    Exchange,
    Handler,
    Refused,
    Reply,
    Services,
    WouldBlock,
)
from lakewarden.kernel.errors import Starting, Unavailable, WardenError
from lakewarden.service.actor import ANONYMOUS, Actor
from lakewarden.service.cancellation import Cancellation, check, working
from lakewarden.service.client_site import site
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import DIRECTORY
from lakewarden.service.state import State
from lakewarden.service.steps import Steps, recording

if TYPE_CHECKING:
    from lakewarden.app.traces import Tracing

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Scope = MutableMapping[str, Any]

Answer = tuple[int, list[Pair], bytes]
"""Status, headers and body."""

_TRIES: Final = 3


@dataclass(slots=True)
class Parts:
    """The parts of the pipeline. `is_open` becomes true once the state is loaded.

    `is_away`: it is not loaded, since the store could not be reached. `local_engine`: the user for
    engines on this machine, which send no credentials. `trusted_proxies`: the proxies that may name
    the caller, by dialect; `principals`: the users of certificates, by names in the certificates.
    """

    table: Table
    service: DecisionService
    authenticator: Authenticator
    services: Services
    limits: Limits
    workers: Executor
    freshness: Freshness
    proxies: tuple[Network, ...] = ()
    trusted_proxies: Mapping[str, TrustedProxy] = field(default_factory=dict)
    principals: Mapping[str, str] = field(default_factory=dict)
    local_engine: str | None = None
    origin: RequestOrigin = field(default_factory=RequestOrigin)
    limiter: RateLimiter = field(default_factory=lambda: RateLimiter(RateLimits()))
    tracing: Tracing | None = None
    is_open: bool = False
    is_away: bool = False

    def closed(self) -> Unavailable:
        """Why nothing is answered before the state is loaded."""
        return Unavailable("the store cannot be reached yet") if self.is_away else Starting()


class RequestPipeline:
    """The dialects as an ASGI application; it answers all requests."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        limits = parts.limits
        self._arrivals = HeadCache(parts.table, limits, parts.services.public_url, parts.origin)
        self._queue: FairQueue[Reply] = FairQueue(
            parts.workers,
            threads=THREADS,
            share=limits.caller_threads,
            waiting=limits.waiting_requests,
            caller_waiting=limits.caller_waiting_requests,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogatepass")
        peer = unmapped((scope.get("client") or ("",))[0])
        context = RequestContext(scope["method"], raw_path, time.perf_counter(), peer)
        if "extensions" in scope:
            context.certificate = scope["extensions"].get(tls.CERTIFICATE, ())
        if self._parts.tracing is not None:
            context.steps = Steps()
        query, headers = scope["query_string"], scope["headers"]
        try:
            reply = await self._answer(context, query, headers, receive)
            shown = context.shown(reply)
            head = context.head(shown)
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001 — INVARIANT: an error can only deny
            reply = self._failed(context, error)
            shown = context.shown(reply)
            head = context.head(shown)
        await send({"type": "http.response.start", "status": shown.status, "headers": head})
        body = b"" if context.method == "HEAD" else shown.body
        await send({"type": "http.response.body", "body": body})
        report(context, reply.status, self._parts.proxies, self._parts.tracing)

    def immediate_response(
        self,
        method: str,
        url: bytes,
        headers: Sequence[Pair],
        body: bytes,
        peer: str,
        certificate: tuple[str, ...] = (),
    ) -> Answer | None:
        """The response to a complete request that need not wait; None: use the regular path.

        Only for a head that was parsed on the regular path before, and a handler that runs inline.
        `url` is as sent, header names are in lower case. Not for HEAD.
        """
        parts = self._parts
        context = RequestContext(
            method, b"", time.perf_counter(), unmapped(peer), certificate=certificate
        )
        try:
            path, _, query = url.partition(b"?")
            context.raw_path = path
            parsed = self._cached_head(context, query, headers)
            if parsed is None or not parsed.match.route.inline or not parts.is_open:
                return None
            if len(body) > parsed.body_limit or (body and not parsed.takes_body):
                return None
            now = parts.service.clock()
            state = parts.freshness.current_state(parsed.consistency, now)
            if state is None:
                return None
            context.steps = None if parts.tracing is None else Steps()
            entered = self._admit(context, parsed, body, FreshState(state), now)
            reply = entered if isinstance(entered, Reply) else _inline(context, parsed, entered)
            shown = context.shown(reply)
            head = context.head(shown)
        except WouldBlock:
            return None
        except Exception as error:  # noqa: BLE001 — INVARIANT: an error can only deny
            reply = self._failed(context, error)
            shown = context.shown(reply)
            head = context.head(shown)
        report(context, reply.status, parts.proxies, parts.tracing)
        return shown.status, head, shown.body

    async def _answer(
        self, context: RequestContext, query: bytes, headers: Sequence[Pair], receive: Receive
    ) -> Reply:
        limits = self._parts.limits
        own, shared = heads.parted(headers)
        parsed = self._parse_head(context, query, own, shared)
        if isinstance(parsed, NoRoute):
            return self._missing(context, parsed)
        limit = parsed.body_limit
        if limit > limits.body_bytes:
            # Large bodies are read only for callers that authenticate on the current state; the
            # last state that this process knew may lack their token.
            current, now = await self._current_state(context, parsed.consistency)
            early = self._authenticated(context, parsed, current.state, now)
            if isinstance(early, Unauthenticated):
                return self._unauthenticated(context, parsed, early)
        announced = own.get(b"content-length", b"0")
        body = await read_body(receive, announced, limit, limits.request_seconds)
        if body and not parsed.takes_body:
            raise Refused(415, f"expected the content type `{JSON}`")
        fresh, now = await self._current_state(context, parsed.consistency)
        entered = self._admit(context, parsed, body, fresh, now)
        if isinstance(entered, Reply):
            return entered
        if parsed.match.route.inline:
            with suppress(WouldBlock):
                return _inline(context, parsed, entered)
            entered.on_loop = False
            peer, forwarded = context.peer, context.forwarded
            entered.address = client_address(peer, forwarded, self._parts.proxies)
        return await self._in_thread(context, parsed, entered, receive)

    def _cached_head(
        self, context: RequestContext, query: bytes, headers: Sequence[Pair]
    ) -> ParsedHead | None:
        """The cached parsed head, if there is one."""
        own, shared = heads.parted(headers)
        parsed = self._arrivals.known(
            context.method, context.raw_path, query, shared, self._parts.service.state
        )
        if parsed is not None:
            self._set_out(context, parsed, own)
        return parsed

    def _parse_head(
        self, context: RequestContext, query: bytes, own: dict[bytes, bytes], shared: Sequence[Pair]
    ) -> ParsedHead | NoRoute:
        """The parsed head; raises `Refused` and `BadInput`."""
        state = self._parts.service.state
        method, path = context.method, context.raw_path
        parsed = self._arrivals.known(method, path, query, shared, state)
        if parsed is None:
            context.identify(own)
            route = self._arrivals.read(method, path, query, shared, state)
            if isinstance(route, NoRoute):
                context.dialect, context.realm = route.dialect, route.realm
                return route
            parsed = route
        self._set_out(context, parsed, own)
        return parsed

    def _set_out(
        self, context: RequestContext, parsed: ParsedHead, own: dict[bytes, bytes]
    ) -> None:
        """Parses the head; raises `Refused` if the headers are too large."""
        context.match = match = parsed.match
        context.dialect, context.realm = match.dialect, match.realm
        context.operation = match.route.operation
        context.rate_class = parsed.rate_class
        context.extra.update(match.route.announced)
        context.forwarded = parsed.headers.get("x-forwarded-for")
        if match.route.concealed is not None and "token" in parsed.query:
            context.concealed = match.route.concealed
        if own:
            size = parsed.size + heads.size_of(own.items())
            heads.check_size(size, self._parts.limits.header_bytes)
        if not context.request_id:
            context.identify(own)

    async def _current_state(
        self, context: RequestContext, consistency: Consistency
    ) -> tuple[FreshState, float]:
        """The state that answers, and the time for which it answers."""
        if not self._parts.is_open:
            raise self._parts.closed()
        now = self._parts.service.clock()
        state = self._parts.freshness.current_state(consistency, now)
        if state is not None:
            return FreshState(state), now
        for _ in range(_TRIES):
            asked = time.perf_counter()
            fresh = await self._parts.freshness.state(consistency)
            if context.steps is not None:
                context.steps.add_finished("prove the revision", asked)
            now = self._parts.service.clock()
            if fresh.state.covers(now):
                return fresh, now
        raise Unavailable("the data is not ready for the time of the request")

    def _admit(
        self,
        context: RequestContext,
        parsed: ParsedHead,
        body: bytes,
        fresh: FreshState,
        now: float,
    ) -> Exchange | Reply:
        """The request for its handler, or the reply that refuses it."""
        state = fresh.state
        context.stale, context.revision = fresh.stale, state.revision
        actor = self._authenticated(context, parsed, state, now)
        if isinstance(actor, Unauthenticated):
            return self._unauthenticated(context, parsed, actor)
        self._count(context, parsed, actor)
        dialect = parsed.match.dialect
        realm = None if context.realm is None else state.realms.get(context.realm)
        if context.realm is None or not serves(dialect, realm):
            return dialect.missing(context.method, context.path, ())
        context.actor = actor
        context.exchange = exchange = Exchange(
            method=context.method,
            path=parsed.path,
            params=parsed.match.params,
            query=parsed.query,
            headers=parsed.headers,
            body=body,
            actor=actor,
            realm=context.realm,
            state=state,
            now=now,
            service=self._parts.service,
            services=self._parts.services,
        )
        if not parsed.match.route.inline:
            exchange.address = client_address(context.peer, context.forwarded, self._parts.proxies)
        return exchange

    def _authenticated(
        self, context: RequestContext, parsed: ParsedHead, state: State, now: float
    ) -> Actor | Unauthenticated:
        """The caller, and the realm that it reaches; both on the same state."""
        match = parsed.match
        context.realm = name = match.realm or top_realm(match.dialect, state)
        realm = None if name is None else state.realms.get(name)
        context.model = "" if realm is None else realm.realm.model
        # A dialect that serves all realms checks the realm that the body names.
        is_open = match.realm is None and not match.dialect.models
        trusted_proxies = self._parts.trusted_proxies.get(match.dialect.name)
        credentials = parsed.credentials
        if context.certificate:
            names, principals = context.certificate, self._parts.principals
            credentials = tls.credentials(credentials, names, principals)
        if match.route.engine:
            user = self._parts.local_engine
            credentials = local_engine.credentials(credentials, user, context.peer, parsed.headers)
        if trusted_proxies is not None:
            credentials = trusted_proxies.credentials(credentials, parsed.headers, context.peer)
        begun = 0.0 if context.steps is None else time.perf_counter()
        actor = self._parts.authenticator.authenticate(
            credentials,
            state,
            now,
            realm=None if is_open or realm is None else realm.realm,
            anonymous=match.dialect.anonymous,
            dialect=match.dialect.name,
        )
        if context.steps is not None:
            context.steps.add_finished("authenticate", begun)
        if isinstance(actor, Unauthenticated):
            if not match.route.public or not isinstance(parsed.credentials, Nothing):
                return actor
            actor = self._parts.authenticator.anonymous
        if match.realm is not None and realm is None:
            # The same as for an unknown realm, so callers cannot tell the two apart.
            return Unauthenticated(NOT_GOOD_HERE)
        return named(actor, context.request_id, match.dialect.name)

    def _count(self, context: RequestContext, parsed: ParsedHead, actor: Actor | None) -> None:
        """Counts the request for its caller, or its address; raises `RateLimited`."""
        kind = parsed.rate_class
        if actor is None or kind is LOGINS or actor.credential == ANONYMOUS:
            address = client_address(context.peer, context.forwarded, self._parts.proxies)
            counter = f"\0{site(address)}"
        elif actor.directory == DIRECTORY:
            counter = actor.user
        else:
            counter = f"{actor.directory}\0{actor.user}"
        self._parts.limiter.check(kind, counter, context.begun)

    def _unauthenticated(
        self, context: RequestContext, parsed: ParsedHead, no: Unauthenticated
    ) -> Reply:
        self._count(context, parsed, None)
        log.get().info(
            "not authenticated", why=no.why, detail=no.detail, request_id=context.request_id
        )
        refusal = parsed.match.route.unauthenticated or parsed.match.dialect.unauthenticated
        return refusal(no.why)

    async def _in_thread(
        self, context: RequestContext, parsed: ParsedHead, exchange: Exchange, receive: Receive
    ) -> Reply:
        """The reply of the handler, from a worker thread; cancelled if the client disconnects."""
        cancellation = Cancellation()
        handled = partial(
            _handled,
            parsed.match.route.handler,
            exchange,
            cancellation,
            context.steps,
            time.perf_counter(),
        )
        work = self._queue.submit(_queued_as(exchange), handled)
        disconnect = asyncio.ensure_future(disconnected(receive))
        both: set[asyncio.Future[Any]] = {work, disconnect}
        try:
            done, _ = await asyncio.wait(
                both,
                timeout=self._parts.limits.request_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            disconnect.cancel()
            if not work.done():
                cancellation.cancel()
                work.cancel()
                with suppress(RuntimeError):  # no new threads while the server stops
                    self._parts.workers.submit(cancellation.interrupt)
        if work in done:
            reply = work.result()
            context.revision = exchange.state.revision
            return reply
        if disconnect in done:
            raise Disconnected
        raise Refused(503, "the request timed out; it may or may not have taken effect")

    def _missing(self, context: RequestContext, lost: NoRoute) -> Reply:
        dialect = lost.dialect or PROBLEM
        if lost.allowed:
            context.extra["allow"] = ", ".join(lost.allowed)
        return dialect.missing(context.method, context.path, lost.allowed)

    def _failed(self, context: RequestContext, error: Exception) -> Reply:
        if not isinstance(error, WardenError):
            metrics.ERRORS.labels(context.wire, context.operation).inc()
            log.get().error(
                "unexpected error",
                operation=context.operation,
                request_id=context.request_id,
                exc_info=error,
            )
        if isinstance(error, Unavailable):
            context.extra["retry-after"] = "1"
        if isinstance(error, RateLimited):
            metrics.RATE_LIMITED.labels(context.wire, error.kind).inc()
            context.extra["retry-after"] = str(math.ceil(error.seconds))
        if context.exchange is not None:
            context.revision = context.exchange.state.revision
        if context.dialect is None:
            context.dialect = self._parts.table.closest_dialect(context.path)
        dialect = context.dialect or PROBLEM
        try:
            return dialect.failed(context.exchange, error)
        except Exception as second:  # noqa: BLE001 — a dialect that fails to report an error
            log.get().error(
                "error while reporting an error", request_id=context.request_id, exc_info=second
            )
            return PROBLEM.failed(None, Refused(500, "internal error"))


def _inline(context: RequestContext, parsed: ParsedHead, exchange: Exchange) -> Reply:
    """The reply of the handler, on the event loop."""
    exchange.on_loop = True
    handler, steps = parsed.match.route.handler, context.steps
    if steps is None:  # COST: an untraced request enters no context manager
        reply = handler(exchange)
    else:
        with recording(steps):
            reply = handler(exchange)
    context.revision = exchange.state.revision
    return reply


def _handled(
    handler: Handler,
    exchange: Exchange,
    cancellation: Cancellation,
    steps: Steps | None,
    submitted: float,
) -> Reply:
    """The reply of the handler, unless it is cancelled before or during its turn."""
    if steps is not None:
        steps.add_finished("wait for a thread", submitted)
    with working(cancellation), recording(steps):
        check()
        return handler(exchange)


def _queued_as(exchange: Exchange) -> str:
    """The caller for whom threads are shared; the address of unauthenticated ones."""
    actor = exchange.actor
    if actor.credential == ANONYMOUS:
        return f"address {exchange.address}"
    return f"user {actor.directory} {actor.user}"
