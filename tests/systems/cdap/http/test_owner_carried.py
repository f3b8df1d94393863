"""A namespace's owner principal survives a round trip through replies: shown, read, shown again."""

from __future__ import annotations

from typing import Any

from lakewarden.kernel.change import Change, EntityAdded, RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.pipeline.ingest.exchange import Exchange
from lakewarden.service.actor import SYSTEM
from lakewarden.service.source_row import Row
from lakewarden.systems.cdap.ingest import rows
from tests.systems.cdap.http.wire import BOSS, REALM, Wire

OWNER = "etl/h1.corp@CORP"


def read(wire: Wire, reply: Any) -> list[Row]:
    """The rows that an importer reads from the list of namespaces."""
    system = wire.service.state.realm(REALM).system
    return list(rows(Exchange(("v3", "namespaces"), reply, "namespaces"), system))


def bring(wire: Wire, found: list[Row]) -> None:
    """Adds the rows to the realm, only as facts."""
    changes = [change(row) for row in found]
    wire.service.write(SYSTEM, lambda transaction: transaction.change(REALM, *changes))


def change(row: Row) -> Change:
    if row.table == "entities":
        return EntityAdded(Entity(*row.cells), None)
    kind, *ends = row.cells
    return RelationChanged(RelationRow(kind, Entity(*ends[:2]), Entity(*ends[2:])), True)


def test_an_importer_gets_the_owner_of_a_namespace_that_was_ingested(wire: Wire) -> None:
    found = read(wire, [{"name": "sales", "config": {"principal": OWNER}}])
    bring(wire, found)
    wire.grant(BOSS, "namespace:sales", "READ")
    told = wire.good("GET", "namespaces")
    assert told == [{"name": "sales", "description": "", "config": {"principal": OWNER}}]
    assert wire.good("GET", "namespaces/sales") == told[0]
    assert read(wire, told) == found
    assert wire.status("GET", "namespaces/sales", user="etl") == 200


def test_principals_of_what_is_in_a_namespace_are_shown_as_they_are_kept(wire: Wire) -> None:
    for id in ("namespace:sales", "stream:sales.s", "dataset:sales.t", "application:sales.a"):
        wire.grant(BOSS, id)
    for id in ("artifact:sales.etl", f"kerberosprincipal:{OWNER}"):
        wire.grant(BOSS, id)
    wire.good("PUT", "namespaces/sales")
    headers = {"Artifact-Version": "1.0"}
    wire.good("POST", "namespaces/sales/artifacts/etl", b"x", headers=headers)
    own = {"principal": OWNER}
    artifact = {"artifact": {"name": "etl", "version": "1.0"}}
    wire.good("PUT", "namespaces/sales/apps/a", {**artifact, **own})
    wire.good("PUT", "namespaces/sales/streams/s", own)
    wire.good("PUT", "namespaces/sales/data/datasets/t", {"typeName": "table", **own})
    wire.reopened()
    (listed,) = wire.good("GET", "namespaces/sales/apps")
    shown = (wire.good("GET", f"namespaces/sales/{path}") for path in PATHS)
    assert [one["principal"] for one in (listed, *shown)] == [OWNER] * 5


PATHS = ("apps/a", "apps/a/versions/-SNAPSHOT", "streams/s", "data/datasets/t")
