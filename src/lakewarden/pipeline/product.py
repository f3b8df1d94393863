"""The output of a job: a folder with versions, and a manifest that names the current one.

    OUT/manifest.json                  kind, version, inputs, options, tables, files with digests
    OUT/versions/N/TABLE/*.parquet     the tables
    OUT/versions/N/report.json         the run report; for people
    OUT/.work/KEY/                     finished stages of a run that was interrupted

A version is made beside the others, and the manifest is switched last: readers see the old version
or the new one, and a job that fails leaves the old one. A run with the same inputs and options as
an interrupted one reuses the stages that had finished. Equal content makes no new version.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from lakewarden import __version__
from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.file_digests import file_digests
from lakewarden.pipeline.ingest.source import Progress
from lakewarden.pipeline.next_version import NextVersion, next_version, sweep_work
from lakewarden.pipeline.storage.files import (
    entries,
    files_below,
    link_or_copy,
    name_below,
    remove_tree,
    write_atomically,
)
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import (
    LOCK,
    MANIFEST,
    NEW,
    REPORT,
    VERSIONS,
    folder_of,
    numbers,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMAT: Final = 1
_WORK, _DONE = ".work", ".done.json"
_SWEPT: Final = "swept-"


class Content(NamedTuple):
    """The number of rows of a table, and a digest that does not depend on their order."""

    rows: int
    digest: str


class Input(NamedTuple):
    """An input that was read: its name, its version, and the digest of its manifest."""

    name: str
    version: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of the folder; holds no time: the same input gives the same manifest.

    `facts` are further values that readers need. `files` are the digests of the bytes of every file
    of the version.
    """

    kind: str
    version: int
    inputs: tuple[Input, ...]
    options: Mapping[str, str]
    facts: Mapping[str, Any]
    tables: Mapping[str, Content]
    files: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The file's text."""
        table = {
            "format": FORMAT,
            **asdict(self),
            "inputs": [input._asdict() for input in self.inputs],
            "tables": {name: content._asdict() for name, content in self.tables.items()},
        }
        return json.dumps(table, indent=2, ensure_ascii=False, sort_keys=True) + "\n"

    def says_as(self, other: Manifest) -> bool:
        """Whether both have the same content, even if their files differ."""
        return replace(self, version=0, files={}) == replace(other, version=0, files={})


def read_manifest(out: Location, kind: str) -> Manifest:
    """The manifest of a folder. Raises `BadInput` if it has another kind or format."""
    file = out / MANIFEST
    try:
        data = json.loads(file.read_text("utf-8"))
    except OSError:
        raise BadInput(f"no {kind}: `{MANIFEST}` is missing", where=str(out)) from None
    except (ValueError, RecursionError):
        raise BadInput("expected JSON", where=str(file)) from None
    section = Section(data, str(file))
    actual = section.take("kind")
    if actual != kind:
        raise BadInput(f"expected a folder of the kind `{kind}`", where=section.at("kind"))
    if section.take("format") != FORMAT:
        message = f"expected the number {FORMAT}; make it anew"
        raise BadInput(message, where=section.at("format"))
    try:
        return Manifest(
            kind=kind,
            version=int(data["version"]),
            inputs=tuple(Input(**input) for input in data["inputs"]),
            options=dict(data["options"]),
            facts=dict(data["facts"]),
            tables={name: Content(**content) for name, content in data["tables"].items()},
            files=dict(data["files"]),
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise BadInput(f"is damaged: {error}", where=str(file)) from None


def check_files(out: Location, manifest: Manifest, spark: SparkSession | None = None) -> None:
    """Raises `BadInput` for a file of the version that is missing, or differs from its digest.

    `spark` computes the digests of many files, if it runs on other machines.
    """
    folder = folder_of(out, manifest)
    files = [folder / name for name in manifest.files]
    for file in files:
        if not file.is_file():
            raise BadInput("is missing; make the version anew", where=str(file))
    digests = file_digests(folder, list(manifest.files), spark)
    for file, sha256, expected in zip(files, digests, manifest.files.values(), strict=True):
        if sha256 != expected:
            raise BadInput("is not as it was written; make the version anew", where=str(file))


def check_present(out: Location, manifest: Manifest) -> None:
    """Raises `Conflict` if files of the version were removed.

    Removed files never come back. So if all are there after a reader has listed and read them, it
    has read the whole version.
    """
    folder = folder_of(out, manifest)
    names = {name_below(folder, file) for file in files_below(folder)}
    if not names.issuperset(manifest.files):
        version = f"version {manifest.version} of `{out}`"
        raise Conflict(f"{version} was removed while it was read; run the command again")


class FinishedStage(NamedTuple):
    """A finished stage: its counts, its duration, and whether an earlier run did it."""

    counts: Mapping[str, Any]
    seconds: float
    reused: bool


class VersionDraft:
    """The next version of a folder; `previous` is the current manifest."""

    def __init__(
        self, new: NextVersion, previous: Manifest | None, key: str, progress: Progress
    ) -> None:
        self.previous = previous
        self._new = new
        self.stages: dict[str, FinishedStage] = {}
        self._stage_folders: dict[str, Location] = {}
        self._work = new.work(f"{_WORK}/{key}")
        self._progress = progress

    @property
    def folder(self) -> Location:
        """The folder that the version is written to."""
        return self._new.folder

    def stage_folder(self, stage: str) -> Location:
        """The folder of a finished stage, with the outputs that the next run may reuse."""
        return self._stage_folders[stage]

    def stage(
        self, name: str, make: Callable[[Location], Mapping[str, Any]], say: str = ""
    ) -> Mapping[str, Any]:
        """The counts of a stage; runs it in an empty folder unless an earlier run finished it.

        `say` is a format of the counts, shown when the stage is done. Each run uses a new folder:
        tasks that outlive the driver on a cluster keep writing to a folder that nobody reads.
        """
        marker = self._work / f"{name}{_DONE}"
        if marker.is_file():
            known = json.loads(marker.read_text("utf-8"))
            self._stage_folders[name] = self._work / known["folder"]
            self.stages[name] = FinishedStage(known["counts"], known["seconds"], reused=True)
            self._progress(name, 1, 1, "done by an earlier run")
            return self.stages[name].counts
        if not isinstance(self._work, RemotePath):  # another run may be working there
            for left in self._work.glob(f"{name}.*"):
                remove_tree(left, ignore_errors=True)
        folder = self._work / f"{name}.{uuid4().hex[:12]}"
        folder.mkdir(parents=True)
        self._progress(name, 0, 1, "")
        began = time.monotonic()
        counts = dict(make(folder))
        seconds = round(time.monotonic() - began, 3)
        done = {"folder": folder.name, "counts": counts, "seconds": seconds}
        write_atomically(marker, json.dumps(done))
        self._stage_folders[name] = folder
        self.stages[name] = FinishedStage(counts, seconds, reused=False)
        self._progress(name, 1, 1, say.format(**counts))
        return counts

    def finish(
        self, manifest: Manifest, report: Mapping[str, Any], spark: SparkSession | None = None
    ) -> tuple[Manifest, Mapping[str, Any], bool]:
        """The current manifest, the whole report, and whether the version is a new one.

        `spark` computes the digests of many files, if it runs on other machines.
        """
        stages = {name: (stage.seconds, stage.reused) for name, stage in self.stages.items()}
        manifest_table = {
            "inputs": [input._asdict() for input in manifest.inputs],
            "rows": {name: content.rows for name, content in manifest.tables.items()},
            "seconds": {name: seconds for name, (seconds, _) in stages.items()},
            "reused": [name for name, (_, reused) in stages.items() if reused],
            **report,
        }
        before = self.previous
        if before is not None and before.says_as(manifest):
            return before, {"version": before.version, **manifest_table}, False
        number = self._new.number
        manifest = replace(manifest, version=number, files=self._files(spark))
        manifest_table = {"version": number, **manifest_table}
        write_atomically(
            self.folder / REPORT, json.dumps(manifest_table, indent=2, ensure_ascii=False) + "\n"
        )
        self._new.publish(manifest.text())
        return manifest, manifest_table, True

    def _files(self, spark: SparkSession | None) -> dict[str, str]:
        names = [name_below(self.folder, file) for file in files_below(self.folder)]
        return dict(zip(names, file_digests(self.folder, names, spark), strict=True))


def remove_tables_of_old_versions(out: Location, newest: Manifest, keep: int) -> None:
    """Removes the tables of all versions but the last `keep`; their reports stay.

    The caller must hold the draft of the folder.
    """
    old: list[list[Location]] = []
    versions = 0
    for number in sorted(numbers(out), reverse=True):
        files = entries(out / VERSIONS / str(number))
        tables = [file for file in files if file.name != REPORT]
        # Numbers of writers that failed have no report; a writer may have begun a later one.
        if number > newest.version or len(tables) == len(files):
            continue
        versions += 1
        if versions <= keep:
            continue
        if not tables:
            break  # an earlier run removed those before
        old.append(tables)
    # The oldest first: after a kill, no complete version is older than a removed one.
    for tables in reversed(old):
        for file in tables:
            remove_tree(file) if file.is_dir() else file.unlink()


def place(source: Location, where: Location) -> None:
    """Links or copies a file, or the files of a folder, into the version; the stage keeps them."""
    if source.is_dir():
        where.mkdir(parents=True, exist_ok=True)
        for file in entries(source):
            place(file, where / file.name)
        return
    if isinstance(source, RemotePath) and not source.is_file():
        return  # an object store has no empty folders
    link_or_copy(source, where)


def sha256_of(text: str) -> str:
    """The digest of a text, even of one that is not valid Unicode."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_of(inputs: tuple[Input, ...], options: Mapping[str, str], *more: str) -> str:
    """A key for a run: its inputs, its options and the release."""
    text = json.dumps([__version__, inputs, sorted(options.items()), more])
    return sha256_of(text)[:24]


@contextmanager
def draft(out: Location, kind: str, key: str, progress: Progress) -> Iterator[VersionDraft]:
    """A draft of the next version of a folder, which is created if missing.

    Stages that a run of the same `key` finished are reused. Those of other runs are swept, and all
    of them once the version is made. Raises `BadInput` if the folder holds something else,
    `Conflict` if another process works on it.
    """
    if _previous(out, kind) is None and out.exists():
        ours = {VERSIONS, NEW, _WORK, LOCK}
        if not out.is_dir() or {file.name for file in out.iterdir()} - ours:
            raise BadInput(f"expected an empty folder, or one of the kind `{kind}`", where=str(out))
    with next_version(out) as new:
        previous = _previous(out, kind)  # the manifest may have changed meanwhile
        version_draft = VersionDraft(new, previous, key, progress)
        if not isinstance(out, RemotePath):
            _sweep(out, keep=key)
            _sweep_versions(out, previous)
        version_draft.folder.mkdir()
        yield version_draft
        if isinstance(out, RemotePath):
            with suppress(Unavailable):  # the next run sweeps
                sweep_work(out, _WORK)
        else:
            _sweep(out, keep=None)


def _previous(out: Location, kind: str) -> Manifest | None:
    return read_manifest(out, kind) if (out / MANIFEST).exists() else None


def _sweep_versions(out: Path, newest: Manifest | None) -> None:
    """Removes versions newer than the current one: their runs were interrupted."""
    for folder in (out / VERSIONS).glob("*"):
        if folder.name.isdecimal() and int(folder.name) > (newest.version if newest else 0):
            remove_tree(folder, ignore_errors=True)


def _sweep(out: Path, keep: str | None) -> None:
    remove_tree(out / NEW, ignore_errors=True)
    for folder in (out / _WORK).glob("*"):
        if folder.name != keep:
            # The rename invalidates all stages atomically: a kill in between must not leave the
            # marker of a stage whose files are gone.
            swept = folder.with_name(f"{_SWEPT}{uuid4().hex}")
            folder.rename(swept)
            remove_tree(swept, ignore_errors=True)
