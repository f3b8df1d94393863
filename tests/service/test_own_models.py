"""Realms of a custom model: its text is stored with the realm, or the realm is closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from lakewarden.kernel.change import EntityAdded, OwnerChanged, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, RealmClosed
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect as Way
from lakewarden.kernel.statement import On, Statement
from lakewarden.models.own import ModelText
from lakewarden.service import realms
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect, RealmChanged, decode
from lakewarden.service.realm import Realm
from lakewarden.service.replay import compare
from lakewarden.service.state_builder import load
from lakewarden.store import SqlStore, backup, open_store, schema
from lakewarden.testing.world_draft import NOW
from tests.own_model import GIVEN, NAME, changed
from tests.service.opened_services import ADMIN, opened

MINE = Realm("mine", NAME, text=GIVEN)
PLAN = Entity("document", "plan")
ANA, BEN = Principal(USER, "ana"), Principal(USER, "ben")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        service.write(ADMIN, lambda transaction: realms.create(transaction, MINE))
        furnish(service)
        yield service


def furnish(service: DecisionService) -> None:
    home = Entity("workspace", "home")
    read = Statement(
        "read",
        Way.ALLOW,
        privileges=frozenset({"READ"}),
        principals=frozenset({BEN}),
        scope=On(home),
    )
    effects: list[Effect] = [
        EntityAdded(home, None),
        EntityAdded(PLAN, home),
        OwnerChanged(OwnerRow(PLAN, ANA, ""), True),
        StatementAdded(read),
    ]
    service.write(ADMIN, lambda transaction: transaction.change("mine", *effects))


def answers(service: DecisionService) -> list[bool]:
    matrix = service.state.realm("mine").matrix
    asked = [(ANA, "document.write"), (BEN, "document.read"), (BEN, "document.write")]
    return [matrix.decide(Request(who, act, PLAN, NOW)).allow for who, act in asked]


EXPECTED = [True, True, False]


def sql(service: DecisionService) -> SqlStore:
    assert isinstance(service.store, SqlStore)
    return service.store


def spoil(store: SqlStore, **values: str) -> None:
    with store.engine.begin() as connection:
        connection.execute(sa.update(schema.models).values(**values))


def test_the_text_is_found_again_on_start_and_by_other_processes(
    service: DecisionService,
) -> None:
    assert answers(service) == EXPECTED
    with open_store(str(sql(service).engine.url)) as store:
        other = DecisionService(store, clock=lambda: NOW)
        other.open()
        assert answers(other) == EXPECTED
        assert other.state.realm("mine").realm == MINE
        again = Realm("again", NAME, text=changed(('rule = "KEEPER"', 'rule = "MANAGE"')))
        service.write(ADMIN, lambda transaction: realms.create(transaction, again))
        other.catch_up()
        assert other.state.realm("again").realm == again
        assert other.state.realm("mine").system.text == GIVEN


def test_the_change_feed_carries_the_text_and_adds_up_to_the_tables(
    service: DecisionService,
) -> None:
    with service.reading() as reading:
        assert compare(reading) == []
        found = [decode(row, None) for row in reading.feed(0) if row.kind == "realm"]
    assert RealmChanged("mine", MINE) in found


def test_a_backup_brings_the_text_along(service: DecisionService, tmp_path: Path) -> None:
    file, url = tmp_path / "backup", f"sqlite:///{tmp_path / 'new.db'}"
    backup.save(sql(service).engine, file)
    backup.restore(file, url)
    with open_store(url) as store:
        other = DecisionService(store, clock=lambda: NOW)
        other.open()
        assert answers(other) == EXPECTED


def test_who_makes_such_a_realm_leaves_its_digest_in_the_audit_trail(
    service: DecisionService,
) -> None:
    with service.reading() as reading:
        assert any(GIVEN.digest in row.body for row in reading.audit())


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"text": "# another"}, "does not have its digest"),
        ({"text": ""}, "does not have its digest"),
        ({"digest": "0" * 64}, "does not have its digest"),
    ],
)
def test_a_text_that_is_not_what_was_stored_closes_the_realm_and_no_other(
    service: DecisionService, values: dict[str, str], reason: str
) -> None:
    spoil(sql(service), **values)
    with service.reading() as reading:
        state = load(reading, NOW)
    assert sorted(state.realms) == ["_server", "lake"]
    assert reason in state.closed["mine"].reason
    with pytest.raises(RealmClosed, match="realm `mine` is closed: documents: the text"):
        state.realm("mine")


def _closed(service: DecisionService, text: ModelText) -> None:
    """Stores the realm with a text that does not load, as only another release could."""
    realm = Realm("mine", NAME, text=text)

    def store(transaction: object) -> None:
        writing = transaction.store  # type: ignore[attr-defined]  # like another release
        writing.apply("mine", [RealmChanged("mine", realm)])

    service.write(ADMIN, store)
    service.open()


def test_a_model_that_no_longer_loads_closes_the_realm_where_it_is_read(
    service: DecisionService,
) -> None:
    with open_store(str(sql(service).engine.url)) as store:
        other = DecisionService(store, clock=lambda: NOW)
        other.open()
        bad = changed(('rule = "KEEPER"', 'rule = "KEEPER or NEW_WORD"'))
        _closed(service, bad)
        other.catch_up()
        for one in (service, other):
            assert "unknown privilege or word `NEW_WORD`" in one.state.closed["mine"].reason
            with pytest.raises(RealmClosed):
                answers(one)


def test_a_closed_realm_keeps_its_name_and_can_be_dropped(service: DecisionService) -> None:
    spoil(sql(service), text="# another")
    service.open()
    with pytest.raises(Conflict, match="already exists"):
        service.write(ADMIN, lambda transaction: realms.create(transaction, MINE))
    with pytest.raises(RealmClosed):
        service.write(ADMIN, lambda transaction: realms.alter(transaction, "mine", settings={}))
    assert service.write(ADMIN, lambda transaction: realms.drop(transaction, "mine")) is None
    assert service.state.declared("mine") is None
    assert service.write(ADMIN, lambda transaction: realms.create(transaction, MINE)) == MINE


@pytest.mark.parametrize(
    "realm",
    [
        Realm("more", "documents", text=changed(('name = "documents"', 'name = "papers"'))),
        Realm("more", "cdap", text=changed(('name = "documents"', 'name = "cdap"'))),
        Realm("more", NAME, text=GIVEN, settings={"odd": "yes"}),
        Realm("more", NAME, text=changed(('rule = "KEEPER"', 'rule = "LOOK"'))),
    ],
    ids=["another name", "a shipped name", "an unknown setting", "a fault"],
)
def test_what_is_no_model_makes_no_realm(service: DecisionService, realm: Realm) -> None:
    with pytest.raises(BadInput):
        service.write(ADMIN, lambda transaction: realms.create(transaction, realm))
    assert service.state.declared("more") is None
