"""DENYs on columns: what they close on a table on which the act is allowed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyroaring import BitMap

from lakewarden.kernel import point_evaluator
from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.denied_inside import (
    denied_inside,
    users_denied_inside,
    with_denied_inside,
)
from lakewarden.kernel.errors import StaleSnapshot
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Matching
from lakewarden.kernel.statement_file import read_statements
from lakewarden.kernel.who import StoredUsers
from tests.kernel.small import LAKE, matrix, system, user, world

ROWS = """[types.table]
filtered = true"""
DECLARED = """[types.view]
parent = "schema"
filtered = true
[types.column]
parent = "table"
masked = true
[types.tag]"""
ACTS = """
[fields.NAME]
origin = "name"
[privileges.WRITE]
on = ["metalake", "catalog", "schema", "table", "column"]
[privileges.CELL]
on = ["metalake", "schema", "column"]
[operations.write]
on = "table"
rule = "owner(self) or READ or WRITE"
[operations.change]
rules = { table = "owner(self) or READ or WRITE", column = "owner(table) or READ or WRITE" }
[operations.cells]
rules = { table = "WRITE", view = "WRITE", column = "WRITE and not denied(CELL)" }
[operations.cell]
on = "column"
rule = "WRITE and not denied(CELL)"
[operations.nothing]"""
TEXT = LAKE.replace("[types.table]", ROWS).replace("[types.tag]", DECLARED)
SYSTEM = system(TEXT.replace("[operations.nothing]", ACTS.lstrip()))
ORDERS, IBAN, DAY = "table:m:c.s.orders", "column:m:c.s.orders.iban", "column:m:c.s.orders.day"
OTHER = "table:m:c.s.other"
TOTALS, TOTAL = "view:m:c.s.totals", "column:m:c.s.totals.total"
UNKNOWN, NEW = "column:m:c.s.orders.unknown", "table:m:c.s.new"
FACTS = world(
    SYSTEM,
    ["metalake:m", "catalog:m:c", "schema:m:c.s", ORDERS, IBAN, DAY, OTHER, TOTALS],
    members={"members:m": ["ana", "ben", "olga"], "group:sales": ["ben"]},
    owners={ORDERS: ["olga"]},
)
WRITES = {"privileges": ["USE", "WRITE"], "on": "metalake:m", "to": ["user:ana", "user:ben"]}


@pytest.fixture(params=[16_384, 0], ids=["classes", "bitmaps"], autouse=True)
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the matrix."""
    monkeypatch.setattr(snapshots, "CLASS_LIMIT", request.param)


def denying(on: str, *privileges: str, to: str = "user:ana", **keys: Any) -> dict[str, Any]:
    given = list(privileges or ("WRITE",))
    return {"effect": "deny", "privileges": given, "on": on, "to": [to], **keys}


def made(*tables: dict[str, Any], facts: Facts = FACTS) -> Matrix:
    stated = []
    for n, table in enumerate((WRITES, *tables)):
        on = str(table.get("on", ""))
        wild = on.partition(":")[2] if "*" in on else ""
        plain = {"id": f"s{n}", **table, **({"on": IBAN} if wild else {})}
        (one,) = read_statements([plain], SYSTEM.model, SYSTEM.spelling, "test")
        # Names of this system have no wildcards, but the kernel supports them.
        parts = tuple(wild.replace(":", ".").split("."))
        stated.append(replace(one, scope=Matching("column", parts)) if wild else one)
    return matrix(SYSTEM, replace(facts, statements=stated))


def closed(
    m: Matrix, operation: str = "write", who: str = "ana", on: str = ORDERS,
    named: list[str] | None = None, **more: Any,
) -> list[str]:  # fmt: skip
    request = Request(user(who), operation, SYSTEM.entity(on), 0.0)
    columns = None if named is None else [SYSTEM.entity(one) for one in named]
    found = denied_inside(m, request, columns, **more)
    assert m.decide(request).allow or not found or more
    agree_by_users(m, request, more.get("inside"))
    return sorted(f"{one.type}:{one.name}" for one in found)


def agree_by_users(m: Matrix, request: Request, inside: str | None) -> None:
    """The query for all users at once finds the same closed columns of the target."""
    tree, memberships = m.snapshot.coded.tree, m.snapshot.coded.memberships
    target, stored = tree.find(request.target), StoredUsers(memberships)
    if target is None:
        return
    columns = sorted(tree.subtree(target) - BitMap([target]))
    assert users_denied_inside(m, request, {}, stored, inside) == {}
    found = users_denied_inside(m, request, {target: columns}, stored, inside)
    for column in columns:
        closed = [
            id
            for id in stored.everyone
            if denied_inside(
                m,
                replace(request, principal=memberships.principals[id]),
                [tree.entity(column)],
                inside,
            )
        ]
        assert list(found.get(column, ())) == closed


@pytest.mark.parametrize("operation", ["write", "change"])
@pytest.mark.parametrize(
    ("deny", "expected"),
    [
        ([denying(IBAN)], [IBAN]),
        ([denying(IBAN), denying(DAY)], [DAY, IBAN]),
        ([denying(UNKNOWN)], [UNKNOWN]),
        ([denying(IBAN, to="group:sales")], []),
        ([denying(IBAN, valid_from=1.0)], []),
        ([denying(IBAN, "READ")], []),
        ([denying("column:m:c.s.other.iban")], []),
    ],
)
def test_what_a_deny_names_is_closed(
    operation: str, deny: list[dict[str, Any]], expected: list[str]
) -> None:
    if "READ" in deny[0]["privileges"]:
        deny[0]["on"] = OTHER
    assert closed(made(*deny), operation) == expected


def test_columns_that_are_named_are_closed_by_themselves() -> None:
    m = made(denying(IBAN), denying(UNKNOWN))
    assert closed(m, named=[DAY]) == closed(m, named=[]) == []
    assert closed(m, named=[DAY, IBAN]) == [IBAN]
    assert closed(m, named=[UNKNOWN]) == [UNKNOWN]


def test_what_else_allows_is_not_closed() -> None:
    """It stays open for the owner, and for users with another privilege on the table."""
    to_all = denying(IBAN, to="members:m")
    reads = {"privileges": ["READ"], "on": ORDERS, "to": ["user:ben"]}
    m = made(to_all, reads)
    for operation in ("write", "change"):
        assert closed(m, operation, "ana") == [IBAN]
        assert closed(m, operation, "ben") == closed(m, operation, "olga") == []


def test_a_deny_that_the_table_has_judged_counts_no_further() -> None:
    """If the act is allowed in spite of it, something else allows it."""
    reads = {"privileges": ["READ"], "on": ORDERS, "to": ["user:ana"]}
    assert closed(made(denying("schema:m:c.s"), reads)) == []
    m = made(denying("schema:m:c.s"))
    request = Request(user("ana"), "write", SYSTEM.entity(ORDERS), 0.0)
    assert not m.decide(request).allow
    assert not denied_inside(m, request)


def test_a_deny_of_what_only_columns_need_is_judged_for_any_column() -> None:
    m = made(denying("metalake:m", "CELL"))
    assert closed(m, "cells", named=[DAY]) == [DAY]
    assert closed(m, "cells", named=[]) == []
    assert len(closed(m, "cells")) == 3  # the two stored ones, and any other one
    assert closed(m, "write") == []


def test_what_lies_inside_may_be_judged_by_an_operation_of_its_own() -> None:
    m = made(denying(IBAN, "CELL"))
    assert closed(m, "write") == []
    assert closed(m, "write", inside="cell") == [IBAN]


@pytest.mark.parametrize("operation", ["write", "change"])
def test_wildcards_close_what_they_could_match(operation: str) -> None:
    m = made(denying("column:m:c.s.orders.ib*"), denying("column:m:c.t.*.day"))
    assert closed(m, operation, named=[DAY]) == []
    assert closed(m, operation, named=[IBAN]) == [IBAN]
    found = closed(m, operation)
    assert IBAN in found
    assert len(found) == 2  # and columns that may be added later
    assert closed(m, operation, on=OTHER) == []


def test_a_table_that_is_not_stored_is_judged_by_its_name() -> None:
    m = made(denying(f"column:{NEW.removeprefix('table:')}.iban"))
    request = Request(user("ana"), "write", SYSTEM.entity(NEW), 0.0)
    assert [one.name for one in denied_inside(m, request)] == ["m:c.s.new.iban"]


def test_columns_of_a_view_are_named_like_those_of_a_table() -> None:
    m = made(denying(TOTAL), denying("metalake:m", "CELL", to="user:ben"))
    assert closed(m, "cells", on=TOTALS) == closed(m, "cells", on=TOTALS, named=[TOTAL]) == [TOTAL]
    assert closed(m, "cells", "ben", on=TOTALS) == ["column:m:c.s.totals.any_name"]


def test_what_cannot_be_judged_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = {"privileges": ["READ"], "on": ORDERS, "to": ["user:ana"]}
    m = made(denying(IBAN), reads)
    request = Request(user("ana"), "write", SYSTEM.entity(ORDERS), 0.0)
    assert not denied_inside(m, request)
    monkeypatch.setattr(point_evaluator, "WORK_LIMIT", 0)
    assert denied_inside(m, request) == {SYSTEM.entity(IBAN)}


def test_names_that_are_not_spelled_close_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the name of a column cannot be derived from that of its table."""
    m = made(denying("metalake:m", "CELL"))
    monkeypatch.setattr(SYSTEM.spelling, "parent", lambda _: None)
    assert ORDERS in closed(m, "cells")


def test_other_moments_are_refused() -> None:
    m = made(denying(IBAN, valid_until=5.0))
    request = Request(user("ana"), "write", SYSTEM.entity(ORDERS), 9.0)
    with pytest.raises(StaleSnapshot):
        denied_inside(m, request)
    with pytest.raises(StaleSnapshot):
        with_denied_inside(m, request, BitMap())


@pytest.mark.parametrize(
    ("deny", "expected"),
    [
        ([], []),
        ([denying(IBAN)], [ORDERS]),
        ([denying(UNKNOWN), denying(IBAN)], [ORDERS]),
        ([denying("column:m:c.s.other.iban")], [OTHER]),
        ([denying("column:m:c.s.*.iban")], [ORDERS, OTHER]),
        ([denying("schema:m:c.s")], []),
        ([denying(IBAN, to="user:ben")], []),
        ([denying("metalake:m", "CELL")], [ORDERS, OTHER]),
    ],
)
def test_many_targets_are_told_from_those_that_nothing_closes(
    deny: list[dict[str, Any]], expected: list[str]
) -> None:
    m = made(*deny)
    tree = m.snapshot.coded.tree
    request = Request(user("ana"), "cells", SYSTEM.entity(ORDERS), 0.0)
    found = with_denied_inside(m, request, m.snapshot.of_type("table"))
    assert sorted("table:" + tree.entity(id).name for id in found) == expected
    assert not with_denied_inside(m, request, BitMap())
    for id in m.snapshot.of_type("table") - found:
        assert not denied_inside(m, replace(request, target=tree.entity(id)))


def test_views_are_told_as_well() -> None:
    m = made(denying(TOTAL), denying("schema:m:c.s", "CELL", to="user:ben"))
    views = m.snapshot.of_type("view")
    request = Request(user("ana"), "cells", SYSTEM.entity(TOTALS), 0.0)
    assert with_denied_inside(m, request, views) == views
    assert with_denied_inside(m, replace(request, principal=user("ben")), views) == views
    assert not with_denied_inside(m, replace(request, principal=user("cid")), views)


def test_what_meets_criteria_closes_what_it_lies_in() -> None:
    deny = {**denying(""), "where": [{"field": "NAME", "values": [IBAN.removeprefix("column:")]}]}
    del deny["on"]
    m = made(deny)
    request = Request(user("ana"), "cells", SYSTEM.entity(ORDERS), 0.0)
    found = with_denied_inside(m, request, m.snapshot.of_type("table"))
    assert [m.snapshot.coded.tree.entity(id) for id in found] == [SYSTEM.entity(ORDERS)]
