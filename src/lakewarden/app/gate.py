"""One request from its first byte to its answer, in front of every dialect.

| step | refused with                                                          |
|------|-----------------------------------------------------------------------|
| 1    | head: 414, 431, 400, 415; host 421; a page of another site 403         |
| 2    | path: split, then decoded; route found, else 404 or 405                |
| 3    | body, within its limits of size and time: 413, 408, 415; before a      |
|      | large one steps 4 and 5 as well                                        |
| 4    | a state new enough for what was asked: 409, 503                        |
| 5    | the caller: 401; asks too often: 429                                   |
| 6    | the handler: on the loop where it is inline, else in a worker thread,  |
|      | where the caller has a share of the threads: 503                       |

A complete request whose head is known, and that waits for nothing, is answered at once
(`Gate.at_once`), without a task of its own; every other one by the same steps as a coroutine.

Each refusal has the form of the dialect whose path it is. Whatever goes wrong unforeseen ends
in that dialect's 500, which tells nothing; no error of any kind ends in an allow.
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
from typing import Any, Final

from lakewarden.app import head as heads
from lakewarden.app import log, metrics, tls
from lakewarden.app.arrival import Arrival, Arrivals
from lakewarden.app.body import Disconnected, Receive, disconnected, read_body
from lakewarden.app.fair_queue import THREADS, FairQueue
from lakewarden.app.freshness import Fresh, Freshness, Wanted
from lakewarden.app.head import Pair
from lakewarden.app.journey import Journey
from lakewarden.app.peer import Network, caller
from lakewarden.app.problem import PROBLEM
from lakewarden.app.rate_limit import RateLimited, RateLimiter, site
from lakewarden.app.request_origin import RequestOrigin
from lakewarden.app.routing import Lost, Table, top_realm
from lakewarden.app.vouching import Vouching
from lakewarden.authn.authenticator import NOT_GOOD_HERE, Authenticator, Unauthenticated, named
from lakewarden.authn.header import Nothing
from lakewarden.config.rate_limits import RateLimits
from lakewarden.config.settings import Limits
from lakewarden.kernel.errors import Starting, Unavailable, WardenError
from lakewarden.service.actor import ANONYMOUS, Actor
from lakewarden.service.cancellation import Cancellation, check, working
from lakewarden.service.plane import Plane
from lakewarden.service.realm import DIRECTORY
from lakewarden.service.state import State
from lakewarden.wire.exchange import JSON, LOGINS, Exchange, Handler, Refused, Reply, Services

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Scope = MutableMapping[str, Any]

Answer = tuple[int, list[Pair], bytes]
"""Status, headers and body."""

_TRIES: Final = 3


@dataclass(slots=True)
class Parts:
    """What the gate works with. `is_open` turns true once the state was loaded.

    `is_away`: it was not, since the store could not be reached.
    `vouching`: the proxies that are believed when they name the caller, by dialect; `principals`:
    the users of certificates, by names in these.
    """

    table: Table
    plane: Plane
    authenticator: Authenticator
    services: Services
    limits: Limits
    workers: Executor
    freshness: Freshness
    proxies: tuple[Network, ...] = ()
    vouching: Mapping[str, Vouching] = field(default_factory=dict)
    principals: Mapping[str, str] = field(default_factory=dict)
    origin: RequestOrigin = field(default_factory=RequestOrigin)
    limiter: RateLimiter = field(default_factory=lambda: RateLimiter(RateLimits()))
    is_open: bool = False
    is_away: bool = False

    def closed(self) -> Unavailable:
        """Why nothing is answered before the state was loaded."""
        return Unavailable("the store cannot be reached yet") if self.is_away else Starting()


class Gate:
    """The dialects as an ASGI application; it answers every request under its routes."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        limits = parts.limits
        self._arrivals = Arrivals(parts.table, limits, parts.services.public_url, parts.origin)
        self._queue: FairQueue[Reply] = FairQueue(
            parts.workers,
            threads=THREADS,
            share=limits.caller_threads,
            waiting=limits.waiting_requests,
            caller_waiting=limits.caller_waiting_requests,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "surrogatepass")
        peer = (scope.get("client") or ("",))[0]
        journey = Journey(scope["method"], raw_path, time.perf_counter(), peer)
        if "extensions" in scope:
            journey.certificate = scope["extensions"].get(tls.CERTIFICATE, ())
        try:
            reply = await self._answer(journey, scope["query_string"], scope["headers"], receive)
            head = journey.head(reply)
        except Disconnected:
            return
        except Exception as error:  # noqa: BLE001 — INVARIANT: an error is never an answer but deny
            reply = self._failed(journey, error)
            head = journey.head(reply)
        await send({"type": "http.response.start", "status": reply.status, "headers": head})
        body = b"" if journey.method == "HEAD" else reply.body
        await send({"type": "http.response.body", "body": body})
        journey.tell(reply.status, self._parts.proxies)

    def at_once(
        self,
        method: str,
        url: bytes,
        headers: Sequence[Pair],
        body: bytes,
        peer: str,
        certificate: tuple[str, ...] = (),
    ) -> Answer | None:
        """The answer to a complete request that waits for nothing; None: it takes the usual way.

        Only for a head that came that way before, and a handler that runs inline. `url` is as
        it was sent, names of headers are in lower case. Not for HEAD.
        """
        parts = self._parts
        journey = Journey(method, b"", time.perf_counter(), peer, certificate=certificate)
        try:
            path, _, query = url.partition(b"?")
            journey.raw_path = path
            arrival = self._known(journey, query, headers)
            if arrival is None or not arrival.found.route.inline or not parts.is_open:
                return None
            if len(body) > arrival.body_limit or (body and not arrival.takes_body):
                return None
            now = parts.plane.clock()
            state = parts.freshness.at_once(arrival.wish, now)
            if state is None:
                return None
            entered = self._entered(journey, arrival, body, Fresh(state), now)
            reply = entered if isinstance(entered, Reply) else _inline(journey, arrival, entered)
            head = journey.head(reply)
        except Exception as error:  # noqa: BLE001 — INVARIANT: an error is never an answer but deny
            reply = self._failed(journey, error)
            head = journey.head(reply)
        journey.tell(reply.status, parts.proxies)
        return reply.status, head, reply.body

    async def _answer(
        self, journey: Journey, query: bytes, headers: Sequence[Pair], receive: Receive
    ) -> Reply:
        limits = self._parts.limits
        own, shared = heads.parted(headers)
        arrival = self._arrived(journey, query, own, shared)
        if isinstance(arrival, Lost):
            return self._missing(journey, arrival)
        limit = arrival.body_limit
        if limit > limits.body_bytes:
            # Large bodies are read for callers only that would be believed as things are; what
            # this process knew last may lack their token.
            known, now = await self._fresh(arrival.wish)
            early = self._authenticated(journey, arrival, known.state, now)
            if isinstance(early, Unauthenticated):
                return self._unauthenticated(journey, arrival, early)
        announced = own.get(b"content-length", b"0")
        body = await read_body(receive, announced, limit, limits.request_seconds)
        if body and not arrival.takes_body:
            raise Refused(415, f"expected the content type `{JSON}`")
        fresh, now = await self._fresh(arrival.wish)
        entered = self._entered(journey, arrival, body, fresh, now)
        if isinstance(entered, Reply):
            return entered
        if arrival.found.route.inline:
            return _inline(journey, arrival, entered)
        return await self._aside(journey, arrival, entered, receive)

    def _known(self, journey: Journey, query: bytes, headers: Sequence[Pair]) -> Arrival | None:
        """What is known of the head, if it was read before."""
        own, shared = heads.parted(headers)
        arrival = self._arrivals.known(
            journey.method, journey.raw_path, query, shared, self._parts.plane.state
        )
        if arrival is not None:
            self._set_out(journey, arrival, own)
        return arrival

    def _arrived(
        self, journey: Journey, query: bytes, own: dict[bytes, bytes], shared: Sequence[Pair]
    ) -> Arrival | Lost:
        """What the head says; raises `Refused` and `BadInput`."""
        state = self._parts.plane.state
        method, path = journey.method, journey.raw_path
        arrival = self._arrivals.known(method, path, query, shared, state)
        if arrival is None:
            journey.request_id = heads.request_id(own.get(heads.REQUEST_ID_BYTES))
            found = self._arrivals.read(method, path, query, shared, state)
            if isinstance(found, Lost):
                journey.dialect, journey.realm = found.dialect, found.realm
                return found
            arrival = found
        self._set_out(journey, arrival, own)
        return arrival

    def _set_out(self, journey: Journey, arrival: Arrival, own: dict[bytes, bytes]) -> None:
        """Notes what the head says; raises `Refused` where the headers are too large together."""
        found = arrival.found
        journey.dialect, journey.realm = found.dialect, found.realm
        journey.operation = found.route.operation
        journey.forwarded = arrival.headers.get("x-forwarded-for")
        if own:
            size = arrival.size + heads.size_of(own.items())
            heads.check_size(size, self._parts.limits.header_bytes)
        if not journey.request_id:
            journey.request_id = heads.request_id(own.get(heads.REQUEST_ID_BYTES))

    async def _fresh(self, wish: Wanted) -> tuple[Fresh, float]:
        """The state that answers, and the moment for which it does."""
        if not self._parts.is_open:
            raise self._parts.closed()
        now = self._parts.plane.clock()
        state = self._parts.freshness.at_once(wish, now)
        if state is not None:
            return Fresh(state), now
        for _ in range(_TRIES):
            fresh = await self._parts.freshness.state(wish)
            now = self._parts.plane.clock()
            if fresh.state.covers(now):
                return fresh, now
        raise Unavailable("the state is not ready for this moment")

    def _entered(
        self, journey: Journey, arrival: Arrival, body: bytes, fresh: Fresh, now: float
    ) -> Exchange | Reply:
        """The request as its handler gets it, or why it does not get there."""
        state = fresh.state
        journey.stale, journey.revision = fresh.stale, state.revision
        actor = self._authenticated(journey, arrival, state, now)
        if isinstance(actor, Unauthenticated):
            return self._unauthenticated(journey, arrival, actor)
        self._count(journey, arrival, actor)
        dialect = arrival.found.dialect
        if journey.realm is None or (dialect.models and journey.model not in dialect.models):
            return dialect.missing(journey.method, journey.path, ())
        journey.actor = actor
        journey.exchange = exchange = Exchange(
            method=journey.method,
            path=arrival.path,
            params=arrival.found.params,
            query=arrival.query,
            headers=arrival.headers,
            body=body,
            actor=actor,
            realm=journey.realm,
            state=state,
            now=now,
            plane=self._parts.plane,
            services=self._parts.services,
        )
        if not arrival.found.route.inline:
            exchange.address = caller(journey.peer, journey.forwarded, self._parts.proxies)
        return exchange

    def _authenticated(
        self, journey: Journey, arrival: Arrival, state: State, now: float
    ) -> Actor | Unauthenticated:
        """The caller, and which realm it reaches; both on the same state."""
        found = arrival.found
        journey.realm = name = found.realm or top_realm(found.dialect, state)
        realm = None if name is None else state.realms.get(name)
        journey.model = "" if realm is None else realm.realm.model
        # A dialect that speaks for all realms looks at the realm that the body names.
        is_open = found.realm is None and not found.dialect.models
        vouching = self._parts.vouching.get(found.dialect.name)
        credentials = arrival.credentials
        if journey.certificate:
            names, principals = journey.certificate, self._parts.principals
            credentials = tls.credentials(credentials, names, principals)
        if vouching is not None:
            credentials = vouching.credentials(credentials, arrival.headers, journey.peer)
        actor = self._parts.authenticator.authenticate(
            credentials,
            state,
            now,
            realm=None if is_open or realm is None else realm.realm,
            anonymous=found.dialect.anonymous,
            dialect=found.dialect.name,
        )
        if isinstance(actor, Unauthenticated):
            if not found.route.public or not isinstance(arrival.credentials, Nothing):
                return actor
            actor = self._parts.authenticator.stranger
        if found.realm is not None and realm is None:
            # As for a realm of strangers, so that nobody learns which of the two it is.
            return Unauthenticated(NOT_GOOD_HERE)
        return named(actor, journey.request_id, found.dialect.name)

    def _count(self, journey: Journey, arrival: Arrival, actor: Actor | None) -> None:
        """Counts the request for its caller, or its address; raises `RateLimited`."""
        kind = arrival.rate_class
        if actor is None or kind is LOGINS or actor.credential == ANONYMOUS:
            address = caller(journey.peer, journey.forwarded, self._parts.proxies)
            who = f"\0{site(address)}"
        elif actor.directory == DIRECTORY:
            who = actor.user
        else:
            who = f"{actor.directory}\0{actor.user}"
        self._parts.limiter.check(kind, who, journey.begun)

    def _unauthenticated(self, journey: Journey, arrival: Arrival, no: Unauthenticated) -> Reply:
        self._count(journey, arrival, None)
        log.get().info("not believed", why=no.why, detail=no.detail, request_id=journey.request_id)
        told = arrival.found.route.unauthenticated or arrival.found.dialect.unauthenticated
        return told(no.why)

    async def _aside(
        self, journey: Journey, arrival: Arrival, exchange: Exchange, receive: Receive
    ) -> Reply:
        """What the handler answers, in a worker thread; given up when nobody waits any more."""
        cancellation = Cancellation()
        handled = partial(_handled, arrival.found.route.handler, exchange, cancellation)
        work = self._queue.submit(_queued_as(exchange), handled)
        gone = asyncio.ensure_future(disconnected(receive))
        both: set[asyncio.Future[Any]] = {work, gone}
        try:
            done, _ = await asyncio.wait(
                both,
                timeout=self._parts.limits.request_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            gone.cancel()
            if not work.done():
                cancellation.cancel()
                work.cancel()
                with suppress(RuntimeError):  # no more threads while the server stops
                    self._parts.workers.submit(cancellation.interrupt)
        if work in done:
            reply = work.result()
            journey.revision = exchange.state.revision
            return reply
        if gone in done:
            raise Disconnected
        raise Refused(503, "this took too long; it may or may not have taken effect")

    def _missing(self, journey: Journey, lost: Lost) -> Reply:
        dialect = lost.dialect or PROBLEM
        return dialect.missing(journey.method, journey.path, lost.allowed)

    def _failed(self, journey: Journey, error: Exception) -> Reply:
        if not isinstance(error, WardenError):
            metrics.ERRORS.labels(journey.wire, journey.operation).inc()
            log.get().error(
                "unforeseen error",
                operation=journey.operation,
                request_id=journey.request_id,
                exc_info=error,
            )
        if isinstance(error, Unavailable):
            journey.extra["retry-after"] = "1"
        if isinstance(error, RateLimited):
            metrics.RATE_LIMITED.labels(journey.wire, error.kind).inc()
            journey.extra["retry-after"] = str(math.ceil(error.seconds))
        if journey.exchange is not None:
            journey.revision = journey.exchange.state.revision
        if journey.dialect is None:
            journey.dialect = self._parts.table.guess(journey.path)
        dialect = journey.dialect or PROBLEM
        try:
            return dialect.failed(journey.exchange, error)
        except Exception as second:  # noqa: BLE001 — a dialect that fails to tell an error
            log.get().error(
                "error while telling an error", request_id=journey.request_id, exc_info=second
            )
            return PROBLEM.failed(None, Refused(500, "internal error"))


def _inline(journey: Journey, arrival: Arrival, exchange: Exchange) -> Reply:
    """What the handler answers, on the event loop."""
    reply = arrival.found.route.handler(exchange)
    journey.revision = exchange.state.revision
    return reply


def _handled(handler: Handler, exchange: Exchange, cancellation: Cancellation) -> Reply:
    """What the handler answers, unless it is given up before its turn or on the way."""
    with working(cancellation):
        check()
        return handler(exchange)


def _queued_as(exchange: Exchange) -> str:
    """Whose request it is, of those that share the threads; strangers are told by address."""
    actor = exchange.actor
    if actor.credential == ANONYMOUS:
        return f"address {exchange.address}"
    return f"user {actor.directory} {actor.user}"
