"""The guard with a minimal dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.http.exchange import Exchange, Services
from lakewarden.http.guard import Guard, Missing, Requirement
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unknown, WardenError
from lakewarden.kernel.request import Request
from lakewarden.service.actor import Actor
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from tests.service.lake import REALM, Lake

TABLE = "table:lk:sales.raw.orders"
SCHEMA = "schema:lk:sales.raw"
READS = {
    "id": "reads",
    "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE"],
    "on": "metalake:lk",
    "to": "user:ana",
}


class Denied(WardenError):
    """The error of this dialect."""


class PlainGuard(Guard):
    """Every request guarded, every target required, and a switch for all of it."""

    on = True

    def is_on(self, exchange: Exchange) -> bool:
        return self.on

    def refusal(self, exchange: Exchange, state: RealmState, request: Request) -> Denied | None:
        if not self.on or state.matrix.decide(request).allow:
            return None
        return Denied(f"{request.operation} refused")

    def require(
        self, state: RealmState, operation: str, target: Entity, missing: Missing | None
    ) -> None:
        stored = target == NO_RESOURCE or state.matrix.snapshot.coded.is_known(target)
        if not stored and missing is not None:
            raise missing(target)

    def missing(self, entity: Entity) -> Unknown:
        return Unknown("thing", entity.name)


class Office:
    """A lake and its callers."""

    def __init__(self, lake: Lake) -> None:
        self.lake, self.guard = lake, PlainGuard()

    def of(self, user: str) -> Exchange:
        state = self.lake.service.state
        actor = Actor(user, credential="test", request_id="r-1", wire="plain")
        return Exchange(
            method="GET",
            path="/x",
            params={},
            query={},
            headers={},
            body=b"",
            actor=actor,
            realm=REALM,
            state=state,
            now=self.lake.service.clock(),
            service=self.lake.service,
            services=Services(),
        )

    def audit(self) -> list[dict[str, Any]]:
        with self.lake.service.reading() as reading:
            bodies = [json.loads(row.body) for row in reading.audit()]
        return [body for body in bodies if body["wire"] == "plain"]

    def entity(self, text: str) -> Entity:
        return self.lake.entity(text)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_store(f"sqlite:///{tmp_path}/store") as store:
        lake = Lake(store)
        lake.add("metalake:lk", "catalog:lk:sales", SCHEMA, TABLE, "table:lk:sales.raw.costs")
        lake.add("user:lk:ana", "user:lk:ben")
        lake.state_also(**READS)
        yield Office(lake)


def test_a_read_goes_on_with_the_state_or_is_refused_and_audited(office: Office) -> None:
    table = office.entity(TABLE)
    assert office.guard.allow(office.of("ana"), "table.load", table).realm.name == REALM
    assert office.audit() == []
    with pytest.raises(Denied, match=r"table\.load refused"):
        office.guard.allow(office.of("ben"), "table.load", table)
    (row,) = office.audit()
    assert (row["outcome"], row["actor"], row["target"]) == ("deny", "ben", TABLE)
    assert row["details"] == {"credential": "test", "reads": 1}


def test_who_may_not_is_not_told_that_a_target_is_missing(office: Office) -> None:
    nowhere = office.entity("table:lk:sales.raw.nowhere")
    with pytest.raises(Denied):
        office.guard.allow(office.of("ben"), "table.load", nowhere)
    boss = office.of("ana")
    office.guard.on = False
    with pytest.raises(Unknown, match=r"unknown thing `lk:sales\.raw\.nowhere`"):
        office.guard.allow(boss, "table.load", nowhere)
    with pytest.raises(Conflict):
        office.guard.allow(boss, "table.load", nowhere, missing=lambda _: Conflict("other"))
    state = office.guard.allow(boss, "table.load", nowhere, missing=None)
    assert state.realm.name == REALM


def test_lists_are_filtered_by_what_each_of_them_requires(office: Office) -> None:
    ana, ben, schema = office.of("ana"), office.of("ben"), office.entity(SCHEMA)
    tables = [office.entity("table:lk:sales.raw.costs"), office.entity(TABLE)]
    assert office.guard.listed(ana, "table.list", schema) == tables
    with pytest.raises(Denied):
        office.guard.listed(ben, "table.list", schema)
    assert office.guard.visible(ana, "table.list", tables) == tables
    assert office.guard.visible(ben, "table.list", tables) == []
    assert office.guard.is_allowed(ana, "table.load", tables[0])
    assert not office.guard.is_allowed(ben, "table.load", tables[0])
    with pytest.raises(BadInput, match=r"`table\.load` does not list entities"):
        office.guard.visible(ana, "table.load", tables)
    office.guard.on = False
    assert office.guard.listed(ben, "table.list", schema) == tables
    assert office.guard.visible(ben, "table.list", tables) == tables
    assert office.guard.is_allowed(ben, "table.load", tables[0])


def test_a_write_is_done_and_audited_with_what_it_did(office: Office) -> None:
    office.lake.own("schema:lk:sales.raw", "user:ana")
    schema, fresh = office.entity(SCHEMA), office.entity("table:lk:sales.raw.fresh")
    ana = office.of("ana")

    def task(transaction: WriteTransaction) -> str:
        transaction.change(REALM, EntityAdded(fresh, schema))
        return "made"

    done = office.guard.write(
        ana, "table.create", schema, task, details=lambda outcome: {"outcome": outcome}
    )
    assert done == "made"
    assert ana.realm_state.matrix.snapshot.coded.is_known(fresh)
    (row,) = office.audit()
    assert (row["outcome"], row["reason"]) == ("allow", "allowed")
    assert row["details"] == {"credential": "test", "outcome": "made"}


def test_a_refused_write_does_nothing_and_is_audited(office: Office) -> None:
    schema = office.entity(SCHEMA)

    def never(transaction: WriteTransaction) -> None:
        raise AssertionError("done in spite of the refusal")

    with pytest.raises(Denied):
        office.guard.write(office.of("ben"), "table.create", schema, never, details={"x": 1})
    (row,) = office.audit()
    assert (row["outcome"], row["reason"]) == ("deny", "table.create refused")
    assert row["details"] == {"credential": "test", "x": 1}


def test_one_no_of_several_refuses_all_and_only_it_is_recorded(office: Office) -> None:
    table, schema = office.entity(TABLE), office.entity(SCHEMA)
    asks = [
        Requirement("table.load", table),
        Requirement("table.create", schema, otherwise=Conflict("mine")),
    ]
    before = office.lake.service.state.revision
    with pytest.raises(Conflict, match="mine"):
        office.guard.write_all(office.of("ana"), lambda _: asks, lambda _: None)
    assert [row["operation"] for row in office.audit()] == ["table.create"]
    assert office.lake.service.state.realm(REALM).matrix.snapshot.coded.is_known(table)
    assert office.lake.service.state.revision <= before + 1


def test_a_write_whose_target_is_missing_leaves_nothing_behind(office: Office) -> None:
    office.guard.on = False
    nowhere = office.entity("table:lk:sales.raw.nowhere")
    with pytest.raises(Unknown):
        office.guard.write(office.of("ana"), "table.alter", nowhere, lambda _: None)
    assert office.audit() == []
    done = office.guard.write(office.of("ana"), "table.alter", nowhere, lambda _: 3, ahead=True)
    assert done == 3


def test_an_act_that_nobody_was_asked_for_says_so(office: Office) -> None:
    office.guard.on = False
    office.guard.write(office.of("ben"), "table.create", office.entity(SCHEMA), lambda _: None)
    (row,) = office.audit()
    assert (row["outcome"], row["reason"]) == ("allow", "authorization is off")


def test_a_question_of_somebody_else_is_recorded_as_such(office: Office) -> None:
    ben, schema = office.of("ben"), office.entity(SCHEMA)
    office.lake.own("schema:lk:sales.raw", "user:ana")
    ben = replace(ben, state=office.lake.service.state)
    asks = [Requirement("table.create", schema, who=office.lake.principal("user:ana"))]
    assert office.guard.write_all(ben, asks, lambda _: "done") == "done"
    (row,) = office.audit()
    assert (row["actor"], row["details"]["as"]) == ("ben", "ana")
