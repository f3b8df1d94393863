"""Records of a source with odd names and limits: never more access than there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.service.source_row import BAD_NAME
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import bigquery, policy
from lakewarden.systems.gravitino.ingest.catalogs.bigquery import _fields
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    GrantedColumns,
    Grantee,
    Limited,
    MemberOf,
    Record,
    Securable,
)
from tests.systems.gravitino.ingest.test_catalog_random import GRAVITINO, facts_of, warden_of

ANA = Grantee("USER", "ana@corp.test")
PEOPLE = ("main", "shop", "people")


def column(*parts: str) -> Record:
    return Exists(Securable("COLUMN", parts), "w")


def read_columns(warden: Warden, *columns: str) -> list[str]:
    return [
        name
        for name in columns
        if warden.who("column.read", f"column:lk:{'.'.join(PEOPLE)}.{name}")
    ]


@pytest.mark.parametrize(
    ("limited", "read"),
    [
        ("card", ["name", "to", "to.town"]),
        ("CARD", ["name", "to", "to.town"]),
        ("to", ["name", "card"]),
        ("to.town", ["name", "card"]),
        ("gone", []),
        ("NULL", []),
        ("", []),
    ],
)
def test_a_limit_hides_its_column_and_what_could_be_it(limited: str, read: list[str]) -> None:
    """With another case, inside it or around it; an unknown column could be any."""
    columns = ["name", "card", "to", "to.town"]
    schema = ("CATALOG", PEOPLE[:1]), ("SCHEMA", PEOPLE[:2])
    on = [(Securable(*schema[0]), "USE_CATALOG"), (Securable(*schema[1]), "ALL_PRIVILEGES")]
    warden = warden_of(
        "unity-catalog",
        iter(
            [
                Exists(Securable("TABLE", PEOPLE), "w"),
                *(column(*PEOPLE, *name.split(".")) for name in columns),
                *(Granted(ANA, word, securable, "w") for securable, word in on),
                Limited(Securable("TABLE", PEOPLE), "column_mask", "w", limited),
            ]
        ),
    )
    assert read_columns(warden, *columns) == read
    assert not warden.who("table.load", f"table:lk:{'.'.join(PEOPLE)}")


@pytest.mark.parametrize(
    ("on", "read"),
    [
        (Securable("SCHEMA", PEOPLE[:2]), []),
        (Securable("CATALOG", PEOPLE[:1]), []),
        (Securable("SCHEMA", ("main", "hr")), ["name", "card"]),
        (Securable("TABLE", PEOPLE), []),
    ],
)
def test_a_limit_on_a_container_is_one_on_all_that_is_in_it(on: Securable, read: list[str]) -> None:
    """Also if the container is not listed; and no columns of a table remain."""
    warden = warden_of(
        "unity-catalog",
        iter(
            [
                Exists(Securable("SCHEMA", ("main", "other")), "w"),
                Exists(Securable("TABLE", PEOPLE), "w"),
                Exists(Securable("VIEW", (*PEOPLE[:2], "totals")), "w"),
                *(column(*PEOPLE, name) for name in ("name", "card")),
                Granted(ANA, "ALL_PRIVILEGES", Securable("CATALOG", PEOPLE[:1]), "w"),
                Limited(on, "abac", "w"),
                Limited(Securable("TABLE", ("main", "hr", "x")), "column_mask", "w", "c"),
            ]
        ),
    )
    assert read_columns(warden, "name", "card") == read
    assert bool(warden.who("table.load", f"table:lk:{'.'.join(PEOPLE)}")) is bool(read)
    reads_view = bool(warden.who("view.load", "view:lk:main.shop.totals"))
    assert reads_view is (on.parts in (PEOPLE, ("main", "hr")))


@pytest.mark.parametrize("kind", ["METASTORE", "COLUMN", "MODEL"])
def test_a_limit_on_something_else_is_refused(kind: str) -> None:
    limited = Limited(Securable(kind, ("a", "b", "c", "d")), "abac", "w")
    with pytest.raises(BadInput, match="nobody knows which tables it limits"):
        warden_of("unity-catalog", iter([limited]))


def test_a_table_with_a_dot_gives_no_column_to_another() -> None:
    content = ExportContent(mapping("glue", GRAVITINO.model), "lk", "aws")
    arn = Grantee("", "arn:aws:iam::111122223333:user/ana")
    odd = Securable("TABLE", ("shop", "people.to"))
    for record in (
        Exists(Securable("TABLE", ("shop", "people")), "w"),
        Exists(odd, "w"),
        column("shop", "people", "to"),
        column("shop", "people.to", "town"),
        GrantedColumns(arn, "SELECT", odd, frozenset({"town"}), False, "w"),
        GrantedColumns(arn, "SELECT", odd, frozenset({"zip"}), True, "w"),
    ):
        content.add_record(record)
    rows = list(policy.rows(content, GRAVITINO.model))
    facts = facts_of(rows)
    assert {r.entity.name for r in facts.entities if r.entity.type == "column"} == {
        "lk:aws.shop.people.to"
    }
    assert not facts.statements
    odd_rows = {row.cells[1]: row.reason for row in rows if row.table == "entities" and row.reason}
    assert odd_rows == dict.fromkeys(
        ("lk:aws.shop.people.to", "lk:aws.shop.people.to.town"), BAD_NAME
    )
    notes = [row.cells for row in rows if row.table == "notes"]
    assert (
        "column shop.people.to.town",
        f"SELECT to {arn.name}: the name of its table has a dot",
    ) in (notes)


def test_hive_knows_no_groups_and_no_roles_that_own_tables() -> None:
    """Like SQL standard based authorization: privileges of a user and of its roles."""
    orders = Securable("TABLE", ("hive", "shop", "orders"))
    crew, clerks = Grantee("GROUP", "crew"), Grantee("ROLE", "clerks")
    warden = warden_of(
        "hive",
        iter(
            [
                Exists(orders, "w", clerks),
                Granted(crew, "SELECT", orders, "w"),
                MemberOf(Grantee("USER", "ana"), clerks, "w"),
                MemberOf(crew, clerks, "w"),
                Granted(clerks, "INSERT", orders, "w"),
            ]
        ),
    )
    name = "table:lk:hive.shop.orders"
    assert not warden.who("table.alter", name)
    assert set(warden.who("table.write", name)) == {"ana"}
    assert not warden.who("table.load", name)


@pytest.mark.parametrize(
    "policies", [{"policyTags": {"names": ["t"]}}, {"dataPolicies": [{"name": "p"}]}]
)
def test_policies_of_columns_of_bigquery(policies: dict[str, object]) -> None:
    """A tag or a data policy, also on a field of a record, whose other fields stay."""
    fields = [{"name": "to", "fields": [{"name": "town", **policies}, {"name": "street"}]}]
    on = Securable("TABLE", ("corp", "shop", "people"))
    data = json.loads(json.dumps({"schema": {"fields": fields}}))
    found = [one for one in _fields(on, data, "w") if isinstance(one, Limited)]
    assert found == [Limited(on, "policy_tag", "w", "to.town")]


def test_policies_of_bigquery_in_exports_and_in_what_a_search_found(tmp_path: Path) -> None:
    """Export files spell keys differently from the API; a search has its own keys."""
    name = "//bigquery.googleapis.com/projects/corp/datasets/shop"
    bound = {"bindings": [{"role": "roles/bigquery.dataViewer", "members": ["user:ana@corp.test"]}]}
    spelled = (
        {"name": name, "assetType": "bigquery.googleapis.com/Dataset", "iamPolicy": bound},
        {"name": name, "asset_type": "bigquery.googleapis.com/Dataset", "iam_policy": bound},
        {"resource": name, "assetType": "bigquery.googleapis.com/Dataset", "policy": bound},
    )
    path = tmp_path / "assets.json"
    path.write_text("\n".join(map(json.dumps, ({"rowAccessPolicies": []}, *spelled))), "utf-8")
    found = [
        (one.grantee.name, one.privilege, one.on)
        for one in bigquery.records([File(path, "assets.json")])
        if isinstance(one, Granted)
    ]
    on = Securable("DATASET", ("corp", "shop"))
    assert found == [("user:ana@corp.test", "roles/bigquery.dataViewer", on)] * 3
