"""Realms: made with their defaults, altered, dropped with all that hangs on them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unknown
from lakewarden.kernel.model import Table
from lakewarden.kernel.statement import Statement
from lakewarden.service import control, realms, statements, token
from lakewarden.service.control import Denied
from lakewarden.service.desk import Desk
from lakewarden.service.plane import Plane
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.store import open_store
from lakewarden.testing.draft import NOW
from tests.service.planes import ADMIN, EVE, LAKE, opened

HUB = Realm("hub", "datahub")


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    with opened(tmp_path) as plane:
        yield plane


def ids(plane: Plane, realm: str) -> set[str]:
    return set(statements.stored(plane.state.realm(realm)))


def test_a_realm_comes_with_what_its_system_ships_and_is_known_to_the_guard(plane: Plane) -> None:
    assert plane.write(ADMIN, lambda d: realms.create(d, HUB)) == HUB
    assert ids(plane, "hub")
    tree = plane.state.realm(CONTROL).matrix.snapshot.coded.tree
    assert tree.find(control.realm("hub")) is not None


def test_a_realm_is_created_by_administrators_only_and_the_refusal_is_recorded(
    plane: Plane,
) -> None:
    assert isinstance(plane.write(EVE, lambda d: realms.create(d, HUB)), Denied)
    assert "hub" not in plane.state.realms
    with plane.reading() as reading:
        assert '"outcome":"deny"' in list(reading.audit())[-1].body


@pytest.mark.parametrize(
    ("realm", "error"),
    [
        (Realm("Hub", "datahub"), BadInput),
        (Realm("hub", "datahub", "Dir"), BadInput),
        (Realm("hub", "atlas"), Unknown),
        (Realm("hub", "control"), BadInput),
        (Realm("hub", "datahub", settings={"bootstrap": "odd"}), BadInput),
        (Realm(LAKE, "gravitino"), Conflict),
    ],
    ids=repr,
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    plane: Plane, realm: Realm, error: type[Exception]
) -> None:
    before = plane.state.revision
    with pytest.raises(error):
        plane.write(ADMIN, lambda d: realms.create(d, realm))
    assert plane.state.revision == before


def test_a_setting_brings_and_takes_default_statements_but_not_edited_ones(plane: Plane) -> None:
    plane.write(ADMIN, lambda d: realms.create(d, HUB))
    current = ids(plane, "hub")
    edited = next(
        found
        for id, found in sorted(statements.stored(plane.state.realm("hub")).items())
        if any(t["id"] == id and t.get("editable") for t in hub_defaults(plane))
    )
    plane.write(ADMIN, lambda d: statements.put(d, "hub", retitled(edited)))
    plane.write(ADMIN, lambda d: realms.alter(d, "hub", settings={"bootstrap": "closed"}))
    closed = ids(plane, "hub")
    assert closed < current
    assert edited.id in closed
    plane.write(ADMIN, lambda d: realms.alter(d, "hub", settings={}))
    assert ids(plane, "hub") == current


def hub_defaults(plane: Plane) -> tuple[Table, ...]:
    return plane.state.realm("hub").system.model.defaults


def retitled(statement: Statement) -> dict[str, object]:
    from lakewarden.kernel.statement_file import write_statement

    return {**write_statement(statement), "title": "changed by hand"}


def test_a_default_that_somebody_deleted_stays_away(plane: Plane) -> None:
    plane.write(ADMIN, lambda d: realms.create(d, HUB))
    editable = [str(table["id"]) for table in hub_defaults(plane) if table.get("editable")]
    id = next(id for id in editable if id in ids(plane, "hub"))
    plane.write(ADMIN, lambda d: statements.remove(d, "hub", id))
    plane.write(ADMIN, lambda d: realms.alter(d, "hub", spellings={"a@corp": "a"}))
    assert id not in ids(plane, "hub")
    assert plane.state.realm("hub").realm.deleted == {id}


def test_nothing_is_set_in_the_control_realm_and_it_stays(plane: Plane) -> None:
    with pytest.raises(BadInput):
        plane.write(ADMIN, lambda d: realms.alter(d, CONTROL, settings={}))
    with pytest.raises(Conflict):
        plane.write(ADMIN, lambda d: realms.drop(d, CONTROL))
    with pytest.raises(Unknown):
        plane.write(ADMIN, lambda d: realms.drop(d, "absent"))


def test_a_dropped_realm_takes_its_tokens_and_rights_along_and_comes_back_empty(
    plane: Plane,
) -> None:
    right = {"id": "r", "privileges": ["MANAGE_REALM"], "to": ["user:eve"], "on": f"realm:{LAKE}"}
    plane.write(ADMIN, lambda d: statements.put(d, CONTROL, right))
    plane.write(EVE, lambda d: token.create(d, "eve", realm=LAKE))
    plane.write(EVE, lambda d: token.create(d, "eve"))
    assert plane.write(ADMIN, lambda d: realms.drop(d, LAKE)) is None
    assert [one.realm for one in plane.state.tokens.values()] == [None]
    assert "r" not in ids(plane, CONTROL)
    plane.write(ADMIN, lambda d: realms.create(d, Realm(LAKE, "gravitino")))
    assert not control.may(plane.state, EVE, "realm.alter", control.realm(LAKE), NOW)
    again = Plane(plane.store, clock=plane.clock)
    again.open()
    assert ids(again, CONTROL) == ids(plane, CONTROL)


def test_the_control_realm_may_come_after_the_others(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/late") as store:
        plane = Plane(store, clock=lambda: NOW)
        plane.open()

        def make(desk: Desk) -> None:
            realms.establish(desk, Realm(LAKE, "gravitino"))
            realms.establish_control(desk)

        plane.write(ADMIN, make)
        coded = plane.state.realm(CONTROL).matrix.snapshot.coded
        above = list(coded.ancestors(control.realm(LAKE)))
        assert above == [control.directory("main"), control.SERVER]
        assert list(coded.ancestors(control.realm(CONTROL))) == [control.SERVER]
