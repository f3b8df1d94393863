"""Replies of Gravitino: the rows of each, rows set aside, and invalid files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.exchange import IGNORED, Exchange
from lakewarden.service.source_row import BAD_NAME, BAD_STATEMENT, Row
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.file import NOT_STORED, GravitinoFile, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = load_system("gravitino")
NEXT = load_system("gravitino", {"mode": "next"})
IDENTIFIER = {"namespace": ["lk", "c", "s"], "name": "t"}
AUDIT = {"creator": "ana", "createTime": "2026-01-01T00:00:00Z"}


def said(path: str, body: Mapping[str, object], *, mode: str = "seed") -> list[Row]:
    """The rows of one reply."""
    system = NEXT if mode == "next" else SEED
    reply = {"code": 0, **body}
    return list(rows(Exchange(tuple(path.split("/")), reply, "x.reply"), system))


def cells(found: list[Row], table: str) -> list[tuple[str, ...]]:
    return [row.cells for row in found if row.table == table]


def test_metalakes_stand_alone() -> None:
    found = said("api/metalakes", {"metalakes": [{"name": "lk", "audit": AUDIT}]})
    assert found == [Row("entities", ("metalake", "lk"))]
    assert said("api/metalakes/lk", {"metalake": {"name": "lk"}}) == found


@pytest.mark.parametrize(
    ("path", "body", "entity", "parent"),
    [
        ("catalogs", {"catalogs": [{"name": "c"}]}, "catalog:lk:c", "metalake:lk"),
        (
            "catalogs",
            {"identifiers": [{"namespace": ["lk"], "name": "c"}]},
            "catalog:lk:c",
            "metalake:lk",
        ),
        ("catalogs/c", {"catalog": {"name": "c"}}, "catalog:lk:c", "metalake:lk"),
        (
            "catalogs/c/schemas",
            {"identifiers": [{"namespace": ["lk", "c"], "name": "s"}]},
            "schema:lk:c.s",
            "catalog:lk:c",
        ),
        ("catalogs/c/schemas/s", {"schema": {"name": "s"}}, "schema:lk:c.s", "catalog:lk:c"),
        ("catalogs/c/schemas/s/tables", {"identifiers": [IDENTIFIER]}, "table:lk:c.s.t", ""),
        ("catalogs/c/schemas/s/topics", {"identifiers": [IDENTIFIER]}, "topic:lk:c.s.t", ""),
        ("catalogs/c/schemas/s/filesets", {"identifiers": [IDENTIFIER]}, "fileset:lk:c.s.t", ""),
        ("catalogs/c/schemas/s/models", {"identifiers": [IDENTIFIER]}, "model:lk:c.s.t", ""),
        ("catalogs/c/schemas/s/views", {"identifiers": [IDENTIFIER]}, "view:lk:c.s.t", ""),
        ("catalogs/c/schemas/s/functions", {"identifiers": [IDENTIFIER]}, "function:lk:c.s.t", ""),
        ("catalogs/c/schemas/s/topics/t", {"topic": {"name": "t"}}, "topic:lk:c.s.t", ""),
        ("tags", {"names": ["pii"]}, "tag:lk:pii", "metalake:lk"),
        ("tags", {"tags": [{"name": "pii"}]}, "tag:lk:pii", "metalake:lk"),
        ("tags/pii", {"tag": {"name": "pii"}}, "tag:lk:pii", "metalake:lk"),
        ("policies", {"policies": [{"name": "p"}]}, "policy:lk:p", "metalake:lk"),
        ("policies/p", {"policy": {"name": "p"}}, "policy:lk:p", "metalake:lk"),
        ("jobs/templates", {"jobTemplates": [{"name": "j"}]}, "job_template:lk:j", "metalake:lk"),
        ("jobs/templates", {"names": ["j"]}, "job_template:lk:j", "metalake:lk"),
        ("jobs/templates/j", {"jobTemplate": {"name": "j"}}, "job_template:lk:j", "metalake:lk"),
        ("jobs/runs", {"jobs": [{"jobId": "1"}]}, "job:lk:1", "metalake:lk"),
        ("jobs/runs/1", {"job": {"jobId": "1"}}, "job:lk:1", "metalake:lk"),
    ],
)
def test_lists_and_single_replies_say_what_there_is(
    path: str, body: dict[str, object], entity: str, parent: str
) -> None:
    found = said(f"api/metalakes/lk/{path}", body)
    child = tuple(entity.split(":", 1))
    above = tuple((parent or "schema:lk:c.s").split(":", 1))
    assert cells(found, "entities") == [child]
    assert cells(found, "placements") == [(*child, *above)]


def test_a_table_brings_its_columns() -> None:
    table = {"name": "t", "columns": [{"name": "a"}, {"name": "b"}]}
    found = said("api/metalakes/lk/catalogs/c/schemas/s/tables/t", {"table": table})
    assert cells(found, "entities") == [
        ("table", "lk:c.s.t"),
        ("column", "lk:c.s.t.a"),
        ("column", "lk:c.s.t.b"),
    ]


def test_columns_carry_their_types_where_they_are_plain() -> None:
    columns = [
        {"name": "a", "type": "varchar(20)"},
        {"name": "b", "type": {"type": "list", "elementType": "string"}},
        {"name": "c.d", "type": "date"},
    ]
    table = {"name": "t", "columns": columns}
    found = said("api/metalakes/lk/catalogs/c/schemas/s/tables/t", {"table": table})
    assert cells(found, "attributes") == [("column", "lk:c.s.t.a", "type", "varchar(20)")]


@pytest.mark.parametrize(("in_use", "stored"), [("False", "false"), ("no", "false"), ("TRUE", "")])
def test_a_catalog_is_in_use_only_where_it_says_so_or_nothing(in_use: str, stored: str) -> None:
    catalog = {"name": "c", "type": "relational", "properties": {"in-use": in_use}}
    found = said("api/metalakes/lk/catalogs/c", {"catalog": catalog})
    expected = [("catalog", "lk:c", "in-use", stored)] if stored else []
    assert [row for row in cells(found, "attributes") if row[2] == "in-use"] == expected


def test_a_view_says_what_it_reads() -> None:
    sql = 'select o.iban, n from orders o join "Odd.Name" on true join x.y.z using (n)'
    view = {
        "name": "v",
        "columns": [{"name": "iban", "type": "string"}],
        "representations": [{"type": "sql", "dialect": "trino", "sql": sql}, {}, 5],
        "defaultSchema": "d",
    }
    found = said("api/metalakes/lk/catalogs/c/schemas/s/views/v", {"view": view})
    assert cells(found, "entities") == [("view", "lk:c.s.v")]
    read = sorted(value for *_, value in cells(found, "attributes"))
    assert read == [
        "column:lk:c.d.orders.iban",
        "column:lk:c.d.orders.n",
        "column:lk:x.y.z.n",
        "table:lk:c.d.orders",
        "table:lk:x.y.z",
    ]


@pytest.mark.parametrize(
    "body", [{"users": [{"name": "ana", "roles": ["readers"]}]}, {"names": ["ana"]}]
)
def test_users_are_members_of_the_metalake(body: dict[str, object]) -> None:
    found = said("api/metalakes/lk/users", body)
    assert cells(found, "entities") == [("user", "lk:ana")]
    assert cells(found, "principals") == [("user", "ana")]
    assert ("user", "ana", "implied", "members:lk") in cells(found, "memberships")


def test_users_and_groups_hold_their_roles() -> None:
    for word in ("user", "group"):
        holder = {"name": "ana", "roles": ["readers"]}
        listed = said(f"api/metalakes/lk/{word}s", {f"{word}s": [holder]})
        single = said(f"api/metalakes/lk/{word}s/ana", {word: holder})
        expected = (word, "ana", "role", "lk:readers")
        assert expected in cells(listed, "memberships")
        assert expected in cells(single, "memberships")


def test_groups_are_no_members_of_the_metalake() -> None:
    found = said("api/metalakes/lk/groups", {"names": ["staff"]})
    assert cells(found, "principals") == [("group", "staff")]
    assert not cells(found, "memberships")


def role(*objects: dict[str, object]) -> list[Row]:
    body = {"name": "readers", "properties": {}, "securableObjects": list(objects)}
    return said("api/metalakes/lk/roles/readers", {"role": body})


def test_a_role_is_an_entity_and_a_principal() -> None:
    for found in (role(), said("api/metalakes/lk/roles", {"names": ["readers"]})):
        assert cells(found, "entities") == [("role", "lk:readers")]
        assert cells(found, "principals") == [("role", "lk:readers")]


def test_a_role_has_a_statement_for_each_object_and_condition() -> None:
    privileges = [
        {"name": "use_schema", "condition": "allow"},
        {"name": "SELECT_TABLE", "condition": "ALLOW"},
        {"name": "create_table", "condition": "deny"},
    ]
    found = role({"fullName": "c.s", "type": "schema", "privileges": privileges})
    tables = [json.loads(row.cells[1]) for row in found if row.table == "statements"]
    assert tables == [
        {
            "id": "lk:readers/schema:c.s/allow",
            "effect": "allow",
            "privileges": ["SELECT_TABLE", "USE_SCHEMA"],
            "to": ["role:lk:readers"],
            "on": "schema:lk:c.s",
            "title": "readers",
        },
        {
            "id": "lk:readers/schema:c.s/deny",
            "effect": "deny",
            "privileges": ["CREATE_TABLE"],
            "to": ["role:lk:readers"],
            "on": "schema:lk:c.s",
            "title": "readers",
        },
    ]


def test_an_older_name_of_a_privilege_is_kept() -> None:
    found = role(
        {
            "fullName": "c",
            "type": "catalog",
            "privileges": [{"name": "create_model", "condition": "allow"}],
        }
    )
    assert json.loads(cells(found, "statements")[0][1])["privileges"] == ["CREATE_MODEL"]


def test_an_allow_that_cannot_be_read_is_set_aside() -> None:
    privileges = [{"name": "fly", "condition": "allow"}]
    found = role({"fullName": "c", "type": "catalog", "privileges": privileges})
    (row,) = (row for row in found if row.table == "statements")
    assert row.reason == BAD_STATEMENT
    assert "unknown privilege `FLY`" in row.detail


def test_a_deny_that_cannot_be_read_refuses_everything() -> None:
    privileges = [{"name": "fly", "condition": "deny"}]
    with pytest.raises(BadInput, match=r"securableObjects\[0\]: a DENY that cannot be read"):
        role({"fullName": "c", "type": "catalog", "privileges": privileges})


def owner(path: str, mode: str = "seed", **found: object) -> list[Row]:
    return said(f"api/metalakes/lk/owners/{path}", found, mode=mode)


def test_an_owner_belongs_to_what_the_path_says() -> None:
    found = owner("TABLE/c.s.t", owner={"name": "ana", "type": "USER"})
    assert cells(found, "owners") == [("table", "lk:c.s.t", "user", "ana", "")]
    found = owner("metalake/lk", owner={"name": "ana", "type": "user"})
    assert cells(found, "owners") == [("metalake", "lk", "user", "ana", "")]


def test_what_has_no_owner_has_no_row() -> None:
    assert owner("table/c.s.t") == []


def test_a_group_owns_only_in_the_mode_of_newer_releases() -> None:
    group = {"name": "staff", "type": "group"}
    (row,) = owner("table/c.s.t", owner=group)
    assert row.reason == BAD_NAME
    assert "`mode` is `next`" in row.detail
    (row,) = owner("table/c.s.t", owner=group, mode="next")
    assert not row.reason


def test_what_cannot_have_an_owner_is_set_aside() -> None:
    (row,) = owner("column/c.s.t.x", owner={"name": "ana", "type": "user"})
    assert (row.reason, row.detail) == (BAD_NAME, "a column has no owner")
    (row,) = owner("table/c.s", owner={"name": "ana", "type": "user"})
    assert row.reason == BAD_NAME


@pytest.mark.parametrize("name", ["a\tb", "a.b", "a:b", "*", " "])
def test_a_metalake_that_no_request_can_name_is_set_aside(name: str) -> None:
    metalake = {"name": name, "properties": {"in-use": "false"}}
    for path, body in (
        ("api/metalakes", {"metalakes": [metalake]}),
        (f"api/metalakes/{name}", {"metalake": metalake}),
    ):
        (row,) = said(path, body)
        assert (row.table, row.cells, row.reason) == ("entities", ("metalake", name), BAD_NAME)


def test_a_name_that_gravitino_could_not_have_is_set_aside() -> None:
    (row,) = said("api/metalakes/lk/tags", {"names": ["*"]})
    assert (row.table, row.cells, row.reason) == ("entities", ("tag", "lk:*"), BAD_NAME)


@pytest.mark.parametrize(
    "path",
    [
        "api/version",
        "api/metalakes/lk/objects/table/c.s.t/tags",
        "api/metalakes/lk/tags/pii/objects",
        "api/metalakes/lk/catalogs/c/schemas/s/models/m/versions",
        "api/metalakes/lk/catalogs/c/schemas/s/tables/t/partitions/p",
    ],
)
def test_replies_without_meaning_are_counted(path: str) -> None:
    (row,) = said(path, {})
    assert row.table == IGNORED


def holding(type: str, condition: str) -> dict[str, object]:
    privileges = [{"name": "use_catalog", "condition": condition}]
    object = {"type": type, "fullName": "c", "privileges": privileges}
    return {"role": {"name": "r", "securableObjects": [object]}}


NOT_READ = r"x\.path: no path whose reply is read"


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("api/metalake", {}, NOT_READ),
        ("api/metalakes/lk/user", {}, NOT_READ),
        ("api/metalakes/lk/catalogs/c/schema", {}, NOT_READ),
        ("api/metalakes/lk/jobs", {}, NOT_READ),
        ("v3/namespaces", {}, NOT_READ),
        (
            "api/metalakes",
            {"code": 1003, "message": "gone"},
            r"code: expected 0, got the error 1003: `gone`",
        ),
        ("api/metalakes", {"code": True}, r"x\.reply\.code: expected a number"),
        (
            "api/metalakes/lk",
            {"metalake": {"name": "other"}},
            r"metalake\.name: expected `lk` as in the path, got `other`",
        ),
        ("api/metalakes/lk/roles/r", {}, r"x\.reply\.role: expected a table"),
        (
            "api/metalakes/lk/catalogs/c/schemas/s/tables",
            {"identifiers": [{"namespace": ["lk", "c", "other"], "name": "t"}]},
            r"identifiers\[0\]\.namespace: expected `lk, c, s`",
        ),
        (
            "api/metalakes/lk/owners/table/c.s.t",
            {"owner": {"name": "ana", "type": "robot"}},
            r"owner\.type: expected `user` or `group`",
        ),
        (
            "api/metalakes/lk/roles/r",
            holding("catalog", "maybe"),
            r"privileges\[0\]\.condition: expected `allow` or `deny`",
        ),
        (
            "api/metalakes/lk/roles/r",
            holding("house", "allow"),
            r"securableObjects\[0\]\.fullName: unknown type `house`",
        ),
    ],
)
def test_what_cannot_be_read_refuses_the_file(
    path: str, body: dict[str, object], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        said(path, body)


def write(folder: Path, **files: list[dict[str, object]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, records in files.items():
        (folder / f"{name}.json").write_text(json.dumps(records), "utf-8")


def exchange(path: str, **body: object) -> dict[str, object]:
    return {"path": path, "reply": {"code": 0, **body}}


SMALL: dict[str, list[dict[str, object]]] = {
    "metalakes": [exchange("/api/metalakes", metalakes=[{"name": "lk"}])],
    "catalogs": [exchange("/api/metalakes/lk/catalogs", catalogs=[{"name": "c"}])],
    "schemas": [
        exchange(
            "/api/metalakes/lk/catalogs/c/schemas",
            identifiers=[{"namespace": ["lk", "c"], "name": "s"}],
        )
    ],
    "tables": [
        exchange("/api/metalakes/lk/catalogs/c/schemas/s/tables", identifiers=[IDENTIFIER]),
        exchange(
            "/api/metalakes/lk/catalogs/c/schemas/s/tables/t",
            table={"name": "t", "columns": [{"name": "a"}]},
        ),
    ],
    "users": [exchange("/api/metalakes/lk/users", users=[{"name": "ana"}, {"name": "ben"}])],
    "groups": [
        exchange("/api/metalakes/lk/groups", groups=[{"name": "staff", "roles": ["readers"]}])
    ],
    "roles": [
        exchange(
            "/api/metalakes/lk/roles/readers",
            role={
                "name": "readers",
                "securableObjects": [
                    {
                        "fullName": "c",
                        "type": "catalog",
                        "privileges": [
                            {"name": name, "condition": "allow"}
                            for name in ("use_catalog", "use_schema", "select_table")
                        ],
                    },
                    {
                        "fullName": "c.s.gone",
                        "type": "table",
                        "privileges": [{"name": "select_table", "condition": "allow"}],
                    },
                ],
            },
        )
    ],
    "identity": [
        {
            "path": "/scim/v2/Users",
            "reply": {"totalResults": 1, "Resources": [{"id": "1", "userName": "ana"}]},
        },
        {
            "path": "/scim/v2/Groups",
            "reply": {
                "totalResults": 1,
                "Resources": [{"id": "2", "displayName": "staff", "members": [{"value": "1"}]}],
            },
        },
    ],
}


def test_an_export_answers_questions(unstarted: SparkSession, tmp_path: Path) -> None:
    from lakewarden.pipeline.ingest.run import ingest

    write(tmp_path / "in", **SMALL)
    result = ingest(GravitinoFile(tmp_path / "in"), tmp_path / "out", spark=unstarted)
    assert result.report.quarantined == {NOT_STORED: 1}
    assert result.report.rows["entities"].came_in == 9
    loaded = load(tmp_path / "out")
    warden = Warden(loaded.system, loaded.facts)
    assert warden.check("ana", "table.load", "table:lk:c.s.t").allow
    assert not warden.check("ben", "table.load", "table:lk:c.s.t").allow
    assert warden.who("table.load", "table:lk:c.s.t") == ("ana",)
    again = ingest(GravitinoFile(tmp_path / "in"), tmp_path / "out", spark=unstarted)
    assert not again.is_new


def test_one_bad_file_refuses_the_export(unstarted: SparkSession, tmp_path: Path) -> None:
    from lakewarden.pipeline.ingest.run import ingest

    write(tmp_path / "in", **SMALL, zz=[exchange("/api/metalakes/lk/rolls", names=[])])
    with pytest.raises(BadInput, match=r"^zz\.json: line 1: \[0\]\.path: no path whose reply"):
        ingest(GravitinoFile(tmp_path / "in"), tmp_path / "out", spark=unstarted)
    assert not (tmp_path / "out" / "manifest.json").exists()
