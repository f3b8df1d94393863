"""The current version of a folder, with the data needed to commit its tables."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import pyarrow as pa

from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.pipeline.link_directory import KIND as LINKS
from lakewarden.pipeline.storage import parquet
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location, uri_of
from lakewarden.pipeline.version_folder import MANIFEST, VERSIONS

DIRECTORY = "directory"
"""The kind of an ingested directory, whose manifest has no kind."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version: its number, the revision of the realm if it has one, and its tables.

    `digest` is the SHA-256 of the manifest, which holds the digests of the content.
    """

    out: Location
    kind: str
    number: int
    revision: int | None
    digest: str
    tables: tuple[str, ...]

    @property
    def folder(self) -> Location:
        """The folder of its files."""
        return self.out / VERSIONS / str(self.number)

    @property
    def product(self) -> str:
        """Identifies the folder of versions: two folders never share a table."""
        return uri_of(self.out)

    def properties(self) -> dict[str, str]:
        """The properties of every snapshot of the version."""
        properties = {
            "lakewarden.kind": self.kind,
            "lakewarden.version": str(self.number),
            "lakewarden.digest": self.digest,
        }
        if self.revision is not None:
            properties["lakewarden.revision"] = str(self.revision)
        return properties

    def check_counts(self) -> None:
        """Raises `Conflict` if another version is current by now.

        INVARIANT: on an object store, where no lock is held, a commit of a table calls this after
        it has read the state of the table, and commits on the condition of that state. A newer
        version changes the state only after the manifest, so an older one never replaces it.
        """
        if _digest((self.out / MANIFEST).read_bytes()) != self.digest:
            raise Conflict(f"another process wrote to `{self.out}`; try again")

    def files(self, table: str) -> list[Location]:
        """The Parquet files of a table. Raises `BadInput` if there are none."""
        files = parquet_files(self.folder / table)
        if not files:
            raise BadInput("has no Parquet files", where=str(self.folder / table))
        return files


def newest_version(out: Location) -> Version | None:
    """The version that the manifest of a folder names; None if there is no manifest yet.

    Raises `BadInput` for an unreadable manifest.
    """
    file = out / MANIFEST
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return None
    try:
        data = json.loads(text)
        revision = data.get("facts", {}).get("revision")
        kind = str(data.get("kind", DIRECTORY))
        return Version(
            out=out,
            kind=kind,
            number=int(data["version"]),
            revision=None if revision is None else int(revision),
            digest=_digest(text),
            # A directory of links has one table, which its manifest does not list.
            tables=(LINKS,) if kind == LINKS else tuple(sorted(data["tables"])),
        )
    except (
        AttributeError,
        KeyError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise BadInput(f"is damaged: {error}", where=str(file)) from None


def _digest(manifest: bytes) -> str:
    return hashlib.sha256(manifest).hexdigest()


def schema_of(files: list[Location]) -> pa.Schema:
    """The columns of a table, without the metadata of its writers."""
    schema = parquet.schema_of(files[0])
    return pa.schema([pa.field(field.name, field.type) for field in schema])
