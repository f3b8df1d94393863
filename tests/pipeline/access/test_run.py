"""The job: its files, its errors, unused access, and its pages."""

from __future__ import annotations

import csv
import io
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.matrix import Matrix
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.access import split_files
from lakewarden.pipeline.access.page import page
from lakewarden.pipeline.access.run import Options
from lakewarden.pipeline.access.schemas import SCHEMAS
from lakewarden.pipeline.ingest.source import silent
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.product import Content, Input, Manifest, draft
from lakewarden.pipeline.version_folder import folder_of
from tests.pipeline.access.worlds import decided, export, report, rows
from tests.pipeline.review.whole import compiled, some


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Matrix]:
    folder = tmp_path_factory.mktemp("access")
    (world,) = some("gravitino", 9_130, 1)
    snapshot = compiled(world)
    export(folder / "export", world, snapshot)
    return folder, Matrix(snapshot)


@pytest.fixture(scope="module")
def plain(made: tuple[Path, Matrix]) -> Result:
    """A report of everything, in the folder `plain`; tests must not change it."""
    folder, _ = made
    return report(folder / "export", folder / "plain")


def test_csv_files_hold_the_tables_in_parts_that_are_small(made: tuple[Path, Matrix]) -> None:
    folder, _ = made
    result = report(folder / "export", folder / "parts", Options(rows_per_file=7))
    place = folder_of(folder / "parts", result.manifest)
    for name in SCHEMAS:
        files = sorted((place / "csv").glob(f"{name}-*.csv"))
        texts = [file.read_bytes().decode("utf-8") for file in files]
        parts = [list(csv.DictReader(io.StringIO(text, newline=""))) for text in texts]
        assert all(len(part) <= 7 for part in parts)
        assert sum(map(len, parts)) == result.manifest.tables[name].rows
        assert all(list(part[0]) == SCHEMAS[name].names for part in parts)
    shown = (place / "access.html").read_text("utf-8")
    assert shown.startswith("<!doctype html>")
    assert "<script" not in shown


def test_folders_may_have_names_that_databases_take_for_more_than_a_name(
    made: tuple[Path, Matrix], plain: Result, tmp_path: Path
) -> None:
    folder, _ = made
    odd = tmp_path / "it's [1], *?"
    shutil.copytree(folder / "export", odd / "export")
    before = report(odd / "export", odd / "out")
    assert before.manifest.tables == plain.manifest.tables
    again = report(odd / "export", odd / "out", before=odd / "out")
    assert again.manifest.tables["changes"].rows == 0


def test_the_page_says_first_when_its_index_ends(tmp_path: Path) -> None:
    for name, schema in SCHEMAS.items():
        (tmp_path / name).mkdir()
        pq.write_table(schema.empty_table(), tmp_path / name / "0.parquet")
    sizes = dict.fromkeys(SCHEMAS, 0)
    assert 'class="note"' not in page(tmp_path, sizes, "lake")
    shown = page(tmp_path, sizes, "lake", "It holds until then.")
    assert '<h1>Access in lake</h1><p class="note">It holds until then.</p>' in shown


def test_files_end_before_they_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_files, "MOST_BYTES", 40_000)
    schema = SCHEMAS["joiners_leavers"]
    users = [f"=user{n}" for n in range(10_000)]
    batch = pa.record_batch([users, ["joined"] * len(users)], schema=schema)
    assert split_files.put_parquet([batch] * 30, schema, tmp_path / "t") == 300_000
    (tmp_path / "csv").mkdir()
    count = split_files.put_csv(tmp_path / "t", tmp_path / "csv", "t", 250_000)
    files = sorted((tmp_path / "csv").iterdir())
    assert len(files) == count > 100
    assert all(file.stat().st_size < 80_000 for file in files)
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()[1:]]
    assert lines == [f'"\'{user}","joined"' for user in users] * 30
    assert len(list((tmp_path / "t").iterdir())) > 1
    assert pq.read_table(tmp_path / "t").num_rows == 300_000


def test_a_file_of_long_names_that_nothing_compresses_is_not_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split_files, "MOST_BYTES", 4_000_000)
    monkeypatch.setattr(split_files, "_GROUP_BYTES", 2_000_000)
    schema, random = SCHEMAS["joiners_leavers"], Random(1)
    users = [random.randbytes(500).hex() for _ in range(10_000)]
    batch = pa.record_batch([users, ["joined"] * len(users)], schema=schema)
    assert split_files.put_parquet([batch], schema, tmp_path / "t") == len(users)
    files = sorted((tmp_path / "t").iterdir())
    assert max(file.stat().st_size for file in files) < 4_200_000
    assert pq.read_table(tmp_path / "t").column("user").to_pylist() == users


def test_more_pairs_than_asked_for_make_nothing(made: tuple[Path, Matrix]) -> None:
    folder, matrix = made
    count = len(decided(matrix))
    with pytest.raises(LimitExceeded, match=f"{count:,} pairs .* --most {count - 1:,}; choose"):
        report(folder / "export", folder / "most", Options(most=count - 1))
    assert not (folder / "most" / "manifest.json").exists()
    assert report(folder / "export", folder / "most", Options(most=count)).is_new
    none = report(folder / "export", folder / "most", Options(pairs="none", most=count - 1))
    assert none.manifest.tables["access"].rows == 0
    assert none.manifest.tables["people_lists"].rows > 0
    shown = (folder_of(folder / "most", none.manifest) / "access.html").read_text("utf-8")
    for name in ("Who can do what", "By tag", "Toxic combinations", "Access never used"):
        assert f"{name} (not asked for)</h2>" in shown
    assert "with the reason. See --pairs.</p>" in shown
    assert "None.</p>" not in shown  # no one is without access


def test_pairs_of_sensitive_assets_are_those_with_the_labels(
    made: tuple[Path, Matrix], plain: Result
) -> None:
    folder, _ = made
    tagged = [row for row in rows(folder / "plain", plain, "access") if row["tags"]]
    label = tagged[0]["tags"][0]
    options = Options(pairs="sensitive", sensitive=[label])
    result = report(folder / "export", folder / "sensitive", options)
    found = rows(folder / "sensitive", result, "access")
    assert {(r["asset"], r["user"]) for r in found} == {
        (r["asset"], r["user"]) for r in tagged if label in r["tags"]
    }
    assert all(label in row["sensitive"] for row in found)
    shown = (folder_of(folder / "sensitive", result.manifest) / "access.html").read_text("utf-8")
    assert "with the reason. Sensitive assets alone." in shown


def test_access_without_use_is_listed_and_used_access_is_not(
    made: tuple[Path, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, matrix = made
    allowed = decided(matrix)
    tables = sorted((asset, user) for way, asset, user in allowed if way == "read")
    asset, user = next((a, u) for a, u in tables if a.startswith("table:"))
    type, _, name = asset.partition(":")
    stored = sorted(":".join(matrix.snapshot.coded.tree.entity(n)) for n in assets_of(matrix))
    closed = next(one for one in stored if ("see", one, user) not in allowed)
    closed_type, _, closed_name = closed.partition(":")
    log = [
        # Access that is no longer permitted does not count as use.
        (f"user:{user}", "any.other", closed_type, closed_name, True, "2026-01-03", 1),
        (f"user:{user}", "table.load", type, name, True, "2026-01-02", 1),
        (f"user:{user}", "table.write", type, name, False, "2026-01-02", 1),
        (f"user:{user}", "topic.alter", type, name, True, "2025-01-02", 0),
    ]
    names = ("principal", "operation", "type", "name", "allowed", "last", "recent")
    columns = dict(zip(names, zip(*log, strict=True), strict=True))
    unused(folder / "unused", pa.table({name: list(of) for name, of in columns.items()}))
    out = folder / "used"
    monkeypatch.chdir(folder)
    result = report(Path("export"), out, used=Path("unused"))
    people = {(row["way"], row["user"]): row for row in rows(out, result, "people")}
    assert (people["read", user]["used"], people["read", user]["last_used"]) == (1, "2026-01-02")
    assert people["change", user]["used"] == 0
    never: Counter[tuple[str, str]] = Counter()
    for row in rows(out, result, "never_used"):
        never[row["way"], row["user"]] += row["assets"]
    counted = Counter((way, person) for way, _, person in allowed)
    touched = {("see", user), ("read", user)}
    assert {at: n for at, n in never.items() if at not in touched} == {
        at: n for at, n in counted.items() if at not in touched
    }
    assert all(never[at] < counted[at] for at in touched)


def assets_of(matrix: Matrix) -> BitMap:
    """The assets: stored entities that somebody may see."""
    coded, model = matrix.snapshot.coded, matrix.snapshot.model
    kinds = [kind for kind in coded.tree.kinds if kind and model.reaching("see", kind)]
    return BitMap.union(*map(coded.tree.of_type, kinds))


def unused(out: Path, accesses: Any, realm: str = "lake", index: str = "0") -> None:
    with draft(out, "unused", "key", silent) as one:
        (one.folder / "accesses").mkdir()
        pq.write_table(accesses, one.folder / "accesses" / "part-00000.parquet")
        content = {"accesses": Content(len(accesses), "0" * 32)}
        inputs = (Input("lake", 1, index),)
        one.finish(Manifest("unused", 0, inputs, {}, {"realm": realm}, content), {})


def test_inputs_that_do_not_belong_together_are_refused(made: tuple[Path, Matrix]) -> None:
    folder, _ = made
    empty = pa.table({"principal": pa.array([], pa.string())})
    unused(folder / "other", empty, realm="other")
    unused(folder / "older", empty, index="1")
    source, out = folder / "export", folder / "refused"
    for name, says in (("other", "--used: is of the realm `other`"), ("older", "another index")):
        with pytest.raises(BadInput, match=says):
            report(source, out, used=folder / name)
    with pytest.raises(BadInput, match=r"manifest\.json` is missing"):
        report(source, out, before=folder / "nothing")
    with pytest.raises(BadInput, match="of the kind `export`"):
        report(folder / "older", out)
    for options, says in (
        (Options(most=0), "--most"),
        (Options(rows_per_file=0), "--rows-per-file"),
        (Options(pairs="some"), "--pairs"),
        (Options(combinations=folder / "no.toml"), "cannot be read"),
    ):
        with pytest.raises(BadInput, match=says):
            report(source, out, options)
    assert not (out / "manifest.json").exists()


def test_a_report_of_an_earlier_release_is_not_compared_with(made: tuple[Path, Matrix]) -> None:
    folder, _ = made
    out = folder / "earlier"
    with draft(out, "access", "key", silent) as one:
        content = {"assets": Content(0, "0" * 32)}
        one.finish(Manifest("access", 0, (), {}, {"realm": "lake"}, content), {})
    with pytest.raises(BadInput, match="was made by an earlier release; leave out --before"):
        report(folder / "export", out, before=out)
    assert report(folder / "export", out).is_new


def test_the_same_export_makes_no_new_version_and_no_size_needs_spark(
    made: tuple[Path, Matrix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_output, "_HERE", 0)
    folder, _ = made
    assert report(folder / "export", folder / "same").is_new
    assert not report(folder / "export", folder / "same").is_new
