"""The downloads of one service's plugins at one state of its realm, each with its version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec

from lakewarden.config.engines import RangerRealm
from lakewarden.engines.ranger_service import FILE_SYSTEM, RangerService
from lakewarden.http import engine_figures
from lakewarden.http.engine_dialect import mapping_of
from lakewarden.http.ranger.deltas import Json, PolicyDigest, changes, policy_digests
from lakewarden.service.aligned_reading import aligned_reading
from lakewarden.service.column_types import types_by_table
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.ports import Reading
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.file_places import files_of
from lakewarden.service.ranger.limits import shows_masked
from lakewarden.service.ranger.places import Naming, Places
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState, State
from lakewarden.service.switched_off import off_ids

REMEMBERED: Final = 8
"""The number of earlier versions that are kept, to compute the changes since then."""

_DIGEST_BITS: Final = 30


@dataclass(frozen=True, slots=True)
class Part:
    """One document with its version, and a digest of its content without the version."""

    version: int
    body: bytes
    digest: bytes = b""


@dataclass(frozen=True, slots=True)
class Download:
    """The documents of a service, and the data about policies that changes are computed from.

    `head` is the policy document without the policies. `before` are the earlier versions, the
    newest first, with their policies.
    """

    realm: RealmState
    revision: int
    policies: Part
    roles: Part
    tags: Part
    users: Part
    residues: Residues
    places: Places
    type: str
    head: Json
    of_id: Mapping[int, msgspec.Raw]
    known: Mapping[int, PolicyDigest]
    before: tuple[tuple[int, Mapping[int, PolicyDigest]], ...] = ()

    def is_of(self, state: State, realm: RealmState, service: RangerService) -> bool:
        """Whether it is of this state. File locations and column types are not in the realm."""
        if _reads_store(realm, service) and self.revision != state.revision:
            return False
        return self.realm is realm

    def since(self, version: int) -> bytes | None:
        """The document with the changes since a version; None: the whole one must be sent.

        That is the case if the version is not kept, or if most policies changed.
        """
        old = next((policies for number, policies in self.before if number == version), None)
        if old is None:
            return None
        deltas = changes(old, self.known, self.of_id, self.type, self.policies.version)
        if 2 * len(deltas) > len(self.known):
            return None
        return msgspec.json.encode({**self.head, "policyDeltas": deltas})


@dataclass(frozen=True, slots=True)
class Polled:
    """One service of a realm: its name and type, and the settings of all services of the realm."""

    realm: str
    name: str
    type: RangerService
    settings: RangerRealm


def build_download(
    service: DecisionService, state: State, polled: Polled, now: float, before: Download | None
) -> Download:
    """The documents at a state, or a newer one. Documents equal to `before` keep their version."""
    name, type = polled.name, polled.type
    realm, read_at = state.realm(polled.realm), state.revision
    if _reads_store(realm, type):
        with aligned_reading(service, state) as (newer, reading):
            realm, read_at = newer.realm(polled.realm), newer.revision
            found = _documents(polled, realm, now, reading)
    else:
        found = _documents(polled, realm, now, None)
    residues = found.residues
    policies = found.policies["policies"]
    digest, role_digest = _digest(found.policies), _digest(found.roles)
    revision = realm.matrix.revision
    version = _version(revision, digest, None if before is None else before.policies)
    role_version = _version(revision, role_digest, None if before is None else before.roles)
    head = {**found.policies, "policyVersion": version, "policyUpdateTime": version}
    del head["policies"]
    of_id = {policy["id"]: msgspec.Raw(msgspec.json.encode(policy)) for policy in policies}
    roles = {**found.roles, "roleVersion": role_version, "roleUpdateTime": role_version}
    tags: Json = {
        "op": "replace",
        "serviceName": name,
        "tagVersion": version,
        "tagUpdateTime": version,
        **{key: {} for key in ("tagDefinitions", "tags", "resourceToTagIds")},
        "serviceResources": [],
    }
    users: dict[str, Any] = {"userStoreVersion": version, "userStoreUpdateTime": version}
    users |= {"userGroupMapping": {}, "userAttrMapping": {}}
    engine_figures.record_documents(polled.realm, name, residues.count, now)
    return Download(
        realm=realm,
        revision=read_at,
        policies=Part(
            version, msgspec.json.encode({**head, "policies": [*of_id.values()]}), digest
        ),
        roles=Part(role_version, msgspec.json.encode(roles), role_digest),
        tags=Part(version, msgspec.json.encode(tags)),
        users=Part(version, msgspec.json.encode(users)),
        residues=residues,
        places=found.places,
        type=type.type,
        head=head,
        of_id=of_id,
        known=policy_digests(policies),
        before=_cached(before, version),
    )


def _cached(
    before: Download | None, version: int
) -> tuple[tuple[int, Mapping[int, PolicyDigest]], ...]:
    if before is None:
        return ()
    if before.policies.version == version:
        return before.before
    return ((before.policies.version, before.known), *before.before)[:REMEMBERED]


def _documents(polled: Polled, realm: RealmState, now: float, reading: Reading | None) -> Documents:
    """The documents of a service; with `reading` if they need more than the realm."""
    residues, files, types, service = Residues(), None, None, polled.type
    governs = polled.settings.governs.get(polled.name, "")
    if reading is not None:
        types = types_by_table(reading, realm)
        if service.governs == FILE_SYSTEM:
            files, governs = files_of(reading, realm, governs, residues), ""
    mapping = mapping_of(realm, service.engine.name, service.title)
    settings = polled.settings
    naming = Naming(
        polled.name,
        settings.metalake,
        settings.catalogs,
        governs,
        files,
        append_only_catalogs=settings.append_only,
        without=off_ids(realm),
    )
    return documents(realm, mapping, service, naming, now, residues, types)


def _reads_store(realm: RealmState, service: RangerService) -> bool:
    """Whether documents need file locations or column types, which are in the store."""
    return service.governs == FILE_SYSTEM or (service.reading is not None and shows_masked(realm))


def _digest(document: Json) -> bytes:
    return sha256(msgspec.json.encode(document)).digest()


def _version(revision: int, digest: bytes, before: Part | None) -> int:
    """A number that differs for different documents, and grows with the realm's revision.

    An unchanged document keeps its number. Changes by time or by the configuration have no
    revision of their own.
    """
    if before is not None and before.digest == digest:
        return before.version
    return revision << _DIGEST_BITS | int.from_bytes(digest[:4]) >> (32 - _DIGEST_BITS)
