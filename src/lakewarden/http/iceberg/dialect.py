"""The Iceberg REST protocol, below `/iceberg` of a realm: every endpoint of the specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from lakewarden.config.engines import IcebergRealm
from lakewarden.engines import engine as engines
from lakewarden.engines import mapping as mappings
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import ON
from lakewarden.http.engine_access import EngineAccess
from lakewarden.http.exchange import LOGINS, Exchange, Refused, Reply, Route
from lakewarden.http.iceberg import answers, json_body
from lakewarden.http.iceberg.backend import Backend
from lakewarden.http.iceberg.errors import IcebergError, error_reply
from lakewarden.http.iceberg.guard import ENGINE, Guard, denial
from lakewarden.http.iceberg.questions import TargetedAct
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown, WardenError
from lakewarden.registry import registry

PATH: Final = "/iceberg"
BODY_BYTES: Final = 16 * 1024 * 1024
"""The longest body: a commit with the whole schema of a wide table."""

_FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 20
_NO_AUTHORITY: Final = "the guard is part of no operation of the control realm: the realm decides"
_HEAD_FIRST: Final = "HEAD"
_STATUSES: Final[tuple[tuple[type[WardenError], HTTPStatus], ...]] = (
    (BadInput, HTTPStatus.BAD_REQUEST),
    (LimitExceeded, HTTPStatus.BAD_REQUEST),
    (Unknown, HTTPStatus.NOT_FOUND),
)


class Iceberg:
    """The guard's side of the protocol, for realms whose model has a mapping."""

    name = ENGINE
    anonymous: str | None = None

    def __init__(self, realms: Mapping[str, IcebergRealm]) -> None:
        self._realms = realms
        self._backends = {name: Backend(settings) for name, settings in realms.items()}
        self._engine = engines.load(ENGINE)
        self.models = tuple(
            sorted(
                model
                for system in registry().systems.values()
                for model in system.models
                if ENGINE in mappings.of_model(model)
            )
        )

    def routes(self) -> Sequence[Route]:
        """One route for each endpoint; existence checks come first."""
        endpoints = [act for act in self._engine.acts.values() if act.endpoint]
        endpoints.sort(key=lambda act: not act.endpoint.startswith(_HEAD_FIRST))
        return tuple(self._route(act) for act in endpoints)

    def _route(self, act: Act) -> Route:
        method, _, path = act.endpoint.partition(" ")
        if act.name == "getToken":
            return Route(
                method,
                PATH + path,
                "",
                self._token,
                why="whoever has a token is told that it is one",
                public=True,
                accepts=(_FORM,),
                rate_class=LOGINS,
            )
        handler = self._config if act.name == "getConfig" else self._guarded
        limit = BODY_BYTES if method == "POST" else None
        return Route(
            method, PATH + path, "", partial(handler, act), why=_NO_AUTHORITY, body_limit=limit
        )

    def _guarded(self, act: Act, exchange: Exchange) -> Reply:
        settings = self._settings(exchange)
        if exchange.params["prefix"] not in settings.prefixes:
            raise IcebergError(404, "there is no such warehouse", "NotFoundException")
        backend = self._backends[exchange.realm]
        return Guard(exchange, act, _access(exchange, settings), settings, backend).answer()

    def _config(self, act: Act, exchange: Exchange) -> Reply:
        """The configuration of a client: the prefix of its warehouse, and the endpoints."""
        settings = self._settings(exchange)
        named = exchange.query.get("warehouse", tuple(settings.prefixes))
        if len(named) != 1 or named[0] not in settings.prefixes:
            expected = ", ".join(sorted(settings.prefixes))
            raise IcebergError(400, f"warehouse: expected one of: {expected}")
        warehouse = named[0]
        access, asked = _access(exchange, settings), TargetedAct(act, {"catalog": warehouse})
        if not access.decides(act, asked.names):
            raise IcebergError(HTTPStatus.FORBIDDEN, denial(exchange, access, asked))
        answer = self._backends[exchange.realm].send(
            "GET", ("v1", "config"), {"warehouse": warehouse}, {}, None, settings.token_file
        )
        if answer.status != HTTPStatus.OK:
            raise IcebergError(502, "the catalog does not serve the guard")
        found = answers.read(answer.body)
        shown: json_body.Json = {
            "defaults": answers.plain(self._engine, found.get("defaults")),
            "overrides": {
                **answers.plain(self._engine, found.get("overrides")),
                "prefix": warehouse,
            },
        }
        if isinstance(found.get("endpoints"), list):
            known = {one.endpoint for one in self._engine.acts.values()}
            shown["endpoints"] = [one for one in found["endpoints"] if one in known]
        return Reply(HTTPStatus.OK, json_body.encoded(shown))

    def _token(self, exchange: Exchange) -> Reply:
        """Returns the token that a client sends as its secret, unchanged.

        Clients with `credential = USER:TOKEN` send this request first.
        """
        self._settings(exchange)
        try:
            fields = dict(
                parse_qsl(
                    exchange.body.decode("ascii"), strict_parsing=True, max_num_fields=_MOST_FIELDS
                )
            )
        except ValueError:
            return _oauth_error("invalid_request", "expected a form")
        if fields.get("grant_type") != "client_credentials":
            return _oauth_error("unsupported_grant_type", "expected `client_credentials`")
        token = fields.get("client_secret", "")
        holder = exchange.services.actor_of_token(token, exchange.state, exchange.now)
        if holder is None or fields.get("client_id", "") not in ("", holder.user):
            return _oauth_error("invalid_client", "the token is not valid", 401)
        return Reply(
            HTTPStatus.OK,
            msgspec.json.encode(
                {
                    "access_token": token,
                    "token_type": "bearer",
                    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
                }
            ),
        )

    def _settings(self, exchange: Exchange) -> IcebergRealm:
        settings = self._realms.get(exchange.realm)
        if settings is None or exchange.realm_state.system.model.settings.get(ENGINE) != ON:
            message = f"has no Iceberg REST catalog: set `{ENGINE}` to `on`, and `[iceberg.REALM]`"
            raise Unknown("realm", exchange.realm, message)
        return settings

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        """An error in the form of the protocol."""
        if isinstance(error, IcebergError):
            return error_reply(error.status, str(error), error.type)
        if isinstance(error, Refused):
            return error_reply(error.status, str(error))
        for kind, status in _STATUSES:
            if isinstance(error, kind):
                return error_reply(status, str(error))
        if isinstance(error, WardenError):
            return error_reply(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        return error_reply(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error")

    def unauthenticated(self, why: str) -> Reply:
        """401 with the reason."""
        return error_reply(HTTPStatus.UNAUTHORIZED, why)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        """404, or 405 that names the allowed methods."""
        if not allowed:
            return error_reply(HTTPStatus.NOT_FOUND, "this endpoint does not exist")
        return error_reply(HTTPStatus.METHOD_NOT_ALLOWED, f"expected one of: {', '.join(allowed)}")


def _access(exchange: Exchange, settings: IcebergRealm) -> EngineAccess:
    realm = exchange.realm_state
    asking = exchange.actor.request(realm.realm, realm.system, "", now=exchange.now)
    return EngineAccess(realm, realm.system.engines[ENGINE], settings, asking)


def _oauth_error(code: str, message: str, status: int = 400) -> Reply:
    return Reply(status, msgspec.json.encode({"error": code, "error_description": message}))
