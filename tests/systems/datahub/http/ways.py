"""Every way to write or delete an aspect, and the values to write.

A way is a function that sends one write of one aspect, as eve, and returns the status.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from lakewarden import models
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects import keys, registry
from lakewarden.systems.datahub.aspects.change import CHANGES
from lakewarden.systems.datahub.aspects.meaning import READERS
from lakewarden.systems.datahub.aspects.record_names import TIMESERIES
from lakewarden.systems.datahub.use_cases.aspects import SECRETS
from tests.systems.datahub.http.wire import Wire, proposal

Value = Mapping[str, Any]
Way = Callable[[Wire, str, str, Value], int]

EVE: Final = "eve"
INGEST: Final = "/aspects?action=ingestProposal"
BATCH: Final = "/aspects?action=ingestProposalBatch"

TYPES: Final = sorted(
    {name for name in models.load("datahub").types if name.isalnum() and name != "any"}
    | set(registry.TYPES)
    | {"somethingNew"}
)
"""Every entity type of the model and of the client, and an unknown one."""

_FIRST: Final = {
    None: "p",
    "": "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)",
    "dataFlow": "urn:li:dataFlow:(airflow,f,PROD)",
    "dataPlatform": "urn:li:dataPlatform:hive",
}
"""The first part of a key, for types that need a certain type there."""


def urn_of(type: str, name: str = "x") -> str:
    """A URN of the type, with its number of parts."""
    key = datahub._TUPLES.get(type)
    if key is None:
        return f"urn:li:{type}:{name}"
    parts = [_FIRST[key.first], name, "PROD", "PROD"][: key.arity]
    return f"urn:li:{type}:({','.join(parts)})"


DATASET: Final = urn_of("dataset", "other")
_STAMP: Final = {"time": 0, "actor": "urn:li:corpuser:eve"}
POLICY: Final[Value] = {
    "displayName": "mine",
    "description": "",
    "type": "PLATFORM",
    "state": "ACTIVE",
    "privileges": ["MANAGE_POLICIES"],
    "actors": {"users": ["urn:li:corpuser:eve"], "resourceOwners": False},
}
VALUES: Final[Mapping[str, Value]] = {
    "container": {"container": "urn:li:container:c"},
    "dataHubPolicyInfo": POLICY,
    "dataPlatformInstance": {"platform": "urn:li:dataPlatform:hive"},
    "dataProductProperties": {"name": "x", "assets": [{"destinationUrn": DATASET}]},
    "domainProperties": {"name": "x"},
    "domains": {"domains": ["urn:li:domain:mine"]},
    "globalTags": {"tags": [{"tag": "urn:li:tag:mine"}]},
    "glossaryNodeInfo": {"definition": "x"},
    "glossaryTermInfo": {"definition": "x"},
    "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:mine"}], "auditStamp": _STAMP},
    "groupMembership": {"groups": ["urn:li:corpGroup:admins"]},
    "logicalParent": {"parent": {"destinationUrn": DATASET}},
    "nativeGroupMembership": {"nativeGroups": ["urn:li:corpGroup:admins"]},
    "ownership": {"owners": [{"owner": "urn:li:corpuser:eve", "type": "NONE"}]},
    "querySubjects": {"subjects": [{"entity": DATASET}]},
    "roleMembership": {"roles": ["urn:li:dataHubRole:Admin"]},
    "status": {"removed": True},
    "structuredProperties": {"properties": []},
}
"""A value for every aspect that has a meaning for the realm."""

POWER: Final = {
    *SECRETS,
    *("dataHubAccessTokenInfo", "dataHubRoleInfo", "corpUserStatus", "globalSettingsInfo"),
    *("dataHubIngestionSourceInfo", "dataHubExecutionRequestInput"),
}
"""Aspects that affect permissions, but are not facts."""


def aspects_of(type: str) -> list[str]:
    """The aspects to try on an entity of the type: all that have a meaning, for any type."""
    own = set(registry.aspects_of(type))
    timed = sorted(own & TIMESERIES)[:1]
    plain = sorted(own - TIMESERIES - READERS.keys() - POWER)[:1]
    return [*sorted(READERS), *sorted(POWER), *timed, *plain, "someAspect"]


def value_of(aspect: str) -> Value:
    return VALUES.get(aspect, {"timestampMillis": 1} if aspect in TIMESERIES else {"name": "x"})


def _status(wire: Wire, method: str, path: str, body: object = None) -> int:
    sent = b"" if body is None else json.dumps(body).encode()
    return wire.send(method, path, sent, user=EVE).status


def _patch(value: Value) -> list[dict[str, Any]]:
    return [{"op": "add", "path": f"/{key}", "value": inner} for key, inner in value.items()]


def _proposed(urn: str, aspect: str, value: Value, change: str) -> dict[str, Any]:
    one = proposal(urn, aspect, _patch(value) if change == "PATCH" else value, change)
    return {**one, "aspect": None} if change == "DELETE" else one


def _single(change: str) -> Way:
    def send(wire: Wire, urn: str, aspect: str, value: Value) -> int:
        body = {"proposal": _proposed(urn, aspect, value, change), "async": "false"}
        return _status(wire, "POST", INGEST, body)

    return send


def _batch(change: str) -> Way:
    def send(wire: Wire, urn: str, aspect: str, value: Value) -> int:
        body = {"proposals": [_proposed(urn, aspect, value, change)], "async": "true"}
        return _status(wire, "POST", BATCH, body)

    return send


def _record(urn: str, aspect: str, value: Value) -> dict[str, Any]:
    type = urn.split(":")[2]
    name = f"com.linkedin.metadata.snapshot.{type[0].upper()}{type[1:]}Snapshot"
    said = {f"com.linkedin.x.{aspect[0].upper()}{aspect[1:]}": value}
    return {"value": {name: {"urn": urn, "aspects": [said]}}}


def by_snapshot(wire: Wire, urn: str, aspect: str, value: Value) -> int:
    return _status(wire, "POST", "/entities?action=ingest", {"entity": _record(urn, aspect, value)})


def by_snapshots(wire: Wire, urn: str, aspect: str, value: Value) -> int:
    body = {"entities": [_record(urn, aspect, value)]}
    return _status(wire, "POST", "/entities?action=batchIngest", body)


def _type_path(urn: str) -> str:
    return f"/openapi/v3/entity/{urn.split(':')[2]}"


def _aspect_path(urn: str, aspect: str) -> str:
    return f"{_type_path(urn)}/{quote(urn, safe='')}/{aspect}"


def _open(query: str) -> Way:
    def send(wire: Wire, urn: str, aspect: str, value: Value) -> int:
        body = [{"urn": urn, aspect: {"value": value}}]
        return _status(wire, "POST", f"{_type_path(urn)}{query}", body)

    return send


def _open_aspect(query: str) -> Way:
    def send(wire: Wire, urn: str, aspect: str, value: Value) -> int:
        return _status(wire, "POST", f"{_aspect_path(urn, aspect)}{query}", {"value": value})

    return send


def by_open_patch(wire: Wire, urn: str, aspect: str, value: Value) -> int:
    body = [{"urn": urn, aspect: {"value": {"patch": _patch(value)}}}]
    return _status(wire, "PATCH", _type_path(urn), body)


def by_open_aspect_patch(wire: Wire, urn: str, aspect: str, value: Value) -> int:
    return _status(wire, "PATCH", _aspect_path(urn, aspect), {"value": {"patch": _patch(value)}})


def by_open_delete(wire: Wire, urn: str, aspect: str, value: Value) -> int:
    return _status(wire, "DELETE", f"{_type_path(urn)}/{quote(urn, safe='')}?aspects={aspect}")


def by_open_aspect_delete(wire: Wire, urn: str, aspect: str, value: Value) -> int:
    return _status(wire, "DELETE", _aspect_path(urn, aspect))


WRITES: Final[Mapping[str, Way]] = {
    **{f"MCP {change}": _single(change) for change in CHANGES if change != "DELETE"},
    **{f"MCP batch {change}": _batch(change) for change in CHANGES if change != "DELETE"},
    "snapshot": by_snapshot,
    "snapshots": by_snapshots,
    "OpenAPI": _open(""),
    "OpenAPI createIfNotExists": _open("?createIfNotExists=true"),
    "OpenAPI createEntityIfNotExists": _open("?createEntityIfNotExists=true"),
    "OpenAPI createIfEntityNotExists": _open("?createIfEntityNotExists=true"),
    "OpenAPI aspect": _open_aspect("?createIfNotExists=false"),
    "OpenAPI aspect createIfNotExists": _open_aspect(""),
    "OpenAPI patch": by_open_patch,
    "OpenAPI aspect patch": by_open_aspect_patch,
}
"""The ways that write."""

TAKES: Final[Mapping[str, Way]] = {
    "MCP DELETE": _single("DELETE"),
    "MCP batch DELETE": _batch("DELETE"),
    "OpenAPI delete": by_open_delete,
    "OpenAPI aspect delete": by_open_aspect_delete,
}
"""The ways that delete an aspect."""


MUTATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "container": (),
    "corpUserCredentials": ("createNativeUserResetToken",),
    "corpUserStatus": ("updateUserStatus",),
    "dataHubAccessTokenInfo": ("createAccessToken", "revokeAccessToken"),
    "dataHubConnectionDetails": ("upsertConnection", "updateConnection", "deleteConnection"),
    "dataHubExecutionRequestInput": ("createIngestionExecutionRequest",),
    "dataHubIngestionSourceInfo": ("createIngestionSource", "updateIngestionSource"),
    "dataHubPolicyInfo": ("createPolicy", "updatePolicy", "deletePolicy"),
    "dataHubRoleInfo": (),
    "dataHubSecretValue": ("createSecret", "updateSecret", "deleteSecret"),
    "dataPlatformInstance": (),
    "dataProductProperties": (
        *("createDataProduct", "updateDataProduct", "deleteDataProduct", "batchSetDataProduct"),
        *("batchAddToDataProducts", "batchRemoveFromDataProducts"),
    ),
    "domainProperties": ("createDomain", "moveDomain", "updateName", "deleteDomain"),
    "domains": ("setDomain", "unsetDomain", "batchSetDomain"),
    "globalSettingsInfo": ("updateGlobalSettings", "updateGlobalViewsSettings"),
    "globalTags": (
        *("addTag", "addTags", "batchAddTags", "removeTag", "batchRemoveTags", "updateDataset"),
    ),
    "glossaryNodeInfo": ("createGlossaryNode", "updateParentNode", "deleteGlossaryEntity"),
    "glossaryTermInfo": ("createGlossaryTerm", "updateParentNode", "deleteGlossaryEntity"),
    "glossaryTerms": ("addTerm", "addTerms", "batchAddTerms", "removeTerm", "batchRemoveTerms"),
    "groupMembership": ("removeGroupMembers",),
    "inviteToken": ("createInviteToken",),
    "logicalParent": ("setLogicalParent",),
    "nativeGroupMembership": ("addGroupMembers", "removeGroupMembers"),
    "ownership": ("addOwner", "addOwners", "batchAddOwners", "removeOwner", "batchRemoveOwners"),
    "querySubjects": ("createQuery", "updateQuery", "deleteQuery"),
    "roleMembership": ("batchAssignRole",),
    "status": ("batchUpdateSoftDeleted",),
    "structuredProperties": ("upsertStructuredProperties", "removeStructuredProperties"),
}
"""GraphQL's way: for each aspect with a meaning or effect, the mutations that write it.

None if only the other ways write it.
"""


def deletions(urn: str) -> list[tuple[str, str, object]]:
    """The ways to delete a whole entity."""
    key = keys.name_of(urn.split(":")[2])
    gone = {**proposal(urn, key, None, "DELETE"), "aspect": None}
    return [
        ("POST", "/entities?action=delete", {"urn": urn}),
        ("DELETE", f"{_type_path(urn)}/{quote(urn, safe='')}", None),
        ("DELETE", _aspect_path(urn, key), None),
        ("DELETE", f"{_type_path(urn)}/{quote(urn, safe='')}?aspects={key}", None),
        ("POST", INGEST, {"proposal": gone}),
        ("POST", BATCH, {"proposals": [gone]}),
        ("POST", "/entities?action=deleteReferences", {"urn": urn}),
    ]
