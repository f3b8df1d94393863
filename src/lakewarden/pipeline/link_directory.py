"""A directory of links: its content, and how to write and read it. Reading needs no Spark.

    DIR/manifest.json                the current version, with a digest of its links
    DIR/versions/N/links/*.parquet   both ends of each link, and the rule that made it
    DIR/versions/N/report.json       what was linked, and what was not; for people

A writer makes a version beside the others and switches the manifest last: readers see the old
version or the new one. Equal links make no new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import pyarrow as pa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.directory_manifest import count
from lakewarden.pipeline.next_version import NextVersion, next_version, sweep_scratch
from lakewarden.pipeline.storage.files import parquet_files, remove_tree
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.parquet import read_table, write_table
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import (
    LOCK,
    MANIFEST,
    NEW,
    REPORT,
    VERSIONS,
    folder_of,
)
from lakewarden.service.link import Asset, Link, link

FORMAT: Final = 1
KIND: Final = "links"
COLUMNS: Final = (
    *("one_realm", "one_type", "one_name", "other_realm", "other_type", "other_name", "rule"),
)

_SCRATCH: Final = ".scratch"

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """A realm whose entities were linked: its model, and the digest of its entities."""

    realm: str
    model: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a directory; holds no time: the same input gives the same manifest."""

    keeper: str
    rules: str
    version: int
    inputs: tuple[Input, ...]
    rows: int
    sha256: str

    def text(self) -> str:
        """The file's text."""
        table = {"format": FORMAT, "kind": KIND, **asdict(self)}
        return json.dumps(table, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Linked:
    """A directory that was read."""

    manifest: Manifest
    rows: Sequence[Row]

    def links(self, realms: Container[str]) -> Iterator[tuple[Link, str]]:
        """The links between these realms, with their keeper."""
        for one_realm, one_type, one_name, realm, type, name, _ in self.rows:
            if one_realm in realms and realm in realms:
                first = Asset(one_realm, Entity(one_type, one_name))
                yield link(first, Asset(realm, Entity(type, name))), self.manifest.keeper


def is_links(path: Location) -> bool:
    """Whether the manifest of a directory says that it holds links."""
    try:
        data = json.loads((path / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, Mapping) and data.get("kind") == KIND


def read(path: Location) -> Linked:
    """The links of a directory. Raises `BadInput` if it holds none or is damaged."""
    manifest = read_manifest(path)
    rows = rows_of(folder_of(path, manifest) / KIND)
    if (len(rows), digest(rows)) != (manifest.rows, manifest.sha256):
        raise BadInput("the links differ from what the manifest says", where=str(path))
    return Linked(manifest, rows)


def read_manifest(path: Location) -> Manifest:
    """The manifest of a directory; raises `BadInput` if there is none of this format."""
    file = path / MANIFEST
    if not is_links(path):
        raise BadInput("no directory of links", where=str(path))
    section = Section(json.loads(file.read_text("utf-8")), str(file))
    section.take("kind")
    if section.take("format") != FORMAT:
        raise BadInput(f"expected the number {FORMAT}", where=section.at("format"))
    version, rows = (count(section, key) for key in ("version", "rows"))
    inputs = []
    for table in section.tables("inputs"):
        inputs.append(Input(table.text("realm"), table.text("model"), table.text("sha256")))
        table.close()
    manifest = Manifest(
        keeper=section.text("keeper"),
        rules=section.text("rules"),
        version=version,
        inputs=tuple(inputs),
        rows=rows,
        sha256=section.text("sha256"),
    )
    section.close()
    return manifest


def rows_of(folder: Location) -> list[Row]:
    """The rows of a written table, in the order of its files."""
    rows: list[Row] = []
    for file in parquet_files(folder):
        try:
            table = read_table(file)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].lower()
            raise BadInput(f"cannot be read: {reason}", where=str(file)) from None
        if table.schema.names != list(COLUMNS):
            raise BadInput(f"expected the columns {', '.join(COLUMNS)}", where=str(file))
        rows += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return rows


def write_rows(rows: Sequence[Row], folder: Location) -> None:
    """Writes rows to a new folder in the format that `rows_of` reads."""
    folder.mkdir(parents=True)
    columns = [pa.array([row[at] for row in rows], pa.string()) for at in range(len(COLUMNS))]
    write_table(pa.table(columns, names=list(COLUMNS)), folder / "part-0.parquet")


def digest(rows: Sequence[Row]) -> str:
    """SHA-256 over the rows in their order."""
    hasher = hashlib.sha256()
    for row in rows:
        hasher.update(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class LinkDraft:
    """The next version of a directory; `previous` is the current manifest."""

    out: Location
    previous: Manifest | None
    new: NextVersion

    @property
    def scratch(self) -> Location:
        """A folder that is removed after the run."""
        return self.new.scratch(_SCRATCH)

    @property
    def links(self) -> Location:
        """The folder that the links are written to."""
        return self.new.folder / KIND

    def finish(self, manifest: Manifest, report: Mapping[str, Any]) -> tuple[Manifest, bool]:
        """The current manifest, and whether it is a new one."""
        before = self.previous
        if before is not None and before == replace(manifest, version=before.version):
            return before, False
        manifest = replace(manifest, version=self.new.number)
        text = json.dumps({"version": manifest.version, **report}, indent=2, ensure_ascii=False)
        (self.new.folder / REPORT).write_text(text + "\n", "utf-8")
        self.new.publish(manifest.text())
        sweep_scratch(self.out, _SCRATCH, manifest.version)
        return manifest, True


@contextmanager
def draft(out: Location) -> Iterator[LinkDraft]:
    """A draft of the next version of a directory, which is created if missing.

    Raises `BadInput` if the folder holds something else, `Conflict` if another process works on it.
    """
    if out.exists() and not is_links(out):
        ours = {VERSIONS, NEW, _SCRATCH, LOCK}
        if not out.is_dir() or {file.name for file in out.iterdir()} - ours:
            raise BadInput("expected an empty folder, or one of links", where=str(out))
    with next_version(out) as new:
        link_draft = LinkDraft(out, read_manifest(out) if is_links(out) else None, new)
        _sweep(link_draft)
        link_draft.scratch.mkdir()
        new.folder.mkdir()
        try:
            yield link_draft
        finally:
            _sweep(link_draft)


def _sweep(link_draft: LinkDraft) -> None:
    remove_tree(link_draft.scratch, ignore_errors=True)
    if not isinstance(link_draft.new.folder, RemotePath):  # there the version is written in place
        remove_tree(link_draft.new.folder, ignore_errors=True)
