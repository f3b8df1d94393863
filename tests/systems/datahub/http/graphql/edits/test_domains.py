"""Domains: those of entities, which affect decisions at once, and the domains themselves."""

from __future__ import annotations

from tests.systems.datahub.http.graphql.edits.world import (
    ANA,
    BAD,
    BOB,
    CONFLICT,
    COST,
    FORBIDDEN,
    GONE,
    MISSING,
    ORDERS,
    OTHER,
    PRODUCT,
    SHOP,
    STOCK,
    STORE,
    TECHNICAL,
    World,
)

DESCRIBE = {"description": "d", "resourceUrn": ORDERS}
SET = f'mutation {{ setDomain(entityUrn: "{ORDERS}", domainUrn: "{STORE}") }}'
UNSET = f'mutation {{ unsetDomain(entityUrn: "{ORDERS}") }}'
DELETE = f'mutation {{ deleteDomain(urn: "{STORE}") }}'


def test_a_domain_policy_holds_from_the_next_request_on(world: World) -> None:
    world.wire.grant("store", "EDIT_ENTITY_DOCS", to="ana", DOMAIN=[STORE])
    assert world.refused("updateDescription", DESCRIBE) == FORBIDDEN
    world.good(SET, "admin")
    world.mutate("updateDescription", DESCRIBE)
    world.good(UNSET, "admin")
    assert world.refused("updateDescription", DESCRIBE) == FORBIDDEN


def test_a_policy_on_the_domain_above_holds_once_the_domain_is_moved(world: World) -> None:
    world.wire.grant("shop", "EDIT_ENTITY_DOCS", to="ana", DOMAIN=[SHOP])
    world.good(SET, "admin")
    assert world.refused("updateDescription", DESCRIBE) == FORBIDDEN
    world.mutate("moveDomain", {"resourceUrn": STORE, "parentDomain": SHOP}, "admin")
    world.mutate("updateDescription", DESCRIBE)
    world.mutate("moveDomain", {"resourceUrn": STORE}, "admin")
    assert world.refused("updateDescription", DESCRIBE) == FORBIDDEN


def test_whoever_may_only_after_the_edit_may_not_make_it(world: World) -> None:
    world.wire.grant("store", "EDIT_ENTITY", to="ana", DOMAIN=[STORE])
    assert world.bad(SET) == FORBIDDEN
    both = {"domainUrn": STORE, "resources": [{"resourceUrn": ORDERS}, {"resourceUrn": ORDERS}]}
    assert world.refused("batchSetDomain", both) == FORBIDDEN


def test_an_entity_that_leaves_a_domain_leaves_what_is_kept_of_it(world: World) -> None:
    """Otherwise a data product would still count as being in the old domain."""
    associations = [{"domain": SHOP, "context": "c"}]
    world.wire.put((PRODUCT, "domains", {"domains": [SHOP], "domainAssociations": associations}))
    world.may("MANAGE_DATA_PRODUCTS", on=SHOP)
    delete = f'mutation {{ deleteDataProduct(urn: "{PRODUCT}") }}'
    world.good(f'mutation {{ setDomain(entityUrn: "{PRODUCT}", domainUrn: "{STORE}") }}', "admin")
    assert world.read(PRODUCT, "domains") == {"domains": [STORE]}
    assert world.bad(delete) == FORBIDDEN
    world.may("MANAGE_DATA_PRODUCTS", on=STORE)
    world.good(delete)


def test_a_batch_without_a_domain_takes_all_out(world: World) -> None:
    world.good(SET, "admin")
    resources = [{"resourceUrn": ORDERS}, {"resourceUrn": STOCK}]
    world.mutate("batchSetDomain", {"resources": resources}, "admin")
    assert world.read(ORDERS, "domains") == {"domains": []}


def test_what_is_no_domain_or_not_there_is_named(world: World) -> None:
    for domain in (COST, "urn:li:domain:none", "shop"):
        query = f'mutation {{ setDomain(entityUrn: "{ORDERS}", domainUrn: "{domain}") }}'
        assert world.bad(query, "admin") == BAD
        assert "`domainUrn`" in world.error_message
    gone = f'mutation {{ setDomain(entityUrn: "{GONE}", domainUrn: "{STORE}") }}'
    assert world.bad(gone, "admin") == MISSING
    assert world.bad(gone) == FORBIDDEN


def test_whoever_makes_a_domain_owns_it_unless_it_names_owners(world: World) -> None:
    world.may("CREATE_DOMAINS")
    urn = world.mutate("createDomain", {"name": "mine", "description": "d"})
    (owner,) = world.read(urn, "ownership")["owners"]
    assert (owner["owner"], owner["typeUrn"]) == (ANA, TECHNICAL)
    named = {"ownerUrn": BOB, "ownerEntityType": "CORP_USER", "type": "DATA_STEWARD"}
    urn = world.mutate("createDomain", {"id": "his", "name": "his", "owners": [named]})
    assert urn == "urn:li:domain:his"
    assert [one["owner"] for one in world.read(urn, "ownership")["owners"]] == [BOB]


def test_a_domain_is_made_once_and_names_beside_it_differ(world: World) -> None:
    assert world.refused("createDomain", {"id": "shop", "name": "x"}, "admin") == CONFLICT
    assert world.refused("createDomain", {"name": "shop"}, "admin") == CONFLICT
    world.mutate("createDomain", {"name": "shop", "parentDomain": SHOP}, "admin")
    assert world.refused("updateName", {"urn": STORE, "name": "shop"}, "admin") == CONFLICT


def test_a_domain_needs_a_name_and_a_place_that_is_there(world: World) -> None:
    assert world.refused("createDomain", {"name": " "}, "admin") == BAD
    assert "`name`" in world.error_message
    lost = {"name": "x", "parentDomain": "urn:li:domain:none"}
    assert world.refused("createDomain", lost, "admin") == BAD
    assert "`parentDomain`" in world.error_message
    assert world.refused("moveDomain", {"resourceUrn": STORE, **lost} | {}, "admin") == BAD


def test_a_domain_does_not_lie_within_itself(world: World) -> None:
    world.mutate("moveDomain", {"resourceUrn": STORE, "parentDomain": SHOP}, "admin")
    for inner in (STORE, SHOP):
        loop = {"resourceUrn": SHOP, "parentDomain": inner}
        assert world.refused("moveDomain", loop, "admin") == BAD
        assert "`parentDomain`" in world.error_message


def test_a_domain_that_is_deleted_is_nobodys_any_more(world: World) -> None:
    world.good(SET, "admin")
    world.good(DELETE, "admin")
    assert not world.exists(STORE)
    assert world.read(ORDERS, "domains") == {"domains": []}
    assert world.read(OTHER, "domains") == {"domains": []}
    assert world.bad(DELETE, "admin") == MISSING
    assert world.bad(DELETE) == FORBIDDEN


def test_a_domain_with_others_below_it_is_not_deleted(world: World) -> None:
    world.mutate("moveDomain", {"resourceUrn": SHOP, "parentDomain": STORE}, "admin")
    assert world.bad(DELETE, "admin") == BAD
    assert world.exists(STORE)
