"""The job that names who can see, read and change what, from the tables of an export.

unroll    people by class and by ownership, changes, combinations; the tables
write     the CSV files and the page
publish   make the version the current one
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.model import WAYS, Model
from lakewarden.models import own
from lakewarden.pipeline.access.combinations import Combination, check_names, read_combinations
from lakewarden.pipeline.access.database import Database, Inputs, translate_out_of_space
from lakewarden.pipeline.access.page import Limit, page
from lakewarden.pipeline.access.schemas import (
    ACCESS,
    BY_OWNER,
    BY_TAG,
    CHANGES,
    COMBINATIONS,
    JOINERS_LEAVERS,
    NEVER_USED,
    SCHEMAS,
    TOXIC,
)
from lakewarden.pipeline.access.split_files import put_csv, put_parquet
from lakewarden.pipeline.export.run import KIND as EXPORT
from lakewarden.pipeline.index.validity import currency, end_of
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import Counts, Job, Result, Stage
from lakewarden.pipeline.product import Input, Manifest, check_files, read_manifest, sha256_of
from lakewarden.pipeline.review.labels import Sensitive
from lakewarden.pipeline.storage.files import local_copy, local_copy_back
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KIND: Final = "access"
REPORT: Final = "access.html"
SPREADSHEETS: Final = "csv"

PAIRS: Final = ("all", "sensitive", "none")
"""The assets for which the table `access`, and the lists by tag and owner, name every person."""

MOST_PAIRS: Final = 5_000_000
"""With more rows of that table, the job ends, unless the caller raises the limit."""

ROWS_PER_FILE: Final = 250_000
"""Rows of a CSV file: as many as common spreadsheets open at once."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options: `pairs` is one of `PAIRS`, `most` its limit; `combinations` a TOML file."""

    pairs: str = "all"
    most: int = MOST_PAIRS
    rows_per_file: int = ROWS_PER_FILE
    sensitive: Iterable[str] | None = None
    combinations: Path | None = None

    def check(self) -> None:
        """Raises `BadInput` for an invalid value."""
        if self.pairs not in PAIRS:
            raise BadInput(f"expected one of: {', '.join(PAIRS)}", where="--pairs")
        for name, number in (("--most", self.most), ("--rows-per-file", self.rows_per_file)):
            if number < 1:
                raise BadInput(f"expected 1 or more, got {number}", where=name)


def make_access(
    source: Location,
    out: Location,
    options: Options,
    *,
    spark: SparkSession,
    used: Location | None = None,
    before: Location | None = None,
    progress: Progress = silent,
) -> Result:
    """Names who can see, read and change what, from the export `source`, in the folder `out`.

    `used` is the output of the job `unused` for the same index, `before` an earlier output of this
    job. If `before` is `out` and holds no version yet, nothing is compared. Raises `BadInput` for a
    damaged folder, for one of another realm or index, and for a name that does not exist;
    `LimitExceeded` for more pairs than `options.most`; `Unavailable` without DuckDB; `Conflict` if
    another process works on `out`. `out` is then unchanged.
    """
    options.check()
    if before == out and not (out / MANIFEST).exists():
        before = None
    labels = Sensitive(options.sensitive)
    export = _opened(source, EXPORT)
    system = _system(export, source)
    others = [
        (name, folder, _opened(folder, kind))
        for name, folder, kind in (("--used", used, "unused"), ("--before", before, KIND))
        if folder is not None
    ]
    for name, folder, manifest in others:
        _check_realm(manifest, export, name)
        if folder == used and not set(manifest.inputs) & set(export.inputs):
            message = "was made from another index; run `lakewarden pipeline unused` with this one"
            raise BadInput(message, where=name)
    inputs = (
        _input(EXPORT, export),
        *(_input(manifest.kind, manifest) for _, _, manifest in others),
    )
    asked = {
        "pairs": options.pairs,
        "rows_per_file": str(options.rows_per_file),
        "sensitive": " ".join(labels.terms),
        "combinations": _digest(options.combinations),
    }
    folders = {"": folder_of(source, export)}
    folders |= {name: folder_of(folder, manifest) for name, folder, manifest in others}
    job = Job(KIND, out, tuple(SCHEMAS), spark, inputs, asked, progress)
    job.without_spark = True
    realm, end = str(export.facts["realm"]), end_of(export.facts)
    reporting = _Reporting(job, folders, system.model, labels, options, realm, end)
    names = ("realm", "revision", "model", "settings", "digest", "from", "until")
    facts = {name: export.facts[name] for name in names}
    return job.run(
        STAGES,
        reporting,
        facts=lambda: {**facts, **reporting.facts()},
        report=lambda: currency(facts),
    )


def _opened(folder: Location, kind: str) -> Manifest:
    manifest = read_manifest(folder, kind)
    if kind == KIND and not set(SCHEMAS) <= set(manifest.tables):
        message = "was made by an earlier release; leave out --before once"
        raise BadInput(message, where=str(folder))
    check_files(folder, manifest)
    return manifest


def _system(manifest: Manifest, folder: Location) -> System:
    facts = manifest.facts
    text = own.of_table(facts.get("model_text"), str(folder))
    system = load_system(str(facts["model"]), dict(facts["settings"]), text)
    if system.model.digest != facts["digest"]:
        message = f"was made under another version of the model `{system.model.name}`"
        raise BadInput(f"{message}; rebuild the index and export again", where=str(folder))
    return system


def _check_realm(manifest: Manifest, export: Manifest, option: str) -> None:
    realm, expected = manifest.facts.get("realm"), export.facts["realm"]
    if realm != expected:
        raise BadInput(f"is of the realm `{realm}`, the export of `{expected}`", where=option)


def _input(name: str, manifest: Manifest) -> Input:
    return Input(name, manifest.version, sha256_of(manifest.text()))


def _digest(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot be read: {reason}", where=str(file)) from None


@dataclass(frozen=True)
class _Reporting:
    """The state that the stages share."""

    job: Job
    folders: Mapping[str, Location]
    model: Model
    labels: Sensitive
    options: Options
    realm: str
    end: str

    def facts(self) -> dict[str, Any]:
        """The value that readers and exit codes need: how many people have a toxic combination."""
        return {"toxic": self.job.counts("unroll")["toxic"]}

    def unroll(self, place: Location) -> Counts:
        with ExitStack() as stack:
            # DuckDB reads and spills on the local machine.
            folders = {n: stack.enter_context(local_copy(one)) for n, one in self.folders.items()}
            inputs = Inputs(
                folders[""],
                self.model,
                self.labels,
                unused=folders.get("--used"),
                earlier=folders.get("--before"),
            )
            with translate_out_of_space():
                return self._unroll(inputs, stack.enter_context(local_copy_back(place)))

    def _unroll(self, inputs: Inputs, folder: Path) -> Counts:
        spill = folder / "spill"
        database = Database(inputs, spill)
        try:
            return self._tables(database, folder)
        finally:
            database.close()
            shutil.rmtree(spill, ignore_errors=True)

    def _tables(self, database: Database, folder: Path) -> Counts:
        database.unroll(self._combinations(database))
        count = database.pairs(self.options.pairs)
        if count > self.options.most:
            raise LimitExceeded(
                f"{count:,} pairs of a person and an asset are more than --most"
                f" {self.options.most:,}; choose --pairs sensitive or none: the lists"
                " of people that `assets` leads to name everybody in any case"
            )
        return {
            name: put_parquet(database.table(name), SCHEMAS[name], folder / name)
            for name in SCHEMAS
        }

    def _combinations(self, database: Database) -> list[Combination]:
        file = self.options.combinations
        if file is None:
            return []
        combinations = read_combinations(
            file, frozenset(w for w in WAYS if self.model.access.get(w))
        )
        check_names(combinations, database.exists)
        return combinations

    def _limits(self) -> dict[str, Limit]:
        """The limits of incomplete tables: a table not requested must not read as "nobody"."""
        limits: dict[str, Limit] = {}
        if "--before" not in self.folders:
            limits |= dict.fromkeys((CHANGES, JOINERS_LEAVERS), Limit("See --before."))
        if "--used" not in self.folders:
            limits[NEVER_USED] = Limit("See --used.")
        if self.options.combinations is None:
            limits |= dict.fromkeys((TOXIC, COMBINATIONS), Limit("See --toxic."))
        if self.options.pairs == "none":
            limits |= dict.fromkeys((ACCESS, BY_TAG, BY_OWNER), Limit("See --pairs."))
        if self.options.pairs == "sensitive":
            sensitive = Limit("Sensitive assets alone.", is_asked=True)
            limits |= dict.fromkeys((ACCESS, BY_TAG, BY_OWNER), sensitive)
        return limits

    def write(self, place: Location) -> Counts:
        with local_copy(self.job.folder("unroll")) as source, local_copy_back(place) as folder:
            spreadsheets = folder / SPREADSHEETS
            spreadsheets.mkdir()
            rows = self.options.rows_per_file
            count = sum(put_csv(source / name, spreadsheets, name, rows) for name in SCHEMAS)
            sizes = self.job.counts("unroll")
            text = page(source, sizes, self.realm, self.end, self._limits())
            (folder / REPORT).write_text(text, "utf-8")
        return {"files": count + 1}


STAGES: Final = (
    Stage(
        "unroll",
        (),
        _Reporting.unroll,
        tuple(SCHEMAS),
        f"{{assets:,}} assets, {{{ACCESS}:,}} pairs, {{changes:,}} changes, {{toxic:,}} toxic",
    ),
    Stage("write", ("unroll",), _Reporting.write, (SPREADSHEETS, REPORT), "{files} files to read"),
)
