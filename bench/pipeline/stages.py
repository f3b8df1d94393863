"""The stages of a cell: the commands to run in sequence, and the cost of each.

A stage is a verb of `lakewarden pipeline`, or a module of this package where there is no verb. A
stage whose verb does not exist yet is skipped with a note, and so is one that needs its output.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.pipeline import happening, opening
from bench.pipeline.measure import Run, run
from lakewarden.cli import PIPELINE_VERBS

REPORT = "report.json"
"""The report of a job about its run, in a folder of its output."""

_VERSION = frozenset({"versions", "1"})
"""The folders of all tables of a first version."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One measured command.

    In `arguments`, `{world}` is the ingested directory, `{tables}` its newest version, `{model}`
    its model, `{out}` the output of this stage, and `{index}` (or the name of any other stage) the
    output of that one. `settings`: the model's settings are passed, too. `module` is run instead of
    a verb. `needs` are stages whose output is read; `worlds` the kinds with this stage. `answers`
    are the exit codes of a complete run.
    """

    name: str
    arguments: tuple[str, ...]
    verb: str = ""
    module: str = ""
    needs: tuple[str, ...] = ()
    settings: bool = False
    worlds: tuple[str, ...] = ("grants", "attributes")
    answers: tuple[int, ...] = (0,)

    def missing(self) -> str:
        """Why the stage cannot run at all; empty if it can."""
        if self.verb and self.verb not in PIPELINE_VERBS:
            return f"there is no `lakewarden pipeline {self.verb}` yet"
        if self.module and self.module in _READ_INDEXES and not opening.can_read():
            return f"there is no `{opening.INDEX}` yet"
        return ""

    def command(self, places: Mapping[str, str], settings: Mapping[str, str]) -> list[str]:
        """The whole command line."""
        start = [sys.executable, "-m", self.module]
        if self.verb:
            start = [sys.executable, "-m", "lakewarden.cli", "pipeline", self.verb]
        given = [f"--setting={name}={value}" for name, value in sorted(settings.items())]
        words = [argument.format_map(places) for argument in self.arguments]
        return [*start, *words, *(given if self.settings else [])]


_READ_INDEXES = {opening.__name__, happening.__name__}

_LOG = f"usage:{{happening}}/{happening.USAGE}"

_ONE = ("--privileges", "VIEW_ENTITY_PAGE", "--operations", "none")
"""One question only: where nearly every entity is a class of its own, it already fills a table."""

STAGES: tuple[Stage, ...] = (
    Stage("index", ("{world}", "--out", "{out}"), verb="index"),
    Stage("snapshot", ("{index}",), module=opening.__name__, needs=("index",)),
    Stage("review", ("{index}", "--out", "{out}"), verb="review", needs=("index",)),
    Stage("happening", ("{index}", "{out}"), module=happening.__name__, needs=("index",)),
    Stage(
        "diff",
        ("{index}", "--statements", f"{{happening}}/{happening.POLICY}", "--out", "{out}"),
        verb="diff",
        needs=("index", "happening"),
        answers=(0, 1),
    ),
    Stage(
        "unused",
        ("{index}", "--log", _LOG, "--days", "90", "--out", "{out}"),
        verb="unused",
        needs=("index", "happening"),
        answers=(0, 1),
    ),
    Stage("lint", ("{index}", "--out", "{out}"), verb="lint", needs=("index",), answers=(0, 1)),
    Stage(
        "export",
        ("{index}", "--out", "{out}"),
        verb="export",
        needs=("index",),
        worlds=("grants",),
    ),
    Stage(
        "export one",
        ("{index}", "--out", "{out}", *_ONE, "--classes", "1000000"),
        verb="export",
        needs=("index",),
        worlds=("attributes",),
    ),
    Stage(
        "stream",
        (f"{{happening}}/{happening.FEED}", "--index", "{index}", "--format", "json"),
        verb="stream",
        needs=("index", "happening"),
    ),
)
"""The stages of a run unless the caller names some, in order; the last one changes the index."""

INGEST = Stage(
    "ingest",
    ("{tables}", "--source", "parquet", "--model", "{model}", "--out", "{out}"),
    verb="ingest",
    settings=True,
)
"""Ingests the generated tables again, with all checks: only if it is named."""

EVERY = {stage.name: stage for stage in (INGEST, *STAGES)}


def chosen(names: Sequence[str]) -> tuple[Stage, ...]:
    """The stages of these names, and the stages they need; by default those of every run."""
    if not names:
        return STAGES
    wanted = set(names)
    for stage in reversed(STAGES):
        if stage.name in wanted:
            wanted |= set(stage.needs)
    return tuple(stage for stage in EVERY.values() if stage.name in wanted)


Figures = dict[str, Any]


def measured(
    stage: Stage, places: Mapping[str, str], settings: Mapping[str, str], out: Path
) -> Figures:
    """The cost of the stage: seconds, peaks, bytes written, and the job's own report.

    `job_s` is the sum of the seconds in the job's own report, without the start of Python and
    Spark.
    """
    before = os.getloadavg()[0]
    taken = run(stage.command({**places, "out": str(out)}, settings))
    figures: Figures = {
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
        "peak_rss_mib": taken.peak.rss_mib,
        "peak_pss_mib": taken.peak.pss_mib,
        "load_before": before,
        "load_after": os.getloadavg()[0],
    }
    if taken.code not in stage.answers:
        return {**figures, "failed": f"exit code {taken.code}: {_last(taken)}"}
    return {**figures, **_written(out), **_told(out, taken)}


def _last(taken: Run) -> str:
    lines = taken.said.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _written(out: Path) -> Figures:
    """Bytes of the output, in total and by table, without hidden files, which are not read."""
    sizes: dict[str, int] = {}
    for file in out.rglob("*") if out.exists() else ():
        parts = file.relative_to(out).parts
        if file.is_file() and not any(part.startswith(".") for part in parts):
            key = "/".join(part for part in parts[:-1] if part not in _VERSION) or parts[-1]
            sizes[key] = sizes.get(key, 0) + file.stat().st_size
    return {"bytes": sum(sizes.values()), "bytes_of": dict(sorted(sizes.items()))}


def _told(out: Path, taken: Run) -> Figures:
    """The job's own report: the newest in its output, or its printed JSON."""
    reports = sorted(out.rglob(REPORT), key=lambda file: file.stat().st_mtime)
    text = reports[-1].read_text("utf-8") if reports else taken.printed
    try:
        table = json.loads(text)
    except ValueError:
        return {}
    seconds = table.get("seconds") if isinstance(table, dict) else None
    if isinstance(seconds, dict):
        return {"job_s": sum(seconds.values()), "steps_s": seconds}
    return {"job_s": seconds} if isinstance(seconds, int | float) else {}
