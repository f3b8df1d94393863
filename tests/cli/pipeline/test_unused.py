"""`lakewarden pipeline unused`, from a store's own usage counts to its exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.store import open_store
from tests.cli.stores import Admin
from tests.pipeline.index import worlds
from tests.pipeline.unused import lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF = ("--days", "30", "--now", str(lake.NOW))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    realm = lake.write_lake(folder / "lake")
    worlds.index_of(realm, folder / "index", now=lake.NOW)
    return folder / "index"


@pytest.mark.nightly
def test_a_store_s_counts_are_compared_with_what_it_grants(
    admin: Admin, index: Path, spark: SparkSession, tmp_path: Path
) -> None:
    with open_store(admin.url) as store:
        used = ("gravitino", "ana", "table.load", Entity("table", "lk:c.s.t00"))
        store.add_usage("2024-05-20", {used: 3})
    out = tmp_path / "out"
    found = admin.cli(
        *("pipeline", "unused", str(index), "--log", f"usage:{admin.url}"), *OF, "--out", str(out)
    )
    assert found.code == 1
    assert "2 unused statements" in found.out
    proposal = out / "versions" / "1" / "proposal.toml"
    assert f"{proposal}: 3 statements to change" in found.lines
    assert 'on = "table:lk:c.s.t00"' in proposal.read_text("utf-8")


@pytest.mark.usefixtures("unstarted")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--log", "usage", *OF), "expected `KIND:PATH`, got `usage`"),
        (("--log", "usage:sqlite:///nowhere.db", *OF), "there is no database `nowhere.db`"),
        (("--log", "csv:x", "--days", "0"), "expected 1 to 36,500 days"),
    ],
)
def test_what_cannot_be_asked_is_bad_input(
    admin: Admin, index: Path, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    out = ("--out", str(tmp_path / "out"))
    found = admin.cli("pipeline", "unused", str(index), *words, *out)
    assert (found.code, said in found.err) == (2, True)
