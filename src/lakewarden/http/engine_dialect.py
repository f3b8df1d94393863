"""What the dialects of engines share: the callers that may ask, and the refusals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from lakewarden.engines.mapping import ON, EngineMapping
from lakewarden.http.exchange import Exchange, Refused, Reply
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown, WardenError
from lakewarden.service import control
from lakewarden.service.state import RealmState


class NotPermitted(WardenError):
    """The caller is no enforcement point of the realm."""


_STATUSES: Final[tuple[tuple[type[WardenError], HTTPStatus], ...]] = (
    (BadInput, HTTPStatus.BAD_REQUEST),
    (LimitExceeded, HTTPStatus.BAD_REQUEST),
    (NotPermitted, HTTPStatus.FORBIDDEN),
    (Unknown, HTTPStatus.NOT_FOUND),
)


class EngineDialect(ABC):
    """The refusals of a dialect, in the form of its `error_body`."""

    anonymous: str | None = None

    @abstractmethod
    def error_body(self, status: HTTPStatus, message: str) -> object:
        """The body of an error, in the engine's own form."""

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """An error with the status of its kind; internal errors have no details."""
        if isinstance(error, Refused):
            return self._error(HTTPStatus(error.status), str(error))
        for kind, status in _STATUSES:
            if isinstance(error, kind):
                return self._error(status, str(error))
        if isinstance(error, WardenError):
            return self._error(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        return self._error(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")

    def unauthenticated(self, why: str) -> Reply:
        """401 with the reason."""
        return self._error(HTTPStatus.UNAUTHORIZED, why)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404, or 405 that names the allowed methods."""
        if not allowed:
            return self._error(HTTPStatus.NOT_FOUND, "this path does not exist")
        message = f"expected one of: {', '.join(allowed)}"
        return self._error(HTTPStatus.METHOD_NOT_ALLOWED, message)

    def _error(self, status: HTTPStatus, message: str) -> Reply:
        return json_reply(status, self.error_body(status, message))


def require_enforcement_point(exchange: Exchange, realm: str = "") -> None:
    """Raises `NotPermitted` for a caller who may not ask about others in the realm."""
    scope = control.scoped("decision.ask", realm or exchange.realm)
    if not control.is_allowed(exchange.state, exchange.actor, *scope, exchange.now):
        raise NotPermitted("asking for others takes the role of an enforcement point")


def mapping_of(realm: RealmState, engine: str, title: str) -> EngineMapping:
    """The requirements of the engine's acts in the realm; raises `Unknown` if it is not served."""
    mapping = realm.system.engines.get(engine)
    if mapping is None or realm.system.model.settings.get(engine) != ON:
        message = f"does not answer {title}: set `{engine}` to `on` for it"
        raise Unknown("realm", realm.realm.name, message)
    return mapping


def json_reply(status: HTTPStatus, value: object) -> Reply:
    """A reply whose body is JSON."""
    return Reply(status, msgspec.json.encode(value))
