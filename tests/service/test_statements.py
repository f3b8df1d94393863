"""Statements through the service: checked, marked, and never against the last administrator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded
from lakewarden.service import realms, statements
from lakewarden.service.control import Denied
from lakewarden.service.plane import Plane
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.testing.draft import NOW
from tests.service.planes import ADMIN, EVE, LAKE, furnish, opened

READ = {"id": "read", "privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": "table:lk:c.s.t"}


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    with opened(tmp_path) as plane:
        furnish(plane)
        yield plane


def put(plane: Plane, table: Mapping[str, object], mark: str = "", realm: str = LAKE) -> None:
    found = plane.write(ADMIN, lambda desk: statements.put(desk, realm, table, mark))
    assert not isinstance(found, Denied)


def ids(plane: Plane, realm: str = LAKE) -> set[str]:
    return set(statements.stored(plane.state.realm(realm)))


def test_a_statement_takes_the_place_of_the_one_with_its_id(plane: Plane) -> None:
    put(plane, READ)
    put(plane, {**READ, "to": ["user:ben"]})
    found = statements.listed(plane.state, ADMIN, LAKE, NOW)
    assert not isinstance(found, Denied)
    assert [(one.id, [p.name for p in one.principals]) for one in found] == [("read", ["ben"])]


def test_what_follows_from_entities_is_neither_listed_nor_written(plane: Plane) -> None:
    assert ids(plane) == set()
    with pytest.raises(BadInput, match="cannot begin with"):
        put(plane, {**READ, "id": "implied:member:lk"})


@pytest.mark.parametrize(
    "wrong", [{"privileges": []}, {"to": []}, {"id": ""}, {"id": "a\nb"}, {"privileges": ["X"]}]
)
def test_a_malformed_statement_leaves_nothing(plane: Plane, wrong: dict[str, object]) -> None:
    before = plane.state.revision
    with pytest.raises(BadInput):
        put(plane, {**READ, **wrong})
    assert plane.state.revision == before


def test_criteria_values_and_ids_have_limits(plane: Plane) -> None:
    plane.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    table = {"id": "x", "privileges": ["VIEW_ENTITY_PAGE"], "to": ["all-users"]}
    criterion = {"field": "TAG", "values": ["urn:li:tag:a"]}
    put(plane, {**table, "where": [criterion] * 64}, realm="hub")
    put(plane, {**table, "where": [{"field": "TAG", "values": ["a"] * 1_000}]}, realm="hub")
    for where in ([criterion] * 65, [{"field": "TAG", "values": ["a"] * 1_001}]):
        with pytest.raises(LimitExceeded):
            put(plane, {**table, "where": where}, realm="hub")
    put(plane, {**table, "id": "i" * 256}, realm="hub")
    with pytest.raises(LimitExceeded):
        put(plane, {**table, "id": "i" * 257}, realm="hub")


def test_only_who_names_the_mark_changes_a_marked_statement(plane: Plane) -> None:
    put(plane, READ, "git:policies")
    put(plane, {**READ, "to": ["user:ben"]}, "git:policies")
    for mark in ("", "git:others"):
        with pytest.raises(Conflict, match="is kept by `git:policies`"):
            put(plane, READ, mark)
        with pytest.raises(Conflict, match="is kept by `git:policies`"):
            plane.write(ADMIN, partial(statements.remove, realm=LAKE, id="read", mark=mark))
    plane.write(ADMIN, lambda d: statements.remove(d, LAKE, "read", "git:policies"))
    put(plane, READ)
    with pytest.raises(Conflict, match="bears no mark"):
        put(plane, READ, "git:policies")


def test_removing_what_is_not_there_changes_nothing(plane: Plane) -> None:
    before = plane.state.revision
    assert plane.write(ADMIN, lambda d: statements.remove(d, LAKE, "none")) is None
    assert plane.state.revision == before


def test_a_deleted_default_comes_back_when_it_is_written_again(plane: Plane) -> None:
    plane.write(ADMIN, lambda d: realms.create(d, Realm("hub", "datahub")))
    hub = plane.state.realm("hub")
    table = next(
        t for t in hub.system.model.defaults if t.get("editable") and t["id"] in ids(plane, "hub")
    )
    id = str(table["id"])
    plane.write(ADMIN, lambda d: statements.remove(d, "hub", id))
    assert plane.state.realm("hub").realm.deleted == {id}
    plain = {k: v for k, v in table.items() if k not in ("set", "editable")}
    put(plane, plain, realm="hub")
    assert plane.state.realm("hub").realm.deleted == frozenset()


def test_a_default_that_the_system_needs_is_neither_changed_nor_removed(plane: Plane) -> None:
    table = {"id": "everyone", "privileges": ["ASK_OWN"], "to": ["all-users"]}
    with pytest.raises(Conflict, match="cannot be changed"):
        put(plane, {**table, "on": "server:lakewarden"}, realm=CONTROL)
    with pytest.raises(Conflict, match="cannot be changed"):
        plane.write(ADMIN, lambda d: statements.remove(d, CONTROL, "administrators"))


def test_no_statement_shuts_the_last_administrator_out(plane: Plane) -> None:
    deny = {"id": "no", "effect": "deny", "privileges": ["MANAGE_SERVER"]}
    with pytest.raises(Conflict, match="nobody who may hand out rights"):
        put(plane, {**deny, "to": ["user:root"], "on": "server:lakewarden"}, realm=CONTROL)
    put(plane, {**deny, "to": ["user:eve"], "on": "server:lakewarden"}, realm=CONTROL)


def test_who_has_no_right_reads_and_writes_nothing(plane: Plane) -> None:
    assert isinstance(statements.listed(plane.state, EVE, LAKE, NOW), Denied)
    for realm in (LAKE, CONTROL, "absent"):
        putting = partial(statements.put, realm=realm, table=READ)
        assert isinstance(plane.write(EVE, putting), Denied)
        removing = partial(statements.remove, realm=realm, id="x")
        assert isinstance(plane.write(EVE, removing), Denied)
