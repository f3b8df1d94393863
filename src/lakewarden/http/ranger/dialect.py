"""The addresses that plugins of Apache Ranger poll, below `/ranger` of a realm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from threading import Lock
from typing import Final

from lakewarden.config.engines import RangerRealm
from lakewarden.engines import mapping as mappings
from lakewarden.engines import ranger_service
from lakewarden.engines.ranger_service import RangerService
from lakewarden.http import engine_figures
from lakewarden.http.engine_dialect import (
    EngineDialect,
    json_reply,
    mapping_of,
    require_enforcement_point,
)
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.ranger.audits import BODY_BYTES, Act, Acts, read_events
from lakewarden.http.ranger.download import Download, Part, Polled, build_download
from lakewarden.http.ranger.single_flight import SingleFlight
from lakewarden.kernel.errors import Unknown
from lakewarden.registry import registry
from lakewarden.service.audit import AuditEvent

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

MOST_DENIALS: Final = 100
"""The most kinds of denials, by user and operation, that one upload adds to the audit trail."""

_DELTAS: Final = "supportsPolicyDeltas"
_NUMBER: Final = re.compile(r"[0-9]{1,19}")


class Ranger(EngineDialect):
    """The downloads for plugins of Apache Ranger, for realms whose model has a mapping.

    Documents are cached until the realm changes: a poll that finds nothing new costs a lookup. They
    are made in the background: a poll that would wait for long gets the previous ones, or must poll
    again.
    """

    name = "ranger"

    def __init__(self, realms: Mapping[str, RangerRealm]) -> None:
        self._realms = realms
        self._flights: dict[tuple[str, str], SingleFlight[Download]] = {}
        self._lock = Lock()
        types = (ranger_service.load(type) for type in ranger_service.TYPES)
        engines = {service.engine.name for service in types}
        # Policies name things by their parts, so the names of the model must have parts.
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
        """All are for enforcement points, whose token may be in the query or the password."""
        return (
            *(self._download_route(first, *one) for first, one in _OF_PARTS.items()),
            self._route("residue/{service}", self._answer_residue),
            self._route("plugins", self._answer_plugins),
            Route(
                "POST",
                f"{PATH}/api/audit/access",
                "decision.ask",
                self._count_audits,
                body_limit=BODY_BYTES,
                engine=True,
            ),
        )

    def _download_route(self, first: str, of: _Of, parameter: str) -> Route:
        def handler(exchange: Exchange) -> Reply:
            download = self._download(exchange)
            engine_figures.record_poll(exchange.realm, exchange.params["service"], exchange.now)
            part, known = of(download), exchange.one(parameter)
            self._note(exchange, download, part)
            if known == str(part.version):
                return Reply(HTTPStatus.NOT_MODIFIED)
            body = None
            if part is download.policies and exchange.one(_DELTAS).lower() == "true":
                body = download.since(int(known)) if _NUMBER.fullmatch(known) else None
            return Reply(HTTPStatus.OK, part.body if body is None else body)

        return self._route(f"service/{first}/download/{{service}}", handler)

    def _route(self, path: str, handler: Callable[[Exchange], Reply]) -> Route:
        return Route("GET", f"{PATH}/{path}", "decision.ask", handler, engine=True)

    def _note(self, exchange: Exchange, download: Download, part: Part) -> None:
        """Records that the plugin has the newest policies, if it just got these."""
        plugin = exchange.one("pluginId")
        if (
            plugin.isprintable()
            and plugin
            and part is download.policies
            and download.realm is exchange.realm_state
        ):
            polls = exchange.services.plugin_polls
            polls.note(exchange.realm, exchange.params["service"], plugin, exchange.now)

    def _answer_plugins(self, exchange: Exchange) -> Reply:
        """The plugins that polled, with the age of their documents in seconds."""
        require_enforcement_point(exchange)
        listed = [
            {"service": service, "plugin": plugin, "ageSeconds": round(exchange.now - newest, 1)}
            for (realm, service, plugin), newest in sorted(exchange.services.plugins().items())
            if realm == exchange.realm
        ]
        return json_reply(HTTPStatus.OK, {"plugins": listed})

    def _count_audits(self, exchange: Exchange) -> Reply:
        """Counts what users did, or were denied, under the documents of a service."""
        name = exchange.one("serviceName")
        service = self._service(exchange, name)
        events = read_events(exchange.body, name)
        mapping = mapping_of(exchange.realm_state, service.engine.name, service.title)
        download = self._download(exchange, name)
        kept, denied = 0, Counter[tuple[str, str]]()
        targets: dict[tuple[str, str], Act] = {}
        for act in Acts(download, mapping, service).of(events):
            kept += 1
            if act.is_allowed:
                user, on, usage = act.user, act.entity, exchange.services.usage
                usage.add(exchange.realm, user, act.operation, on, exchange.now, act.times)
            else:
                denied[act.user, act.operation] += act.times
                targets.setdefault((act.user, act.operation), act)
        exchange.denied(
            *(
                _denial(exchange, targets[kind], name, times)
                for kind, times in denied.most_common(MOST_DENIALS)
            )
        )
        answer = {"total": len(events), "kept": kept, "serviceName": name}
        return json_reply(HTTPStatus.OK, {**answer, "timestamp": int(exchange.now * 1000)})

    def _answer_residue(self, exchange: Exchange) -> Reply:
        residues = self._download(exchange).residues
        listed = [asdict(residue) for residue in residues]
        return json_reply(HTTPStatus.OK, {"count": residues.count, "residue": listed})

    def _service(self, exchange: Exchange, name: str) -> RangerService:
        """The type of a service of the realm; refuses callers who may not ask."""
        require_enforcement_point(exchange)
        type = self._realms.get(exchange.realm, RangerRealm()).services.get(name)
        if type is None:
            raise Unknown("service", name, "`[ranger.REALM]` has the services of a realm")
        return ranger_service.load(type)

    def _download(self, exchange: Exchange, named: str = "") -> Download:
        """The documents of the named service; refuses callers who may not ask."""
        realm, name = exchange.realm_state, named or exchange.params["service"]
        service, state, now = self._service(exchange, name), exchange.state, exchange.now
        settings = self._realms[exchange.realm]
        mapping_of(realm, service.engine.name, service.title)
        with self._lock:
            flight = self._flights.setdefault((exchange.realm, name), SingleFlight())
        return flight.newest(
            lambda download: download.is_of(state, realm, service),
            lambda before: build_download(
                exchange.service,
                state,
                Polled(exchange.realm, name, service, settings),
                now,
                before,
            ),
        )

    def error_body(self, status: HTTPStatus, message: str) -> object:
        """A code and a message, in Ranger's form."""
        return {"statusCode": 1, "msgDesc": message, "messageList": []}


def _denial(exchange: Exchange, act: Act, service: str, times: int) -> AuditEvent:
    return AuditEvent(
        time=exchange.now,
        actor=act.user,
        operation=act.operation,
        target=str(act.entity),
        outcome="deny",
        reason="denied by a plugin",
        realm=exchange.realm,
        wire="ranger",
        details={"service": service, "acts": times},
    )
