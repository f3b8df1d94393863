"""The addresses that plugins of Apache Ranger poll, below `/ranger` of a realm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from http import HTTPStatus
from threading import Lock
from typing import Any, Final

import msgspec

from lakewarden.config.engines import RangerRealm
from lakewarden.engines import mapping as mappings
from lakewarden.engines import ranger_service
from lakewarden.engines.ranger_service import FILE_SYSTEM, RangerService
from lakewarden.http.engine_dialect import (
    EngineDialect,
    json_reply,
    mapping_of,
    require_enforcement_point,
)
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.http.ranger.document import documents
from lakewarden.http.ranger.file_places import Files
from lakewarden.http.ranger.places import Naming
from lakewarden.http.ranger.residue import Residues
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable, Unknown
from lakewarden.registry import registry
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, State

PATH: Final = "/ranger"
_DIGEST_BITS: Final = 30
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class _Download:
    """What plugins of a service get at one state of its realm."""

    realm: RealmState
    revision: int
    version: int
    policies: bytes
    roles: bytes
    tags: bytes
    users: bytes
    residues: Residues


_Part = Callable[[_Download], bytes]
_OF_PARTS: Final[Mapping[str, tuple[_Part, str]]] = {
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


class Ranger(EngineDialect):
    """What plugins of Apache Ranger download, for realms whose model has a mapping.

    Documents are kept until the realm changes: a poll that finds nothing new costs a look-up.
    """

    name = "ranger"

    def __init__(self, realms: Mapping[str, RangerRealm]) -> None:
        self._realms = realms
        self._kept: dict[tuple[str, str], _Download] = {}
        self._making = Lock()
        types = (ranger_service.load(type) for type in ranger_service.TYPES)
        engines = {service.engine.name for service in types}
        self.models = tuple(
            sorted(
                model
                for system in registry().systems.values()
                for model in system.models
                if engines & mappings.of_model(model).keys()
            )
        )

    def routes(self) -> Sequence[Route]:
        """All are for enforcement points, whose token may come in the query or as password."""
        return (
            *(self._download_route(first, *one) for first, one in _OF_PARTS.items()),
            self._route("residue/{service}", self._answer_residue),
        )

    def _download_route(self, first: str, part: _Part, parameter: str) -> Route:
        def handler(exchange: Exchange) -> Reply:
            download = self._download(exchange)
            if exchange.one(parameter) == str(download.version):
                return Reply(HTTPStatus.NOT_MODIFIED)
            return Reply(HTTPStatus.OK, part(download))

        return self._route(f"service/{first}/download/{{service}}", handler)

    def _route(self, path: str, handler: Callable[[Exchange], Reply]) -> Route:
        return Route("GET", f"{PATH}/{path}", "decision.ask", handler, engine=True)

    def _answer_residue(self, exchange: Exchange) -> Reply:
        residues = self._download(exchange).residues
        listed = [asdict(residue) for residue in residues]
        return json_reply(HTTPStatus.OK, {"count": residues.count, "residue": listed})

    def _download(self, exchange: Exchange) -> _Download:
        """The documents of the service that is named; refuses who may not ask."""
        realm, name = exchange.realm_state, exchange.params["service"]
        require_enforcement_point(exchange)
        settings = self._realms.get(exchange.realm, RangerRealm())
        type = settings.services.get(name)
        if type is None:
            raise Unknown("service", name, "`[ranger.REALM]` has the services of a realm")
        service = ranger_service.load(type)
        with self._making:
            kept = self._kept.get((exchange.realm, name))
            if kept is None or not _is_of(kept, exchange.state, realm, service):
                kept = _made(exchange, service, name, settings)
                self._kept[exchange.realm, name] = kept
        return kept

    def error_body(self, status: HTTPStatus, message: str) -> object:
        """A code and a message, as Ranger has it."""
        return {"statusCode": 1, "msgDesc": message, "messageList": []}


def _is_of(kept: _Download, state: State, realm: RealmState, service: RangerService) -> bool:
    """Whether the documents are those of this state. Where files lie is not in the realm's."""
    if service.governs == FILE_SYSTEM and kept.revision != state.revision:
        return False
    return kept.realm is realm


def _made(
    exchange: Exchange, service: RangerService, name: str, settings: RangerRealm
) -> _Download:
    residues, files, state = Residues(), None, exchange.state
    governs = settings.governs.get(name, "")
    if service.governs == FILE_SYSTEM:
        state, files = _files(exchange, governs, residues)
    realm = state.realm(exchange.realm)
    mapping = mapping_of(realm, service.engine.name, service.title)
    naming = Naming(name, settings.metalake, settings.catalogs, governs, files)
    made = documents(realm, mapping, service, naming, exchange.now, residues)
    version = _version(realm.matrix.revision, made.policies, made.roles)
    times = {"policyVersion": version, "policyUpdateTime": version}
    role_times = {"roleVersion": version, "roleUpdateTime": version}
    tags = {"op": "replace", "serviceName": name, "tagVersion": version, "tagUpdateTime": version}
    users = {"userStoreVersion": version, "userStoreUpdateTime": version}
    nothing: dict[str, Any] = {"tagDefinitions": {}, "tags": {}, "resourceToTagIds": {}}
    return _Download(
        realm=realm,
        revision=state.revision,
        version=version,
        policies=msgspec.json.encode({**made.policies, **times}),
        roles=msgspec.json.encode({**made.roles, **role_times}),
        tags=msgspec.json.encode({**tags, **nothing, "serviceResources": []}),
        users=msgspec.json.encode({**users, "userGroupMapping": {}, "userAttrMapping": {}}),
        residues=made.residues,
    )


def _files(exchange: Exchange, file_system: str, residues: Residues) -> tuple[State, Files]:
    """Where the files of a file system lie, and the state to which that belongs.

    Raises `Unavailable` where the store changes again and again meanwhile.
    """
    state = exchange.state
    for _ in range(_TRIES):
        with exchange.service.reading() as reading:
            if reading.revision == state.revision:
                realm = state.realm(exchange.realm)
                stored = _locations(reading, realm)
                tree = realm.matrix.snapshot.coded.tree
                return state, Files(tree, stored, file_system, residues)
        state = exchange.service.catch_up()
    raise Unavailable("the store changed while it was read; poll again")


def _locations(reading: Reading, realm: RealmState) -> Iterator[tuple[Entity, Sequence[str]]]:
    """What the realm's system says of where files lie."""
    system = registry().of_model(realm.realm.model)
    located = system.load(system.locations) if system.locations else {}
    for type, addresses in located.items():
        for entity, document in reading.documents_of(realm.realm.name, type):
            yield entity, addresses(document)


def _version(revision: int, *parts: object) -> int:
    """A number that is another one for other documents, and grows with the realm's revision.

    What time or the configuration changes has no revision of its own.
    """
    digest = sha256(msgspec.json.encode(parts)).digest()
    return revision << _DIGEST_BITS | int.from_bytes(digest[:4]) >> (32 - _DIGEST_BITS)
