"""Aspects: written values are read, their facts decide, and the two stay consistent."""

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
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import opened

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
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path, beside=Realm(HUB, "datahub")) as service:
        yield service


def put(service: DecisionService, *writes: tuple[Entity, str, dict[str, Any] | None]) -> int:
    service.write(
        SYSTEM,
        lambda transaction: aspects.write(
            transaction, HUB, [Write(*one) for one in writes], WRITER
        ),
    )
    return service.state.revision


def values(service: DecisionService, entity: Entity) -> dict[str, Any]:
    with service.reading() as reading:
        found = aspects.read(reading, service.state.realm(HUB), [entity])
    return {name: aspect.value for name, aspect in found.get(entity, {}).items()}


def is_allowed(service: DecisionService, operation: str, on: Entity, user: Entity = ANA) -> bool:
    request = Request(Principal("user", user.name), operation, on, NOW)
    return service.state.realm(HUB).matrix.decide(request).allow


@pytest.mark.parametrize("at", range(len(VALUES)))
def test_an_aspect_is_read_as_it_was_written(service: DecisionService, at: int) -> None:
    entity, name, value = VALUES[at]
    put(service, VALUES[at])
    assert values(service, entity)[name] == value


def test_all_aspects_keep_together(service: DecisionService) -> None:
    put(service, *VALUES)
    for entity, name, value in VALUES:
        assert values(service, entity)[name] == value


def test_what_is_read_and_written_back_changes_nothing(service: DecisionService) -> None:
    put(service, *VALUES)
    for entity in {entity for entity, _, _ in VALUES}:
        before = service.state.realm(HUB).matrix.snapshot
        found = values(service, entity)
        put(service, *((entity, name, value) for name, value in found.items()))
        after = service.state.realm(HUB).matrix.snapshot
        assert after.coded.relations == before.coded.relations
        assert after.coded.owners == before.coded.owners
        assert after.coded.attributes == before.coded.attributes
        assert after.coded.memberships == before.coded.memberships
        assert after.table.statements == before.table.statements
        assert values(service, entity) == found


def test_the_key_says_what_the_urn_says(service: DecisionService) -> None:
    put(service, (ORDERS, "status", {"removed": False}))
    key = values(service, ORDERS)["datasetKey"]
    assert key == {"platform": "urn:li:dataPlatform:hive", "name": "shop.orders", "origin": "PROD"}
    assert values(service, ANA) == {}


def test_a_policy_decides_from_the_next_question_on(service: DecisionService) -> None:
    put(service, (ORDERS, "domains", {"domains": [CHILD.name]}), VALUES[7])
    assert not is_allowed(service, "docs.edit", ORDERS)
    put(service, VALUES[-1])
    assert is_allowed(service, "docs.edit", ORDERS)
    put(service, (POLICY, "dataHubPolicyInfo", {**VALUES[-1][2], "state": "INACTIVE"}))
    assert not is_allowed(service, "docs.edit", ORDERS)
    put(service, VALUES[-1], (ORDERS, "domains", None))
    assert not is_allowed(service, "docs.edit", ORDERS)


def test_the_two_memberships_in_groups_are_told_apart(service: DecisionService) -> None:
    put(service, VALUES[9], VALUES[10])
    put(service, (ANA, "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:g"]}))
    assert values(service, ANA)["groupMembership"] == {"groups": ["urn:li:corpGroup:g"]}
    put(service, (ANA, "groupMembership", None))
    assert "groupMembership" not in values(service, ANA)
    native = {"nativeGroups": ["urn:li:corpGroup:g"]}
    assert values(service, ANA)["nativeGroupMembership"] == native
    memberships = service.state.realm(HUB).matrix.snapshot.coded.memberships
    groups = {
        memberships.principals[id].name
        for id in memberships.of[memberships.ids[Principal("user", ANA.name)]]
    }
    assert groups == {"urn:li:corpGroup:g"}


def test_what_changed_by_another_way_is_read_as_an_aspect(service: DecisionService) -> None:
    put(service, *VALUES)
    group = Principal("group", "urn:li:corpGroup:new")
    service.write(
        SYSTEM,
        lambda transaction: transaction.change(
            HUB,
            OwnerChanged(OwnerRow(ORDERS, Principal("user", ANA.name)), False),
            OwnerChanged(OwnerRow(ORDERS, group, "urn:li:ownershipType:x"), True),
            RelationChanged(RelationRow("tag", ORDERS, Entity("tag", "urn:li:tag:a")), False),
            MembershipChanged(MembershipRow(Principal("user", ANA.name), group), True),
        ),
    )
    owners = values(service, ORDERS)["ownership"]["owners"]
    assert {(one["owner"], one.get("typeUrn")) for one in owners} == {
        ("urn:li:corpGroup:g", "urn:li:ownershipType:x"),
        ("urn:li:corpGroup:new", "urn:li:ownershipType:x"),
    }
    assert values(service, ORDERS)["globalTags"] == {"tags": [{"tag": "urn:li:tag:b"}]}
    assert group.name in values(service, ANA)["groupMembership"]["groups"]
    assert values(service, ANA)["nativeGroupMembership"] == VALUES[10][2]


def test_what_it_lies_in_need_not_be_written_first(service: DecisionService) -> None:
    put(service, (CHILD, "domainProperties", {"name": "EU", "parentDomain": SHOP.name}))
    put(service, (FIELD, "globalTags", {"tags": []}))
    put(service, (SHOP, "domainProperties", {"name": "Shop"}))
    tree = service.state.realm(HUB).matrix.snapshot.coded.tree
    assert [tree.entity(id) for id in tree.ancestors(tree.find(CHILD) or -1)] == [SHOP]
    put(service, (CHILD, "domainProperties", {"name": "EU"}))
    tree = service.state.realm(HUB).matrix.snapshot.coded.tree
    assert not list(tree.ancestors(tree.find(CHILD) or -1))


@pytest.mark.parametrize(("type", "other"), [("Term", "Node"), ("Node", "Term")])
def test_what_lies_in_a_term_group_says_so_in_the_aspect_of_its_own_type(
    service: DecisionService, type: str, other: str
) -> None:
    entity = Entity(f"glossary{type}", f"urn:li:glossary{type}:x")
    about = {"definition": "", "parentNode": "urn:li:glossaryNode:group"}
    put(service, (entity, f"glossary{type}Info", about))
    assert set(values(service, entity)) == {f"glossary{type}Key", f"glossary{type}Info"}
    with pytest.raises(BadInput, match=f"expected a glossary{other} with `parentNode`"):
        put(service, (entity, f"glossary{other}Info", about))


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
    service: DecisionService, entity: Entity, aspect: str, value: dict[str, Any], field: str
) -> None:
    revision = service.state.revision
    with pytest.raises(BadInput) as caught:
        put(service, (ORDERS, "status", {"removed": True}), (entity, aspect, value))
    assert field in str(caught.value)
    assert service.state.revision == revision
    assert values(service, ORDERS) == {}


def test_what_is_dropped_is_gone_with_its_power(service: DecisionService) -> None:
    put(service, (ORDERS, "domains", {"domains": [SHOP.name]}), VALUES[-1], *VALUES[8:12])
    assert is_allowed(service, "docs.edit", ORDERS)
    gone: list[bool] = []
    for _ in range(2):
        service.write(
            SYSTEM, lambda transaction: gone.append(aspects.drop(transaction, HUB, POLICY))
        )
    assert gone == [True, False]
    assert not is_allowed(service, "docs.edit", ORDERS)
    assert values(service, POLICY) == {}
    service.write(SYSTEM, lambda transaction: aspects.drop(transaction, HUB, ANA))
    put(service, (ANA, "corpUserInfo", {"active": True}))
    assert values(service, ANA).keys() == {"corpUserInfo", "corpUserKey"}


@pytest.mark.parametrize("aspect", sorted(aspects.SECRETS))
def test_a_secret_is_neither_kept_nor_read(service: DecisionService, aspect: str) -> None:
    secret = dict.fromkeys(aspects.SECRETS[aspect], "hush")
    put(service, (ANA, aspect, {**secret, "role": "x"}))
    assert aspect not in values(service, ANA)
    with service.reading() as reading:
        document = reading.documents(HUB, [ANA])[ANA]
    assert aspects.stored_aspects(document)[aspect].value == {"role": "x"}


def test_an_entity_of_an_unknown_type_has_no_key_but_is_there(service: DecisionService) -> None:
    odd = Entity("somethingNew", "urn:li:somethingNew:(a,b)")
    put(service, (odd, "someAspect", {"a": 1}))
    assert values(service, odd) == {"someAspect": {"a": 1}}
    put(service, (odd, "someAspect", None))
    snapshot = service.state.realm(HUB).matrix.snapshot
    assert values(service, odd) == {}
    assert aspects.exists(odd, snapshot)
