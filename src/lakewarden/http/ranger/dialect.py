"""The addresses that plugins of Apache Ranger poll, below `/ranger` of a realm."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from threading import Lock
from typing import Final

from lakewarden.config.engines import RangerRealm
from lakewarden.engines import mapping as mappings
from lakewarden.engines import ranger_service
from lakewarden.http import engine_figures
from lakewarden.http.engine_dialect import (
    EngineDialect,
    json_reply,
    mapping_of,
    require_enforcement_point,
)
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.ranger.download import Download, Part, Polled, made
from lakewarden.http.ranger.maker import Maker
from lakewarden.kernel.errors import Unknown
from lakewarden.registry import registry

PATH: Final = "/ranger"


_Of = Callable[[Download], Part]
_OF_PARTS: Final[Mapping[str, tuple[_Of, str]]] = {
    "plugins/policies": (lambda download: download.policies, "lastKnownVersion"),
    "plugins/secure/policies": (lambda download: download.policies, "lastKnownVersion"),
    "roles": (lambda download: download.roles, "lastKnownRoleVersion"),
    "roles/secure": (lambda download: download.roles, "lastKnownRoleVersion"),
    "tags": (lambda download: download.tags, "lastKnownVersion"),
    "tags/secure": (lambda download: download.tags, "lastKnownVersion"),
    "xusers": (lambda download: download.users, "lastKnownUserStoreVersion"),
    "xusers/secure": (lambda download: download.users, "lastKnownUserStoreVersion"),
}
"""The documents by the first part of their address, each with the parameter of its version."""

_DELTAS: Final = "supportsPolicyDeltas"
_NUMBER: Final = re.compile(r"[0-9]{1,19}")


class Ranger(EngineDialect):
    """What plugins of Apache Ranger download, for realms whose model has a mapping.

    Documents are kept until the realm changes: a poll that finds nothing new costs a look-up. They
    are made aside: a poll that would have to wait for long gets the ones before, or is told to ask
    again.
    """

    name = "ranger"

    def __init__(self, realms: Mapping[str, RangerRealm]) -> None:
        self._realms = realms
        self._makers: dict[tuple[str, str], Maker[Download]] = {}
        self._lock = Lock()
        types = (ranger_service.load(type) for type in ranger_service.TYPES)
        engines = {service.engine.name for service in types}
        # Policies name things by their parts, as names of the model have to have them.
        self.models = tuple(
            sorted(
                model
                for system in registry().systems.values()
                for model in system.models
                if any(
                    name in engines and one.names for name, one in mappings.of_model(model).items()
                )
            )
        )

    def routes(self) -> Sequence[Route]:
        """All are for enforcement points, whose token may come in the query or as password."""
        return (
            *(self._download_route(first, *one) for first, one in _OF_PARTS.items()),
            self._route("residue/{service}", self._answer_residue),
        )

    def _download_route(self, first: str, of: _Of, parameter: str) -> Route:
        def handler(exchange: Exchange) -> Reply:
            download = self._download(exchange)
            engine_figures.polled(exchange.realm, exchange.params["service"], exchange.now)
            part, known = of(download), exchange.one(parameter)
            if known == str(part.version):
                return Reply(HTTPStatus.NOT_MODIFIED)
            body = None
            if part is download.policies and exchange.one(_DELTAS).lower() == "true":
                body = download.since(int(known)) if _NUMBER.fullmatch(known) else None
            return Reply(HTTPStatus.OK, part.body if body is None else body)

        return self._route(f"service/{first}/download/{{service}}", handler)

    def _route(self, path: str, handler: Callable[[Exchange], Reply]) -> Route:
        return Route("GET", f"{PATH}/{path}", "decision.ask", handler, engine=True)

    def _answer_residue(self, exchange: Exchange) -> Reply:
        residues = self._download(exchange).residues
        listed = [asdict(residue) for residue in residues]
        return json_reply(HTTPStatus.OK, {"count": residues.count, "residue": listed})

    def _download(self, exchange: Exchange) -> Download:
        """The documents of the service that is named; refuses who may not ask."""
        realm, name = exchange.realm_state, exchange.params["service"]
        require_enforcement_point(exchange)
        settings = self._realms.get(exchange.realm, RangerRealm())
        type = settings.services.get(name)
        if type is None:
            raise Unknown("service", name, "`[ranger.REALM]` has the services of a realm")
        service, state, now = ranger_service.load(type), exchange.state, exchange.now
        mapping_of(realm, service.engine.name, service.title)
        with self._lock:
            maker = self._makers.setdefault((exchange.realm, name), Maker())
        return maker.newest(
            lambda download: download.is_of(state, realm, service),
            lambda before: made(
                exchange.service,
                state,
                Polled(exchange.realm, name, service, settings),
                now,
                before,
            ),
        )

    def error_body(self, status: HTTPStatus, message: str) -> object:
        """A code and a message, as Ranger has it."""
        return {"statusCode": 1, "msgDesc": message, "messageList": []}
