"""Statements through the service: validated, marked, and never against the last administrator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.change import AttributeChanged, EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded
from lakewarden.kernel.relations import COLUMN_TYPE
from lakewarden.kernel.statement import Effect as GrantEffect
from lakewarden.kernel.statement_file import write_statement
from lakewarden.service import realms, statements
from lakewarden.service.actor import SYSTEM
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.grant import GrantedPrivilege, grant_privileges
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, EVE, LAKE, furnish, opened

READ = {"id": "read", "privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": "table:lk:c.s.t"}
MADE = Entity("metalake", "implied")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        furnish(service)
        yield service


def put(
    service: DecisionService, table: Mapping[str, object], mark: str = "", realm: str = LAKE
) -> None:
    found = service.write(
        ADMIN, lambda transaction: statements.put(transaction, realm, table, mark)
    )
    assert not isinstance(found, Denied)


def ids(service: DecisionService, realm: str = LAKE) -> set[str]:
    return set(statements.stored(service.state.realm(realm)))


def test_a_statement_takes_the_place_of_the_one_with_its_id(service: DecisionService) -> None:
    put(service, READ)
    put(service, {**READ, "to": ["user:ben"]})
    found = statements.listed(service.state, ADMIN, LAKE, NOW)
    assert not isinstance(found, Denied)
    assert [(one.id, [p.name for p in one.principals]) for one in found] == [("read", ["ben"])]


def test_what_follows_from_entities_is_neither_listed_nor_written(service: DecisionService) -> None:
    assert ids(service) == set()
    with pytest.raises(BadInput, match="must not start with"):
        put(service, {**READ, "id": "implied:member:lk"})


def test_grants_in_a_metalake_named_implied_are_listed_changed_and_removed(
    service: DecisionService,
) -> None:
    system = service.state.realm(LAKE).system
    catalog = system.entity("catalog:implied:c")
    changes = [EntityAdded(e, system.spelling.parent(e)) for e in (MADE, catalog)]
    service.write(SYSTEM, lambda d: d.change(LAKE, *changes))
    use = GrantedPrivilege("USE_CATALOG", GrantEffect.ALLOW)
    given = {catalog: frozenset({use})}
    role = system.principal("role:implied:r")
    service.write(SYSTEM, lambda d: grant_privileges(d, LAKE, role, given))
    id = "implied:r/catalog:c/allow"
    assert ids(service) == {id}
    table = write_statement(statements.stored(service.state.realm(LAKE))[id])
    put(service, {**table, "effect": "deny"})
    (found,) = statements.stored(service.state.realm(LAKE)).values()
    assert found.effect is GrantEffect.DENY
    assert service.write(ADMIN, lambda d: statements.remove(d, LAKE, id)) is None
    assert ids(service) == set()


@pytest.mark.parametrize(
    "wrong", [{"privileges": []}, {"to": []}, {"id": ""}, {"id": "a\nb"}, {"privileges": ["X"]}]
)
def test_a_malformed_statement_leaves_nothing(
    service: DecisionService, wrong: dict[str, object]
) -> None:
    before = service.state.revision
    with pytest.raises(BadInput):
        put(service, {**READ, **wrong})
    assert service.state.revision == before


def test_criteria_values_and_ids_have_limits(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    table = {"id": "x", "privileges": ["VIEW_ENTITY_PAGE"], "to": ["all-users"]}
    criterion = {"field": "TAG", "values": ["urn:li:tag:a"]}
    put(service, {**table, "where": [criterion] * 64}, realm="hub")
    put(service, {**table, "where": [{"field": "TAG", "values": ["a"] * 1_000}]}, realm="hub")
    for where in ([criterion] * 65, [{"field": "TAG", "values": ["a"] * 1_001}]):
        with pytest.raises(LimitExceeded):
            put(service, {**table, "where": where}, realm="hub")
    put(service, {**table, "id": "i" * 256}, realm="hub")
    with pytest.raises(LimitExceeded):
        put(service, {**table, "id": "i" * 257}, realm="hub")


def test_only_who_names_the_mark_changes_a_marked_statement(service: DecisionService) -> None:
    put(service, READ, "git:policies")
    put(service, {**READ, "to": ["user:ben"]}, "git:policies")
    for mark in ("", "git:others"):
        with pytest.raises(Conflict, match="has the mark `git:policies`"):
            put(service, READ, mark)
        with pytest.raises(Conflict, match="has the mark `git:policies`"):
            service.write(ADMIN, partial(statements.remove, realm=LAKE, id="read", mark=mark))
    service.write(ADMIN, lambda d: statements.remove(d, LAKE, "read", "git:policies"))
    put(service, READ)
    with pytest.raises(Conflict, match="has no mark"):
        put(service, READ, "git:policies")


def test_removing_what_is_not_there_changes_nothing(service: DecisionService) -> None:
    before = service.state.revision
    assert service.write(ADMIN, lambda d: statements.remove(d, LAKE, "none")) is None
    assert service.state.revision == before


def test_a_deleted_default_comes_back_when_it_is_written_again(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    hub = service.state.realm("hub")
    table = next(
        t for t in hub.system.model.defaults if t.get("editable") and t["id"] in ids(service, "hub")
    )
    id = str(table["id"])
    service.write(ADMIN, lambda d: statements.remove(d, "hub", id))
    assert service.state.realm("hub").realm.deleted == {id}
    plain = {k: v for k, v in table.items() if k not in ("set", "editable")}
    put(service, plain, realm="hub")
    assert service.state.realm("hub").realm.deleted == frozenset()


def test_a_default_that_the_system_needs_is_neither_changed_nor_removed(
    service: DecisionService,
) -> None:
    table = {"id": "everyone", "privileges": ["ASK_OWN"], "to": ["all-users"]}
    with pytest.raises(Conflict, match="cannot be changed"):
        put(service, {**table, "on": "server:lakewarden"}, realm=CONTROL)
    with pytest.raises(Conflict, match="cannot be changed"):
        service.write(ADMIN, lambda d: statements.remove(d, CONTROL, "administrators"))


def test_no_statement_shuts_the_last_administrator_out(service: DecisionService) -> None:
    deny = {"id": "no", "effect": "deny", "privileges": ["MANAGE_SERVER"]}
    with pytest.raises(Conflict, match="no user who may grant privileges"):
        put(service, {**deny, "to": ["user:root"], "on": "server:lakewarden"}, realm=CONTROL)
    put(service, {**deny, "to": ["user:eve"], "on": "server:lakewarden"}, realm=CONTROL)


def test_who_has_no_right_reads_and_writes_nothing(service: DecisionService) -> None:
    assert isinstance(statements.listed(service.state, EVE, LAKE, NOW), Denied)
    for realm in (LAKE, CONTROL, "absent"):
        putting = partial(statements.put, realm=realm, table=READ)
        assert isinstance(service.write(EVE, putting), Denied)
        removing = partial(statements.remove, realm=realm, id="x")
        assert isinstance(service.write(EVE, removing), Denied)


def test_types_that_columns_carry_are_checked(service: DecisionService) -> None:
    table = Entity("table", "lk:c.s.t")
    columns = {"region": ("varchar(20)",), "day": ("date",), "odd": ("date", "int"), "bare": ()}
    effects: list[Effect] = []
    for name, types in columns.items():
        column = Entity("column", f"{table.name}.{name}")
        effects.append(EntityAdded(column, table))
        effects.append(AttributeChanged(column, COLUMN_TYPE, types))
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, *effects))

    def limit(effect: str, on: str, expression: str) -> None:
        put(service, {"id": expression, "effect": effect, "on": on, "expression": expression})

    on = "table:lk:c.s.t"
    limit("filter", on, "region = 'EU' and odd = bare")
    limit("mask", f"column:{on.removeprefix('table:')}.region", "last4")
    for effect, where, expression, why in (
        ("filter", on, "region = 5", r"the column `region` is varchar\(20\)"),
        ("mask", "column:lk:c.s.t.day", "hash", "`hash` does not fit a column of type date"),
    ):
        with pytest.raises(BadInput, match=why):
            limit(effect, where, expression)
