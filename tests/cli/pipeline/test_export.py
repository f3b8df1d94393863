"""`lakewarden pipeline export`: its arguments, its messages, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.errors import Unavailable, Unknown
from tests.cli.realms import Cli

REPORT: Mapping[str, Any] = {
    "version": 3,
    "rows": {"decisions": 12_000},
    "seconds": {"find": 1.0},
    "reused": ["ask"],
    "peak_bytes": 0,
}


@dataclass
class Jobs:
    """Replaces the job; records its arguments."""

    asked: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)
    error: Exception | None = None
    report: Mapping[str, Any] = field(default_factory=lambda: REPORT)
    is_new: bool = True

    def export(self, index: Path, out: Path, **options: Any) -> Jobs:
        if self.error is not None:
            raise self.error
        self.asked.append((index, options))
        return self


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    made = Jobs()
    monkeypatch.setattr("lakewarden.pipeline.export.run.make_export", made.export)
    return made


def test_export_prints_its_tables_and_the_place_of_the_views(cli: Cli, jobs: Jobs) -> None:
    found = cli("pipeline", "export", "index", "--out", "made")
    assert found.code == 0
    for said in ("made: version 3", "12,000", str(Path("made/versions/3/views.sql"))):
        assert said in found.out
    ((index, options),) = jobs.asked
    assert index == Path("index")
    assert options["privileges"] is options["operations"] is None


def test_names_are_apart_by_commas_or_given_one_by_one(cli: Cli, jobs: Jobs) -> None:
    words = ("--privileges", "none", "--operations", "A, B", "--operations", "C")
    assert cli("pipeline", "export", "index", "--out", "made", *words).code == 0
    assert jobs.asked[0][1]["privileges"] == ("none",)
    assert jobs.asked[0][1]["operations"] == ("A", "B", "C")


def test_for_programs_the_whole_report_is_printed(cli: Cli, jobs: Jobs) -> None:
    found = cli("pipeline", "export", "index", "--out", "made", "--format", "json")
    assert json.loads(found.out) == {"folder": "made", "new": True, **REPORT}


@pytest.mark.parametrize(
    ("error", "code"), [(Unknown("operation", "X"), 2), (Unavailable("spark failed"), 3)]
)
def test_exit_codes_tell_bad_input_from_what_could_not_be_found_out(
    cli: Cli, jobs: Jobs, error: Exception, code: int
) -> None:
    jobs.error = error
    found = cli("pipeline", "export", "index", "--out", "made")
    assert found.code == code
    assert str(error) in found.err
