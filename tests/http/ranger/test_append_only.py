"""Users with `insert` in Trino's plugin, which requires it for an INSERT and an UPDATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.config.engines import RangerRealm
from lakewarden.engines import mapping, ranger_service
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.ranger.document import Documents, documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from tests.http.opa.test_served import SETTINGS, facts_of
from tests.http.ranger.judge import judged

ORDERS = {"catalog": "memory", "schema": "sales", "table": "orders"}


def made(*growing: str, limits: Sequence[Mapping[str, Any]] = ()) -> Documents:
    """The documents of the realm in which `bo` only adds rows, and `olga` owns everything."""
    system = load_system("gravitino", SETTINGS)
    more = read_statements(limits, system.model, system.spelling, "limits")
    facts = facts_of()
    facts = replace(facts, statements=[*facts.statements, *more])
    matrix = Matrix(compile(facts, system.model, system.spelling))
    state = RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())
    naming = Naming("prod", "lk", {"memory": "lake"}, append_only_catalogs=frozenset(growing))
    engine = mapping.of_model("gravitino")["trino"]
    return documents(state, engine, ranger_service.load("trino"), naming, 0.0)


def allowed(found: Documents, folder: Path, access: str, *users: str) -> list[str]:
    requests: list[dict[str, Any]] = [
        {"user": user, "groups": [], "roles": [], "access": access, "resource": ORDERS}
        for user in users
    ]
    answers = judged(found.policies, found.roles, requests, folder)
    return [user for user, answer in zip(users, answers, strict=True) if answer["allowed"]]


@pytest.mark.parametrize(
    ("growing", "inserters"),
    [((), ["olga"]), (("memory",), ["bo", "olga"]), (("lake", "other"), ["olga"])],
)
def test_insert_is_for_who_changes_rows_too_or_where_no_row_can_be_changed(
    growing: tuple[str, ...], inserters: list[str], tmp_path: Path
) -> None:
    found = made(*growing)
    assert allowed(found, tmp_path, "insert", "ana", "bo", "olga", "gone") == inserters
    assert allowed(found, tmp_path, "delete", "ana", "bo", "olga", "gone") == ["olga"]


def test_delete_is_not_for_whom_a_filter_binds_as_the_plugin_asks_so_before_a_truncate() -> None:
    on = "table:lk:lake.sales.orders"
    limit = {"id": "own", "effect": "filter", "on": on, "expression": "id = 1"}
    deleting = {
        name
        for policy in made(limits=[limit]).policies["policies"]
        for item in policy.get("policyItems", [])
        if "delete" in {one["type"] for one in item["accesses"]}
        for name in policy["resources"].get("table", {"values": []})["values"]
    }
    assert "clients" in deleting
    assert "orders" not in deleting
    left_out = {(one.access, one.entity) for one in made(limits=[limit]).residues}
    assert ("delete", on) in left_out
    assert ("alter", on) not in left_out  # nobody has it


def test_only_a_trino_has_catalogs_whose_tables_grow() -> None:
    growing = RangerRealm(services={"a": "trino"}, append_only=frozenset({"memory"}))
    assert growing.append_only == {"memory"}
    with pytest.raises(ValueError, match="`append_only` takes a service of type `trino`"):
        RangerRealm(services={"a": "hive"}, governs={"a": "x"}, append_only=frozenset({"memory"}))
