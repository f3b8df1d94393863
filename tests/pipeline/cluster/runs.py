"""What runs on the cluster: the jobs as commands, and a run of them in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from lakewarden.cli import PIPELINE_VERBS
from lakewarden.pipeline.product import MANIFEST, folder_of, read_manifest
from lakewarden.service.system import load_system
from lakewarden.testing.worlds import Size, make
from tests.pipeline.cluster import launch
from tests.pipeline.cluster.machines import Cluster, Process, unconfigured
from tests.pipeline.index import worlds

LAUNCH: Final = str(Path(launch.__file__).resolve())
LAKE: Final = "lake"
"""The folder of the ingested directory that all jobs begin with."""
SECONDS: Final = 400


class Job(NamedTuple):
    """A verb below `lakewarden pipeline`: the folder that it reads, and its options."""

    verb: str
    source: str
    options: tuple[str, ...] = ()


ALL: Final = (
    Job("index", LAKE, ("--now", "1700000000")),
    Job("review", "index"),
)
JOBS: Final = tuple(job for job in ALL if job.verb in PIPELINE_VERBS)
INDEX: Final = JOBS[:1]


def commands(folder: Path, lake: Path, jobs: tuple[Job, ...], *more: str) -> list[str]:
    """The words that `launch` takes: each job writes below `folder` what is named after it."""
    words: list[str] = []
    for job in jobs:
        source = lake if job.source == LAKE else folder / job.source
        out = str(folder / job.verb)
        words += [launch.THEN, "pipeline", job.verb, str(source), "--out", out]
        words += [*job.options, *more]
    return words[1:]


def submitted(cluster: Cluster, lake: Path, jobs: tuple[Job, ...], folder: Path) -> Process:
    """The jobs, by `spark-submit`."""
    words = cluster.submit(LAUNCH, *commands(folder, lake, jobs))
    return Process.started(words, _log(folder), cluster.environment)


def connected(address: str, lake: Path, jobs: tuple[Job, ...], folder: Path) -> Process:
    """The jobs, by a client of a Connect server."""
    words = [sys.executable, LAUNCH, *commands(folder, lake, jobs, "--remote", address)]
    return Process.started(words, _log(folder), unconfigured())


def _log(folder: Path) -> Path:
    return folder / f"{len(list(folder.glob('*.log')))}.log"


def tables(folder: Path, jobs: tuple[Job, ...]) -> dict[str, Mapping[str, Any]]:
    """By job, the rows and digests of the tables that it wrote."""
    found = {}
    for job in jobs:
        manifest = json.loads((folder / job.verb / MANIFEST).read_text("utf-8"))
        found[job.verb] = manifest["tables"]
    return found


def masters(run: Process) -> set[str]:
    """The masters that the jobs of a run said they ran on."""
    lines, start = run.text().splitlines(), launch.RUNS_ON
    return {line.removeprefix(start) for line in lines if line.startswith(start)}


def report(out: Path, kind: str) -> Mapping[str, Any]:
    """What the run that made the newest version says of itself."""
    folder = folder_of(out, read_manifest(out, kind))
    told: Mapping[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    return told


def ended(run: Process) -> int:
    """The exit code of a run, once it is over."""
    try:
        return run.process.wait(timeout=SECONDS)
    finally:
        run.kill()


def write_lake(folder: Path) -> None:
    """An ingested directory of more than a hundred entities, with people, owners and relations."""
    system = load_system("datahub")
    size = Size(entities=160, users=10, groups=5, roles=4, statements=24, goals=12)
    worlds.directory(folder, system, make(system, 1, size).facts)
