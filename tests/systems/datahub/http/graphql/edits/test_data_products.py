"""Data products as in the policies guide: their own page, the assets' pages, both sides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.edits.world import (
    ANA,
    BAD,
    CONFLICT,
    FORBIDDEN,
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
from tests.systems.datahub.http.wire import proposal

MANAGE, MEMBER = "MANAGE_DATA_PRODUCTS", "EDIT_ENTITY_DATA_PRODUCTS"
CREATE = {"properties": {"name": "new", "description": "d"}, "domainUrn": SHOP, "id": "new"}
NEW = "urn:li:dataProduct:new"
DELETE = f'mutation {{ deleteDataProduct(urn: "{PRODUCT}") }}'
UPDATE = f"""mutation m($i: UpdateDataProductInput!) {{
    updateDataProduct(urn: "{PRODUCT}", input: $i) {{ urn properties {{ name }} }} }}"""


def assets(world: World, product: str) -> list[str]:
    return [one["destinationUrn"] for one in world.read(product, "dataProductProperties")["assets"]]


def test_a_data_product_is_made_by_a_manager_of_its_domain_who_owns_it(
    world: World,
) -> None:
    world.may(MANAGE, on=STORE)
    assert world.refused("createDataProduct", CREATE) == FORBIDDEN
    world.may(MANAGE, on=SHOP)
    assert world.mutate("createDataProduct", CREATE) == {"urn": NEW}
    assert world.read(NEW, "domains") == {"domains": [SHOP]}
    (owner,) = world.read(NEW, "ownership")["owners"]
    assert (owner["owner"], owner["typeUrn"]) == (ANA, TECHNICAL)
    assert world.refused("createDataProduct", CREATE) == CONFLICT


def test_a_policy_on_the_domain_above_reaches_the_domains_below_it(world: World) -> None:
    world.mutate("moveDomain", {"resourceUrn": STORE, "parentDomain": SHOP}, "admin")
    world.wire.grant("shop", MANAGE, to="ana", DOMAIN=[SHOP])
    world.mutate("createDataProduct", {**CREATE, "domainUrn": STORE})


def test_one_of_its_domains_is_enough(world: World) -> None:
    world.wire.put((PRODUCT, "domains", {"domains": [SHOP, STORE]}))
    world.may(MANAGE, on=STORE)
    assert world.good(UPDATE, i={"name": "n"}) == {"urn": PRODUCT, "properties": {"name": "n"}}
    world.good(DELETE)
    assert not world.exists(PRODUCT)


def test_without_a_domain_nobody_changes_or_deletes_it(world: World) -> None:
    world.wire.put((PRODUCT, "domains", {"domains": []}))
    world.may(MANAGE, "EDIT_ENTITY", "DELETE_ENTITY")
    for user in ("ana", "admin"):
        assert world.bad(UPDATE, user, i={"name": "n"}) == FORBIDDEN
        assert world.bad(DELETE, user) == FORBIDDEN
    world.mutate("updateName", {"urn": PRODUCT, "name": "n"})


def test_on_its_page_its_domains_decide_and_not_the_assets(world: World) -> None:
    put = {"dataProductUrn": PRODUCT, "resourceUrns": [ORDERS]}
    world.may(MEMBER, on=ORDERS)
    assert world.refused("batchSetDataProduct", put) == FORBIDDEN
    world.may(MANAGE, on=SHOP, by="bob")
    world.mutate("batchSetDataProduct", put, "bob")
    assert assets(world, PRODUCT) == [ORDERS]


def test_on_the_assets_pages_every_asset_decides_and_not_the_product(world: World) -> None:
    put = {"dataProductUrns": [PRODUCT], "resourceUrns": [ORDERS, STOCK]}
    world.may(MANAGE, on=SHOP, by="bob")
    assert world.refused("batchAddToDataProducts", put, "bob") == FORBIDDEN
    world.may(MEMBER, on=ORDERS)
    assert world.refused("batchAddToDataProducts", put) == FORBIDDEN
    world.may(MEMBER, on=STOCK)
    world.mutate("batchAddToDataProducts", put)
    assert assets(world, PRODUCT) == [ORDERS, STOCK]
    world.mutate("batchRemoveFromDataProducts", {**put, "resourceUrns": [ORDERS]})
    assert assets(world, PRODUCT) == [STOCK]
    assert assets(world, OTHER) == [STOCK]


def test_an_asset_that_leaves_another_product_is_asked_about_there(world: World) -> None:
    put = {"dataProductUrn": PRODUCT, "resourceUrns": [STOCK]}
    world.may(MANAGE, on=SHOP)
    assert world.refused("batchSetDataProduct", put) == FORBIDDEN
    world.may(MEMBER, on=STOCK)
    world.mutate("batchSetDataProduct", put)
    assert (assets(world, PRODUCT), assets(world, OTHER)) == ([STOCK], [])


def test_by_ingestion_either_side_is_enough(world: World) -> None:
    """The page is stricter: there only its own side counts."""
    value = {"name": "p", "assets": [{"destinationUrn": ORDERS}]}
    body = {"proposal": proposal(PRODUCT, "dataProductProperties", value)}

    def ingest(user: str) -> int:
        return world.wire.ask("POST", "/aspects?action=ingestProposal", body, user)[0]

    for user in ("ana", "bob", "cid"):
        world.may("EDIT_ENTITY", on=PRODUCT, by=user)
    assert ingest("cid") == 403
    world.may(MEMBER, on=ORDERS)
    world.may(MANAGE, on=SHOP, by="bob")
    assert (ingest("ana"), ingest("bob")) == (200, 200)


def test_what_is_kept_of_an_asset_stays(world: World) -> None:
    kept: dict[str, Any] = {"destinationUrn": ORDERS, "outputPort": True}
    value = {"name": "p", "assets": [kept], "customProperties": {"a": "b"}}
    world.wire.put((PRODUCT, "dataProductProperties", value))
    both = {"dataProductUrns": [PRODUCT], "resourceUrns": [ORDERS, STOCK]}
    world.mutate("batchAddToDataProducts", both, "admin")
    found = world.read(PRODUCT, "dataProductProperties")
    assert found["assets"][0] == kept
    assert found["customProperties"] == {"a": "b"}


def test_a_deleted_data_product_leaves_its_assets(world: World) -> None:
    world.good(f'mutation {{ deleteDataProduct(urn: "{OTHER}") }}', "admin")
    assert world.exists(STOCK)
    assert not world.exists(OTHER)


@pytest.mark.parametrize(
    ("field", "input", "code"),
    [
        ("createDataProduct", {**CREATE, "domainUrn": "urn:li:domain:none"}, BAD),
        ("createDataProduct", {**CREATE, "properties": {"name": ""}}, BAD),
        ("batchSetDataProduct", {"dataProductUrn": NEW, "resourceUrns": [ORDERS]}, FORBIDDEN),
        ("batchSetDataProduct", {"dataProductUrn": PRODUCT, "resourceUrns": [NEW]}, MISSING),
        ("batchSetDataProduct", {"dataProductUrn": SHOP, "resourceUrns": [ORDERS]}, BAD),
        ("batchSetDataProduct", {"dataProductUrn": PRODUCT, "resourceUrns": []}, BAD),
        ("batchAddToDataProducts", {"dataProductUrns": [NEW], "resourceUrns": [ORDERS]}, BAD),
        ("batchAddToDataProducts", {"dataProductUrns": [], "resourceUrns": [ORDERS]}, BAD),
    ],
)
def test_what_is_missing_or_makes_no_sense(
    world: World, field: str, input: dict[str, Any], code: int
) -> None:
    assert world.refused(field, input, "admin") == code
