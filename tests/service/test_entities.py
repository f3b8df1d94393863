"""Entities through the service: listed in order, stored in their place, owned, dropped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.listing import Page
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.service import entities, member, realms, role, statements
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.entities import EntityRecord
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, EVE, LAKE, furnish, opened

T = "table:lk:c.s.t"
ORDER = ["lk", "lk:c", "lk:c.p", "lk:c.p.secret", "lk:c.s", "lk:c.s.t", "lk:c.s.u"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        furnish(service)
        yield service


def listed(service: DecisionService, **how: object) -> list[str]:
    found = entities.listed(service.state, ADMIN, LAKE, NOW, **how)  # type: ignore[arg-type]
    assert isinstance(found, Page)
    return [entity.name for entity in found.entities]


def loaded(service: DecisionService, text: str) -> EntityRecord:
    found = entities.load(service.state, ADMIN, LAKE, text, NOW)
    assert isinstance(found, EntityRecord)
    return found


def test_entities_are_listed_in_the_order_of_their_places(service: DecisionService) -> None:
    assert listed(service) == ORDER
    assert listed(service, size=3) == ORDER[:3]
    assert listed(service, after="catalog:lk:c") == ORDER[2:]
    assert listed(service, type="table") == ["lk:c.p.secret", "lk:c.s.t", "lk:c.s.u"]
    assert listed(service, type="table", within="schema:lk:c.s") == ["lk:c.s.t", "lk:c.s.u"]
    assert listed(service, within="schema:lk:c.none") == []
    with pytest.raises(Unknown):
        listed(service, type="shelf")
    assert listed(service, size=1_000) == ORDER
    for size in (0, 1_001):
        with pytest.raises(BadInput):
            listed(service, size=size)


def test_what_lies_within_leaves_the_container_out(service: DecisionService) -> None:
    assert listed(service, within="schema:lk:c.s") == ["lk:c.s.t", "lk:c.s.u"]


def test_an_entity_is_stored_where_its_name_says(service: DecisionService) -> None:
    made = service.write(ADMIN, lambda d: entities.put(d, LAKE, "table:lk:c.s.new"))
    assert isinstance(made, EntityRecord)
    assert made.parent == Entity("schema", "lk:c.s")
    assert loaded(service, "table:lk:c.s.new") == made
    with pytest.raises(Unknown):
        service.write(ADMIN, lambda d: entities.put(d, LAKE, "table:lk:c.none.new"))


def test_an_entity_lies_nowhere_else_than_its_name_says(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: entities.put(d, LAKE, T, "schema:lk:c.s"))
    for text in (T, "table:lk:c.s.new"):
        with pytest.raises(BadInput, match=r"does not lie in `catalog:lk:c`, by its name"):
            service.write(
                ADMIN, partial(entities.put, realm=LAKE, text=text, parent="catalog:lk:c")
            )


def test_what_lies_in_an_entity_by_its_name_is_dropped_with_it(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("app", "cdap")))
    kept = ["namespace:other", "dataset:other.t"]
    inside = ["namespace:sales", "dataset:sales.t", "program:sales.shop.workflow.nightly"]
    for text in (*kept, *inside):
        service.write(ADMIN, partial(entities.put, realm="app", text=text))
    assert service.write(ADMIN, lambda d: entities.drop(d, "app", "namespace:sales")) is None
    page = entities.listed(service.state, ADMIN, "app", NOW)
    assert not isinstance(page, Denied)
    assert sorted(f"{one.type}:{one.name}" for one in page.entities) == sorted(kept)


def test_grants_go_with_an_entity_where_deletions_take_them_along(
    service: DecisionService,
) -> None:
    inside = ("namespace:sales", "dataset:sales.t", "stream:sales.never")
    for realm, model in (("older", "cdap_parent_write"), ("later", "cdap")):
        service.write(ADMIN, partial(realms.create, realm=Realm(realm, model)))
        for text in ("namespace:sales", "dataset:sales.t", "namespace:system"):
            service.write(ADMIN, partial(entities.put, realm=realm, text=text))
        for on in (*inside, "dataset:other.t"):
            grant = {"id": on, "privileges": ["READ"], "to": ["user:ana", "all-users"], "on": on}
            service.write(ADMIN, partial(statements.put, realm=realm, table=grant))
        everywhere = {
            "id": "*",
            "privileges": ["READ"],
            "to": ["user:ana"],
            "matching": "dataset:*.*",
        }
        service.write(ADMIN, partial(statements.put, realm=realm, table=everywhere))
        before = set(statements.stored(service.state.realm(realm)))
        service.write(ADMIN, partial(entities.drop, realm=realm, text="namespace:sales"))
        service.write(ADMIN, partial(entities.drop, realm=realm, text="namespace:system"))
        after = set(statements.stored(service.state.realm(realm)))
        assert before - after == (set(inside) if realm == "older" else set())


def test_storing_the_same_again_changes_nothing(service: DecisionService) -> None:
    owners = [("user:ana", "")]
    service.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=owners))
    revision = service.state.revision
    service.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=owners))
    assert service.state.revision == revision
    service.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=[("user:ben", "")]))
    assert [row.owner.name for row in loaded(service, T).owners] == ["ben"]
    service.write(ADMIN, lambda d: entities.put(d, LAKE, T, owners=[]))
    assert loaded(service, T).owners == ()


def test_what_cannot_be_owned_has_no_owners(service: DecisionService) -> None:
    with pytest.raises(BadInput, match="a column cannot have owners"):
        service.write(
            ADMIN, lambda d: entities.put(d, LAKE, "column:lk:c.s.t.x", owners=[("ana", "")])
        )


def test_an_entity_whose_place_is_data_is_moved(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    domains = ["urn:li:domain:a", "urn:li:domain:b"]
    for urn in domains:
        service.write(ADMIN, partial(entities.put, realm="hub", text=urn))
    moved = service.write(ADMIN, lambda d: entities.put(d, "hub", domains[1], domains[0]))
    assert isinstance(moved, EntityRecord)
    assert moved.parent == Entity("domain", domains[0])


def test_a_dropped_entity_is_gone_and_dropping_it_again_is_nothing(
    service: DecisionService,
) -> None:
    assert service.write(ADMIN, lambda d: entities.drop(d, LAKE, T)) is None
    revision = service.state.revision
    assert service.write(ADMIN, lambda d: entities.drop(d, LAKE, T)) is None
    assert service.state.revision == revision
    with pytest.raises(Unknown):
        loaded(service, T)


@pytest.mark.parametrize(
    ("text", "left"),
    [("metalake:lk", []), ("user:lk:zoe", []), ("role:lk:seen", ["members:lk"])],
)
def test_nobody_keeps_what_they_had_by_a_person_a_role_or_a_container_that_is_dropped(
    service: DecisionService, text: str, left: list[str]
) -> None:
    """Memberships use names: another metalake with the name would admit its users."""
    zoe, seen = Principal(USER, "zoe"), Entity(ROLE, "lk:seen")

    def make(transaction: WriteTransaction) -> None:
        member.add(transaction, LAKE, Entity("user", "lk:zoe"))
        role.create(transaction, LAKE, seen, zoe, {})
        role.assign_roles(transaction, LAKE, [seen], zoe)

    service.write(ADMIN, make)
    assert service.write(ADMIN, lambda d: entities.drop(d, LAKE, text)) is None
    realm = service.state.realm(LAKE)
    held = [row.of for row in realm.own.memberships if row.member == zoe]
    assert [one.name for one in held] == left
    assert (Principal(ROLE, "lk:seen") in realm.own.principals) is (text == "user:lk:zoe")


@pytest.mark.parametrize("text", ["table:", "", "table", "shelf:x"])
def test_what_names_no_entity_is_refused(service: DecisionService, text: str) -> None:
    with pytest.raises((BadInput, Unknown)):
        loaded(service, text)


def test_the_control_realm_s_entities_are_its_realms(service: DecisionService) -> None:
    for task in (
        partial(entities.put, realm=CONTROL, text="realm:x"),
        partial(entities.drop, realm=CONTROL, text=f"realm:{LAKE}"),
    ):
        with pytest.raises(BadInput, match="create and drop realms"):
            service.write(ADMIN, task)


def test_who_has_no_right_sees_and_changes_nothing(service: DecisionService) -> None:
    assert isinstance(entities.listed(service.state, EVE, LAKE, NOW), Denied)
    assert isinstance(entities.load(service.state, EVE, LAKE, T, NOW), Denied)
    assert isinstance(service.write(EVE, lambda d: entities.put(d, LAKE, T)), Denied)
    assert isinstance(service.write(EVE, lambda d: entities.drop(d, LAKE, T)), Denied)
    assert loaded(service, T).entity.name == "lk:c.s.t"
