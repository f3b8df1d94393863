"""People of a directory and of a realm: what is added and removed with them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service import control, entities, people, realms, statements, token
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.world_draft import NOW
from tests.administrators import make_administrator
from tests.service.opened_services import ADMIN, EVE, LAKE, furnish, opened

ANA, BEN = Principal(USER, "ana"), Principal(USER, "ben")
STAFF, ALL = Principal(GROUP, "staff"), Principal(GROUP, "all")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        furnish(service)
        yield service


def stored(service: DecisionService, directory: str = "main") -> frozenset[Principal]:
    return service.state.people[directory].principals


def test_a_person_of_the_directory_is_known_in_every_realm_of_it(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    service.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    service.write(ADMIN, lambda d: people.add(d, "main", Principal(USER, "dora")))
    assert Principal(USER, "urn:li:corpuser:dora") in known(service, "hub")
    assert Principal(USER, "dora") in known(service, LAKE)
    assert Principal(USER, "dora") not in known(service, "far")


def known(service: DecisionService, realm: str) -> tuple[Principal, ...]:
    found = people.principals(service.state, ADMIN, realm, NOW)
    assert not isinstance(found, Denied)
    return found


@pytest.mark.parametrize("person", [Principal(ROLE, "r"), Principal(USER, "..")], ids=repr)
def test_a_directory_takes_users_and_groups_with_readable_names(
    service: DecisionService, person: Principal
) -> None:
    with pytest.raises(BadInput):
        service.write(ADMIN, lambda d: people.add(d, "main", person))


def test_the_same_again_changes_nothing(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: people.add_member(d, "main", ANA, STAFF))
    revision = service.state.revision
    service.write(ADMIN, lambda d: people.add_member(d, "main", ANA, STAFF))
    service.write(ADMIN, lambda d: people.add(d, "main", ANA))
    service.write(ADMIN, lambda d: people.remove_member(d, "main", BEN, STAFF))
    assert service.state.revision == revision


def test_a_circle_of_groups_is_refused(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: people.add_member(d, "main", STAFF, ALL))
    for member, group in ((ALL, STAFF), (ALL, ALL)):
        entering = partial(people.add_member, directory="main", member=member, group=group)
        with pytest.raises(BadInput, match="would contain itself"):
            service.write(ADMIN, entering)


def test_who_is_removed_is_gone_everywhere_at_once(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: people.add(d, "main", ANA))
    service.write(ADMIN, lambda d: people.add_member(d, "main", ANA, STAFF))
    service.write(ADMIN, lambda d: token.create(d, "ana"))
    for id, to in (("alone", ["user:ana"]), ("both", ["user:ana", "user:ben"])):
        table = {"id": id, "privileges": ["USE_CATALOG"], "to": to, "on": "catalog:lk:c"}
        service.write(ADMIN, partial(statements.put, realm=LAKE, table=table))
    both = [("user:ana", ""), ("user:ben", "")]
    service.write(ADMIN, lambda d: entities.put(d, LAKE, "table:lk:c.s.t", owners=both))
    assert service.write(ADMIN, lambda d: people.remove(d, "main", ANA)) is None
    again = DecisionService(service.store, clock=service.clock)
    again.open()
    for seen in (service, again):
        assert ANA not in stored(seen)
        assert seen.state.tokens == {}
        lake = seen.state.realm(LAKE)
        assert not any(ANA in row for row in lake.own.memberships)
        kept = statements.stored(lake)
        assert set(kept) == {"both"}
        assert kept["both"].principals == {BEN}
        owners = entities.load(seen.state, ADMIN, LAKE, "table:lk:c.s.t", NOW)
        assert not isinstance(owners, Denied)
        assert [row.owner for row in owners.owners] == [BEN]


@pytest.mark.parametrize("person", [ANA, STAFF], ids=lambda one: one.kind)
def test_who_is_removed_from_another_directory_loses_the_rights_over_lakewarden(
    service: DecisionService, person: Principal
) -> None:
    service.write(ADMIN, lambda d: people.add(d, "other", person))
    text = f"{person.kind}:other/{person.name}"
    for to in ([text], [text, "user:ben"]):
        table = {
            "id": str(len(to)),
            "privileges": ["READ_SERVER"],
            "to": to,
            "on": "server:lakewarden",
        }
        service.write(ADMIN, partial(statements.put, realm=CONTROL, table=table))
    admins = "service-admins"
    service.write(ADMIN, lambda d: people.add_realm_member(d, CONTROL, text, admins))
    assert control.has_control_rights(service.state, "other", person)
    assert service.write(ADMIN, lambda d: people.remove(d, "other", person)) is None
    service.write(ADMIN, lambda d: people.add(d, "other", person))
    assert not control.has_control_rights(service.state, "other", person)
    realm = service.state.realm(CONTROL)
    assert statements.stored(realm)["2"].principals == {BEN}
    assert not any(text.endswith(row.member.name) for row in realm.own.memberships)


def test_the_only_owner_of_something_is_not_removed(service: DecisionService) -> None:
    owner = [("user:ana", "")]
    service.write(ADMIN, lambda d: entities.put(d, LAKE, "table:lk:c.s.t", owners=owner))
    with pytest.raises(Conflict, match=r"only owner of `table:lk:c\.s\.t` in realm `lake`"):
        service.write(ADMIN, lambda d: people.remove(d, "main", ANA))
    with pytest.raises(Conflict, match="only owner"):
        service.write(ADMIN, lambda d: people.remove_realm_principal(d, LAKE, "ana"))


def test_the_last_administrator_is_not_removed_in_any_way(service: DecisionService) -> None:
    root = Principal(USER, ADMIN.user)
    with pytest.raises(Conflict, match="no user who may grant privileges"):
        service.write(ADMIN, lambda d: people.remove(d, "main", root))
    with pytest.raises(Conflict, match="no user who may grant privileges"):
        service.write(
            ADMIN, lambda d: people.remove_realm_member(d, CONTROL, "root", "service-admins")
        )
    service.write(ADMIN, lambda d: make_administrator(d, "eve", "main"))
    assert service.write(
        ADMIN, lambda d: people.remove_realm_member(d, CONTROL, "root", "service-admins")
    ) is (None)
    with pytest.raises(Conflict, match="no user who may grant privileges"):
        service.write(EVE, lambda d: people.remove(d, "main", Principal(USER, "eve")))


def test_two_administrators_cannot_remove_each_other_at_the_same_time(
    service: DecisionService, tmp_path: Path
) -> None:
    service.write(ADMIN, lambda d: make_administrator(d, "eve", "main"))
    with opened(tmp_path) as other, ThreadPoolExecutor(2) as pool:
        tasks = [
            pool.submit(seen.write, actor, partial(people.remove, directory="main", person=victim))
            for seen, actor, victim in (
                (service, ADMIN, Principal(USER, EVE.user)),
                (other, EVE, Principal(USER, ADMIN.user)),
            )
        ]
        refused = [task.exception() is not None or task.result() is not None for task in tasks]
    service.catch_up()
    assert sorted(refused) == [False, True]
    assert len(control.administrators(service.state, NOW)) == 1


def test_what_a_realm_has_of_its_own_stays_there(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: people.add_realm_principal(d, LAKE, "role:lk:readers"))
    service.write(ADMIN, lambda d: people.add_realm_member(d, LAKE, "user:ana", "role:lk:readers"))
    service.write(ADMIN, lambda d: people.add_realm_member(d, LAKE, "user:ana", "role:lk:readers"))
    row = MembershipRow(ANA, Principal(ROLE, "lk:readers"))
    found = people.memberships(service.state, ADMIN, LAKE, NOW)
    assert not isinstance(found, Denied)
    assert row in found
    assert row not in service.state.people["main"].memberships
    service.write(
        ADMIN, lambda d: people.remove_realm_member(d, LAKE, "user:ana", "role:lk:readers")
    )
    assert row not in service.state.realm(LAKE).own.memberships


def test_removed_from_a_realm_a_person_stays_in_the_directory(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: people.add(d, "main", ANA))
    service.write(ADMIN, lambda d: people.remove_realm_principal(d, LAKE, "user:ana"))
    lake = service.state.realm(LAKE)
    assert not any(ANA in row for row in lake.own.memberships)
    assert ANA in stored(service)
    memberships = lake.matrix.snapshot.coded.memberships
    assert memberships.ids[ANA] in memberships.stored


def test_of_who_is_only_named_what_names_them_is_removed(service: DecisionService) -> None:
    tables: list[dict[str, object]] = [
        {"id": "both", "privileges": ["SELECT_TABLE"], "to": ["user:zoe", "user:ben"]},
        {"id": "own", "privileges": ["SELECT_TABLE"], "to": ["user:zoe"]},
        {"id": "all", "privileges": ["SELECT_TABLE"], "to": ["all-users"]},
    ]
    for table in tables:
        service.write(
            ADMIN, partial(statements.put, realm=LAKE, table={**table, "on": "metalake:lk"})
        )
    for text in ("user:zoe", "all-users"):
        assert (
            service.write(ADMIN, partial(people.remove_realm_principal, realm=LAKE, text=text))
            is None
        )
    kept = statements.stored(service.state.realm(LAKE))
    assert kept["both"].principals == {BEN}
    assert "own" not in kept
    assert "all" in kept


@pytest.mark.parametrize(
    ("member", "of"),
    [
        ("role:lk:r", "group:g"),
        ("user:a", "user:b"),
        ("user:a", "all-users"),
        ("all-users", "group:g"),
        ("user:..", "group:g"),
        ("user:a", "role:.."),
        ("role:lk:r", "role:lk:r"),
    ],
)
def test_what_cannot_be_a_member_is_refused(service: DecisionService, member: str, of: str) -> None:
    with pytest.raises(BadInput):
        service.write(ADMIN, lambda d: people.add_realm_member(d, LAKE, member, of))


def test_everything_is_refused_to_who_has_no_right(service: DecisionService) -> None:
    assert isinstance(people.people(service.state, EVE, "main", NOW), Denied)
    assert isinstance(people.principals(service.state, EVE, LAKE, NOW), Denied)
    assert isinstance(people.memberships(service.state, EVE, LAKE, NOW), Denied)
    before = service.state.revision
    for task in (
        lambda d: people.add(d, "main", ANA),
        lambda d: people.remove(d, "main", ANA),
        lambda d: people.add_member(d, "main", ANA, STAFF),
        lambda d: people.remove_member(d, "main", ANA, STAFF),
        lambda d: people.add_realm_principal(d, LAKE, "user:x"),
        lambda d: people.remove_realm_principal(d, LAKE, "user:ana"),
        lambda d: people.add_realm_member(d, LAKE, "user:eve", "role:lk:r"),
        lambda d: people.remove_realm_member(d, LAKE, "user:ana", "members:lk"),
    ):
        assert isinstance(service.write(EVE, task), Denied)
    assert service.state.revision == before
