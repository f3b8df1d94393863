"""Grants for tests: policies in their stored form."""

from __future__ import annotations

from typing import Any

from tests.systems.datahub.http.graphql.wire import Json, Wire, user

HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:hive,a.c,PROD)"
KAFKA = "urn:li:dataset:(urn:li:dataPlatform:kafka,t,PROD)"
ID = f"urn:li:schemaField:({HIVE},id)"


def grant(wire: Wire, name: str, *privileges: str, on: tuple[str, ...] = ()) -> None:
    """Grants a user privileges: on the platform, or only on these entities."""
    policy: Json = {
        "displayName": "x",
        "description": "",
        "type": "METADATA" if on else "PLATFORM",
        "state": "ACTIVE",
        "privileges": list(privileges),
        "actors": {"users": [user(name)], "resourceOwners": False},
        "editable": True,
    }
    if on:
        criterion = {"field": "URN", "condition": "EQUALS", "values": list(on)}
        policy["resources"] = {"filter": {"criteria": [criterion]}}
    id = f"{name}-{len(wire.service.state.realm('datahub').matrix.snapshot.table.statements)}"
    wire.put("dataHubPolicy", f"urn:li:dataHubPolicy:{id}", "dataHubPolicyInfo", policy)


def dataset(wire: Wire, urn: str, *columns: str) -> None:
    """Stores a dataset with columns."""
    fields = [{"fieldPath": path, "nativeDataType": "int"} for path in columns]
    value: dict[str, Any] = {"schemaName": "x", "fields": fields}
    wire.put("dataset", urn, "schemaMetadata", value)


def input_of(type: str, field: str, selection: str = "") -> str:
    """A mutation with an input."""
    return f"mutation m($i: {type}!) {{ {field}(input: $i){selection} }}"
