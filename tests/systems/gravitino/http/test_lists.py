"""Long lists: complete, in order, filtered, and not slowed down by authorization."""

from __future__ import annotations

import pytest

from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import SYSTEM
from lakewarden.service.write_transaction import WriteTransaction
from tests.systems.gravitino.http.small_lake import COLUMNS, S
from tests.systems.gravitino.http.test_authorization import grant
from tests.systems.gravitino.http.wire import REALM, Wire

MANY = 10_496
SCHEMA = Entity("schema", "lk:rel.s")


@pytest.fixture
def full(lake: Wire) -> Wire:
    """The lake with many tables in one schema; eve may load all but one."""

    def task(transaction: WriteTransaction) -> None:
        names = (f"lk:rel.s.t{number:05}" for number in range(MANY - 1))
        transaction.change(REALM, *(EntityAdded(Entity("table", name), SCHEMA) for name in names))

    lake.service.write(SYSTEM, task)
    grant(lake, "eve", "catalog rel", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    grant(lake, "eve", "table rel.s.t00007", "SELECT_TABLE", condition="DENY")
    return lake


def test_all_but_the_denied_one_are_listed_in_order(full: Wire) -> None:
    full.good("POST", f"{S}/tables", {"name": "t00003a", "columns": COLUMNS})
    listed = full.good("GET", f"{S}/tables", user="eve")["identifiers"]
    names = [one["name"] for one in listed]
    assert len(names) == MANY
    assert names == sorted(names)
    assert "t00007" not in names
    assert names[5] == "t00003a"
    assert all(one["namespace"] == ["lk", "rel", "s"] for one in listed)


def test_a_table_that_was_only_loaded_in_bulk_is_shown_with_what_clients_need(full: Wire) -> None:
    table = full.good("GET", f"{S}/tables/t00001", user="eve")["table"]
    assert table["audit"] == {"creator": "", "createTime": "1970-01-01T00:00:00.000Z"}
    assert len(table["columns"]) == 1
