"""A version of a directory while it is being written.

All files go to folders that no reader looks at; a rename and the switch of the manifest make the
version current. One process at a time works on a directory. Files that a killed or failed process
left behind stay for the next one, which reuses finished stages (see `stages`) and sweeps the rest.
A rejected input leaves nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput, Unavailable, WardenError
from lakewarden.pipeline.chunk_digests import content_of
from lakewarden.pipeline.directory_manifest import Content, Manifest, read_manifest
from lakewarden.pipeline.directory_statements import STATEMENT_LINES, STATEMENTS, lines_content
from lakewarden.pipeline.next_version import NextVersion, next_version, sweep_scratch
from lakewarden.pipeline.storage.files import remove_tree
from lakewarden.pipeline.storage.location import Location, written_to
from lakewarden.pipeline.storage.parquet import write_table
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.tables import arrow_schema
from lakewarden.pipeline.version_folder import (
    CURRENT,
    LOCK,
    MANIFEST,
    NEW,
    REPORT,
    VERSIONS,
    folder_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCRATCH: Final = ".scratch"
TAKEN_ALONG: Final = f"{NEW}-{STATEMENTS}"
"""Temporary folder for statements that are copied from another directory."""
_OURS = frozenset({MANIFEST, VERSIONS, STATEMENTS, TAKEN_ALONG, CURRENT, LOCK, _SCRATCH, NEW})
_GLOB = re.compile(r"([{}\[\]*?\\])")


class NotAccepted(BadInput):
    """The version is complete but does not become current: it breaks an expectation."""


@dataclass(frozen=True, slots=True)
class DirectoryDraft:
    """The next version of the directory `out`; `previous` is the current manifest."""

    out: Location
    previous: Manifest | None
    new: NextVersion

    @property
    def scratch(self) -> Location:
        """A private folder, removed at the end of a run that was not interrupted."""
        return self.new.scratch(_SCRATCH)

    @property
    def folder(self) -> Location:
        """The folder that the version is written to."""
        return self.new.folder

    def check_model(self, model: str) -> None:
        """Raises `BadInput` if the current version has another model."""
        if self.previous is not None and self.previous.model != model:
            message = f"holds a realm of the model `{self.previous.model}`"
            raise BadInput(message, where=str(self.out))

    def report_before(self) -> Mapping[str, Any] | None:
        """The report of the current version. Raises `BadInput` if it cannot be read."""
        if self.previous is None:
            return None
        file = folder_of(self.out, self.previous) / REPORT
        try:
            report: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            raise BadInput(
                "cannot be read; `--accept` goes on without it", where=str(file)
            ) from None
        return report

    def write(self, table: str, frame: DataFrame, rows: int) -> Content:
        """Writes the `rows` rows of a table in ascending order, and digests the written files."""
        place = self.folder / table
        columns = arrow_schema(table).names
        if rows:
            ordered = frame.select(*columns).orderBy(*columns)
            ordered.write.option("compression", "zstd").parquet(written_to(place))
            for file in place.iterdir():
                if file.suffix != ".parquet":
                    file.unlink()
        else:
            place.mkdir(parents=True)
            empty = arrow_schema(table).empty_table()
            write_table(empty, place / "part-00000.parquet", compression="zstd")
        return content_of(place, table, frame.sparkSession)

    def put(self, table: str, rows: Iterable[Sequence[str | None]]) -> Content:
        """Like `write`, from this process: texts are ordered by their bytes, nulls first."""
        place = self.folder / table
        place.mkdir(parents=True)
        schema = arrow_schema(table)
        ordered = sorted(rows, key=lambda row: [(cell is not None, cell or "") for cell in row])
        columns = list(zip(*ordered, strict=True)) or [()] * len(schema)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        arrow_table = pa.table(arrays, schema=schema)
        write_table(arrow_table, place / "part-00000.parquet", compression="zstd")
        return content_of(place, table)

    def write_statements(self, text: str) -> Content:
        """Writes the statements, one JSON object per line."""
        (self.folder / STATEMENT_LINES).write_text(text, "utf-8")
        return lines_content(text)

    def finish(
        self, manifest: Manifest, report: Callable[[Manifest], dict[str, object]]
    ) -> tuple[Manifest, bool]:
        """The current manifest, and whether it is a new one.

        A version that differs from the previous one only in its number is dropped.
        """
        before = self.previous
        if before is not None and before == replace(manifest, version=before.version):
            return before, False
        manifest = replace(manifest, version=self.new.number)
        text = json.dumps(report(manifest), indent=2, ensure_ascii=False) + "\n"
        (self.folder / REPORT).write_text(text, "utf-8")
        self.new.publish(manifest.text())
        sweep_scratch(self.out, _SCRATCH, manifest.version)
        return manifest, True


@contextmanager
def draft(out: Location, *, fresh: bool = False) -> Iterator[DirectoryDraft]:
    """A draft of the next version of the directory, which is created if missing.

    `fresh`: nothing is reused of what an earlier process left behind.

    Raises `BadInput` if the folder holds something else or its manifest cannot be read, and
    `Conflict` if another process works on it.
    """
    if out.exists() and not out.is_dir():
        raise BadInput("expected a folder", where=str(out))
    strangers = sorted({f.name for f in out.iterdir()} - _OURS) if out.exists() else []
    if strangers and not (out / MANIFEST).is_file():
        message = f"holds `{strangers[0]}` and no `{MANIFEST}`; expected an empty folder"
        raise BadInput(message, where=str(out))
    with next_version(out) as new:
        previous = read_manifest(out) if (out / MANIFEST).exists() else None
        directory_draft = DirectoryDraft(out, previous, new)
        if fresh:
            _sweep(directory_draft)
        directory_draft.scratch.mkdir(mode=0o700, exist_ok=True)
        directory_draft.folder.mkdir(exist_ok=True)
        try:
            yield directory_draft
        except WardenError as error:
            # The same input would be rejected again. But an unavailable cluster may come back, and
            # a version that was not accepted may be accepted later.
            if not isinstance(error, (Unavailable, NotAccepted)):
                _sweep(directory_draft)
            raise
        _sweep(directory_draft)


def _sweep(directory_draft: DirectoryDraft) -> None:
    remove_tree(directory_draft.scratch, ignore_errors=True)
    if not isinstance(directory_draft.out, RemotePath):  # a remote version is written in place
        remove_tree(directory_draft.folder, ignore_errors=True)
