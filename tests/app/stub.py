"""A dialect for tests: small routes that show what the server does before it calls them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec

from lakewarden.http.exchange import Exchange, Refused, Reply, Route
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, Unknown, WardenError
from lakewarden.service.decision_service import StaleRevision

_STATUSES = {BadInput: 422, Unknown: 444, Conflict: 409, StaleRevision: 409, Unavailable: 503}


class Stub:
    """Serves Gravitino's realms, with statuses that no other dialect uses."""

    name = "gravitino"
    models: tuple[str, ...] = ("gravitino",)

    def __init__(self, anonymous: str | None = None) -> None:
        self.anonymous = anonymous
        self.may_answer = threading.Event()
        """`/stub/slow` responds only after this is set."""

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/stub", "metalake.list", _tell, inline=True),
            Route("POST", "/stub", "metalake.create", _tell),
            Route("GET", "/stub/things/{thing}", "metalake.load", _tell),
            Route("GET", "/stub/things/special", "metalake.load", _special),
            Route("GET", "/stub/slashes/{thing}", "metalake.load", _tell, encoded_slash=True),
            Route("GET", "/stub/public", "", _tell, public=True, why="says nothing"),
            Route("GET", "/stub/rest/{rest:path}", "metalake.load", _tell),
            Route("POST", "/stub/large", "metalake.create", _tell, body_limit=2 * 1024 * 1024),
            Route("POST", "/stub/text", "metalake.create", _tell, accepts=("text/plain",)),
            Route("POST", "/stub/metalakes/{name}", "metalake.create", _create),
            Route("POST", "/stub/crash", "metalake.create", _crash),
            Route("POST", "/stub/slow", "metalake.create", self._slow),
            Route("GET", "/stub/split", "metalake.list", _split),
        )

    def _slow(self, exchange: Exchange) -> Reply:
        self.may_answer.wait(60)
        return _said(200, "late")

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        if isinstance(error, Refused):
            return _said(error.status, str(error))
        if isinstance(error, WardenError):
            found = (status for kind, status in _STATUSES.items() if isinstance(error, kind))
            return _said(next(found, 400), str(error))
        return _said(599, "failed")

    def unauthenticated(self, why: str) -> Reply:
        return _said(401, why)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        return _said(405 if allowed else 404, ",".join(allowed))


def _said(status: int, text: str) -> Reply:
    return Reply(status, msgspec.json.encode({"stub": text}))


def _tell(exchange: Exchange) -> Reply:
    told = {
        "method": exchange.method,
        "path": exchange.path,
        "params": dict(exchange.params),
        "query": exchange.query,
        "realm": exchange.realm,
        "user": exchange.actor.user,
        "directory": exchange.actor.directory,
        "credential": exchange.actor.credential.partition(":")[0],
        "bytes": len(exchange.body),
        "headers": sorted(exchange.headers),
    }
    return Reply(200, msgspec.json.encode(told))


def _special(exchange: Exchange) -> Reply:
    return _said(200, "special")


def _create(exchange: Exchange) -> Reply:
    entity = Entity("metalake", exchange.params["name"])
    exchange.write(lambda transaction: transaction.change(exchange.realm, EntityAdded(entity)))
    return _said(201, "made")


def _crash(exchange: Exchange) -> Reply:
    raise RuntimeError("inside /secret/path with lw_abcdefghijklmnop")


def _split(exchange: Exchange) -> Reply:
    return Reply(200, b"", headers={"X-Told": "a\r\nX-Injected: b"})
