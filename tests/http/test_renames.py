"""Acts that change the name of a table or its columns, with a DENY on a column in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lakewarden.config.engines import EngineRealm
from lakewarden.engines import engine
from lakewarden.http.engine_access import EngineAccess, vouched
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system

MODEL = """
[model]
name = "split"
title = "Altering is no reading"
version = "1"
source = "made for tests"
spelling = "plain"
denies = true
[types.table]
filtered = true
[types.column]
parent = "table"
masked = true
[privileges.READ]
on = ["table", "column"]
[privileges.ALTER]
on = "table"
"""
ENGINE = """
[engines.{engine}]
rest = "nothing else"
[engines.{engine}.names]
table = "{{table}}"
column = "{{table}}/{{column}}"
[engines.{engine}.acts."{read}"]
rules = {{ table = "READ", column = "READ" }}
[engines.{engine}.acts."{alter}"]
on = "table"
rule = "ALTER"
"""
READING = {
    "trino": "SelectFromColumns",
    "spark": "SelectFromTable",
    "iceberg": "loadCredentials",
    "polaris": "LOAD_TABLE_WITH_READ_DELEGATION",
    "mysql": "SELECT",
}
RENAMING = [
    ("trino", "RenameTable"),
    ("trino", "RenameColumn"),
    ("spark", "AlterTable"),
    ("iceberg", "updateTable"),
    ("iceberg", "commitTransaction"),
    ("iceberg", "renameTable"),
    ("iceberg", "renameView"),
    ("iceberg", "replaceView"),
    ("polaris", "UPDATE_TABLE"),
    ("polaris", "ADD_TABLE_SCHEMA"),
    ("polaris", "RENAME_TABLE"),
    ("polaris", "RENAME_VIEW"),
    ("polaris", "REPLACE_VIEW"),
    ("mysql", "ALTER"),
]


DENY = {"effect": "deny", "privileges": ["READ"]}
MASK = {"effect": "mask", "expression": "null"}


def split(name: str, act: str, limit: Mapping[str, Any] = DENY) -> RealmState:
    """`ana` and `bo` may read and alter a table; one column is denied to `ana`, or masked."""
    text = own.of_text(MODEL + ENGINE.format(engine=name, read=READING[name], alter=act))
    system = load_system("split", {name: "on"}, text)
    table, column = Entity("table", "orders"), Entity("column", "orders/iban")
    both = ["user:ana", "user:bo"]
    stated = [
        {"id": "all", "privileges": ["READ", "ALTER"], "on": "table:orders", "to": both},
        {"id": "no", "on": "column:orders/iban", "to": ["user:ana"], **limit},
    ]
    facts = Facts(
        entities=[EntityRow(table, None), EntityRow(column, table)],
        principals=[system.principal(one) for one in ("ana", "bo")],
        statements=read_statements(stated, system.model, system.spelling, "test"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    return RealmState(Realm("one", "split"), system, matrix, People())


def access(name: str, act: str, user: str, limit: Mapping[str, Any] = DENY) -> EngineAccess:
    realm = split(name, act, limit)
    asking = vouched(realm, user, (), 0.0)
    return EngineAccess(realm, realm.system.engines[name], EngineRealm(metalake="one"), asking)


@pytest.mark.parametrize(("name", "act"), RENAMING)
def test_whom_a_deny_on_a_column_binds_takes_nothing_out_of_its_name(name: str, act: str) -> None:
    names, asked = {"table": "orders"}, engine.load(name).acts[act]
    assert not access(name, act, "ana").decides(asked, names)
    assert access(name, act, "bo").decides(asked, names)


@pytest.mark.parametrize(("name", "act"), [one for one in RENAMING if one[0] != "spark"])
def test_whom_a_mask_on_a_column_binds_takes_nothing_out_of_its_name(name: str, act: str) -> None:
    names, asked = {"table": "orders"}, engine.load(name).acts[act]
    assert not access(name, act, "ana", MASK).decides(asked, names)
    assert access(name, act, "bo", MASK).decides(asked, names)


def test_other_acts_that_take_no_values_stay() -> None:
    asked = engine.load("spark").acts["DropTable"]
    assert access("spark", "DropTable", "ana").decides(asked, {"table": "orders"})


@pytest.mark.parametrize("name", engine.NAMES)
def test_what_renames_is_kept_from_whom_a_filter_or_mask_binds(name: str) -> None:
    """Except in Spark's gateway, which checks that itself for all changes of a table."""
    acts = [act for act in engine.load(name).acts.values() if act.renames]
    assert all(act.whole or name == "spark" for act in acts)
    assert bool(acts) is (name in READING)
    assert not acts or any(act.values for act in engine.load(name).acts.values())
