"""The server's own routes: whether the process lives, whether it is ready, and its figures.

Anonymous callers learn that the server exists, whether it is ready, and whether a protection is
switched off (R-13); never names, versions or reasons. `/metrics` requires the privilege
`READ_SERVER` on the server, unless the operator opened it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lakewarden.app import log, metrics, tls
from lakewarden.app.problem import PROBLEM
from lakewarden.app.request_pipeline import Parts
from lakewarden.app.write_watch import WriteWatch
from lakewarden.authn import header
from lakewarden.authn.authenticator import Unauthenticated
from lakewarden.http.exchange import Refused, Reply
from lakewarden.kernel.errors import RealmClosed, WardenError
from lakewarden.service import control
from lakewarden.service.realm import CONTROL
from lakewarden.service.realms import weakened

LIVE: Final = ("/healthz", "/health", "/health/live")
READY: Final = ("/readyz", "/health/ready")
METRICS: Final = "/metrics"

STARTING: Final = "starting"
"""Status while the state is being read from the store."""

AWAY: Final = "store unavailable"
"""Status while the store is unreachable."""

UNWRITABLE: Final = "writes fail"
"""Status while the store answers but its disk is full or read-only."""

PATHS: Final = frozenset({*LIVE, *READY, METRICS})

_REMEMBERED_SECONDS = 0.5
"""How long the result of a readiness query to the store is reused, for all callers."""

_PATIENCE_SECONDS = 2.0


class Health:
    """The routes, and the state of the process that they report."""

    def __init__(
        self, parts: Parts, weakened: Sequence[str], *, open_metrics: bool, writes: WriteWatch
    ) -> None:
        self._parts = parts
        self._writes = writes
        self._weakened = list(weakened)
        self._open_metrics = open_metrics
        self._asked = -float("inf")
        self._reached = False
        self._fault = ""

    def routes(self) -> list[Route]:
        return [
            *(Route(path, self.live, methods=["GET"]) for path in LIVE),
            *(Route(path, self.ready, methods=["GET"]) for path in READY),
            Route(METRICS, self.figures, methods=["GET"]),
        ]

    async def live(self, request: Request) -> Response:
        """The process is alive."""
        return _json(200, {"status": "ok", "warnings": self._warnings()})

    async def ready(self, request: Request) -> Response:
        """The state is loaded and the store answers."""
        if not self._parts.is_open:
            return self._not_ready(AWAY if self._parts.is_away else STARTING)
        if not await self._is_reached():
            return self._not_ready(AWAY)
        if self._writes.fails(self._parts.service.store):
            return self._not_ready(UNWRITABLE)
        return _json(200, {"status": "ready", "warnings": self._warnings()})

    def _warnings(self) -> list[str]:
        """The protections that the configuration and the realms have switched off."""
        if not self._parts.is_open:
            return self._weakened
        state = self._parts.service.state
        closed = [f"realms: {len(state.closed)} {RealmClosed.public}"] if state.closed else []
        models = (realm.system.model for realm in state.realms.values())
        return [*closed, *self._weakened, *weakened(models)]

    def _not_ready(self, status: str) -> Response:
        reply = _json(503, {"status": status, "warnings": self._warnings()})
        reply.headers["retry-after"] = "1"
        return reply

    async def _is_reached(self) -> bool:
        if time.monotonic() - self._asked > _REMEMBERED_SECONDS:
            loop = asyncio.get_running_loop()
            reading = loop.run_in_executor(self._parts.workers, self._parts.service.store.revision)
            done, _ = await asyncio.wait({reading}, timeout=_PATIENCE_SECONDS)
            self._reached = bool(done) and reading.exception() is None
            self._asked = time.monotonic()
            self._note(str(reading.exception() or "") if done else "the store is too slow")
        return self._reached

    def _note(self, fault: str) -> None:
        """Logs each change of the reason why the store is unreachable."""
        if fault == self._fault:
            return
        self._fault = fault
        if fault:
            log.get().warning("store not reached", why=fault)
        else:
            log.get().info("store reached again")

    async def figures(self, request: Request) -> Response:
        """The metrics, for callers who may read them."""
        refused = None if self._open_metrics else await self._refused(request)
        if refused is not None:
            return Response(
                refused.body, refused.status, dict(refused.headers), refused.content_type
            )
        self._measure()
        return Response(metrics.page(), media_type=metrics.CONTENT_TYPE)

    async def _refused(self, request: Request) -> Reply | None:
        """The refusal for a caller without permission; None for a caller with it."""
        values = [value for name, value in request.headers.raw if name == b"authorization"]
        names = request.scope.get("extensions", {}).get(tls.CERTIFICATE, ())
        credentials = tls.credentials(header.read(values), names, self._parts.principals)
        try:
            self._parts.origin.check_host(request.headers.get("host"))
            if not self._parts.is_open:
                raise self._parts.closed()
            state = (await self._parts.freshness.state()).state
            now = self._parts.service.clock()
            actor = self._parts.authenticator.authenticate(
                credentials, state, now, realm=state.realm(CONTROL).realm
            )
            if isinstance(actor, Unauthenticated):
                return PROBLEM.unauthenticated(actor.why)
            if control.is_allowed(state, actor, "metrics.read", control.SERVER, now):
                return None
        except WardenError as error:
            return PROBLEM.failed(None, error)
        return PROBLEM.failed(None, Refused(403, "READ_SERVER on the server is required"))

    def _measure(self) -> None:
        state = self._parts.service.state
        metrics.REVISION.set(state.revision)
        counts: dict[str, int] = {}
        for realm in state.realms.values():
            model = realm.realm.model
            counts[model] = counts.get(model, 0) + len(realm.matrix.snapshot.coded.tree.stored)
        for model, count in counts.items():
            metrics.ENTITIES.labels(model).set(count)


def _json(status: int, body: object) -> Response:
    return Response(msgspec.json.encode(body), status, media_type="application/json")
