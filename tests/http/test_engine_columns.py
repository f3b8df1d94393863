"""An engine's columns: resolved by the name templates, regardless of the realm's contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lakewarden.config.engines import EngineRealm
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
from tests.http.test_renames import DENY, ENGINE, MASK, MODEL

TABLE, COLUMN = Entity("table", "orders"), Entity("column", "orders/Iban")
ASKED = Entity("column", "orders/IBAN")


def access(*limits: Mapping[str, Any], filtered: bool = True) -> EngineAccess:
    """A table with a column, under a model whose tables may have no filters."""
    text = MODEL if filtered else MODEL.replace("filtered = true\n", "")
    text += ENGINE.format(engine="trino", read="SelectFromColumns", alter="RenameTable")
    system = load_system("split", {"trino": "on"}, own.of_text(text))
    stated = [
        {"id": f"s{n}", "on": "column:orders/Iban", "to": ["user:ana"], **one}
        for n, one in enumerate(limits)
    ]
    facts = Facts(
        entities=[EntityRow(TABLE, None), EntityRow(COLUMN, TABLE)],
        principals=[system.principal("ana")],
        statements=read_statements(stated, system.model, system.spelling, "test"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    realm = RealmState(Realm("one", "split"), system, matrix, People())
    asking = vouched(realm, "ana", (), 0.0)
    return EngineAccess(realm, system.engines["trino"], EngineRealm(metalake="one"), asking)


@pytest.mark.parametrize("filtered", [True, False])
@pytest.mark.parametrize("limit", [DENY, MASK])
def test_a_column_is_meant_by_all_its_names(limit: Mapping[str, Any], filtered: bool) -> None:
    found = access(limit, filtered=filtered).columns({"table": "orders"}, "IBAN")
    assert found[0] == ASKED
    assert COLUMN in found


def test_where_nothing_is_limited_the_name_itself_is_enough() -> None:
    assert access().columns({"table": "orders"}, "IBAN") == (ASKED,)


@pytest.mark.parametrize("limits", [(), (MASK,)])
def test_a_column_without_a_name_could_be_any_of_its_table(limits: tuple[Any, ...]) -> None:
    asking = access(*limits)
    assert asking.columns({"table": "orders"}, "a/b")[0] == TABLE
    assert asking.columns({}, "a/b") == ()
