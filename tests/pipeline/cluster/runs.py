"""Jobs for the cluster as commands, and their runs in a separate process."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import lakewarden
from lakewarden.pipeline.product import read_manifest
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.pipeline.cluster import launch
from tests.pipeline.cluster.machines import Cluster, Process, unconfigured
from tests.pipeline.index import worlds
from tests.pipeline.stream.followed import write_followed

LAUNCH: Final = str(Path(launch.__file__).resolve())
LAKE: Final = "lake"
"""The folder of the ingested directory that the jobs read first."""
FOLLOWED: Final = "followed"
"""The folder next to it, with an index and the change feed for it."""
SECONDS: Final = 900


class Job(NamedTuple):
    """A verb below `lakewarden pipeline`: the folder that it reads, and its options.

    `onto` is the option for the output folder, which is named after the verb.
    """

    verb: str
    source: str
    options: tuple[str, ...] = ()
    onto: str = "--out"


INDEX: Final = (Job("index", LAKE, ("--now", "1700000000")),)
_ASKED: Final = ("--privileges", "VIEW_ENTITY_PAGE,EDIT_ENTITY_TAGS", "--operations", "none")
JOBS: Final = (*INDEX, Job("review", "index", _ASKED))
REVIEW: Final = (*INDEX, Job("review", "index"))
"""A review of everything."""
EXPORT: Final = (*INDEX, Job("export", "index"))
STREAM: Final = (Job("stream", f"{FOLLOWED}/feed", ("--now", str(NOW)), "--index"),)
_GIVEN: Final = (LAKE, FOLLOWED)


def commands(folder: Path, lake: Path, jobs: tuple[Job, ...], *more: str) -> list[str]:
    """The arguments of `launch`: each job writes below `folder`, to a folder named after it."""
    words: list[str] = []
    for job in jobs:
        source = (lake.parent if job.source.startswith(_GIVEN) else folder) / job.source
        out = str(folder / job.verb)
        words += [launch.THEN, "pipeline", job.verb, str(source), job.onto, out]
        words += [*job.options, *more]
    return words[1:]


def ready(folder: Path, lake: Path, jobs: tuple[Job, ...]) -> None:
    """Puts the jobs' inputs into the folder, if they are missing."""
    for job in jobs:
        if job.onto == "--index" and not (folder / job.verb).exists():
            if not (lake.parent / FOLLOWED).exists():
                write_followed(lake.parent / FOLLOWED)
            shutil.copytree(lake.parent / FOLLOWED / "index", folder / job.verb)


def submitted(cluster: Cluster, lake: Path, jobs: tuple[Job, ...], folder: Path) -> Process:
    """The jobs, by `spark-submit`."""
    ready(folder, lake, jobs)
    words = cluster.submit(LAUNCH, *commands(folder, lake, jobs))
    return Process.started(words, _log(folder), cluster.environment)


def submitted_whole(cluster: Cluster, lake: Path, jobs: tuple[Job, ...], folder: Path) -> Process:
    """Like `submitted`, but this package is only available from an archive like a wheel."""
    archive = folder / "lakewarden.zip"
    root = Path(lakewarden.__file__).parent
    with zipfile.ZipFile(archive, "w") as wheel:
        for file in root.rglob("*"):
            wheel.write(file, file.relative_to(root.parent))
    ready(folder, lake, jobs)
    words = cluster.submit("--py-files", str(archive), LAUNCH, *commands(folder, lake, jobs))
    bare = {"PYSPARK_DRIVER_PYTHON": cluster.environment["PYSPARK_PYTHON"]}
    return Process.started(words, _log(folder), cluster.environment | bare)


def told(cluster: Cluster, lake: Path, jobs: tuple[Job, ...], folder: Path) -> Process:
    """One job, with the master's address as an option."""
    words = [sys.executable, LAUNCH, *commands(folder, lake, jobs, "--master", cluster.address)]
    return Process.started(words, _log(folder), cluster.configured())


def connected(address: str, lake: Path, jobs: tuple[Job, ...], folder: Path) -> Process:
    """The jobs, by a client of a Connect server."""
    ready(folder, lake, jobs)
    words = [sys.executable, LAUNCH, *commands(folder, lake, jobs, "--remote", address)]
    return Process.started(words, _log(folder), unconfigured())


def _log(folder: Path) -> Path:
    return folder / f"{len(list(folder.glob('*.log')))}.log"


def tables(folder: Path, jobs: tuple[Job, ...]) -> dict[str, Mapping[str, Any]]:
    """The rows and digests of each job's tables."""
    found = {}
    for job in jobs:
        manifest = json.loads((folder / job.verb / MANIFEST).read_text("utf-8"))
        found[job.verb] = manifest["tables"]
    return found


def as_here(run: Process, folder: Path, made: Path, jobs: tuple[Job, ...]) -> None:
    """Asserts that the run succeeds, with the same results as the jobs on this machine alone."""
    assert ended(run) == 0, run.text()
    assert tables(folder, jobs) == tables(made, jobs)


def masters(run: Process) -> set[str]:
    """The masters that the jobs of a run reported."""
    lines, start = run.text().splitlines(), launch.RUNS_ON
    return {line.removeprefix(start) for line in lines if line.startswith(start)}


def report(out: Path, kind: str) -> Mapping[str, Any]:
    """The report of the run that made the newest version."""
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
    """An ingested directory of some dozens of entities, with people, owners and relations."""
    system = load_system("datahub")
    size = Size(entities=60, users=10, groups=5, roles=4, statements=24, goals=12)
    worlds.directory(folder, system, make(system, 1, size).facts)
