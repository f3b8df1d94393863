"""Edits: authorized on the state before, and written together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_guard import NotAllowed, Switches
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.systems.datahub.use_cases.page_edits import Edit
from tests.service.opened_services import opened

HUB = "datahub"
ANA = Actor("ana", credential="test")
ANA_URN = Entity("corpuser", "urn:li:corpuser:ana")
ORDERS = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
STOCK = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)")
PRODUCT = Entity("dataProduct", "urn:li:dataProduct:p")
SHOP = Entity("domain", "urn:li:domain:shop")
SHIPPED = Entity("dataHubPolicy", "urn:li:dataHubPolicy:admin-platform-policy")
TOKEN = Entity("dataHubAccessToken", "urn:li:dataHubAccessToken:t")
OFF = Switches(rest=False)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """A realm in which only administrators have permissions."""
    closed = Realm(HUB, "datahub", settings={"bootstrap": "closed"})
    with opened(tmp_path, beside=closed) as service:
        put(service, ORDERS, "domains", {"domains": [SHOP.name]})
        put(service, SHOP, "domainProperties", {"name": "shop"})
        yield service


def put(service: DecisionService, entity: Entity, aspect: str, value: dict[str, Any]) -> None:
    write = Write(entity, aspect, value)
    service.write(
        SYSTEM, lambda transaction: aspects.write(transaction, HUB, [write], ANA_URN.name)
    )


def grant(service: DecisionService, privilege: str, field: str, value: str) -> None:
    """A policy for ana."""
    criteria = [{"field": field, "condition": "EQUALS", "values": [value]}]
    policy = {
        "displayName": "p",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [privilege],
        "actors": {"users": [ANA_URN.name], "resourceOwners": False},
        "resources": {"filter": {"criteria": criteria}},
    }
    urn = f"urn:li:dataHubPolicy:{service.state.revision}"
    put(service, Entity("dataHubPolicy", urn), "dataHubPolicyInfo", policy)


def edit(
    service: DecisionService, task: Callable[[Edit], None], switches: Switches | None = None
) -> None:
    """An edit by ana, in one write."""

    def whole(transaction: Any) -> None:
        one = Edit(transaction, HUB, ANA_URN, switches or Switches())
        task(one)
        one.finish()

    service.write(ANA, whole)


def value(service: DecisionService, entity: Entity, aspect: str) -> dict[str, Any]:
    with service.reading() as reading:
        found = aspects.read(reading, service.state.realm(HUB), [entity])
    kept = found.get(entity, {}).get(aspect)
    return {} if kept is None else kept.value


def test_nothing_of_an_edit_opens_the_way_to_more_of_it(service: DecisionService) -> None:
    grant(service, "EDIT_ENTITY", "DOMAIN", SHOP.name)

    def both(one: Edit) -> None:
        one.ask("domain.edit", ORDERS)
        one.put(STOCK, "domains", {"domains": [SHOP.name]})
        one.ask("domain.edit", STOCK)

    with pytest.raises(NotAllowed):
        edit(service, both)
    assert value(service, STOCK, "domains") == {}


def test_what_was_put_is_read_within_the_edit_and_nowhere_else(service: DecisionService) -> None:
    def twice(one: Edit) -> None:
        one.ask("docs.edit", ORDERS)
        first = one.value(ORDERS, "notes")
        first["a"] = 1
        assert one.value(ORDERS, "notes") == {}
        one.put(ORDERS, "notes", first)
        assert one.has(ORDERS, "notes")
        one.put(ORDERS, "notes", {**one.value(ORDERS, "notes"), "b": 2})
        assert one.changes(ORDERS) == ["notes"]
        assert value(service, ORDERS, "notes") == {}

    edit(service, twice, OFF)
    assert value(service, ORDERS, "notes") == {"a": 1, "b": 2}


def test_an_edit_that_asked_for_nothing_writes_nothing(service: DecisionService) -> None:
    with pytest.raises(AssertionError, match="asks before it writes"):
        edit(service, lambda one: one.put(ORDERS, "notes", {"a": 1}), OFF)
    assert value(service, ORDERS, "notes") == {}


def test_what_an_aspect_gives_is_asked_about_whatever_the_edit_asked(
    service: DecisionService,
) -> None:
    grant(service, "EDIT_ENTITY", "URN", PRODUCT.name)

    def filled(one: Edit) -> None:
        one.ask("docs.edit", PRODUCT)
        one.put(PRODUCT, "dataProductProperties", {"assets": [{"destinationUrn": ORDERS.name}]})

    with pytest.raises(NotAllowed) as caught:
        edit(service, filled)
    assert caught.value.request.operation == "data_product.assets.change"


def test_roles_are_not_to_be_had_by_an_edit(service: DecisionService) -> None:
    def promoted(one: Edit) -> None:
        one.ask("user.profile.edit", ANA_URN)
        one.put(ANA_URN, "roleMembership", {"roles": ["urn:li:dataHubRole:Admin"]})

    with pytest.raises(NotAllowed) as caught:
        edit(service, promoted)
    assert caught.value.request.operation == "role_membership.edit"


def test_credentials_and_what_is_shipped_are_guarded_in_an_edit_too(
    service: DecisionService,
) -> None:
    grant(service, "EDIT_ENTITY", "URN", TOKEN.name)

    def tokens(one: Edit) -> None:
        one.ask("docs.edit", TOKEN)
        one.put(TOKEN, "notes", {"a": 1})

    with pytest.raises(NotAllowed) as caught:
        edit(service, tokens)
    assert caught.value.request.operation == "token.manage"

    def policies(one: Edit) -> None:
        one.ask("docs.edit", SHIPPED)
        one.drop(SHIPPED)

    with pytest.raises(NotAllowed, match="cannot be changed"):
        edit(service, policies, OFF)


def test_what_is_dropped_is_named_nowhere_any_more(service: DecisionService) -> None:
    def dropped(one: Edit) -> None:
        one.ask("domain.delete", SHOP)
        one.drop(SHOP)
        assert one.changed == [SHOP]

    edit(service, dropped, OFF)
    assert value(service, ORDERS, "domains") == {"domains": []}
    assert value(service, SHOP, "domainProperties") == {}


def test_only_operations_that_say_so_make_their_caller_an_owner(service: DecisionService) -> None:
    def made(one: Edit) -> None:
        one.ask("tag.create")
        for operation in ("docs.edit", "tag.create"):
            one.make_caller_owner(Entity("tag", f"urn:li:tag:{operation}"), operation)

    edit(service, made, OFF)
    assert value(service, Entity("tag", "urn:li:tag:docs.edit"), "ownership") == {}
    (owner,) = value(service, Entity("tag", "urn:li:tag:tag.create"), "ownership")["owners"]
    assert owner["owner"] == ANA_URN.name


def test_texts_of_many_entities_are_read_as_they_were_written(service: DecisionService) -> None:
    def read(one: Edit) -> None:
        one.ask("docs.edit", ORDERS)
        found = one.written([SHOP, ORDERS, STOCK], "domainProperties", "name")
        assert list(found) == [(SHOP, "shop")]

    edit(service, read, OFF)
