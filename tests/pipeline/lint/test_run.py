"""The findings for an index are those for its realm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from lakewarden.analysis.lint.catalogue import RULES, chosen
from lakewarden.analysis.lint.finding import Finding
from lakewarden.analysis.lint.lint_context import of_facts
from lakewarden.analysis.lint.run import lint
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.pipeline.directory import load, set_aside
from lakewarden.pipeline.lint.run import FINDINGS, lint_index, read_findings
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.agreement import harness
from tests.pipeline.diff.directories import sayable, write_facts
from tests.pipeline.index import worlds
from tests.sample.estate import estate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["estate"]

SIZE = Size(entities=60, users=6, groups=4, roles=4, statements=40, goals=6)
BITS = 4


def in_process(directory: Path) -> tuple[Finding, ...]:
    """The findings of `lakewarden lint --from`."""
    found = load(directory)
    seen = of_facts(
        found.facts,
        found.system.model,
        found.system.spelling,
        now=NOW,
        set_aside=set_aside(directory, found.manifest),
    )
    return lint(found.manifest.realm, seen, RULES.values())


def world(name: str, folder: Path) -> Path:
    """The first world of the system whose directory has many findings."""
    system = harness.system(name)
    for seed in range(100):
        path = folder / f"world-{seed}"
        try:
            write_facts(path, system, sayable(system, make(system, seed, SIZE).facts))
            found = in_process(path)
        except WardenError:
            continue
        rules = {one.rule.id for one in found}
        if len(rules) > 2 and "unfollowed-cycle" not in rules:
            return path
    pytest.fail("nothing was found anywhere")


SELDOM = [pytest.param(name, marks=pytest.mark.nightly) for name in ("gravitino", "datahub")]


@pytest.mark.parametrize("name", ["cdap", *SELDOM])
def test_a_random_world_is_found_to_have_what_the_whole_realm_has(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    _compared(world(name, tmp_path), spark, tmp_path)


@pytest.mark.nightly  # by day the tutorial shows the findings in the sample's lake
@pytest.mark.parametrize("name", ["cdap", "gravitino", "datahub"])
def test_the_sample_is_found_to_have_what_the_whole_realm_has(
    name: str, estate: Path, spark: SparkSession, tmp_path: Path
) -> None:
    _compared(estate / name, spark, tmp_path)


def _compared(path: Path, spark: SparkSession, folder: Path) -> None:
    index, out = folder / "index", folder / "lint"
    worlds.index_of(path, index, now=NOW, bits=BITS)
    made = lint_index(index, out, spark=spark, origin=path)
    expected = in_process(path)
    assert expected
    assert read_findings(out, made.manifest) == expected
    rows = folder_of(out, made.manifest) / FINDINGS
    assert pq.read_table(rows).num_rows == len(expected)


def test_again_makes_no_new_version_and_another_directory_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = world("cdap", tmp_path)
    index, out = tmp_path / "index", tmp_path / "lint"
    worlds.index_of(path, index, now=NOW, bits=BITS)
    rules = chosen(["vacuous-scope", "broad-grant"], [])
    first = lint_index(index, out, spark=spark, rules=rules)
    again = lint_index(index, out, spark=spark, rules=rules)
    assert (first.is_new, again.is_new) == (True, False)
    findings = read_findings(out, first.manifest)
    assert findings == read_findings(out, again.manifest)
    assert {one.rule.id for one in findings} <= {"vacuous-scope", "broad-grant"}
    other = world("gravitino", tmp_path / "other")
    with pytest.raises(BadInput, match="not what the index was made of"):
        lint_index(index, out, spark=spark, rules=rules, origin=other)
