"""A run whose figures violate a steward's expectations publishes no version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.cli import main
from lakewarden.kernel.errors import BadInput
from lakewarden.models import load
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.ingest.expectations import FIGURES, Expectation, read_expectations
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.pipeline.ingest.tabular import Tabular
from lakewarden.pipeline.ingest.version import NotAccepted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENTITIES = """type,name,parent_type,parent_name
metalake,lk,,
catalog,lk:c,metalake,lk
catalog,lk:c,metalake,lk
schema,lk:c.s,catalog,lk:c
table,lk:c.s.t,schema,lk:c.s
table,lk:c.s.u,schema,lk:c.s
table,lk:c.gone.v,schema,lk:c.gone
"""
OWNERS = """type,name,owner_kind,owner_name,ownership
catalog,lk:c,user,ana,
catalog,lk:c,group,crew,
table,lk:c.s.t,user,bo,
"""

DOCS = Path(__file__).parents[3] / "docs" / "pipeline.md"


def bounds(folder: Path, text: str) -> Path:
    file = folder / "bounds.toml"
    file.write_text(f"[expect]\n{text}\n", "utf-8")
    return file


def run(source: Path, out: Path, spark: SparkSession, text: str, **more: Any) -> Result:
    expected = bounds(out.parent, text)
    return ingest(
        Tabular(source, "csv", "gravitino"), out, spark=spark, expectations=expected, **more
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Five entities with three owners, a catalog that occurs twice, a table without a schema."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "entities.csv").write_text(ENTITIES, "utf-8")
    (folder / "owners.csv").write_text(OWNERS, "utf-8")
    return folder


# The figures of the input above, counted by hand.
HELD = (
    ("rows.entities", 5),
    ("rows.placements", 4),
    ("rows.statements", 0),
    ("quarantined", 4),
    ("quarantined_share", 4 / 16),
    ("duplicates", 2),
    ("unknown_types", 0),
    ("without_owner.table", 1 / 2),
    ("without_owner.catalog", 0),
    ("without_description.table", 0),
    ("dangling.user", 2),
    ("orphan_share", 0),
    ("no_counterpart", 0),
)


def test_each_figure_is_what_was_counted(source: Path, tmp_path: Path, unstarted: Any) -> None:
    result = run(source, tmp_path / "out", unstarted, "duplicates = { at_most = 9 }")
    report = result.report.table(result.manifest)
    assert {name.partition(".")[0] for name, _ in HELD} == {*FIGURES}
    for name, value in HELD:
        file = bounds(tmp_path, f'"{name}" = {{ at_least = 0 }}')
        (expectation,) = read_expectations(file, load("gravitino"))
        assert expectation.value(report) == pytest.approx(value), name


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('"rows.entities" = { at_least = 5, at_most = 5 }', ""),
        ('"rows.entities" = { at_least = 6 }', "rows.entities: expected at_least 6, found 5"),
        ("quarantined = { at_most = 2 }", "quarantined: expected at_most 2, found 4"),
        ('"rows.owners" = { shrinks_at_most = 0.1, grows_at_most = 0 }', ""),
    ],
)
def test_a_first_version_is_held_against_fixed_bounds(
    source: Path, tmp_path: Path, unstarted: Any, text: str, broken: str
) -> None:
    out = tmp_path / "out"
    if not broken:
        assert run(source, out, unstarted, text).manifest.version == 1
        return
    with pytest.raises(NotAccepted, match=broken):
        run(source, out, unstarted, text)
    assert not (out / "manifest.json").exists()


def test_a_version_is_held_against_the_one_before(
    source: Path, tmp_path: Path, unstarted: Any
) -> None:
    out = tmp_path / "out"
    shrinks = '"rows.entities" = { shrinks_at_most = 0.1 }\n"rows.owners" = { grows_at_most = 0 }'
    run(source, out, unstarted, shrinks)
    before = read_manifest(out)
    entities = source / "entities.csv"
    whole = entities.read_text("utf-8")
    entities.write_text("".join(whole.splitlines(keepends=True)[:3]), "utf-8")
    owners = source / "owners.csv"
    owners.write_text(
        owners.read_text("utf-8") + "metalake,lk,user,ana,\nmetalake,lk,user,bo,\n", "utf-8"
    )
    with pytest.raises(NotAccepted) as caught:
        run(source, out, unstarted, shrinks)
    said = str(caught.value)
    assert "rows.entities: expected shrinks_at_most 0.1, found 2, before 5" in said
    assert "rows.owners: expected grows_at_most 0, found 4, before 3" in said
    assert read_manifest(out) == before
    # Completed stages are not repeated.
    accepted = run(source, out, unstarted, shrinks, accept=True)
    assert {"check", "write"} <= {*accepted.report.reused}
    assert accepted.report.broken == [
        "rows.entities: expected shrinks_at_most 0.1, found 2, before 5",
        "rows.owners: expected grows_at_most 0, found 4, before 3",
    ]
    assert read_manifest(out).version == 2


def test_what_was_accepted_is_told(source: Path, tmp_path: Path, unstarted: Any) -> None:
    out = tmp_path / "out"
    result = run(source, out, unstarted, "quarantined = { at_most = 0 }", accept=True)
    assert result.report.broken == ["quarantined: expected at_most 0, found 4"]
    report = json.loads((out / "versions" / "1" / "report.json").read_text("utf-8"))
    assert report["broken_expectations"] == result.report.broken


def test_without_the_report_of_the_version_before_nothing_is_published(
    source: Path, tmp_path: Path, unstarted: Any
) -> None:
    out, text = tmp_path / "out", '"rows.entities" = { shrinks_at_most = 1 }'
    run(source, out, unstarted, text)
    (out / "versions" / "1" / "report.json").unlink()
    (source / "owners.csv").unlink()
    with pytest.raises(BadInput, match="report"):
        run(source, out, unstarted, text)
    assert read_manifest(out).version == 1
    assert run(source, out, unstarted, text, accept=True).manifest.version == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a table"),
        ("entities = { at_least = 1 }", "unknown figure `entities`; there are: rows.TABLE"),
        ("rows = { at_least = 1 }", "expected `rows.TABLE`"),
        ('"rows.people" = { at_least = 1 }', "unknown `people`; there are: `entities`"),
        ('"without_owner.dataset" = { at_most = 0 }', "unknown `dataset`"),
        ('"duplicates.all" = { at_most = 0 }', "expected `duplicates`"),
        ("duplicates = {}", "expected one of: `at_least`"),
        ("duplicates = { at_least = -1 }", "duplicates.*at_least.*not negative"),
        ("duplicates = { shrinks_at_most = 10 }", "shrinks_at_most.*a share from 0 to 1"),
        ("duplicates = { at_least = nan }", "duplicates.*at_least.*a finite number"),
        ('duplicates = { at_most = "2" }', "expected a number"),
        ("duplicates = { most = 2 }", "unknown key `most`"),
        ("duplicates = 2", "expected a table"),
    ],
)
def test_a_bound_that_cannot_be_is_refused_before_anything_is_read(
    tmp_path: Path, unstarted: Any, text: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        run(tmp_path / "absent", tmp_path / "out", unstarted, text)
    assert not (tmp_path / "out").exists()


def test_the_verb_stops_and_says_how_to_go_on(
    source: Path, tmp_path: Path, unstarted: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = bounds(tmp_path, "quarantined = { at_most = 2 }")
    words = ["pipeline", "ingest", str(source), "--source", "csv", "--model", "gravitino"]
    words += ["--out", str(tmp_path / "out")]
    assert main([*words, "--expect", str(file)]) == 2
    said = capsys.readouterr().err
    assert "quarantined: expected at_most 2, found 4" in said
    assert "--accept" in said
    assert main([*words, "--accept"]) == 2
    assert "only with `--expect`" in capsys.readouterr().err
    assert main([*words, "--expect", str(file), "--accept"]) == 0
    assert "broken expectation: quarantined: expected" in capsys.readouterr().out


def test_every_figure_stands_in_the_page() -> None:
    text = DOCS.read_text("utf-8")
    for name, figure in FIGURES.items():
        row = f"| `{name}.{figure.members}` |" if figure.members else f"| `{name}` |"
        assert f"{row} {figure.meaning} |" in text, name


def test_a_report_without_the_figure_is_refused_where_it_is_compared() -> None:
    """A report of another release may lack it."""
    now = {"rows": {"entities": {"in": 2, "out": 2}}}
    assert list(Expectation("rows.entities", at_least=1).broken(now, {})) == []
    for before in ({}, {"rows": {"owners": {"in": 2, "out": 2}}}):
        with pytest.raises(BadInput, match=r"has no `rows\.entities`; `--accept`"):
            list(Expectation("rows.entities", shrinks_at_most=0.1).broken(now, before))
