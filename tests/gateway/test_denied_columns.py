"""Columns behind the gateway: the effect of a DENY on a column, and masks of views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from lakewarden.config.engines import SparkRealm
from lakewarden.gateway.access import Access
from lakewarden.gateway.errors import Denied
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.system import load_system
from tests.gateway.estate import REALM, SALES, SETTINGS, Estate
from tests.gateway.test_statements import asked
from tests.http.test_renames import split

NAME = {one: ("spark_catalog", "sales", one) for one in ("notes", "orders", "customers", "totals")}


@contextmanager
def stated(estate: Estate, *tables: dict[str, Any]) -> Iterator[None]:
    """Statements of the realm, until the end of the block."""
    system = load_system("gravitino", SETTINGS)
    named = [{"id": f"more-{n}", **one} for n, one in enumerate(tables)]
    statements = read_statements(named, system.model, system.spelling, "test")
    added, removed = map(StatementAdded, statements), (StatementRemoved(one["id"]) for one in named)
    estate.service.write(SYSTEM, lambda d: d.change(REALM, *added))
    try:
        yield
    finally:
        estate.service.write(SYSTEM, lambda d: d.change(REALM, *removed))


def denying(column: str, *privileges: str, to: str = "role:lk:reader") -> dict[str, Any]:
    on = f"column:{SALES}.{column}"
    return {"effect": "deny", "privileges": list(privileges), "on": on, "to": [to]}


def refused(estate: Estate, user: str, texts: Sequence[str]) -> list[str]:
    found = []
    for text in texts:
        try:
            asked(estate, user, text)
        except Denied:
            found.append(text)
    return found


@pytest.mark.parametrize("column", ["notes.text", "notes.not_stored"])
@pytest.mark.parametrize(
    ("right", "closed"),
    [
        ("INSERT_ROWS", ["insert into notes select 1, 'x'", "insert into notes values (1, 'x')"]),
        (
            "SELECT_COLUMN",
            [
                "insert into orders select id, text from notes",
                "update notes set text = 'x'",
                "delete from notes",
            ],
        ),
        ("UPDATE_ROWS", ["update notes set text = 'x'"]),
    ],
)
def test_whom_a_deny_on_a_column_binds_is_denied_the_act_on_the_table(
    estate: Estate, column: str, right: str, closed: list[str]
) -> None:
    texts = [
        "insert into notes select 1, 'x'",
        "insert into notes values (1, 'x')",
        "insert into orders select id, text from notes",
        "update notes set text = 'x'",
        "delete from notes",
    ]
    updates = {"privileges": ["UPDATE_ROWS"], "on": f"schema:{SALES}", "to": ["user:bo"]}
    with stated(estate, updates):
        assert refused(estate, "bo", texts) == []
        with stated(estate, {**denying(column, right), "id": "no"}):
            assert refused(estate, "bo", texts) == closed
            assert refused(estate, "olga", texts) == []


def test_whom_a_deny_on_a_column_binds_takes_no_table_out_of_its_name() -> None:
    """The entity with the new name has no DENY, unless the realm follows."""
    realm, orders = split("spark", "AlterTable"), ("spark_catalog", "sales", "orders")
    settings = SparkRealm(metalake="one", catalogs={}, database="sales")
    for user in ("ana", "bo"):
        access = Access(realm, realm.system.engines["spark"], settings, Actor(user), 0.0)
        access.require_writable("AlterTable", orders)
        expected = pytest.raises(Denied, match="without a DENY") if user == "ana" else nullcontext()
        with expected:
            access.require_renamable("AlterTable", orders)


@pytest.mark.parametrize("column", ["iban", "IBAN", "Iban"])
def test_a_column_is_masked_in_whatever_case_spark_names_it(estate: Estate, column: str) -> None:
    access = estate.access("ana")
    types = {column: "string", "name": "string"}
    assert access.mask(NAME["customers"], column, types) is not None
    assert access.mask(NAME["customers"], "name", types) is None


def test_a_mask_on_a_column_of_a_view_is_one(estate: Estate) -> None:
    mask = {"effect": "mask", "on": f"column:{SALES}.totals.total", "expression": "null"}
    assert not estate.access("bo").is_limited(NAME["totals"])
    with stated(estate, mask):
        access = estate.access("bo")
        assert access.is_limited(NAME["totals"])
        assert access.mask(NAME["totals"], "total", {"total": "string"}) is not None
        assert not access.is_limited(NAME["notes"])
