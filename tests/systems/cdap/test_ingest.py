"""Replies of CDAP: the rows of each, the statements from privileges, and invalid files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.exchange import IGNORED, Exchange
from lakewarden.service.source_row import BAD_NAME, BAD_STATEMENT, Row
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden
from lakewarden.systems.cdap.ingest import CdapFile, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SYSTEM = load_system("cdap")


def said(path: str, reply: object) -> list[Row]:
    """The rows of one reply."""
    return list(rows(Exchange(tuple(path.split("/")), reply, "x.reply"), SYSTEM))


def entities(found: list[Row]) -> list[str]:
    return [":".join(row.cells) for row in found if row.table == "entities"]


@pytest.mark.parametrize(
    ("path", "reply", "expected"),
    [
        ("", [{"name": "sales"}], ["namespace:sales"]),
        ("/sales", {"name": "sales"}, ["namespace:sales"]),
        ("/sales/artifacts", [{"name": "etl", "scope": "USER"}], ["artifact:sales.etl"]),
        (
            "/sales/artifacts",
            [{"name": "core", "scope": "SYSTEM"}],
            ["namespace:system", "artifact:system.core"],
        ),
        ("/sales/artifacts/etl/versions/1", {"name": "etl"}, ["artifact:sales.etl"]),
        ("/sales/apps", [{"name": "load"}], ["application:sales.load"]),
        (
            "/sales/apps/load",
            {
                "name": "load",
                "programs": [{"type": "Workflow", "app": "load", "name": "nightly"}],
                "datasets": [{"name": "t1", "type": "table"}],
                "streams": [{"name": "s1"}],
            },
            [
                "application:sales.load",
                "program:sales.load.workflow.nightly",
                "dataset:sales.t1",
                "stream:sales.s1",
            ],
        ),
        (
            "/sales/workflows",
            [{"type": "Workflow", "app": "load", "name": "nightly"}],
            ["program:sales.load.workflow.nightly"],
        ),
        ("/sales/data/datasets", [{"name": "com.acme.T"}], ["dataset:sales.com.acme.T"]),
        ("/sales/data/datasets/t1", {"spec": {"name": "t1"}}, ["dataset:sales.t1"]),
        ("/sales/data/modules", [{"name": "m"}], ["dataset_module:sales.m"]),
        ("/sales/data/types", [{"name": "t"}], ["dataset_type:sales.t"]),
        ("/sales/streams", [{"name": "s1"}], ["stream:sales.s1"]),
        ("/sales/streams/s1", {"ttl": 5}, ["stream:sales.s1"]),
        ("/sales/profiles", [{"name": "big"}], ["profile:sales.big"]),
        ("/sales/securekeys", {"dbpass": "of the database"}, ["securekey:sales.dbpass"]),
        ("/sales/securekeys", [{"name": "dbpass"}], ["securekey:sales.dbpass"]),
    ],
)
def test_replies_say_what_there_is(path: str, reply: object, expected: list[str]) -> None:
    found = said(f"v3/namespaces{path}", reply)
    assert entities(found) == expected
    assert all(not row.reason for row in found)


def test_the_owner_of_a_namespace_is_its_principal() -> None:
    found = said("v3/namespaces/a", {"name": "a", "config": {"principal": "eve/h@R"}})
    assert entities(found) == ["namespace:a", "kerberosprincipal:eve/h@R"]
    (edge,) = (row.cells for row in found if row.table == "relations")
    assert edge == ("owner_principal", "namespace", "a", "kerberosprincipal", "eve/h@R")


def test_roles_are_stored_and_held() -> None:
    (row,) = said("v3/security/authorization/roles", [{"name": "eng", "type": "ROLE"}])
    assert row == Row("principals", ("role", "eng"))
    found = said("v3/security/authorization/USER/ana/roles", [{"name": "eng", "type": "ROLE"}])
    assert [row.cells for row in found] == [("user", "ana"), ("user", "ana", "role", "eng")]


def privilege(action: str = "READ", **parts: str) -> dict[str, object]:
    last = list(parts)[-1]
    return {"authorizable": {"entityType": last, "entityParts": parts}, "action": action}


def granted(*privileges: dict[str, object]) -> list[Row]:
    found = said("v3/security/authorization/user/ana/privileges", list(privileges))
    return [row for row in found if row.table == "privileges"]


def test_a_privilege_names_an_entity_or_a_pattern() -> None:
    (row,) = granted(privilege(NAMESPACE="a", DATASET="t1"))
    assert row.cells == ("user", "ana", "on", "dataset:a.t1", "READ")
    (row,) = granted(privilege(NAMESPACE="*", DATASET="t?"))
    assert row.cells == ("user", "ana", "matching", "dataset:*.t?", "READ")


def test_the_form_of_older_releases_is_read_too() -> None:
    entity = {"namespace": "a", "stream": "s", "entity": "STREAM"}
    for member in ("authorizable", "entity"):
        (row,) = granted({member: entity, "action": "WRITE"})
        assert row.cells == ("user", "ana", "on", "stream:a.s", "WRITE")
    program = {"namespace": "a", "application": "x", "version": "-SNAPSHOT", "type": "Workflow"}
    (row,) = granted({"entity": {**program, "program": "w", "entity": "PROGRAM"}, "action": "READ"})
    assert row.cells == ("user", "ana", "on", "program:a.x.workflow.w", "READ")


def test_all_stands_for_the_four() -> None:
    found = granted(privilege("ALL", NAMESPACE="a"))
    assert [row.cells[-1] for row in found] == ["READ", "WRITE", "EXECUTE", "ADMIN"]


def test_an_instance_exists_as_soon_as_a_privilege_names_it() -> None:
    found = said("v3/security/authorization/user/ana/privileges", [privilege(INSTANCE="cdap")])
    assert entities(found) == ["instance:cdap"]


def test_a_privilege_on_what_cannot_be_named_is_set_aside() -> None:
    (row,) = granted(privilege(NAMESPACE="a b"))
    assert row.reason == BAD_STATEMENT
    assert "holds ` `" in row.detail


def test_a_name_that_cdap_could_not_have_is_set_aside() -> None:
    (row,) = said("v3/namespaces/a/streams", [{"name": "s.1"}])
    assert (row.reason, row.cells) == (BAD_NAME, ("stream", "a.s.1"))


@pytest.mark.parametrize(
    "path",
    [
        "v3/version",
        "v3/system/services",
        "v3/namespaces/a/preferences",
        "v3/namespaces/a/apps/x/schedules",
        "v3/namespaces/a/apps/x/workflows/w/preferences",
    ],
)
def test_replies_without_meaning_are_counted(path: str) -> None:
    (row,) = said(path, {})
    assert row.table == IGNORED


@pytest.mark.parametrize(
    ("path", "reply", "message"),
    [
        ("v3/namespace", [], r"x\.path: no path whose reply is read: `/v3/namespace`"),
        ("v3/namespaces/a/stream", [], r"x\.path: no path whose reply is read"),
        ("v3/security/authorization/robot/r/roles", [], r"x\.path: no path whose reply is read"),
        ("v3/security/authorization/user/ana", [], r"x\.path: no path whose reply is read"),
        ("v3/namespaces", {}, r"x\.reply: expected a list of objects"),
        ("v3/namespaces", [{}], r"x\.reply\[0\]\.name: expected a non-empty string"),
        ("v3/namespaces/a/apps/x", {"name": "y"}, r"expected `x` as in the path, got `y`"),
        (
            "v3/namespaces/a/artifacts",
            [{"name": "x", "scope": "WORLD"}],
            r"x\.reply\[0\]\.scope: expected `USER` or `SYSTEM`",
        ),
        (
            "v3/security/authorization/user/ana/privileges",
            [{"authorizable": {}, "action": "FLY"}],
            r"x\.reply\[0\]\.action: expected one of: READ, WRITE, EXECUTE, ADMIN",
        ),
        (
            "v3/security/authorization/user/ana/privileges",
            [{"action": "READ"}],
            r"x\.reply\[0\]\.authorizable: expected an object",
        ),
    ],
)
def test_what_cannot_be_read_refuses_the_file(path: str, reply: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        said(path, reply)


def write(folder: Path, *records: tuple[str, object]) -> Path:
    folder.mkdir()
    found = [{"path": path, "reply": reply} for path, reply in records]
    (folder / "all.json").write_text(json.dumps(found), "utf-8")
    return folder


def test_an_export_answers_questions(unstarted: SparkSession, tmp_path: Path) -> None:
    from lakewarden.pipeline.ingest.run import ingest

    security = "/v3/security/authorization"
    read = privilege("READ", NAMESPACE="a", DATASET="t1")
    own = privilege("WRITE", NAMESPACE="a", DATASET="t1")
    export = write(
        tmp_path / "in",
        ("/v3/namespaces", [{"name": "a"}]),
        ("/v3/namespaces/a/data/datasets", [{"name": "t1"}, {"name": "t2"}]),
        (f"{security}/roles", [{"name": "eng", "type": "ROLE"}]),
        (f"{security}/user/ana/roles", [{"name": "eng", "type": "ROLE"}]),
        (f"{security}/role/eng/privileges", [read, privilege("ADMIN", NAMESPACE="a", DATASET="*")]),
        # Like CDAP's response, including the role's grants.
        (f"{security}/user/ana/privileges", [read, own, privilege("READ", NAMESPACE="a b")]),
    )
    result = ingest(CdapFile(export), tmp_path / "out", spark=unstarted)
    assert result.report.quarantined == {BAD_STATEMENT: 1}
    loaded = load(tmp_path / "out")
    ingested = {s.id: sorted(s.privileges) for s in loaded.facts.statements if "/" in s.id}
    assert ingested == {
        "role:eng/dataset:a.*": ["ADMIN"],
        "role:eng/dataset:a.t1": ["READ"],
        "user:ana/dataset:a.t1": ["WRITE"],
    }
    warden = Warden(loaded.system, loaded.facts)
    assert warden.check("ana", "dataset.read", "dataset:a.t1").allow
    assert not warden.check("ana", "dataset.read", "dataset:a.t2").allow
    assert warden.check("ana", "dataset.drop", "dataset:a.t2").allow


def test_either_of_the_two_models_reads_an_export(unstarted: SparkSession, tmp_path: Path) -> None:
    from lakewarden.pipeline.ingest.run import ingest

    export = write(
        tmp_path / "in",
        ("/v3/namespaces", [{"name": "a"}]),
        (
            "/v3/security/authorization/user/ana/privileges",
            [privilege("READ", NAMESPACE="a")],
        ),
    )
    ingest(CdapFile(export, "cdap_parent_write"), tmp_path / "out", spark=unstarted)
    loaded = load(tmp_path / "out")
    assert loaded.system.model.name == "cdap_parent_write"
    assert Warden(loaded.system, loaded.facts).check("ana", "namespace.get", "namespace:a").allow
