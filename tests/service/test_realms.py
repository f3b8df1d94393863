"""Realms: created with their defaults, altered, dropped with all their rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput, Conflict, Unknown
from lakewarden.kernel.model import Table
from lakewarden.kernel.statement import Statement
from lakewarden.service import control, realms, statements, token
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import CONTROL, Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, EVE, LAKE, opened

HUB = Realm("hub", "datahub")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        yield service


def ids(service: DecisionService, realm: str) -> set[str]:
    return set(statements.stored(service.state.realm(realm)))


def test_a_realm_comes_with_what_its_system_ships_and_is_known_to_the_guard(
    service: DecisionService,
) -> None:
    assert service.write(ADMIN, lambda d: realms.create(d, HUB)) == HUB
    assert ids(service, "hub")
    tree = service.state.realm(CONTROL).matrix.snapshot.coded.tree
    assert tree.find(control.realm("hub")) is not None


def test_a_realm_is_created_by_administrators_only_and_the_refusal_is_recorded(
    service: DecisionService,
) -> None:
    assert isinstance(service.write(EVE, lambda d: realms.create(d, HUB)), Denied)
    assert "hub" not in service.state.realms
    with service.reading() as reading:
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
    service: DecisionService, realm: Realm, error: type[Exception]
) -> None:
    before = service.state.revision
    with pytest.raises(error):
        service.write(ADMIN, lambda d: realms.create(d, realm))
    assert service.state.revision == before


def test_a_setting_brings_and_takes_default_statements_but_not_edited_ones(
    service: DecisionService,
) -> None:
    service.write(ADMIN, lambda d: realms.create(d, HUB))
    current = ids(service, "hub")
    edited = next(
        found
        for id, found in sorted(statements.stored(service.state.realm("hub")).items())
        if any(t["id"] == id and t.get("editable") for t in hub_defaults(service))
    )
    service.write(ADMIN, lambda d: statements.put(d, "hub", retitled(edited)))
    service.write(ADMIN, lambda d: realms.alter(d, "hub", settings={"bootstrap": "closed"}))
    closed = ids(service, "hub")
    assert closed < current
    assert edited.id in closed
    service.write(ADMIN, lambda d: realms.alter(d, "hub", settings={}))
    assert ids(service, "hub") == current


def hub_defaults(service: DecisionService) -> tuple[Table, ...]:
    return service.state.realm("hub").system.model.defaults


def retitled(statement: Statement) -> dict[str, object]:
    from lakewarden.kernel.statement_file import write_statement

    return {**write_statement(statement), "title": "changed by hand"}


def test_a_default_that_somebody_deleted_stays_away(service: DecisionService) -> None:
    service.write(ADMIN, lambda d: realms.create(d, HUB))
    editable = [str(table["id"]) for table in hub_defaults(service) if table.get("editable")]
    id = next(id for id in editable if id in ids(service, "hub"))
    service.write(ADMIN, lambda d: statements.remove(d, "hub", id))
    service.write(ADMIN, lambda d: realms.alter(d, "hub", spellings={"a@corp": "a"}))
    assert id not in ids(service, "hub")
    assert service.state.realm("hub").realm.deleted == {id}


def test_nothing_is_set_in_the_control_realm_and_it_stays(service: DecisionService) -> None:
    with pytest.raises(BadInput):
        service.write(ADMIN, lambda d: realms.alter(d, CONTROL, settings={}))
    with pytest.raises(Conflict):
        service.write(ADMIN, lambda d: realms.drop(d, CONTROL))
    with pytest.raises(Unknown):
        service.write(ADMIN, lambda d: realms.drop(d, "absent"))


def test_a_dropped_realm_takes_its_tokens_and_rights_along_and_comes_back_empty(
    service: DecisionService,
) -> None:
    right = {"id": "r", "privileges": ["MANAGE_REALM"], "to": ["user:eve"], "on": f"realm:{LAKE}"}
    service.write(ADMIN, lambda d: statements.put(d, CONTROL, right))
    service.write(EVE, lambda d: token.create(d, "eve", terms=token.Terms(realm=LAKE)))
    service.write(EVE, lambda d: token.create(d, "eve"))
    assert service.write(ADMIN, lambda d: realms.drop(d, LAKE)) is None
    assert [one.realm for one in service.state.tokens.values()] == [None]
    assert "r" not in ids(service, CONTROL)
    service.write(ADMIN, lambda d: realms.create(d, Realm(LAKE, "gravitino")))
    assert not control.is_allowed(service.state, EVE, "realm.alter", control.realm(LAKE), NOW)
    again = DecisionService(service.store, clock=service.clock)
    again.open()
    assert ids(again, CONTROL) == ids(service, CONTROL)


def test_the_control_realm_may_come_after_the_others(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path}/late") as store:
        service = DecisionService(store, clock=lambda: NOW)
        service.open()

        def make(transaction: WriteTransaction) -> None:
            realms.establish(transaction, Realm(LAKE, "gravitino"))
            realms.establish_control(transaction)

        service.write(ADMIN, make)
        coded = service.state.realm(CONTROL).matrix.snapshot.coded
        above = list(coded.ancestors(control.realm(LAKE)))
        assert above == [control.directory("main"), control.SERVER]
        assert list(coded.ancestors(control.realm(CONTROL))) == [control.SERVER]
