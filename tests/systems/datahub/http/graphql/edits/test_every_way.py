"""T-33: what is forbidden on a page is forbidden by proposal and by OpenAPI, and vice versa."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    MODEL,
    ORDERS,
    PII,
    PRICE,
    PRODUCT,
    QUERY,
    SECRET,
    SHOP,
    STOCK,
    Json,
    World,
)
from tests.systems.datahub.http.wire import proposal

COLUMN = {"resourceUrn": ORDERS, "subResourceType": "DATASET_FIELD", "subResource": PRICE}


class Change(NamedTuple):
    """One change, as a mutation and as an aspect; `by` allows it in every way."""

    says: str
    field: str
    input: Any
    urn: str
    aspect: str
    value: Json
    by: tuple[tuple[str, str], ...]
    document: str = ""


CHANGES = [
    Change(
        "another tag than that to which the right is limited",
        "addTag",
        {"tagUrn": SECRET, "resourceUrn": ORDERS},
        ORDERS,
        "globalTags",
        {"tags": [{"tag": SECRET}]},
        (("EDIT_ENTITY", ORDERS),),
    ),
    Change(
        "another tag on a column",
        "addTag",
        {"tagUrn": SECRET, **COLUMN},
        ORDERS,
        "editableSchemaMetadata",
        {
            "editableSchemaFieldInfo": [
                {"fieldPath": PRICE, "globalTags": {"tags": [{"tag": SECRET}]}}
            ]
        },
        (("EDIT_ENTITY", ORDERS),),
    ),
    Change(
        "an asset of a data product",
        "batchSetDataProduct",
        {"dataProductUrn": PRODUCT, "resourceUrns": [MODEL]},
        PRODUCT,
        "dataProductProperties",
        {"name": "p", "assets": [{"destinationUrn": MODEL}]},
        (("MANAGE_DATA_PRODUCTS", SHOP),),
    ),
    Change(
        "a logical parent",
        "setLogicalParent",
        {"resourceUrn": ORDERS, "parentUrn": MODEL},
        ORDERS,
        "logicalParent",
        {"parent": {"destinationUrn": MODEL}},
        (("EDIT_ENTITY", MODEL),),
    ),
    Change(
        "a subject of a query",
        "updateQuery",
        {"subjects": [{"datasetUrn": ORDERS}, {"datasetUrn": STOCK}]},
        QUERY,
        "querySubjects",
        {"subjects": [{"entity": ORDERS}, {"entity": STOCK}]},
        (("EDIT_ENTITY_QUERIES", STOCK),),
        f'mutation m($i: UpdateQueryInput!) {{ updateQuery(urn: "{QUERY}", input: $i) {{ urn }} }}',
    ),
]


@pytest.fixture
def limited(world: World) -> World:
    """Ana may write the aspects of the changes, but not grant what they grant."""
    policy = {
        "displayName": "limited",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"],
        "actors": {"users": ["urn:li:corpuser:ana"], "resourceOwners": False},
        "resources": {
            "filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": [ORDERS]}]},
            "privilegeConstraints": {
                "criteria": [{"field": "URN", "condition": "EQUALS", "values": [PII]}]
            },
        },
    }
    world.wire.put(("urn:li:dataHubPolicy:limited", "dataHubPolicyInfo", policy))
    world.may("EDIT_ENTITY", on=PRODUCT)
    world.may("EDIT_ENTITY_QUERIES", on=ORDERS)
    return world


def by_page(world: World, change: Change) -> bool:
    if change.document:
        return "errors" not in world.ask(change.document, i=change.input)
    types = {"addTag": "TagAssociationInput"}
    type = types.get(change.field) or f"{change.field[0].upper()}{change.field[1:]}Input"
    document = f"mutation m($i: {type}!) {{ {change.field}(input: $i) }}"
    answer = world.ask(document, i=change.input)
    return all(error["extensions"]["code"] != 403 for error in answer.get("errors", ()))


def by_proposal(world: World, change: Change) -> bool:
    body = {"proposal": proposal(change.urn, change.aspect, change.value)}
    status, answer = world.wire.ask("POST", "/aspects?action=ingestProposal", body, "ana")
    assert status in (200, 403), answer
    return status == 200


def by_open_api(world: World, change: Change) -> bool:
    type, name = change.urn.split(":")[2], quote(change.urn, safe="")
    path = f"/openapi/v3/entity/{type}/{name}/{change.aspect}?createIfNotExists=false"
    status, answer = world.wire.ask("POST", path, {"value": change.value}, "ana")
    assert status in (200, 403), answer
    return status == 200


WAYS = (by_page, by_proposal, by_open_api)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.says)
def test_what_is_forbidden_is_forbidden_in_every_way(limited: World, change: Change) -> None:
    revision = limited.revision
    assert [way.__name__ for way in WAYS if way(limited, change)] == []
    assert limited.revision == revision


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.says)
def test_what_is_allowed_is_written_the_same_in_every_way(
    limited: World, change: Change, way: Any
) -> None:
    for privilege, on in change.by:
        limited.may(privilege, on=on)
    assert way(limited, change)
    assert _names(change.value) <= _names(limited.read(change.urn, change.aspect))


def test_the_switches_of_the_other_ways_open_no_page(limited: World) -> None:
    """REST authorization, and checks of single tags, are switched off only for REST."""
    tag, *_ = CHANGES
    limited.configure(constraints=False)
    assert [way.__name__ for way in WAYS if way(limited, tag)] == ["by_proposal", "by_open_api"]
    limited.configure(rest=False)
    asset = CHANGES[2]
    assert not by_page(limited, asset)
    assert by_proposal(limited, asset)


def test_soft_deletion_takes_less_by_ingestion_than_on_a_page(world: World) -> None:
    removed = Change(
        "an entity marked as removed",
        "batchUpdateSoftDeleted",
        {"urns": [ORDERS], "deleted": True},
        ORDERS,
        "status",
        {"removed": True},
        (),
    )
    world.may("DELETE_ENTITY", on=ORDERS)
    assert [way.__name__ for way in WAYS if way(world, removed)] == ["by_page"]
    world.may("EDIT_ENTITY", on=ORDERS)
    assert all(way(world, removed) for way in WAYS)


def _names(value: object) -> set[str]:
    """All texts within a value."""
    if isinstance(value, dict):
        return {text for inner in value.values() for text in _names(inner)}
    if isinstance(value, list):
        return {text for inner in value for text in _names(inner)}
    return {value} if isinstance(value, str) else set()
