"""Authorization in lakewarden itself: effective permissions, and what a denial reveals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from lakewarden.app.administrator import administrators
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.service import control, people, realms, statements
from lakewarden.service.actor import ANONYMOUS, Actor
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.world_draft import NOW
from tests.administrators import make_administrator
from tests.service.opened_services import ADMIN, LAKE, opened

STAFF = Principal(GROUP, "staff")
ROOTS = Principal(GROUP, "roots")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        yield service


def grant(service: DecisionService, id: str, privilege: str, to: str, on: str) -> None:
    table = {"id": id, "privileges": [privilege], "to": [to], "on": on}
    service.write(ADMIN, lambda transaction: statements.put(transaction, CONTROL, table))


def may(service: DecisionService, actor: Actor, operation: str, target: Entity) -> bool:
    return control.is_allowed(service.state, actor, operation, target, NOW)


def test_everybody_asks_about_themselves_where_their_credential_is_good(
    service: DecisionService,
) -> None:
    lake = control.realm(LAKE)
    assert may(service, Actor("eve"), "decision.ask_own", lake)
    assert may(service, Actor("eve", realm=LAKE), "decision.ask_own", lake)
    assert may(service, Actor(ANONYMOUS, credential=ANONYMOUS), "decision.ask_own", lake)
    assert not may(service, Actor("eve", realm="other"), "decision.ask_own", lake)
    assert not may(service, Actor("eve", directory="other"), "decision.ask_own", lake)
    assert not may(service, Actor("eve"), "decision.ask_own", control.realm("absent"))


def test_nobody_without_a_name_makes_tokens(service: DecisionService) -> None:
    main = control.directory("main")
    assert may(service, Actor("eve"), "token.create_own", main)
    assert not may(service, Actor(ANONYMOUS, credential=ANONYMOUS), "token.create_own", main)
    assert not may(service, Actor("eve", realm=LAKE), "token.create_own", main)


def test_a_credential_of_one_realm_carries_no_rights(service: DecisionService) -> None:
    bound = Actor(ADMIN.user, realm=LAKE)
    for operation in ("statement.put", "decision.ask", "realm.alter"):
        assert may(service, ADMIN, operation, control.realm(LAKE))
        assert not may(service, bound, operation, control.realm(LAKE))


def test_the_same_name_of_another_directory_has_no_rights(service: DecisionService) -> None:
    stranger = Actor(ADMIN.user, directory="other")
    assert may(service, ADMIN, "realm.create", control.directory("main"))
    assert not may(service, stranger, "realm.create", control.directory("main"))
    grant(service, "x", "MANAGE_SERVER", "user:other/root", "server:lakewarden")
    assert may(service, stranger, "realm.create", control.directory("main"))


def test_groups_count_stored_or_vouched_for_in_any_directory(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    grant(service, "here", "ASK", "group:staff", f"realm:{LAKE}")
    grant(service, "far", "ASK", "group:other/staff", f"realm:{LAKE}")
    ana = Principal(USER, "ana")
    for directory in ("main", "other"):
        asking = Actor("ana", directory=directory)
        assert not may(service, asking, "decision.ask", control.realm(LAKE))
        vouched = Actor("ana", directory=directory, groups=("staff",))
        assert may(service, vouched, "decision.ask", control.realm(LAKE))
        entering = partial(people.add_member, directory=directory, member=ana, group=STAFF)
        service.write(ADMIN, entering)
        assert may(service, asking, "decision.ask", control.realm(LAKE))


@pytest.mark.parametrize("directory", ["main", "other"])
def test_power_is_found_through_groups_of_groups(service: DecisionService, directory: str) -> None:
    spelled = "roots" if directory == "main" else "other/roots"
    ana = Principal(USER, "ana")
    service.write(ADMIN, lambda d: realms.create(d, Realm("far", "gravitino", "other")))
    service.write(ADMIN, lambda d: people.add_member(d, directory, ana, STAFF))
    service.write(ADMIN, lambda d: people.add_member(d, directory, STAFF, ROOTS))
    for person in (ana, STAFF, ROOTS):
        assert not control.has_control_rights(service.state, directory, person)
    grant(service, "r", "MANAGE_REALM", f"group:{spelled}", f"realm:{LAKE}")
    for person in (ana, STAFF, ROOTS):
        assert control.has_control_rights(service.state, directory, person)
    assert not control.has_control_rights(service.state, directory, Principal(USER, "eve"))


def test_a_no_tells_what_is_missing_and_names_nobody_to_strangers(service: DecisionService) -> None:
    told = control.denied(service.state, Actor("eve"), "statement.put", control.realm(LAKE), NOW)
    assert isinstance(told, Denied)
    assert [(m.privilege, m.object.name) for m in told.missing] == [("MANAGE_REALM", LAKE)]
    assert told.may_grant == (ADMIN.user,)
    strangers = [
        Actor("eve", directory="other"),
        Actor("eve", realm=LAKE),
        Actor(ANONYMOUS, credential=ANONYMOUS),
    ]
    for stranger in strangers:
        told = control.denied(service.state, stranger, "realm.alter", control.realm(LAKE), NOW)
        assert isinstance(told, Denied)
        assert told.may_grant == ()


def test_writing_in_the_control_realm_is_handing_out_rights() -> None:
    assert control.scoped("statement.put", CONTROL) == ("grant.put", control.SERVER)
    assert control.scoped("membership.add", CONTROL) == ("grant.put", control.SERVER)
    assert control.scoped("statement.remove", CONTROL) == ("grant.remove", control.SERVER)
    assert control.scoped("statement.list", CONTROL) == ("grant.list", control.SERVER)
    assert control.scoped("decision.ask", CONTROL) == ("decision.ask", control.realm(CONTROL))
    assert control.scoped("statement.put", LAKE) == ("statement.put", control.realm(LAKE))


def test_every_operation_on_a_realm_that_writes_or_reads_it_is_mapped() -> None:
    from lakewarden import models

    model = models.load("control")
    of_realms = {name for name, found in model.operations.items() if "realm" in found.rules}
    asking = {"realm.load", "grant.put", "operation.list", "audit.read", "entity.access"}
    asking |= {"subject.search"}
    for name in of_realms - asking:
        if name.partition(".")[0] not in ("decision", "explain"):
            assert control.scoped(name, CONTROL)[1] == control.SERVER, name


def test_a_slash_in_a_name_of_main_is_not_another_directory(service: DecisionService) -> None:
    ours, theirs = Actor("eng/data"), Actor("data", directory="eng")
    lake = control.realm(LAKE)
    service.write(ADMIN, lambda transaction: make_administrator(transaction, "eng/data", "main"))
    assert may(service, ours, "realm.alter", lake)
    assert not may(service, theirs, "realm.alter", lake)
    assert administrators(service.state, NOW) == ("eng/data", "root")


def test_groups_with_a_slash_carry_rights_to_their_members_alone(service: DecisionService) -> None:
    group = Principal(GROUP, "/eng/data")
    member = Principal(USER, "DOM\\ana/x")
    service.write(ADMIN, lambda transaction: people.add_member(transaction, "main", member, group))
    grant(service, "g", "MANAGE_REALM", "group:main//eng/data", "server:lakewarden")
    lake = control.realm(LAKE)
    assert may(service, Actor(member.name), "realm.alter", lake)
    assert control.has_control_rights(service.state, "main", group)
    assert not may(service, Actor("ana/x", directory="eng"), "realm.alter", lake)
    service.write(ADMIN, lambda transaction: people.remove(transaction, "main", group))
    assert not may(service, Actor(member.name), "realm.alter", lake)
