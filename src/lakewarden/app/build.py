"""Assembles the server: settings, store, decision service, dialects and the application.

No process accepts a connection before it has loaded its state. If the store cannot be reached, the
process retries until it can. Meanwhile it answers every request with a refusal that says so; but a
process that starts while another one is ready accepts no connections until then.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Final, cast

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from lakewarden.app import audit_anchor, authentication, health, indexed, log, row_preparer, traces
from lakewarden.app.address import address_of
from lakewarden.app.client_address import networks
from lakewarden.app.connections import Connections
from lakewarden.app.dialects import all_dialects
from lakewarden.app.fair_queue import THREADS
from lakewarden.app.figures import figures, plugins
from lakewarden.app.first_start import first_start
from lakewarden.app.freshness import Freshness
from lakewarden.app.http_head import Pair
from lakewarden.app.keys import secret_keys
from lakewarden.app.open_files import connections_within
from lakewarden.app.open_store import OpenStore, open_for_writing
from lakewarden.app.periodic import PeriodicTasks
from lakewarden.app.push_connection import connect_target
from lakewarden.app.push_watcher import PushWatcher
from lakewarden.app.push_worker import PushWorker, log_delivery
from lakewarden.app.rate_limit import RateLimiter
from lakewarden.app.readiness import Readiness
from lakewarden.app.request_origin import RequestOrigin
from lakewarden.app.request_pipeline import Answer, Parts, RequestPipeline
from lakewarden.app.routing import Table
from lakewarden.app.trusted_proxy import TrustedProxy
from lakewarden.app.write_watch import WriteWatch
from lakewarden.authn.password import Passwords
from lakewarden.config.effective import effective
from lakewarden.config.settings import Limits, Settings
from lakewarden.config.system_settings import ProxyHeader
from lakewarden.http.exchange import Dialect, Services
from lakewarden.kernel.errors import BadInput, Unavailable, WardenError
from lakewarden.registry import registry
from lakewarden.service.actor import SYSTEM
from lakewarden.service.audit_check import LOGGED
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.index_catch_up import Compiled, start_from_index
from lakewarden.service.ports import Store
from lakewarden.service.push import Pushing
from lakewarden.service.push_delivery import Delivery
from lakewarden.service.server_figures import ServerFigures
from lakewarden.service.session import parent_of_root
from lakewarden.store import StoreLimits
from lakewarden.store.live import SqlLive
from lakewarden.store.secrets import Keys
from lakewarden.telemetry.environment import SERVER

_OWN_THREADS: Final = 2
"""In addition to the handlers' threads: the server's own queries do not wait for handlers."""

_RETRY_SECONDS = (0.1, 0.2, 0.5, 1.0)
_NO_STORE = "the store cannot be reached"


class Application:
    """The server of one process, as an ASGI application.

    A worker ends when its parent process, of number `parent`, is gone. `readiness` is shared by all
    processes of the server. Traces name the service `service_name`.
    """

    def __init__(
        self,
        settings: Settings,
        dialects: Iterable[Dialect] | None = None,
        *,
        parent: int | None = None,
        readiness: Readiness | None = None,
        service_name: str = SERVER,
    ) -> None:
        self.settings = settings
        self._service_name = service_name
        self._readiness = readiness
        self._tried = asyncio.Event()
        self._table = Table(all_dialects(settings) if dialects is None else dialects)
        self._opened_store: OpenStore | None = None
        self._stops: list[Event] = []
        self._anchoring: audit_anchor.Anchoring | None = None
        self._push_worker: PushWorker | None = None
        self._push_watcher: PushWatcher | None = None
        self._handlers = ThreadPoolExecutor(THREADS + _OWN_THREADS, "handler")
        self._asking = ThreadPoolExecutor(1, "freshness")
        self._keys = authentication.key_set(settings)
        self.parts = self._parts()
        self._gate = RequestPipeline(self.parts)
        self.connections = self._connections()
        self.reserve_paths = health.PATHS
        weakened = settings.weakened
        writes = WriteWatch(readiness)
        self.periodic = PeriodicTasks(self.parts, writes, settings.retention, parent)
        own = health.Health(self.parts, weakened, open_metrics=settings.open_metrics, writes=writes)
        self._framed: ASGIApp = Starlette(routes=own.routes(), lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in health.PATHS:
            await self._gate(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._framed(scope, receive, send)

    def immediate_response(
        self,
        method: str,
        url: bytes,
        headers: Sequence[Pair],
        body: bytes,
        peer: str,
        certificate: tuple[str, ...] = (),
    ) -> Answer | None:
        """As `RequestPipeline.immediate_response`."""
        return self._gate.immediate_response(method, url, headers, body, peer, certificate)

    def _parts(self) -> Parts:
        settings, limits = self.settings, self.settings.limits
        service = DecisionService(cast(Store, _UnopenedStore()))
        authenticator = authentication.authenticator(settings, self._keys)
        of_requests = replace(
            services(settings),
            actor_of_token=authenticator.actor_of_token,
            root_parent=parent_of_root(authenticator.root_token),
            figures=partial(self._figures, time.time()),
            plugins=plugins,
        )
        public_url = of_requests.public_url
        login = authentication.code_flow(settings, self._keys, authenticator, public_url)
        of_requests = replace(of_requests, provider_login=login)
        hosts = settings.own_hosts
        return Parts(
            table=self._table,
            service=service,
            authenticator=authenticator,
            services=of_requests,
            limits=limits,
            workers=self._handlers,
            freshness=self._freshness(service),
            proxies=networks(settings.trusted_proxies),
            origin=RequestOrigin(hosts, public_url, addresses=not settings.is_loopback),
            limiter=RateLimiter(settings.rate_limits),
            tracing=traces.tracing(self._service_name),
            principals=settings.tls_principals,
            local_engine=settings.engine_loopback,
            trusted_proxies={
                name: TrustedProxy(header.name, networks(header.networks))
                for name, header in _proxy_headers(settings)
            },
        )

    def _figures(self, started: float) -> ServerFigures:
        return figures(started, 1 if self._readiness is None else self._readiness.count())

    def _connections(self) -> Connections:
        settings, limits = self.settings, self.settings.limits
        limit, address_limit = (
            connections_within(limits.connections),
            limits.connections_per_address,
        )
        if limit < limits.connections:
            address_limit = min(address_limit, max(1, limit // 2))
            log.get().warning(
                "fewer connections than limits.connections",
                connections=limit,
                setting=limits.connections,
            )
        proxies = networks(_proxies(settings))
        return Connections(limit, address_limit, proxies=proxies)

    def _freshness(self, service: DecisionService) -> Freshness:
        limits = self.settings.limits
        return Freshness(
            service,
            self._asking,
            wait_seconds=limits.wait_seconds,
            stale_seconds=limits.stale_seconds,
            patience_seconds=limits.request_seconds,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        opening = asyncio.create_task(self._open())
        watching = asyncio.create_task(self.periodic.run())
        try:
            await self._until_it_answers()
            yield
        finally:
            if self._readiness is not None:
                self._readiness.withdraw()
            self.parts.is_open = False
            for job in (opening, watching):
                job.cancel()
            await asyncio.gather(opening, watching, return_exceptions=True)
            self.close()

    async def _until_it_answers(self) -> None:
        """Waits until the state is loaded, or unavailable here and in all other processes."""
        while not self.parts.is_open:
            await self._tried.wait()
            self._tried.clear()
            if self._readiness is None or not self._readiness.count():
                return

    async def _open(self) -> None:
        """Opens everything; retries until it succeeds."""
        loop = asyncio.get_running_loop()
        tries, logged = 0, ""
        while True:
            try:
                await loop.run_in_executor(self._asking, self.open)
            except WardenError as error:
                if str(error) != logged:  # log each cause once, not each retry
                    level = logging.WARNING if isinstance(error, Unavailable) else logging.ERROR
                    log.get().log(level, "not ready", why=str(error))
                logged = str(error)
            except Exception as error:  # noqa: BLE001 — an error only delays readiness
                log.get().error("not ready", why="unexpected error", exc_info=error)
            self.parts.is_away = not self.parts.is_open
            if self.parts.is_open and self._readiness is not None:
                self._readiness.announce()
            self._tried.set()
            if self.parts.is_open:
                self.prepare_rows()
                await self.periodic.in_thread(self._prepare_systems)
                return
            await asyncio.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
            tries += 1

    def open(self) -> None:
        """Opens the store and loads the state. Raises `WardenError`; may be called again."""
        if self._keys is not None and not self._stops:
            self._keys.refresh()
            self._stops.append(
                self._keys.refresh_periodically(
                    self.settings.oidc.refresh_seconds,
                    lambda error: log.get().warning("keys not renewed", why=str(error)),
                )
            )
        if self._opened_store is None:
            host_only = self.settings.consistency == "host"
            self._opened_store = open_for_writing(
                self.settings.database,
                host_only=host_only,
                limits=_store_limits(self.settings.limits),
                keys=self.parts.services.secret_keys,
            )
            self._anchor(self._opened_store)
            self.periodic.opened = self._opened_store
        # The store exists; what takes long from here on is reading it.
        self._opened_store.store.revision()
        self.parts.is_away = False
        service = self._opened_store.service
        self._load(service)
        first_start(service, self.settings)
        passwords = self.parts.services.passwords
        if passwords is not None:
            for _, start in registry().with_part("first_start"):
                start.opened(service, self.settings, passwords)
        self.parts.service = service
        self.parts.freshness = self._freshness(service)
        self.parts.freshness.opened()
        self.parts.is_open = True
        self._start_push_worker(service)
        self._watch_targets(service)
        log.get().info(
            "ready", revision=service.state.revision, realms=sorted(service.state.realms)
        )

    def _start_push_worker(self, service: DecisionService) -> None:
        """From now on, delivers changes to followed targets."""
        of_requests, push = self.parts.services, self.settings.push
        if of_requests.connect_target is None or not push.deliver:
            return
        delivery = Delivery(
            service, of_requests.sealing, of_requests.connect_target, push.hosts, log_delivery
        )
        self._push_worker = PushWorker(
            delivery, lambda error: log.get().error("push failed", exc_info=error)
        )
        self._push_worker.start()

    def _watch_targets(self, service: DecisionService) -> None:
        """From now on, watches targets for drift, if configured."""
        of_requests, push = self.parts.services, self.settings.push
        if of_requests.connect_target is None or not push.watch_seconds:
            return
        write = partial(service.write, SYSTEM)
        pushing = Pushing(service, SYSTEM, write, of_requests.sealing, of_requests.connect_target)
        self._push_watcher = PushWatcher(
            pushing, push, lambda error: log.get().error("push failed", exc_info=error)
        )
        self._push_watcher.start()

    def _anchor(self, estate: OpenStore) -> None:
        """Sends anchors of the audit trail to the configured targets."""
        audit = self.settings.audit
        sends = audit_anchor.sends(audit, lambda fields: log.get().info(LOGGED, **fields))
        if not sends:
            return
        self._anchoring = audit_anchor.Anchoring(
            estate.store,
            time.time,
            sends,
            lambda error: log.get().error("audit trail not anchored", why=str(error)),
        )
        if not audit.anchor_seconds:
            estate.store.committed = self._anchoring.wake
        self._anchoring.start(audit.anchor_seconds)
        self._anchoring.wake()

    def _load(self, service: DecisionService) -> None:
        """Loads the state; realms with an index start from it.

        The process that started the server has checked the indexes. If an index has become invalid
        by the time a later worker starts, the worker only loses the time that the index would save.
        """
        if self.settings.indexes:
            try:
                compiled = indexed.compiled(self.settings.indexes, check=False)
                service.open(
                    {realm: start_from_index(index, _started) for realm, index in compiled.items()}
                )
                return
            except BadInput as error:
                log.get().error("not started from an index", why=str(error))
        service.open()

    def prepare_rows(self) -> threading.Thread:
        """Computes rows of the matrix ahead, in a thread that yields the processor to requests.

        After each change it computes the missing rows, until the application closes.
        """
        stop = Event()
        self._stops.append(stop)
        return row_preparer.start(lambda: self.parts.service.state, stop)

    def _prepare_systems(self) -> None:
        """Prepares systems for their first requests, which would otherwise do this work."""
        try:
            for _, start in registry().with_part("first_start"):
                start.ready(self.parts.service)
        except Exception as error:  # noqa: BLE001 — the server works without it
            log.get().warning("first requests not prepared", exc_info=error)

    def close(self) -> None:
        """Closes everything after pending responses are finished."""
        for stop in self._stops:
            stop.set()
        if self._push_worker is not None:
            self._push_worker.stop()
        if self._push_watcher is not None:
            self._push_watcher.stop()
        self._handlers.shutdown(wait=True)
        self._asking.shutdown(wait=True)
        self.periodic.write_usage()
        if self._anchoring is not None:
            self._anchoring.stop()
        if self._opened_store is not None:
            self._opened_store.close()
        if self.parts.tracing is not None:
            self.parts.tracing.close()


def _started(compiled: Compiled) -> None:
    log.get().info("started from an index", realm=compiled.realm, revision=compiled.revision)


class _UnopenedStore:
    """The store before it is opened: every method raises `Unavailable`."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        raise Unavailable(_NO_STORE)


def _proxy_headers(settings: Settings) -> Iterator[tuple[str, ProxyHeader]]:
    """The headers in which proxies name the caller, by dialects."""
    for name, section in settings.systems.items():
        if section.proxy_header is not None:
            yield name, section.proxy_header


def _proxies(settings: Settings) -> tuple[str, ...]:
    """All networks of trusted proxies."""
    of_systems = (
        networks for _, header in _proxy_headers(settings) for networks in header.networks
    )
    return (*settings.trusted_proxies, *of_systems)


def _reserved_names(settings: Settings) -> tuple[str, ...]:
    """The users whom the settings name; they are reserved before they are stored."""
    of_systems = (name for section in settings.systems.values() for name in section.reserved_names)
    return (settings.admin, *of_systems)


def _store_limits(limits: Limits) -> StoreLimits:
    return StoreLimits(limits.document_bytes, limits.realm_bytes, limits.realm_documents)


def services(settings: Settings) -> Services:
    """The parts of the configuration that dialects need."""
    keys = secret_keys(settings)
    return Services(
        public_url=settings.public_url.rstrip("/") or address_of(settings),
        admin=settings.admin,
        reserved_names=_reserved_names(settings),
        auth=settings.auth,
        secret_keys=keys,
        weakened=settings.weakened,
        batch_rows=settings.limits.batch_rows,
        page_rows=settings.limits.page_rows,
        systems=settings.systems,
        live=SqlLive(),
        sealing=Keys(keys) if keys else None,
        passwords=Passwords(),
        playground=settings.ui.playground,
        settings=effective(settings),
        without_effect=settings.without_effect,
        push_hosts=settings.push.hosts,
        connect_target=connect_target,
    )
