"""A full disk: a job reports it with a remedy, and the published version stays."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from lakewarden.cli import main
from lakewarden.pipeline.ingest.version import DirectoryDraft
from tests.pipeline.faults import estate
from tests.pipeline.faults.estate import FIRST, JOBS

_OWN_MOUNTS = ("unshare", "--map-root-user", "--mount")


def failures(which: str) -> dict[str, int]:
    """The number of failures of each job, by its output folder."""
    if subprocess.run([*_OWN_MOUNTS, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a file system of their own")
    run = subprocess.run(
        [*_OWN_MOUNTS, sys.executable, "-m", "tests.pipeline.faults.full_disk", which],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-5_000:]
    found: dict[str, int] = json.loads(run.stdout.splitlines()[-1])
    return found


def test_a_full_disk_leaves_the_version_that_counts() -> None:
    found = failures("first")
    assert set(found) == {job.out for job in FIRST}
    assert min(found.values()) >= 2, found


@pytest.mark.nightly
@pytest.mark.spark
def test_a_full_disk_leaves_the_version_that_counts_in_every_job() -> None:
    found = failures("all")
    assert set(found) == {job.out for job in JOBS}
    assert min(found.values()) >= 2, found


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_job_among_others_says_what_to_do(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    unstarted: object,
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, "as the library says", str(tmp_path / "table"))

    estate.write(tmp_path, 1)
    monkeypatch.setattr(DirectoryDraft, "put", full)
    words = FIRST[0].arguments(tmp_path)
    assert main([*words, "+", "index", "x", "--out", "y"]) == 3
    (said,) = [s for s in capsys.readouterr().err.splitlines() if s.startswith("lakewarden: ")]
    assert said.startswith(f"lakewarden: job 1 (ingest): {tmp_path / 'table'}: ")
    assert said.endswith("; make room and run the command again")
