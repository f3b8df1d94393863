"""Whole runs: logs of every kind against an index, findings, and a proposal for `plan`."""

from __future__ import annotations

import shutil
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from lakewarden.cli.admin_target import opened
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_statements import STATEMENTS
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.unused import policy, run
from lakewarden.pipeline.unused.run import Log, UnusedCriteria, find_unused, is_anything_unused
from lakewarden.pipeline.version_folder import folder_of
from tests.cli import stores
from tests.cli.realms import Cli
from tests.pipeline.index import worlds
from tests.pipeline.unused import lake
from tests.pipeline.unused.reckoned import compiled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = UnusedCriteria(days=lake.DAYS, now=lake.NOW)


class Ran(NamedTuple):
    """The inputs and the results."""

    realm: Path
    folder: Path
    logs: list[Log]
    words: Path
    out: Path
    made: Result

    def rows(self, table: str) -> list[dict[str, Any]]:
        folder = folder_of(self.out, self.made.manifest) / table
        found: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
        return found

    @property
    def proposal(self) -> Path:
        return folder_of(self.out, self.made.manifest) / run.PROPOSAL


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A run that continues after one whose proposal would have removed used access."""
    folder = tmp_path_factory.mktemp("unused")
    realm, index, out = lake.write_lake(folder / "lake"), folder / "index", folder / "out"
    worlds.index_of(realm, index, now=lake.NOW)
    rows, lines, mapping = lake.write_others(folder)
    logs = [
        Log("usage", lake.write_usage(folder / "usage.csv")),
        Log("trino", lake.write_trino(folder / "trino.json.gz")),
        Log("spark", lake.write_spark(folder / "spark")),
        Log("csv", rows),
        Log("json", lines),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policy, "applied", lambda *_: ())
        with pytest.raises(WardenError, match="would take away 5 accesses; nothing was made"):
            find_unused(index, logs, out, ASKED, spark=spark, mapping=mapping)
    assert not (out / "manifest.json").exists()
    made = find_unused(index, logs, out, ASKED, spark=spark, mapping=mapping)
    return Ran(realm, index, logs, mapping, out, made)


@pytest.mark.nightly
def test_rows_in_are_rows_out_and_quarantined(ran: Ran) -> None:
    touches = ran.made.report["touches"]
    assert touches == {"in": 22, "out": 12, "quarantined": 10}
    assert Counter(row["reason"] for row in ran.rows("quarantine")) == {
        "bad line": 5,
        "unknown principal": 1,
        "unknown operation": 2,
        "unknown entity": 1,
        "bad name": 1,
    }
    gone = next(r for r in ran.rows("quarantine") if r["reason"] == "unknown entity")
    assert (gone["place"], gone["detail"]) == (
        "usage.csv: line 9",
        "`table:lk:c.s.gone` is not stored",
    )


def test_an_access_stands_once_with_its_days_and_counts(ran: Ran) -> None:
    found = {
        (r["principal"], r["operation"], r["name"], r["allowed"]): r for r in ran.rows("accesses")
    }
    ana = found["user:ana", "table.load", "lk:c.s.t00", True]
    assert (ana["first"], ana["last"], ana["n"], ana["recent"]) == (
        "2024-05-20",
        "2024-05-22",
        8,
        8,
    )
    assert ana["logs"] == ["spark:spark", "usage:usage.csv"]
    assert ana["allowed_now"] is True
    old = found["user:ben", "table.create", "lk:c.r", True]
    assert (old["n"], old["recent"]) == (1, 0)
    refused = found["user:eve", "table.load", "lk:c.r.u", False]
    assert refused["allowed_now"] is None
    assert len(found) == 8


def test_what_was_not_used_is_found(ran: Ran) -> None:
    assert is_anything_unused(ran.made.manifest)
    (old,) = ran.rows("unused_statements")
    assert (old["statement"], old["title"], old["last_used"]) == ("old", "old work", "2024-01-02")
    assert (old["scope"], old["principals"]) == ("on schema:lk:c.r", ["role:lk:writers"])
    partly = {
        (r["statement"], r["privilege"], r["principal"]) for r in ran.rows("unused_privileges")
    }
    assert {p for _, p, who in partly if who == "role:lk:idle"} == {*lake.LEAF, "MODIFY_TABLE"}
    idle = {(r["member"], r["of"]): r["may_widen"] for r in ran.rows("unused_memberships")}
    assert idle["user:eve", "role:lk:idle"] is True
    assert ("user:eve", "group:staff") in idle
    assert ("user:ana", "group:staff") not in idle
    assert ("group:staff", "role:lk:readers") not in idle


def test_a_scope_of_which_little_was_touched_is_broad(ran: Ran) -> None:
    broad = {(r["statement"], r["privilege"]): r for r in ran.rows("over_broad")}
    assert {key: (r["touched"], r["narrower"]) for key, r in broad.items()} == {
        ("read", "MODIFY_TABLE"): (1, "on table:lk:c.s.t04"),
        ("write", "MODIFY_TABLE"): (1, "on table:lk:c.s.t03"),
    }
    assert broad["read", "MODIFY_TABLE"]["entities"] == 16
    assert broad["read", "MODIFY_TABLE"]["active"] == 1


def test_the_proposal_is_what_was_used(ran: Ran) -> None:
    told = tomllib.loads(ran.proposal.read_text("utf-8"))
    assert told["realm"] == "gravitino"
    found = {s["id"]: s for s in told["statement"]}
    assert found["old"]["active"] is False
    assert all("role:lk:idle" not in s["to"] for s in told["statement"])
    assert not {"no", "asleep"} & set(found)
    places = {
        word: sorted(s["on"] for s in told["statement"] if word in s["privileges"])
        for word in lake.LEAF
    }
    assert places["USE_CATALOG"] == ["catalog:lk:c"]
    assert places["USE_SCHEMA"] == ["schema:lk:c.s"]
    assert places["SELECT_TABLE"] == ["schema:lk:c.s"]  # by table there would be too many
    assert found["write"]["on"] == "table:lk:c.s.t03"


def test_plan_takes_the_proposal_and_nothing_that_was_done_is_lost(
    ran: Ran, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    admin = stores.made(Cli(capsys, {}), tmp_path)
    admin("load", str(ran.realm), "--realm", "gravitino")
    plan = str(tmp_path / "plan.json")
    of = ("--realm", "gravitino", "--name", "least-privilege", "--adopt")
    shown = admin("plan", str(ran.proposal), *of, "--out", plan)
    assert shown.code == 1
    _, _, access = shown.out.partition("\naccess: ")
    assert " lose see on " in access
    assert not any(line.lstrip().startswith("+") for line in access.splitlines())
    admin("apply", plan)
    with opened(admin.url) as service:
        matrix = service.state.realm("gravitino").matrix
    check_less(ran, matrix)


def check_less(ran: Ran, matrix: Matrix) -> None:
    for row in ran.rows("accesses"):
        if row["recent"] and row["allowed_now"]:
            who = Principal(*row["principal"].split(":", 1))
            entity = Entity(row["type"], row["name"])
            assert matrix.decide(Request(who, row["operation"], entity, lake.NOW)).allow
    ben = Principal("user", "ben")
    other = Request(ben, "table.load", Entity("table", "lk:c.r.u"), lake.NOW)
    assert not matrix.decide(other).allow


def test_the_folder_of_statements_takes_the_proposal_too(ran: Ran, tmp_path: Path) -> None:
    less = tmp_path / "less"
    shutil.copytree(ran.realm, less)
    (less / STATEMENTS).mkdir()
    shutil.copy(ran.proposal, less / STATEMENTS)
    loaded = load(less)
    check_less(ran, Matrix(compiled(loaded.system, loaded.facts)))


@pytest.mark.nightly
def test_a_run_goes_on_where_one_was_cut_short_and_the_same_again_is_no_new_version(
    ran: Ran, spark: SparkSession
) -> None:
    assert ran.made.report["reused"] == ["read", "place", "judge", "propose"]
    again = find_unused(ran.folder, ran.logs, ran.out, ASKED, spark=spark, mapping=ran.words)
    assert again.report["reused"] == []
    assert again.is_new is False
    assert again.manifest == ran.made.manifest


@pytest.mark.parametrize(
    ("kind", "name", "text", "message"),
    [
        ("tape", "a.csv", "x", "unknown kind of log `tape`; expected one of: bigquery, csv, json"),
        ("csv", "a.csv", "x", r"a log of the kind `csv` needs a table `\[csv\]`"),
        ("usage", "a.csv", "day,user\n1,2\n", "has no column `count`"),
        ("usage", "a.parquet", "no parquet", "cannot be read"),
        ("trino", "a.json.gz", "no gzip", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told(
    ran: Ran, spark: SparkSession, tmp_path: Path, kind: str, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(BadInput, match=message):
        find_unused(ran.folder, [Log(kind, tmp_path / name)], tmp_path / "out", ASKED, spark=spark)


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        (UnusedCriteria(0), "--days"),
        (UnusedCriteria(3, pieces=0), "--pieces"),
        (UnusedCriteria(3, share=1.0), "--share"),
    ],
)
def test_what_cannot_be_asked_is_told(asked: UnusedCriteria, where: str) -> None:
    with pytest.raises(BadInput, match=where):
        asked.since()
