"""Running systems as sources: copied to files over their own API, then read from the files.

There is no second reader: `lakewarden.pipeline.extract` copies, and the file sources interpret. The
report lists, under `not_read`, what the API did not show and what it never shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakewarden.kernel.principal import USER, Principal
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.extractor import Extractor
from lakewarden.pipeline.extract.original import NOBODY, Credential, Original
from lakewarden.pipeline.ingest.exchange import exchanges
from lakewarden.pipeline.ingest.files import File, find
from lakewarden.pipeline.ingest.identity import People
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.source import Progress, Reading, Source
from lakewarden.pipeline.storage.files import copy_file
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import unreadable
from lakewarden.registry import registry
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MISSING_SHOWN: Final = 1_000
"""How many paths that were not shown a report names."""

_SUFFIXES = (".jsonl", ".json")
_IDENTITY = "identity.json"


@dataclass(frozen=True, slots=True)
class Live:
    """A running system; `identity` and `principals` as in `lakewarden import`.

    `edition` is the model, for a system with several.
    """

    kind: str
    address: str
    credential: Credential = NOBODY
    timeout: float = 30.0
    trusted: Path | None = None
    identity: Location | None = None
    principals: Location | None = None
    edition: str = ""

    @property
    def model(self) -> str:
        return self.edition or self.kind

    @property
    def place(self) -> str:
        """The address, a digest of the credential, and digests of the accompanying files."""
        secret = "".join(self.credential.header().values())
        identity = [self.kind, self.address, hashlib.sha256(secret.encode()).hexdigest()]
        for file in (self.identity, self.principals):
            identity.append("" if file is None else hashlib.sha256(file.read_bytes()).hexdigest())
        return "\n".join(identity)

    def fetch(self, folder: Location, progress: Progress) -> Sequence[str]:
        """See `Distant`."""

        def tell(requests: int, path: str) -> None:
            progress("read", 0, 1, f"{requests:,} requests, {path}")

        original = Original(self.address, self.credential, self.timeout, self.trusted, tell)
        with original, Export(folder) as export:
            self._extractor.extract(original, export, self._principals())
        missing = list(export.notes)
        if self.identity is not None:
            copy_file(self.identity, folder / _IDENTITY)
            missing = [text for text in missing if "--identity" not in text]
        hidden = original.withheld_lines()
        missing += hidden[:MISSING_SHOWN]
        if len(hidden) > MISSING_SHOWN:
            missing.append(f"{len(hidden) - MISSING_SHOWN:,} more paths that were not shown")
        return missing

    @property
    def _extractor(self) -> Extractor:
        system = registry().systems[self.kind]
        extractor: Extractor = system.load(system.extractor)
        return extractor

    def _principals(self) -> list[Principal]:
        """The principals to query in a system that only describes single principals."""
        read = self._extractor.read_principals
        if read is None:
            return []
        principals = [Principal(USER, self.credential.user)] if self.credential.user else []
        if self.principals is not None:
            principals += read(self.principals.read_text("utf-8"), str(self.principals))
        if self.identity is not None:
            people = People()
            for exchange in exchanges(self.identity, self.identity.name):
                people.add_reply(exchange.segments[2:], exchange.section())
            principals += [named.principal for named in people.principals_by_id.values()]
        return principals

    def copied(self, folder: Location, missing: Sequence[str]) -> Source:
        """See `Distant`."""
        opener = opener_of(self._extractor.files)
        return Copied(
            self.kind, self.address, opener.open(str(folder), self.model, {}), folder, missing
        )


@dataclass(frozen=True, slots=True)
class Copied:
    """The copy of a running system, read by the file source."""

    kind: str
    address: str
    files: Source
    folder: Location
    missing: Sequence[str] = ()

    @property
    def model(self) -> str:
        return self.files.model

    @property
    def options(self) -> Mapping[str, str]:
        return {**self.files.options, "address": self.address}

    def inputs(self) -> Sequence[Input]:
        """The files, digested without line order: a server does not guarantee one."""
        return [Input(file.name, _of_lines(file)) for file in find(self.folder, _SUFFIXES)]

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        reading = self.files.read(spark, system, scratch, progress)
        return replace(reading, not_read=(*reading.not_read, *self.missing))


def _of_lines(file: File) -> str:
    """A digest of the lines of a file, independent of their order."""
    try:
        with file.path.open("rb") as stream:
            lines = sorted(hashlib.sha256(line).digest() for line in stream)
    except OSError as error:
        raise unreadable(error, file.name) from None
    return hashlib.sha256(b"".join(lines)).hexdigest()
