"""`lakewarden pipeline review`: its arguments, its messages, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.errors import Unavailable, Unknown
from lakewarden.pipeline.review.question import CLASSES
from tests.cli.realms import Cli

REPORT: Mapping[str, Any] = {
    "version": 3,
    "rows": {"review": 12},
    "seconds": {"find": 1.0},
    "reused": [],
    "population": {"entities": 1_000, "users": 20, "checksum": "abc"},
    "source": {"written": "2030-01-01T00:00:00+00:00", "age_seconds": 5, "revision": None},
    "peak_bytes": 0,
}


@dataclass
class Jobs:
    """Replaces the job; records its arguments."""

    asked: list[tuple[Path, Mapping[str, Any]]] = field(default_factory=list)
    error: Exception | None = None
    report: Mapping[str, Any] = field(default_factory=lambda: REPORT)
    is_new: bool = True

    def review(self, index: Path, out: Path, **options: Any) -> Jobs:
        if self.error is not None:
            raise self.error
        self.asked.append((index, options))
        return self


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    made = Jobs()
    monkeypatch.setattr("lakewarden.pipeline.review.run.make_review", made.review)
    return made


def test_review_prints_its_population_and_the_place_of_the_page(cli: Cli, jobs: Jobs) -> None:
    found = cli("pipeline", "review", "index", "--out", "made")
    assert found.code == 0
    for said in ("made: version 3", "1,000 entities, 20 users", "abc", "2030-01-01T00:00:00"):
        assert said in found.out
    assert str(Path("made/versions/3/review.html")) in found.out
    (asked,) = jobs.asked
    assert asked[0] == Path("index")
    assert asked[1]["privileges"] is None
    assert asked[1]["operations"] is None
    assert (asked[1]["classes"], asked[1]["used"]) == (CLASSES, None)
    assert asked[1]["sensitive"] is None


def test_how_many_classes_are_too_many_and_what_was_used_are_handed_on(
    cli: Cli, jobs: Jobs
) -> None:
    words = ("--classes", "7", "--used", "less")
    assert cli("pipeline", "review", "index", "--out", "made", *words).code == 0
    assert (jobs.asked[0][1]["classes"], jobs.asked[0][1]["used"]) == (7, Path("less"))


def test_names_are_apart_by_commas_or_given_one_by_one(cli: Cli, jobs: Jobs) -> None:
    words = ("--privileges", "A, B", "--privileges", "C", "--operations", "none")
    assert cli("pipeline", "review", "index", "--out", "made", *words).code == 0
    assert jobs.asked[0][1]["privileges"] == ("A", "B", "C")
    assert jobs.asked[0][1]["operations"] == ("none",)


def test_for_programs_the_whole_report_is_printed(cli: Cli, jobs: Jobs) -> None:
    found = cli("pipeline", "review", "index", "--out", "made", "--format", "json")
    assert json.loads(found.out) == {"folder": "made", "new": True, **REPORT}


@pytest.mark.parametrize(
    ("error", "code"), [(Unknown("privilege", "X"), 2), (Unavailable("spark failed"), 3)]
)
def test_exit_codes_tell_bad_input_from_what_could_not_be_found_out(
    cli: Cli, jobs: Jobs, error: Exception, code: int
) -> None:
    jobs.error = error
    found = cli("pipeline", "review", "index", "--out", "made")
    assert found.code == code
    assert str(error) in found.err


def test_an_index_that_does_not_hold_now_is_told_first(cli: Cli, jobs: Jobs) -> None:
    warning = "the index holds until 2026-11-10T00:00:00+00:00"
    jobs.report = {**REPORT, "not_current": warning}
    assert cli("pipeline", "review", "index", "--out", "made").out.startswith(
        f"warning: {warning}\n"
    )
