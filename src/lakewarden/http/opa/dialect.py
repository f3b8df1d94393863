"""The five addresses that Trino's OPA access control asks, below `/opa/v1` of a realm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines import mapping as mappings
from lakewarden.engines.mapping import ON
from lakewarden.http.exchange import BULK, READS, Exchange, Refused, Reply, Route
from lakewarden.http.opa.evaluator import ENGINE, Evaluator
from lakewarden.http.opa.question import read
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown, WardenError
from lakewarden.registry import registry
from lakewarden.service import control
from lakewarden.service.audit import AuditEvent

PATH: Final = "/opa/v1"
BATCH_BYTES: Final = 32 * 1024 * 1024
"""Longest body of a list: a hundred thousand tables with long names."""

_NOT_SERVED: Final = "does not answer Trino: set `trino` to `on` for it"


class NotPermitted(WardenError):
    """The caller is no enforcement point of the realm."""


_STATUSES: Final[tuple[tuple[type[WardenError], HTTPStatus], ...]] = (
    (BadInput, HTTPStatus.BAD_REQUEST),
    (LimitExceeded, HTTPStatus.BAD_REQUEST),
    (NotPermitted, HTTPStatus.FORBIDDEN),
    (Unknown, HTTPStatus.NOT_FOUND),
)


class Opa:
    """The OPA dialect of Trino, for realms whose model has a mapping."""

    name = "opa"
    anonymous: str | None = None

    def __init__(self, realms: Mapping[str, TrinoRealm]) -> None:
        self._realms = realms
        self.models = tuple(
            sorted(
                model
                for system in registry().systems.values()
                for model in system.models
                if ENGINE in mappings.of_model(model)
            )
        )

    def routes(self) -> Sequence[Route]:
        """All are for enforcement points, whose token may come in the query."""
        return (
            self._route("allow", lambda evaluator: evaluator.allows()),
            self._route("batch", lambda evaluator: evaluator.allowed_indices(), large=True),
            self._route("row-filters", lambda evaluator: evaluator.row_filters()),
            self._route("column-masks", lambda evaluator: evaluator.column_mask()),
            self._route(
                "batch-column-masks", lambda evaluator: evaluator.column_masks(), large=True
            ),
        )

    def _route(
        self, name: str, result: Callable[[Evaluator], object], *, large: bool = False
    ) -> Route:
        def handler(exchange: Exchange) -> Reply:
            evaluator = self._evaluator(exchange)
            if evaluator.act is None:
                exchange.denied(_unknown(exchange, evaluator.operation))
            return _reply(HTTPStatus.OK, {"result": result(evaluator)})

        return Route(
            "POST",
            f"{PATH}/{name}",
            "decision.ask",
            handler,
            engine=True,
            body_limit=BATCH_BYTES if large else None,
            rate_class=BULK if large else READS,
        )

    def _evaluator(self, exchange: Exchange) -> Evaluator:
        realm = exchange.realm_state
        if not control.may(
            exchange.state,
            exchange.actor,
            *control.scoped("decision.ask", exchange.realm),
            exchange.now,
        ):
            raise NotPermitted("asking for others takes the role of an enforcement point")
        if realm.system.model.settings.get(ENGINE) != ON:
            raise Unknown("realm", exchange.realm, _NOT_SERVED)
        settings = self._realms.get(exchange.realm, TrinoRealm())
        mapping = mappings.of_model(realm.realm.model)[ENGINE]
        return Evaluator(realm, mapping, settings, read(exchange.body), exchange.now)

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """An error as OPA has it: a code and a message."""
        if isinstance(error, Refused):
            return _error(HTTPStatus(error.status), str(error))
        for kind, status in _STATUSES:
            if isinstance(error, kind):
                return _error(status, str(error))
        if isinstance(error, WardenError):
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")

    def unauthenticated(self, why: str) -> Reply:
        """401 with the reason."""
        return _error(HTTPStatus.UNAUTHORIZED, why)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404, or 405 with the methods that are there."""
        if not allowed:
            return _error(HTTPStatus.NOT_FOUND, "this path does not exist")
        reply = _error(HTTPStatus.METHOD_NOT_ALLOWED, f"expected one of: {', '.join(allowed)}")
        reply.headers = {"Allow": ", ".join(allowed)}
        return reply


_SHOWN: Final = 100
"""Characters of an unknown operation that are audited."""

_CODES: Final = {
    HTTPStatus.BAD_REQUEST: "invalid_parameter",
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.FORBIDDEN: "unauthorized",
    HTTPStatus.NOT_FOUND: "resource_not_found",
}


def _unknown(exchange: Exchange, operation: str) -> AuditEvent:
    """A question with an operation that Trino is not known to have."""
    return AuditEvent(
        exchange.now,
        exchange.actor.user,
        f"{ENGINE}.unknown",
        "",
        "deny",
        "this operation of Trino is not known",
        realm=exchange.realm,
        wire=Opa.name,
        request_id=exchange.actor.request_id,
        details={"operation": operation[:_SHOWN]},
    )


def _error(status: HTTPStatus, message: str) -> Reply:
    return _reply(status, {"code": _CODES.get(status, "internal_error"), "message": message})


def _reply(status: HTTPStatus, value: object) -> Reply:
    return Reply(status, msgspec.json.encode(value))
