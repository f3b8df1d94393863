"""The glossary: permissions by place, and containment."""

from __future__ import annotations

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    ANA,
    BAD,
    CONFLICT,
    COST,
    FORBIDDEN,
    MISSING,
    MONEY,
    ORDERS,
    SALES,
    SHOP,
    TRADE,
    World,
)

ALL, DIRECT = "MANAGE_ALL_GLOSSARY_CHILDREN", "MANAGE_GLOSSARY_CHILDREN"


def test_all_children_of_a_group_are_those_of_the_groups_in_it_too(world: World) -> None:
    world.may(ALL, on=TRADE)
    urn = world.mutate("createGlossaryTerm", {"name": "deep", "parentNode": SALES})
    world.mutate("updateName", {"urn": urn, "name": "deeper"})
    world.mutate("updateParentNode", {"resourceUrn": urn, "parentNode": TRADE})
    world.good(f'mutation {{ deleteGlossaryEntity(urn: "{urn}") }}')


def test_direct_children_are_not(world: World) -> None:
    world.may(DIRECT, on=TRADE)
    world.mutate("createGlossaryTerm", {"name": "near", "parentNode": TRADE})
    deep = {"name": "deep", "parentNode": SALES}
    assert world.refused("createGlossaryTerm", deep) == FORBIDDEN
    assert world.refused("createGlossaryTerm", {"name": "top"}) == FORBIDDEN


def test_moving_takes_rights_where_it_was_and_where_it_goes(world: World) -> None:
    move = {"resourceUrn": MONEY, "parentNode": SALES}
    world.may(DIRECT, on=SALES)
    assert world.refused("updateParentNode", move) == FORBIDDEN
    world.may(DIRECT, on=TRADE)
    world.mutate("updateParentNode", move)
    assert world.refused("updateParentNode", {"resourceUrn": MONEY}) == FORBIDDEN


def test_what_is_moved_decides_at_once(world: World) -> None:
    world.wire.grant("sales", "EDIT_ENTITY_DOCS", to="ana", GLOSSARY=[SALES])
    world.mutate("addTerm", {"termUrn": MONEY, "resourceUrn": ORDERS}, "admin")
    describe = {"description": "d", "resourceUrn": ORDERS}
    assert world.refused("updateDescription", describe) == FORBIDDEN
    world.mutate("updateParentNode", {"resourceUrn": MONEY, "parentNode": SALES}, "admin")
    world.mutate("updateDescription", describe)


def test_whoever_changes_a_term_as_such_describes_links_and_gives_it_owners(world: World) -> None:
    world.may(DIRECT, on=TRADE)
    world.mutate("updateDescription", {"description": "d", "resourceUrn": MONEY})
    world.mutate("addLink", {"linkUrl": "https://a", "label": "a", "resourceUrn": MONEY})
    owner = {"ownerUrn": ANA, "ownerEntityType": "CORP_USER", "resourceUrn": MONEY}
    world.mutate("addOwner", owner)
    tag = {"tagUrn": "urn:li:tag:pii", "resourceUrn": MONEY}
    assert world.refused("addTag", tag) == FORBIDDEN
    describe = {"description": "d", "resourceUrn": COST}
    assert world.refused("updateDescription", describe) == FORBIDDEN


def test_a_group_that_is_deleted_leaves_what_was_in_it_at_the_top(world: World) -> None:
    world.good(f'mutation {{ deleteGlossaryEntity(urn: "{TRADE}") }}', "admin")
    assert not world.exists(TRADE)
    assert "parentNode" not in world.read(MONEY, "glossaryTermInfo")
    assert "parentNode" not in world.read(SALES, "glossaryNodeInfo")


def test_a_group_does_not_lie_within_itself(world: World) -> None:
    for inner in (SALES, TRADE):
        loop = {"resourceUrn": TRADE, "parentNode": inner}
        assert world.refused("updateParentNode", loop, "admin") == BAD
        assert "`parentNode`" in world.error_message


@pytest.mark.parametrize("parent", ["urn:li:glossaryNode:none", COST, "trade"])
def test_a_group_that_is_not_there_is_named(world: World, parent: str) -> None:
    assert world.refused("createGlossaryNode", {"name": "x", "parentNode": parent}, "admin") == BAD
    assert "`parentNode`" in world.error_message
    move = {"resourceUrn": MONEY, "parentNode": parent}
    assert world.refused("updateParentNode", move, "admin") == BAD


def test_a_term_is_made_once_and_names_in_a_group_differ(world: World) -> None:
    assert world.refused("createGlossaryTerm", {"id": "cost", "name": "x"}, "admin") == CONFLICT
    assert world.refused("createGlossaryTerm", {"name": "cost"}, "admin") == CONFLICT
    world.mutate("createGlossaryTerm", {"name": "cost", "parentNode": TRADE}, "admin")


def test_only_terms_and_groups_are_moved_and_deleted_so(world: World) -> None:
    assert world.refused("updateParentNode", {"resourceUrn": SHOP}, "admin") == BAD
    assert world.bad(f'mutation {{ deleteGlossaryEntity(urn: "{SHOP}") }}', "admin") == BAD
    gone = 'mutation { deleteGlossaryEntity(urn: "urn:li:glossaryTerm:none") }'
    assert world.bad(gone, "admin") == MISSING
    assert world.bad(gone) == FORBIDDEN


def test_related_terms_are_terms_that_are_there(world: World) -> None:
    related = {"urn": MONEY, "termUrns": [COST, COST], "relationshipType": "hasA"}
    world.mutate("addRelatedTerms", related, "admin")
    world.mutate("addRelatedTerms", related, "admin")
    assert world.read(MONEY, "glossaryRelatedTerms") == {"hasRelatedTerms": [COST]}
    for other in (TRADE, "urn:li:glossaryTerm:none"):
        assert world.refused("addRelatedTerms", {**related, "termUrns": [other]}, "admin") == BAD
        assert "`termUrns`" in world.error_message
