"""Masks on columns with other names in engines: documents for plugins contain these, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden.engines import mapping, ranger_service
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import EntityRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from tests.http.opa.test_served import SETTINGS, facts_of
from tests.http.ranger.test_denied_columns import given


def masked(type: str, name: str, of: str = "orders") -> Documents:
    """A mask on a column for everybody; `iban` and `id` of orders are stored."""
    system = load_system("gravitino", SETTINGS)
    on = f"column:lk:lake.sales.{of}.{name}"
    stated = [{"id": "hidden", "effect": "mask", "on": on, "expression": "null"}]
    more = read_statements(stated, system.model, system.spelling, "test")
    facts, orders = facts_of(), system.entity("table:lk:lake.sales.orders")
    stored = [EntityRow(Entity("column", f"{orders.name}.{one}"), orders) for one in ("iban", "id")]
    facts = replace(
        facts, statements=[*facts.statements, *more], entities=[*facts.entities, *stored]
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    state = RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())
    naming = Naming("prod", "lk", {"memory": "lake"}, governs="lake" if type == "hive" else "")
    acts = mapping.of_model("gravitino")[type]
    return documents(state, acts, ranger_service.load(type), naming, 0.0)


def columns(found: Documents) -> set[str]:
    """The columns in masking policies."""
    policies = (one for one in found.policies["policies"] if one["policyType"] == 1)
    return {name for one in policies for name in one["resources"]["column"]["values"]}


@pytest.mark.parametrize("name", ["iban", "IBAN", "Iban.country"])
def test_hive_masks_a_stored_column_by_all_its_names(name: str) -> None:
    found = masked("hive", name)
    assert "bo" in given(found, "hive", "select")
    assert columns(found) == {"iban"}


@pytest.mark.parametrize("name", ["IBAN", "Iban.country"])
def test_trino_reads_no_table_with_a_mask_on_a_name_that_ranger_reads_otherwise(name: str) -> None:
    assert not given(masked("trino", name), "trino", "select")
    assert "bo" in given(masked("trino", "iban"), "trino", "select")


def test_a_column_of_a_view_has_its_mask() -> None:
    assert columns(masked("trino", "total", of="totals")) == {"total"}
