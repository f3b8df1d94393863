"""Owners: their types, their identities, and their new permissions."""

from __future__ import annotations

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    BAD,
    BOB,
    COST,
    EXPERT,
    FORBIDDEN,
    GONE,
    MISSING,
    ORDERS,
    STAFF,
    STOCK,
    TECHNICAL,
    Json,
    World,
)

BUSINESS = "urn:li:ownershipType:__system__business_owner"
NONE = "urn:li:ownershipType:__system__none"
BY_BOB = {"ownerUrn": BOB, "ownerEntityType": "CORP_USER"}
ON = {"resourceUrn": ORDERS}


def owners(world: World, urn: str = ORDERS) -> list[Json]:
    return [
        {key: one[key] for key in ("owner", "type", "typeUrn") if key in one}
        for one in world.read(urn, "ownership")["owners"]
    ]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({}, {"type": "NONE", "typeUrn": NONE}),
        ({"type": "BUSINESS_OWNER"}, {"type": "BUSINESS_OWNER", "typeUrn": BUSINESS}),
        ({"type": "DATAOWNER"}, {"type": "DATAOWNER"}),
        ({"ownershipTypeUrn": TECHNICAL}, {"type": "TECHNICAL_OWNER", "typeUrn": TECHNICAL}),
        ({"ownershipTypeUrn": EXPERT}, {"type": "CUSTOM", "typeUrn": EXPERT}),
        (
            {"type": "BUSINESS_OWNER", "ownershipTypeUrn": EXPERT},
            {"type": "CUSTOM", "typeUrn": EXPERT},
        ),
    ],
)
def test_an_ownership_type_is_kept_as_its_urn_and_as_its_older_word(
    world: World, said: Json, kept: Json
) -> None:
    world.mutate("addOwner", {**BY_BOB, **said, **ON}, "admin")
    assert owners(world) == [{"owner": BOB, **kept}]


def test_one_may_own_in_several_ways_but_in_each_once(world: World) -> None:
    for type in (EXPERT, BUSINESS, EXPERT):
        world.mutate("addOwner", {**BY_BOB, "ownershipTypeUrn": type, **ON}, "admin")
    assert [one["typeUrn"] for one in owners(world)] == [EXPERT, BUSINESS]


def test_one_way_of_owning_ends_or_all_of_them(world: World) -> None:
    for type in (EXPERT, BUSINESS):
        world.mutate("addOwner", {**BY_BOB, "ownershipTypeUrn": type, **ON}, "admin")
    world.mutate("removeOwner", {"ownerUrn": BOB, "ownershipTypeUrn": EXPERT, **ON}, "admin")
    assert [one["typeUrn"] for one in owners(world)] == [BUSINESS]
    world.mutate("removeOwner", {"ownerUrn": BOB, **ON}, "admin")
    assert owners(world) == []


def test_an_older_word_is_the_type_that_it_stands_for(world: World) -> None:
    old = {"owners": [{"owner": BOB, "type": "BUSINESS_OWNER"}, {"owner": STAFF, "type": "NONE"}]}
    world.wire.put((ORDERS, "ownership", old))
    world.mutate("addOwner", {**BY_BOB, "ownershipTypeUrn": BUSINESS, **ON}, "admin")
    assert len(owners(world)) == 2
    gone = {"ownerUrns": [BOB], "ownershipTypeUrn": BUSINESS, "resources": [ON]}
    world.mutate("batchRemoveOwners", gone, "admin")
    assert owners(world) == [{"owner": STAFF, "type": "NONE"}]


def test_a_batch_can_say_the_type_of_those_that_say_none(world: World) -> None:
    typed = {"ownerUrn": STAFF, "ownerEntityType": "CORP_GROUP", "type": "TECHNICAL_OWNER"}
    batch = {"owners": [BY_BOB, typed], "ownershipTypeUrn": EXPERT, "resources": [ON]}
    world.mutate("batchAddOwners", batch, "admin")
    assert [one["typeUrn"] for one in owners(world)] == [EXPERT, TECHNICAL]


def test_an_owner_may_at_once_what_owners_may_and_no_longer_than_it_owns(world: World) -> None:
    policy = {
        "displayName": "experts",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_DOCS"],
        "actors": {"resourceOwners": True, "resourceOwnersTypes": [EXPERT]},
        "resources": {"filter": {"criteria": []}},
    }
    world.wire.put(
        ("urn:li:dataHubPolicy:experts", "dataHubPolicyInfo", policy),
        ("urn:li:corpuser:ana", "nativeGroupMembership", {"nativeGroups": [STAFF]}),
    )
    describe = {"description": "d", **ON}
    group = {"ownerUrn": STAFF, "ownerEntityType": "CORP_GROUP", **ON}
    world.mutate("addOwner", group, "admin")
    assert world.refused("updateDescription", describe) == FORBIDDEN
    world.mutate("addOwner", {**group, "ownershipTypeUrn": EXPERT}, "admin")
    world.mutate("updateDescription", describe)
    world.mutate("removeOwner", {"ownerUrn": STAFF, "ownershipTypeUrn": EXPERT, **ON}, "admin")
    assert world.refused("updateDescription", describe) == FORBIDDEN


@pytest.mark.parametrize(
    ("input", "said"),
    [
        ({**BY_BOB, "ownerUrn": "urn:li:corpuser:none"}, "`ownerUrn`"),
        ({**BY_BOB, "ownerUrn": STAFF}, "`ownerUrn`"),
        ({**BY_BOB, "ownerEntityType": "CORP_GROUP"}, "`ownerUrn`"),
        ({**BY_BOB, "ownershipTypeUrn": "urn:li:ownershipType:none"}, "`ownershipTypeUrn`"),
        ({**BY_BOB, "ownershipTypeUrn": COST}, "`ownershipTypeUrn`"),
        ({**BY_BOB, "type": "CUSTOM"}, "`type`"),
    ],
)
def test_what_makes_no_sense_names_the_argument(world: World, input: Json, said: str) -> None:
    assert world.refused("addOwner", {**input, **ON}, "admin") == BAD
    assert said in world.error_message


def test_columns_have_no_owners(world: World) -> None:
    column = {**ON, "subResourceType": "DATASET_FIELD", "subResource": "price"}
    assert world.refused("batchAddOwners", {"owners": [BY_BOB], "resources": [column]}) == BAD


def test_what_is_missing_is_told_only_to_whoever_may(world: World) -> None:
    assert world.refused("addOwner", {**BY_BOB, "resourceUrn": GONE}) == FORBIDDEN
    assert world.refused("addOwner", {**BY_BOB, "resourceUrn": GONE}, "admin") == MISSING


def test_a_batch_with_one_that_is_missing_writes_nothing(world: World) -> None:
    resources = [{"resourceUrn": STOCK}, {"resourceUrn": GONE}]
    batch = {"owners": [BY_BOB], "resources": resources}
    assert world.refused("batchAddOwners", batch, "admin") == MISSING
    assert world.read(STOCK, "ownership") == {}
