"""Aspects: what is written is read, what it states decides, and neither can fall apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.change import MembershipChanged, OwnerChanged, RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.service import aspects
from lakewarden.service.actor import SYSTEM
from lakewarden.service.aspects import Write
from lakewarden.service.plane import Plane
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from lakewarden.testing.draft import NOW
from tests.service.planes import opened

HUB = "datahub"
WRITER = "urn:li:corpuser:writer"
ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
FIELD = Entity("schemaField", f"urn:li:schemaField:({ORDERS.name},id)")
ANA = Entity("corpuser", "urn:li:corpuser:ana")
SHOP = Entity("domain", "urn:li:domain:shop")
CHILD = Entity("domain", "urn:li:domain:shop-eu")
BOX = Entity("container", "urn:li:container:box")
POLICY = Entity("dataHubPolicy", "urn:li:dataHubPolicy:p")

VALUES: list[tuple[Entity, str, dict[str, Any]]] = [
    (ORDERS, "datasetProperties", {"name": "orders", "customProperties": {"a": "b"}}),
    (
        ORDERS,
        "ownership",
        {
            "owners": [
                {"owner": ANA.name, "type": "DATAOWNER", "source": {"type": "MANUAL"}},
                {
                    "owner": "urn:li:corpGroup:g",
                    "type": "CUSTOM",
                    "typeUrn": "urn:li:ownershipType:x",
                },
            ],
            "lastModified": {"time": 1, "actor": WRITER},
        },
    ),
    (ORDERS, "domains", {"domains": [SHOP.name]}),
    (ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:a"}]}),
    (ORDERS, "container", {"container": BOX.name}),
    (ORDERS, "status", {"removed": True}),
    (
        ORDERS,
        "structuredProperties",
        {
            "properties": [
                {
                    "propertyUrn": "urn:li:structuredProperty:tier",
                    "values": [{"string": "high"}, {"double": 2.0}],
                }
            ]
        },
    ),
    (CHILD, "domainProperties", {"name": "EU", "parentDomain": SHOP.name}),
    (ANA, "corpUserInfo", {"active": True}),
    (ANA, "groupMembership", {"groups": ["urn:li:corpGroup:g"]}),
    (ANA, "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:h"]}),
    (ANA, "roleMembership", {"roles": ["urn:li:dataHubRole:Reader"]}),
    (
        POLICY,
        "dataHubPolicyInfo",
        {
            "displayName": "Docs",
            "description": "who may document",
            "type": "METADATA",
            "state": "ACTIVE",
            "privileges": ["EDIT_ENTITY_DOCS"],
            "actors": {"users": [ANA.name], "resourceOwners": False},
            "resources": {
                "filter": {
                    "criteria": [{"field": "DOMAIN", "condition": "EQUALS", "values": [SHOP.name]}]
                }
            },
            "editable": True,
        },
    ),
]


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    with opened(tmp_path) as plane:
        plane.write(SYSTEM, lambda desk: establish(desk, Realm(HUB, "datahub")))
        yield plane


def put(plane: Plane, *writes: tuple[Entity, str, dict[str, Any] | None]) -> int:
    plane.write(
        SYSTEM, lambda desk: aspects.write(desk, HUB, [Write(*one) for one in writes], WRITER)
    )
    return plane.state.revision


def values(plane: Plane, entity: Entity) -> dict[str, Any]:
    with plane.reading() as reading:
        found = aspects.read(reading, plane.state.realm(HUB), [entity])
    return {name: aspect.value for name, aspect in found.get(entity, {}).items()}


def may(plane: Plane, operation: str, on: Entity, user: Entity = ANA) -> bool:
    request = Request(Principal("user", user.name), operation, on, NOW)
    return plane.state.realm(HUB).matrix.decide(request).allow


@pytest.mark.parametrize("at", range(len(VALUES)))
def test_an_aspect_is_read_as_it_was_written(plane: Plane, at: int) -> None:
    entity, name, value = VALUES[at]
    put(plane, VALUES[at])
    assert values(plane, entity)[name] == value


def test_all_aspects_keep_together(plane: Plane) -> None:
    put(plane, *VALUES)
    for entity, name, value in VALUES:
        assert values(plane, entity)[name] == value


def test_what_is_read_and_written_back_changes_nothing(plane: Plane) -> None:
    put(plane, *VALUES)
    for entity in {entity for entity, _, _ in VALUES}:
        before = plane.state.realm(HUB).matrix.snapshot
        found = values(plane, entity)
        put(plane, *((entity, name, value) for name, value in found.items()))
        after = plane.state.realm(HUB).matrix.snapshot
        assert after.coded.relations == before.coded.relations
        assert after.coded.owners == before.coded.owners
        assert after.coded.attributes == before.coded.attributes
        assert after.coded.acting == before.coded.acting
        assert after.table.statements == before.table.statements
        assert values(plane, entity) == found


def test_the_key_says_what_the_urn_says(plane: Plane) -> None:
    put(plane, (ORDERS, "status", {"removed": False}))
    key = values(plane, ORDERS)["datasetKey"]
    assert key == {"platform": "urn:li:dataPlatform:hive", "name": "shop.orders", "origin": "PROD"}
    assert values(plane, ANA) == {}


def test_a_policy_decides_from_the_next_question_on(plane: Plane) -> None:
    put(plane, (ORDERS, "domains", {"domains": [CHILD.name]}), VALUES[7])
    assert not may(plane, "docs.edit", ORDERS)
    put(plane, VALUES[-1])
    assert may(plane, "docs.edit", ORDERS)
    put(plane, (POLICY, "dataHubPolicyInfo", {**VALUES[-1][2], "state": "INACTIVE"}))
    assert not may(plane, "docs.edit", ORDERS)
    put(plane, VALUES[-1], (ORDERS, "domains", None))
    assert not may(plane, "docs.edit", ORDERS)


def test_the_two_memberships_in_groups_are_told_apart(plane: Plane) -> None:
    put(plane, VALUES[9], VALUES[10])
    put(plane, (ANA, "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:g"]}))
    assert values(plane, ANA)["groupMembership"] == {"groups": ["urn:li:corpGroup:g"]}
    put(plane, (ANA, "groupMembership", None))
    assert "groupMembership" not in values(plane, ANA)
    native = {"nativeGroups": ["urn:li:corpGroup:g"]}
    assert values(plane, ANA)["nativeGroupMembership"] == native
    acting = plane.state.realm(HUB).matrix.snapshot.coded.acting
    groups = {
        acting.principals[id].name for id in acting.of[acting.ids[Principal("user", ANA.name)]]
    }
    assert groups == {"urn:li:corpGroup:g"}


def test_what_changed_by_another_way_is_read_as_an_aspect(plane: Plane) -> None:
    put(plane, *VALUES)
    group = Principal("group", "urn:li:corpGroup:new")
    plane.write(
        SYSTEM,
        lambda desk: desk.change(
            HUB,
            OwnerChanged(OwnerRow(ORDERS, Principal("user", ANA.name)), False),
            OwnerChanged(OwnerRow(ORDERS, group, "urn:li:ownershipType:x"), True),
            RelationChanged(RelationRow("tag", ORDERS, Entity("tag", "urn:li:tag:a")), False),
            MembershipChanged(MembershipRow(Principal("user", ANA.name), group), True),
        ),
    )
    owners = values(plane, ORDERS)["ownership"]["owners"]
    assert {(one["owner"], one.get("typeUrn")) for one in owners} == {
        ("urn:li:corpGroup:g", "urn:li:ownershipType:x"),
        ("urn:li:corpGroup:new", "urn:li:ownershipType:x"),
    }
    assert values(plane, ORDERS)["globalTags"] == {"tags": [{"tag": "urn:li:tag:b"}]}
    assert group.name in values(plane, ANA)["groupMembership"]["groups"]
    assert values(plane, ANA)["nativeGroupMembership"] == VALUES[10][2]


def test_what_it_lies_in_need_not_be_written_first(plane: Plane) -> None:
    put(plane, (CHILD, "domainProperties", {"name": "EU", "parentDomain": SHOP.name}))
    put(plane, (FIELD, "globalTags", {"tags": []}))
    put(plane, (SHOP, "domainProperties", {"name": "Shop"}))
    tree = plane.state.realm(HUB).matrix.snapshot.coded.tree
    assert [tree.entity(id) for id in tree.ancestors(tree.find(CHILD) or -1)] == [SHOP]
    put(plane, (CHILD, "domainProperties", {"name": "EU"}))
    tree = plane.state.realm(HUB).matrix.snapshot.coded.tree
    assert not list(tree.ancestors(tree.find(CHILD) or -1))


@pytest.mark.parametrize(
    ("entity", "aspect", "value", "field"),
    [
        (ORDERS, "ownership", {"owners": [{"owner": "ana"}]}, "ownership"),
        (ORDERS, "domains", {"domains": [ANA.name]}, "domains"),
        (ORDERS, "globalTags", {"tags": "urn:li:tag:a"}, "globalTags.tags"),
        (POLICY, "dataHubPolicyInfo", {**VALUES[-1][2], "type": "OTHER"}, "dataHubPolicyInfo"),
        (SHOP, "domainProperties", {"parentDomain": SHOP.name}, ""),
    ],
)
def test_what_is_malformed_leaves_nothing_behind(
    plane: Plane, entity: Entity, aspect: str, value: dict[str, Any], field: str
) -> None:
    revision = plane.state.revision
    with pytest.raises(BadInput) as caught:
        put(plane, (ORDERS, "status", {"removed": True}), (entity, aspect, value))
    assert field in str(caught.value)
    assert plane.state.revision == revision
    assert values(plane, ORDERS) == {}


def test_what_is_dropped_is_gone_with_its_power(plane: Plane) -> None:
    put(plane, (ORDERS, "domains", {"domains": [SHOP.name]}), VALUES[-1], *VALUES[8:12])
    assert may(plane, "docs.edit", ORDERS)
    gone: list[bool] = []
    for _ in range(2):
        plane.write(SYSTEM, lambda desk: gone.append(aspects.drop(desk, HUB, POLICY)))
    assert gone == [True, False]
    assert not may(plane, "docs.edit", ORDERS)
    assert values(plane, POLICY) == {}
    plane.write(SYSTEM, lambda desk: aspects.drop(desk, HUB, ANA))
    put(plane, (ANA, "corpUserInfo", {"active": True}))
    assert values(plane, ANA).keys() == {"corpUserInfo", "corpUserKey"}


@pytest.mark.parametrize("aspect", sorted(aspects.SECRETS))
def test_a_secret_is_neither_kept_nor_read(plane: Plane, aspect: str) -> None:
    secret = dict.fromkeys(aspects.SECRETS[aspect], "hush")
    put(plane, (ANA, aspect, {**secret, "role": "x"}))
    assert aspect not in values(plane, ANA)
    with plane.reading() as reading:
        document = reading.documents(HUB, [ANA])[ANA]
    assert aspects.kept_in(document)[aspect].value == {"role": "x"}


def test_an_entity_of_an_unknown_type_has_no_key_but_is_there(plane: Plane) -> None:
    odd = Entity("somethingNew", "urn:li:somethingNew:(a,b)")
    put(plane, (odd, "someAspect", {"a": 1}))
    assert values(plane, odd) == {"someAspect": {"a": 1}}
    put(plane, (odd, "someAspect", None))
    snapshot = plane.state.realm(HUB).matrix.snapshot
    assert values(plane, odd) == {}
    assert aspects.is_there(odd, snapshot)
