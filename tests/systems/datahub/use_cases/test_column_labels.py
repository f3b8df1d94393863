"""Tags and terms of columns in aspects of their dataset: masks by them bind these columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.change import EntityAdded, EntityMoved, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import opened

HUB = "datahub"
ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:trino,lake.sales.orders,PROD)")
PII, IBAN = "urn:li:tag:pii", "urn:li:glossaryTerm:iban"
FINANCE = Entity("glossaryNode", "urn:li:glossaryNode:finance")
ANA = Principal("user", "urn:li:corpuser:ana")
TAGGED = {"tags": [{"tag": PII}]}
V2 = "[version=2.0].[type=struct].[type=string].iban"
OF_KEY = "[version=2.0].[key=True].[type=string].IBAN"
IN_AVRO = {
    "fieldPath": {"string": "iban"},
    "globalTags": {"com.linkedin.common.GlobalTags": TAGGED},
}
TERMED = {"terms": [{"urn": IBAN}], "auditStamp": {}}


def schema(path: str, **labels: object) -> dict[str, Any]:
    other = {"fieldPath": "id", "nativeDataType": "bigint"}
    return {"schemaName": "orders", "fields": [other, {"fieldPath": path, **labels}]}


def edited(path: str, **labels: object) -> dict[str, Any]:
    return {"editableSchemaFieldInfo": [{"fieldPath": path, **labels}]}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path, beside=Realm(HUB, "datahub")) as service:
        system = service.state.realm(HUB).system
        rules = (
            ("pii", "TAG", PII),
            ("iban", "GLOSSARY", IBAN),
            ("node", "GLOSSARY", FINANCE.name),
        )
        masks = [
            {
                "id": id,
                "effect": "mask",
                "expression": "null",
                "where": [{"field": field, "values": [value]}],
            }
            for id, field, value in rules
        ]
        read = read_statements(masks, system.model, system.spelling, "masks")
        service.write(
            SYSTEM, lambda transaction: transaction.change(HUB, *map(StatementAdded, read))
        )
        yield service


def put(service: DecisionService, **values: dict[str, Any] | None) -> None:
    writes = [Write(ORDERS, aspect, value) for aspect, value in values.items()]
    service.write(SYSTEM, lambda transaction: aspects.write(transaction, HUB, writes, ANA.name))


def column(name: str) -> Entity:
    return Entity("schemaField", f"urn:li:schemaField:({ORDERS.name},{name})")


def masks(service: DecisionService, name: str = "iban") -> list[str]:
    """The masks that bind on a column, as an engine requests them."""
    matrix = service.state.realm(HUB).matrix
    request = Request(ANA, "", column(name), NOW)
    return [one.id for one in obligations(matrix, request, Effect.MASK)]


@pytest.mark.parametrize(
    ("aspect", "value"),
    [
        ("schemaMetadata", schema("iban", globalTags=TAGGED)),
        ("editableSchemaMetadata", edited("iban", globalTags=TAGGED)),
        ("schemaMetadata", schema(V2, globalTags=TAGGED)),
        ("schemaMetadata", schema(OF_KEY, globalTags=TAGGED)),
        ("editableSchemaMetadata", edited("iban.country.[type=string].code", globalTags=TAGGED)),
        ("schemaMetadata", {"fields": {"array": [IN_AVRO]}}),
    ],
)
def test_a_tag_of_a_column_brings_it_under_the_mask(
    service: DecisionService, aspect: str, value: dict[str, Any]
) -> None:
    assert masks(service) == []
    put(service, **{aspect: value})
    assert masks(service) == ["pii"]
    assert masks(service, "id") == []
    put(service, **{aspect: None})
    assert masks(service) == []


def test_both_aspects_and_the_columns_own_count(service: DecisionService) -> None:
    put(service, schemaMetadata=schema("iban", globalTags=TAGGED))
    put(service, editableSchemaMetadata=edited("iban", globalTags=TAGGED))
    own = Write(column("iban"), "globalTags", {"tags": [{"tag": "urn:li:tag:other"}]})
    service.write(SYSTEM, lambda transaction: aspects.write(transaction, HUB, [own], ANA.name))
    put(service, editableSchemaMetadata=edited("iban"))
    assert masks(service) == ["pii"]
    put(service, schemaMetadata=schema("iban"))
    assert masks(service) == []


def test_terms_count_with_the_nodes_above_them(service: DecisionService) -> None:
    term = Entity("glossaryTerm", IBAN)
    put(service, editableSchemaMetadata=edited("iban", glossaryTerms=TERMED))
    assert masks(service) == ["iban"]
    placed = (EntityAdded(FINANCE, None), EntityAdded(term, None), EntityMoved(term, FINANCE))
    service.write(SYSTEM, lambda transaction: transaction.change(HUB, *placed))
    assert masks(service) == ["iban", "node"]


def test_grants_by_tag_do_not_look_at_them(service: DecisionService) -> None:
    put(service, schemaMetadata=schema("iban", globalTags=TAGGED))
    system = service.state.realm(HUB).system
    grant = {
        "id": "g",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "to": [f"user:{ANA.name}"],
        "where": [{"field": "TAG", "values": [PII]}],
    }
    (read,) = read_statements([grant], system.model, system.spelling, "grant")
    service.write(SYSTEM, lambda transaction: transaction.change(HUB, StatementAdded(read)))

    def reached(name: str) -> bool:
        snapshot = service.state.realm(HUB).matrix.snapshot
        every = snapshot.table.allows("VIEW_ENTITY_PAGE").every
        scope = next(one.scope for one in every if one.statement.id == "g")
        id = snapshot.coded.tree.find(column(name))
        return id is not None and id in snapshot.bitmaps[scope]

    assert not reached("iban")
    own = Write(column("iban"), "globalTags", TAGGED)
    service.write(SYSTEM, lambda transaction: aspects.write(transaction, HUB, [own], ANA.name))
    assert reached("iban")


def test_what_is_no_label_is_left_out(service: DecisionService) -> None:
    odd = [{"tag": "pii"}, {"tag": 5}, {"tag": IBAN}, "x", {}]
    fields = [{"fieldPath": "iban", "globalTags": {"tags": odd}}, {"globalTags": TAGGED}, 7]
    put(service, schemaMetadata={"fields": fields}, editableSchemaMetadata={"x": 1})
    assert masks(service) == []
    assert not service.state.realm(HUB).matrix.snapshot.coded.is_known(column("iban"))


def test_labels_go_with_the_dataset(service: DecisionService) -> None:
    put(service, schemaMetadata=schema("iban", globalTags=TAGGED))
    service.write(SYSTEM, lambda transaction: aspects.drop(transaction, HUB, ORDERS))
    assert masks(service) == []


def reads(service: DecisionService) -> set[str]:
    coded = service.state.realm(HUB).matrix.snapshot.coded
    id = coded.tree.find(ORDERS)
    return set() if id is None else set(coded.attributes.get(id, {}).get("reads", ()))


def test_a_view_keeps_what_it_reads(service: DecisionService) -> None:
    clients = ORDERS.name.replace("orders", "clients")
    logic = {"viewLogic": "select * from clients", "viewLanguage": "SQL", "materialized": False}
    put(service, viewProperties=logic)
    assert reads(service) == {f"dataset:{clients}"}
    put(service, status={"removed": False})
    assert reads(service) == {f"dataset:{clients}"}
    put(service, viewProperties={**logic, "viewLogic": "select 1"})
    assert reads(service) == set()
    put(service, viewProperties=logic)
    put(service, viewProperties=None)
    assert reads(service) == set()
