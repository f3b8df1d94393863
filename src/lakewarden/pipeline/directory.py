"""An ingested directory: what is in it, and how it is read. Needs neither Spark nor Java.

    DIR/manifest.json                  the version that counts, with a digest of each table
    DIR/versions/N/TABLE/*.parquet     rows of `lakewarden.kernel.relations`, and `quarantine`
    DIR/versions/N/statements.jsonl    statements that came with the rows, one table a line
    DIR/versions/N/report.json         what happened; for people, never read here
    DIR/statements/*.toml              statements that people wrote: `[[statement]]`
    DIR/statements/deleted.toml        `deleted = […]`: default statements that were deleted

A table's digest covers its cells in the order of its files, whatever the sizes of files and
batches; the pipeline writes rows in ascending order, so equal content has equal digests.
Nothing is read that the manifest does not vouch for, except what people wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import (
    TABLES,
    AttributeRow,
    EntityColumns,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.section import Section
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE, arrow_schema
from lakewarden.service.defaults import default_statements
from lakewarden.service.system import System, load_system

FORMAT: Final = 1
"""The format that this release writes and reads."""

MANIFEST: Final = "manifest.json"
VERSIONS: Final = "versions"
STATEMENTS: Final = "statements"
DELETED: Final = "deleted.toml"
STATEMENT_LINES: Final = "statements.jsonl"
REPORT: Final = "report.json"

_BATCH_ROWS = 65_536
_HEX = frozenset("0123456789abcdef")

Row = TypeVar("Row")
Cells = tuple[Any, ...]


class Content(NamedTuple):
    """How many rows, and the digest of them."""

    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Input:
    """Something that was read: its name, without any secret, and the digest of its content."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a directory holds. Holds no time, so that the same input gives the same manifest.

    `source` is the kind of source, `options` what the caller chose for it. `tables` covers
    the tables of `COLUMNS`. `deleted` are default statements that the source deleted.
    """

    model: str
    settings: Mapping[str, str]
    realm: str
    source: str
    version: int
    inputs: tuple[Input, ...]
    tables: Mapping[str, Content]
    statements: Content
    options: Mapping[str, str] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()

    @property
    def quarantined(self) -> int:
        """How many rows were set aside."""
        return self.tables[QUARANTINE].rows

    def text(self) -> str:
        """The file's text."""
        table: dict[str, object] = {
            "format": FORMAT,
            "model": self.model,
            "settings": dict(sorted(self.settings.items())),
            "realm": self.realm,
            "source": self.source,
            "options": dict(sorted(self.options.items())),
            "version": self.version,
            "inputs": [{"name": i.name, "sha256": i.sha256} for i in self.inputs],
            "tables": {name: content._asdict() for name, content in self.tables.items()},
            "statements": self.statements._asdict(),
            "deleted": list(self.deleted),
            "quarantined": self.quarantined,
        }
        return json.dumps(table, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Loaded:
    """A directory that was read: its system, its facts, and the manifest that vouches for them."""

    system: System
    facts: Facts
    manifest: Manifest


def load(path: Path) -> Loaded:
    """The facts of an ingested directory, its statements merged with the system's defaults.

    Of two statements with one id the later of these counts: defaults, what was ingested,
    what people wrote; but a default that is not editable is never replaced. Raises
    `BadInput`, naming the file, for a directory that the pipeline did not write, that is of
    another format, incomplete, or differs from its manifest, and for malformed statements.
    """
    manifest = read_manifest(path)
    try:
        system = load_system(manifest.model, manifest.settings)
    except (BadInput, Unknown) as error:
        raise BadInput(str(error), where=str(path / MANIFEST)) from None
    version = path / VERSIONS / str(manifest.version)
    for name in set(COLUMNS) - set(TABLES):
        for _ in _cells(version, name, manifest):
            pass
    facts = Facts(
        entities=_entities(version, manifest),
        relations=_rows(version, "relations", manifest, _relation_row),
        attributes=_rows(version, "attributes", manifest, _attribute_row),
        owners=_rows(version, "owners", manifest, _owner_row),
        principals=_rows(version, "principals", manifest, _principal),
        memberships=_rows(version, "memberships", manifest, _membership_row),
        statements=_statements(path, version, manifest, system),
    )
    return Loaded(system, facts, manifest)


def statements_of(path: Path, manifest: Manifest, system: System) -> tuple[Statement, ...]:
    """The statements of a directory as `load` merges them. Raises as `load` does."""
    return _statements(path, path / VERSIONS / str(manifest.version), manifest, system)


def rows_of(path: Path, manifest: Manifest, table: str) -> Iterator[Cells]:
    """The rows of one table as cells; `BadInput` at the end where the manifest says otherwise."""
    return _cells(path / VERSIONS / str(manifest.version), table, manifest)


def check_tables(path: Path, manifest: Manifest) -> None:
    """Raises `BadInput` for a table that is not as the manifest says."""
    for table, content in manifest.tables.items():
        folder = path / VERSIONS / str(manifest.version) / table
        if content_of(folder, table) != content:
            raise BadInput("differs from its manifest", where=str(folder))


def read_manifest(path: Path) -> Manifest:
    """The manifest of a directory. Raises `BadInput` when there is none of this format."""
    file = path / MANIFEST
    if not file.is_file():
        raise BadInput(f"no ingested directory: `{MANIFEST}` is missing", where=str(path))
    try:
        data = json.loads(file.read_text("utf-8"))
    except (UnicodeDecodeError, ValueError):
        raise BadInput("expected JSON", where=str(file)) from None
    section = Section(data, str(file))
    if section.take("format") != FORMAT:
        raise BadInput(f"expected the number {FORMAT}", where=section.at("format"))
    tables = section.named("tables")
    if set(tables) != set(COLUMNS):
        expected = ", ".join(COLUMNS)
        raise BadInput(f"expected the tables {expected}", where=section.at("tables"))
    manifest = Manifest(
        model=section.text("model"),
        settings=_words(section, "settings"),
        realm=section.text("realm"),
        source=section.text("source"),
        version=_count(section, "version"),
        inputs=tuple(Input(s.text("name"), _sha256(s)) for s in section.tables("inputs")),
        tables={name: _content(tables[name]) for name in COLUMNS},
        statements=_content(Section(section.take("statements"), section.at("statements"))),
        options=_words(section, "options"),
        deleted=section.texts("deleted"),
    )
    if _count(section, "quarantined") != manifest.quarantined:
        raise BadInput("differs from the quarantine's rows", where=section.at("quarantined"))
    section.close()
    return manifest


def _words(section: Section, key: str) -> dict[str, str]:
    inner = Section(section.take(key), section.at(key))
    return {name: inner.text(name, "") for name in inner.names()}


def _count(section: Section, key: str) -> int:
    value = section.take(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadInput("expected a whole number", where=section.at(key))
    return value


def _sha256(section: Section) -> str:
    value = section.text("sha256")
    if len(value) != 64 or not _HEX.issuperset(value):
        raise BadInput("expected a SHA-256 in hexadecimal digits", where=section.at("sha256"))
    return value


def _content(section: Section) -> Content:
    content = Content(_count(section, "rows"), _sha256(section))
    section.close()
    return content


def publish(path: Path, manifest: Manifest) -> None:
    """Makes `manifest` the one that counts, in one step: a reader sees the old or the new one."""
    file = path / MANIFEST
    new = path / f".{MANIFEST}-{os.getpid()}"
    try:
        with new.open("w", encoding="utf-8") as out:
            out.write(manifest.text())
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def content_of(folder: Path, table: str) -> Content:
    """Rows and digest of one written table. Raises `BadInput` when it cannot be read."""
    digest = _Digest(len(COLUMNS[table]))
    for batch in _batches(folder, table):
        digest.add(batch)
    return digest.content()


def lines_content(text: str) -> Content:
    """Rows and digest of the text of a file of lines."""
    return Content(text.count("\n"), hashlib.sha256(text.encode("utf-8")).hexdigest())


class _Digest:
    """The digest of a table of texts: of every column all lengths, then all bytes.

    A cell that is null has length -1. Columns are digested side by side, so the memory is
    that of a batch.
    """

    def __init__(self, columns: int) -> None:
        self._rows = 0
        self._lengths = [hashlib.sha256() for _ in range(columns)]
        self._bytes = [hashlib.sha256() for _ in range(columns)]

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        for column, lengths, content in zip(batch, self._lengths, self._bytes, strict=True):
            lengths.update(_lengths(column).astype("<i4").tobytes())
            content.update(_bytes(pc.drop_null(column)))

    def content(self) -> Content:
        whole = hashlib.sha256(b"%d" % self._rows)
        for part in (*self._lengths, *self._bytes):
            whole.update(part.digest())
        return Content(self._rows, whole.hexdigest())


# From the buffers: what pyarrow converts for numpy makes it import pandas, which is slow.


def _ends(texts: pa.Array) -> NDArray[np.int32]:
    """Where each text begins, and where the last one ends."""
    return np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)


def _lengths(texts: pa.Array) -> NDArray[np.int32]:
    """The bytes of each text, -1 for null."""
    if not len(texts):
        return np.zeros(0, np.int32)
    lengths = np.diff(_ends(texts))
    if texts.null_count:
        nulls = texts.is_null()
        bits = np.unpackbits(np.frombuffer(nulls.buffers()[1], np.uint8), bitorder="little")
        lengths[bits[nulls.offset : nulls.offset + len(texts)].astype(bool)] = -1
    return lengths


def _bytes(texts: pa.Array) -> bytes | memoryview:
    """All the texts, one behind the other; none of them is null."""
    data = texts.buffers()[2] if len(texts) else None
    if data is None:
        return b""
    ends = _ends(texts)
    return memoryview(data)[ends[0] : ends[-1]]


def _batches(folder: Path, table: str) -> Iterator[pa.RecordBatch]:
    """The rows of a table in file order, with exactly its columns."""
    schema = arrow_schema(table)
    if not folder.is_dir():
        raise BadInput("is missing", where=str(folder))
    for file in sorted(folder.glob("*.parquet")):
        try:
            with pq.ParquetFile(file) as parquet:
                found = parquet.schema_arrow
                if found.names != schema.names or found.types != schema.types:
                    raise BadInput(
                        f"expected the columns {', '.join(schema.names)}", where=str(file)
                    )
                yield from parquet.iter_batches(_BATCH_ROWS)
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].lower()
            raise BadInput(f"cannot be read: {reason}", where=str(file)) from None


def _cells(version: Path, table: str, manifest: Manifest) -> Iterator[Cells]:
    """The rows of a table as cells; refuses at the end what the manifest does not vouch for."""
    for columns in _columns(version, table, manifest):
        yield from zip(*columns, strict=True)


def _columns(version: Path, table: str, manifest: Manifest) -> Iterator[list[list[Any]]]:
    """The same by columns, many rows at a time."""
    columns = COLUMNS[table]
    digest = _Digest(len(columns))
    for batch in _batches(version / table, table):
        digest.add(batch)
        yield [column.to_pylist() for column in batch]
    if digest.content() != manifest.tables[table]:
        raise BadInput("differs from its manifest", where=str(version / table))


def _rows(version: Path, table: str, manifest: Manifest, make: Callable[[Cells], Row]) -> list[Row]:
    return [make(cells) for cells in _cells(version, table, manifest)]


def _entity(type: str, name: str) -> Entity:
    return Entity(sys.intern(type), name)


def _entities(version: Path, manifest: Manifest) -> EntityColumns:
    found: list[list[Any]] = [[] for _ in COLUMNS["entities"]]
    once: dict[str | None, str | None] = {}
    for columns in _columns(version, "entities", manifest):
        for number, (column, cells) in enumerate(zip(found, columns, strict=True)):
            is_name = number == 1
            column.extend(cells if is_name else map(once.setdefault, cells, cells))
    return EntityColumns(*found)


def _relation_row(cells: Cells) -> RelationRow:
    kind, source_type, source_name, target_type, target_name = cells
    source, target = _entity(source_type, source_name), _entity(target_type, target_name)
    return RelationRow(sys.intern(kind), source, target)


def _attribute_row(cells: Cells) -> AttributeRow:
    type, name, attribute, value = cells
    return AttributeRow(_entity(type, name), sys.intern(attribute), value)


def _owner_row(cells: Cells) -> OwnerRow:
    type, name, kind, owner, ownership = cells
    return OwnerRow(_entity(type, name), _principal((kind, owner)), sys.intern(ownership))


def _principal(cells: Cells) -> Principal:
    kind, name = cells
    return Principal(sys.intern(kind), sys.intern(name))


def _membership_row(cells: Cells) -> MembershipRow:
    return MembershipRow(_principal(cells[:2]), _principal(cells[2:]))


def _statements(
    path: Path, version: Path, manifest: Manifest, system: System
) -> tuple[Statement, ...]:
    folder = path / STATEMENTS
    deleted = frozenset(manifest.deleted) | _deleted(folder / DELETED)
    try:
        defaults = default_statements(system, deleted)
    except BadInput as error:
        raise BadInput(error.message, where=str(folder / DELETED)) from None
    editable = {str(t["id"]): bool(t.get("editable", False)) for t in system.model.defaults}
    fixed = {id for id in editable if not editable[id]}
    ingested = [s for s in _ingested(version, manifest, system) if s.id not in fixed]
    written = list(_written(folder, system, fixed))
    return tuple({s.id: s for s in (*defaults, *ingested, *written)}.values())


def _ingested(version: Path, manifest: Manifest, system: System) -> tuple[Statement, ...]:
    file = version / STATEMENT_LINES
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise BadInput("cannot be read", where=str(file)) from None
    if lines_content(text) != manifest.statements:
        raise BadInput("differs from its manifest", where=str(file))
    # Not `splitlines`: a text may hold what Unicode takes for the end of a line.
    tables = [json.loads(line) for line in text.split("\n")[:-1]]
    return read_statements(tables, system.model, system.spelling, str(file))


def _written(folder: Path, system: System, fixed: Iterable[str]) -> Iterator[Statement]:
    """What people wrote, file by file in order of their names; each id once."""
    places: dict[str, Path] = {}
    kept = set(fixed)
    for file in sorted(folder.glob("*.toml")):
        if file.name == DELETED:
            continue
        section = _toml(file)
        tables = section.take("statement")
        section.close()
        if not isinstance(tables, list):
            raise BadInput("expected a list of tables", where=section.at("statement"))
        for statement in read_statements(tables, system.model, system.spelling, str(file)):
            if statement.id in kept:
                raise BadInput(
                    f"`{statement.id}` is a default that is not editable", where=str(file)
                )
            if statement.id in places:
                other = places[statement.id].name
                raise BadInput(f"id `{statement.id}` is used in `{other}` too", where=str(file))
            places[statement.id] = file
            yield statement


def _deleted(file: Path) -> frozenset[str]:
    if not file.exists():
        return frozenset()
    section = _toml(file)
    deleted = frozenset(section.texts("deleted"))
    section.close()
    return deleted


def _toml(file: Path) -> Section:
    try:
        return Section(tomllib.loads(file.read_text("utf-8")), str(file))
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where=str(file)) from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=str(file)) from None
