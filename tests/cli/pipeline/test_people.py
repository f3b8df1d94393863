"""`lakewarden pipeline people`: the readers of assets, from an existing review."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.review import named_access
from lakewarden.pipeline.review.run import make_review
from lakewarden.pipeline.session import Deferred
from tests.cli.realms import Cli, write_realm

NOTHING: Any = None  # any use of Spark fails
ASKED: Any = {"privileges": ["SELECT_TABLE"], "operations": ["none"]}
"""The smallest possible review: users with access to assets are always listed."""


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Readers may read a schema, except for one table, which eve owns."""
    folder = tmp_path_factory.mktemp("review")
    tables = ["table:lk:c.s.pay", "table:lk:c.s.t", "table:lk:c.s.u"]
    words = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]
    realm = write_realm(
        folder / "lake",
        "gravitino",
        entities=["metalake:lk", "catalog:lk:c", "schema:lk:c.s", "tag:lk:pii", *tables],
        principals=["user:ana", "user:ben", "user:eve", "group:staff"],
        members={"members:lk": ["ana", "ben", "eve"], "group:staff": ["ana", "ben"]},
        owners={"table:lk:c.s.pay": "eve"},
        tags={"table:lk:c.s.pay": "tag:lk:pii"},
        statements=[
            {"id": "use", "privileges": words[:2], "to": "user:eve", "on": "catalog:lk:c"},
            {"id": "read", "privileges": words, "to": "group:staff", "on": "catalog:lk:c"},
            {
                "id": "not",
                "effect": "deny",
                "privileges": ["SELECT_TABLE"],
                "to": "user:ben",
                "on": "table:lk:c.s.pay",
            },
        ],
    )
    spark: Any = Deferred(NOTHING, is_here=True)
    make_index(realm, folder / "index", spark=spark, now=0)
    make_review(folder / "index", folder / "review", spark=spark, **ASKED)
    return folder / "review"


def test_who_reads_an_asset_is_named_by_one_command(cli: Cli, review: Path) -> None:
    for asset in ("table:lk:c.s.pay", "lk:c.s.pay"):
        found = cli("pipeline", "people", str(review), asset, "--way", "read")
        assert found.code == 0
        assert "table:lk:c.s.pay  read  2  ana, eve" in found.out


def test_sensitive_assets_are_listed_with_their_people(cli: Cli, review: Path) -> None:
    found = cli("pipeline", "people", str(review), "--sensitive", "--format", "json")
    told = json.loads(found.out)
    assert told["total"] == 1
    (row,) = told["assets"]
    assert (row["asset"], row["sensitive"]) == ("table:lk:c.s.pay", ["tag:lk:pii"])
    assert row["read"] == {"total": 2, "users": ["ana", "eve"]}
    assert row["change"] == {"total": 1, "users": ["eve"]}


def test_assets_are_shown_by_page(cli: Cli, review: Path) -> None:
    whole = json.loads(cli("pipeline", "people", str(review), "--format", "json").out)
    names: list[str] = []
    for page in range(1, whole["total"] + 1):
        asked = ("--page", str(page), "--limit", "1", "--format", "json")
        found = cli("pipeline", "people", str(review), *asked)
        names += [row["asset"] for row in json.loads(found.out)["assets"]]
        assert f"page {page} of {whole['total']}, of {whole['total']} assets" in found.err
    assert names == [row["asset"] for row in whole["assets"]]


def test_rows_are_for_spreadsheets_too(cli: Cli, review: Path) -> None:
    found = cli("pipeline", "people", str(review), "lk:c.s.t", "--format", "csv")
    rows = list(csv.reader(io.StringIO(found.out)))
    assert rows[0] == ["asset", "way", "user"]
    assert ["table:lk:c.s.t", "read", "ben"] in rows


def test_of_many_people_the_first_are_named_and_all_are_counted(
    cli: Cli, review: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_access, "NAMES", 1)
    spark: Any = Deferred(NOTHING, is_here=True)
    out = tmp_path / "review"
    make_review(review.parent / "index", out, spark=spark, **ASKED)
    found = cli("pipeline", "people", str(out), "lk:c.s.pay", "--way", "read")
    assert "read  2  ana and 1 more" in found.out
    assert "the list is truncated" in found.err


def test_nobody_is_a_no(cli: Cli, review: Path) -> None:
    found = cli("pipeline", "people", str(review), "lk:c.s.t", "--way", "change")
    assert (found.code, "nobody" in found.out) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "unknown asset `nope`"),
        (["--page", "0"], "--page: expected 1 or more, got 0"),
        (["--limit", "0"], "--limit: expected 1 or more, got 0"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    cli: Cli, review: Path, words: list[str], message: str
) -> None:
    found = cli("pipeline", "people", str(review), *words)
    assert (found.code, message in found.err) == (2, True)


def test_an_estate_without_sensitive_assets_is_reported(cli: Cli, review: Path) -> None:
    found = cli("pipeline", "people", str(review), "lk:c.s.t", "--sensitive")
    assert (found.code, "unknown asset" in found.err) == (2, True)
    out = review.parent / "other"
    spark: Any = Deferred(NOTHING, is_here=True)
    index = review.parent / "index"
    make_review(index, out, spark=spark, sensitive=["x"], **ASKED)
    found = cli("pipeline", "people", str(out), "--sensitive")
    assert (found.code, "no asset has a sensitive tag" in found.err) == (1, True)


def test_a_folder_without_people_is_refused(cli: Cli, review: Path, tmp_path: Path) -> None:
    assert cli("pipeline", "people", str(tmp_path)).code == 2
    shutil.copytree(review, tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "versions" / "1" / "people")
    found = cli("pipeline", "people", str(tmp_path / "old"))
    assert (found.code, "run the review again" in found.err) == (2, True)
