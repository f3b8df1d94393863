"""References to an entity: found in every form, and removed when it is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.systems.datahub.use_cases.references import references, remove_references
from tests.service.opened_services import opened

HUB = "datahub"
ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
ANA = Entity("corpuser", "urn:li:corpuser:ana")
STAFF = Entity("corpGroup", "urn:li:corpGroup:staff")
SHOP = Entity("domain", "urn:li:domain:shop")
EU = Entity("domain", "urn:li:domain:eu")
NODE = Entity("glossaryNode", "urn:li:glossaryNode:n")
TERM = Entity("glossaryTerm", "urn:li:glossaryTerm:t")
BOX = Entity("container", "urn:li:container:box")
PRODUCT = Entity("dataProduct", "urn:li:dataProduct:p")
READER = Entity("dataHubRole", "urn:li:dataHubRole:Reader")

TAG = Entity("tag", "urn:li:tag:pii")

STATED: list[tuple[Entity, Entity, str, dict[str, Any]]] = [
    (SHOP, ORDERS, "domains", {"domains": [SHOP.name]}),
    (SHOP, EU, "domainProperties", {"name": "EU", "parentDomain": SHOP.name}),
    (NODE, TERM, "glossaryTermInfo", {"definition": "", "parentNode": NODE.name}),
    (TERM, ORDERS, "glossaryTerms", {"terms": [{"urn": TERM.name}]}),
    (BOX, ORDERS, "container", {"container": BOX.name}),
    (ORDERS, PRODUCT, "dataProductProperties", {"assets": [{"destinationUrn": ORDERS.name}]}),
    (STAFF, ORDERS, "ownership", {"owners": [{"owner": STAFF.name, "type": "NONE"}]}),
    (STAFF, ANA, "groupMembership", {"groups": [STAFF.name]}),
    (
        *(TAG, ORDERS, "schemaMetadata"),
        {"fields": {"array": [{"fieldPath": "IBAN", "globalTags": {"tags": [{"tag": TAG.name}]}}]}},
    ),
    (
        *(TERM, ORDERS, "editableSchemaMetadata"),
        {
            "editableSchemaFieldInfo": [
                {"fieldPath": "a.b", "glossaryTerms": {"terms": [{"urn": TERM.name}]}}
            ]
        },
    ),
]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path, beside=Realm(HUB, "datahub")) as service:
        yield service


def put(service: DecisionService, entity: Entity, aspect: str, value: dict[str, Any]) -> None:
    write = Write(entity, aspect, value)
    service.write(SYSTEM, lambda transaction: aspects.write(transaction, HUB, [write], ANA.name))


@pytest.mark.parametrize(("target", "source", "aspect", "value"), STATED)
def test_a_reference_is_found_and_forgotten(
    service: DecisionService, target: Entity, source: Entity, aspect: str, value: dict[str, Any]
) -> None:
    put(service, target, "status", {"removed": False})
    put(service, source, aspect, value)
    snapshot = service.state.realm(HUB).matrix.snapshot
    assert [(one.source, one.aspect) for one in references(snapshot, target)] == [(source, aspect)]
    service.write(SYSTEM, lambda transaction: remove_references(transaction, HUB, target, ANA))
    assert references(service.state.realm(HUB).matrix.snapshot, target) == []
    with service.reading() as reading:
        found = aspects.read(reading, service.state.realm(HUB), [source])[source]
    assert aspect not in found or target.name not in str(found[aspect].value)


def test_roles_are_not_among_them(service: DecisionService) -> None:
    put(service, ANA, "roleMembership", {"roles": [READER.name]})
    put(service, READER, "dataHubRoleInfo", {"name": "Reader"})
    assert references(service.state.realm(HUB).matrix.snapshot, READER) == []


def test_columns_keep_what_else_is_said_of_them(service: DecisionService) -> None:
    """Below the names of Avro types, too; and a restored tag is on no column."""
    gold, other = {"tag": "urn:li:tag:gold"}, {"terms": [{"urn": TERM.name}], "auditStamp": {}}
    columns: list[dict[str, Any]] = [
        {"fieldPath": "id"},
        {
            "fieldPath": {"string": "IBAN"},
            "globalTags": {"com.linkedin.common.GlobalTags": {"tags": [{"tag": TAG.name}, gold]}},
            "glossaryTerms": other,
        },
    ]
    put(service, ORDERS, "schemaMetadata", {"schemaName": "o", "fields": {"array": columns}})
    service.write(SYSTEM, lambda transaction: remove_references(transaction, HUB, TAG, ANA))
    put(service, TAG, "status", {"removed": False})
    assert references(service.state.realm(HUB).matrix.snapshot, TAG) == []
    with service.reading() as reading:
        found = aspects.read(reading, service.state.realm(HUB), [ORDERS])[ORDERS]
    columns[1]["globalTags"]["com.linkedin.common.GlobalTags"]["tags"] = [gold]
    kept = {"schemaName": "o", "fields": {"array": columns}}
    assert found["schemaMetadata"].value == kept
    put(service, ORDERS, "schemaMetadata", kept)
    snapshot = service.state.realm(HUB).matrix.snapshot
    assert references(snapshot, TAG) == []
    assert [one.source for one in references(snapshot, TERM)] == [ORDERS]
