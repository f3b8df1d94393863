"""Touches in the realm's own terms: principals by number, operations and entities as declared.

Unknown names go to quarantine with a reason; rows in = rows out + quarantined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

import pyarrow as pa

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.facts import spelled_parent
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Model
from lakewarden.pipeline.index.task_context import TaskContext, prepared
from lakewarden.pipeline.ingest.files import Batches, File
from lakewarden.pipeline.unused.access_record import BAD_LINE, LoggedAccess, Refused
from lakewarden.pipeline.unused.log_formats import read
from lakewarden.pipeline.unused.mapping import SPARK, Mappings
from lakewarden.service.system import System

UNKNOWN_PRINCIPAL: Final = "unknown principal"
UNKNOWN_OPERATION: Final = "unknown operation"
UNKNOWN_ENTITY: Final = "unknown entity"
BAD_NAME: Final = "bad name"
DAMAGED: Final = "damaged"
"""A file whose rest cannot be read; it ends the run."""

READ_ROWS: Final = (
    "log string, principal int, operation string, type string, name string,"
    " above array<struct<type: string, name: string>>, day string, n long, allowed boolean,"
    " reason string, detail string, place string, line string"
)
"""A touch (`reason` is null), or a row that is set aside. `above`: the ancestors according to the
name, nearest first, if the entity is judged by its name."""

_ARROW: Final = pa.schema(
    [
        ("log", pa.string()),
        ("principal", pa.int32()),
        *((name, pa.string()) for name in ("operation", "type", "name")),
        ("above", pa.list_(pa.struct([("type", pa.string()), ("name", pa.string())]))),
        ("day", pa.string()),
        ("n", pa.int64()),
        ("allowed", pa.bool_()),
        *((name, pa.string()) for name in ("reason", "detail", "place", "line")),
    ]
)
_ROWS: Final = 20_000
_LONGEST: Final = 2_000
_ROLLED: Final = "eventlog_v2_"
_NUMBER: Final = re.compile(r"events_(\d+)_")


class Unit(NamedTuple):
    """Files of one log that one task reads together."""

    kind: str
    log: str
    files: tuple[File, ...]


def units(kind: str, log: str, files: Sequence[File]) -> list[Unit]:
    """One unit per file, but one per rolled event log of Spark, with its files in order."""
    if kind != SPARK:
        return [Unit(kind, log, (file,)) for file in files]
    all_units = []
    for _, together in groupby(files, key=_application):
        all_units.append(Unit(kind, log, tuple(sorted(together, key=_turn))))
    return all_units


def _application(file: File) -> str:
    folder = file.path.parent
    return str(folder if folder.name.startswith(_ROLLED) else file.path)


def _turn(file: File) -> tuple[int, str]:
    number = _NUMBER.match(file.path.name)
    return (int(number[1]) if number else 0), file.name


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads units by their number, in tasks."""

    units: tuple[Unit, ...]
    mappings: Mappings
    realm: str
    context: TaskContext

    def __call__(self, batches: Batches) -> Batches:
        known = prepared(self.context)
        normalizer = NameResolver(known.system, known.people.memberships)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(self._rows(self.units[number], normalizer))

    def _rows(self, unit: Unit, normalizer: NameResolver) -> Iterator[Row]:
        try:
            for entry in read(unit.kind, unit.files, self.mappings, self.realm):
                yield normalizer.row(unit.log, entry)
        except BadInput as error:
            yield _quarantined(unit.log, Refused(error.where, "", error.message), DAMAGED)


Row = tuple[object, ...]
"""The cells of `READ_ROWS`."""


def _batches(rows: Iterable[Row]) -> Batches:
    waiting: list[Row] = []
    for row in rows:
        waiting.append(row)
        if len(waiting) == _ROWS:
            yield _batch(waiting)
            waiting = []
    yield _batch(waiting)


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(_ARROW)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
    return pa.record_batch(arrays, schema=_ARROW)


def _quarantined(log: str, refused: Refused, reason: str) -> Row:
    line = refused.line.encode("utf-8", "backslashreplace").decode()[:_LONGEST]
    detail = refused.detail.encode("utf-8", "backslashreplace").decode()
    return (log, *[None] * 8, reason, detail, refused.place, line)


class NameResolver:
    """Resolves the names of touches in a realm; caches the lookups."""

    def __init__(self, system: System, memberships: Memberships) -> None:
        self._system = system
        self._acting = memberships
        self._principals: dict[str, int | str] = {}
        self._operations: dict[str, str | None] = {}

    def row(self, log: str, entry: LoggedAccess | Refused) -> Row:
        """The cells of a touch, or of a row that is set aside."""
        if isinstance(entry, Refused):
            return _quarantined(log, entry, BAD_LINE)
        text = f"{entry.who} {entry.act} {entry.on}"
        principal = self._principal(entry.who)
        if isinstance(principal, str):
            return _quarantined(log, Refused(entry.place, text, principal), UNKNOWN_PRINCIPAL)
        operation = self._operation(entry.act)
        if operation is None:
            detail = f"`{entry.act}` is neither an operation nor a privilege"
            return _quarantined(log, Refused(entry.place, text, detail), UNKNOWN_OPERATION)
        try:
            entity = self._entity(entry.on)
        except (BadInput, Unknown) as error:
            return _quarantined(log, Refused(entry.place, text, str(error)), BAD_NAME)
        if not _is_about(self._system.model, operation, entity):
            detail = f"`{operation}` is not asked about `{entity.type or 'no resource'}`"
            return _quarantined(log, Refused(entry.place, text, detail), UNKNOWN_OPERATION)
        cells = (principal, operation, *entity, self._above(entity))
        return (log, *cells, entry.day, entry.times, entry.allowed, None, None, entry.place, None)

    def _principal(self, text: str) -> int | str:
        """The number of a principal, or the reason why it has none."""
        principal = self._principals.get(text)
        if principal is None:
            principal = self._principals[text] = self._looked_up(text)
        return principal

    def _looked_up(self, text: str) -> int | str:
        try:
            principal = self._system.principal(text)
        except BadInput as error:
            return str(error)
        id = self._acting.ids.get(principal)
        if id is None or id not in self._acting.stored:
            return f"`{principal.kind}:{principal.name}` is not stored"
        return id

    def _operation(self, text: str) -> str | None:
        """The operation, or the privilege by its present name."""
        if text not in self._operations:
            model = self._system.model
            name: str | None = text
            if text not in model.operations:
                try:
                    name = model.privilege(text).name
                except Unknown:
                    name = None
            self._operations[text] = name
        return self._operations[text]

    def _entity(self, text: str) -> Entity:
        entity = self._system.entity(text or None)
        if entity != NO_RESOURCE:
            self._system.model.check_type(entity.type)
        return entity

    def _above(self, entity: Entity) -> list[dict[str, str]]:
        """The ancestors according to the name, if the entity is judged without being stored."""
        parents: list[dict[str, str]] = []
        at = entity
        if entity != NO_RESOURCE and self._system.model.judged(entity.type):
            for _ in range(MAX_LEVELS + 1):
                parent = spelled_parent(self._system.spelling, at)
                if parent is None:
                    break
                parents.append(parent._asdict())
                at = parent
        return parents


def _is_about(model: Model, operation: str, entity: Entity) -> bool:
    declared = model.operations.get(operation)
    return declared is None or declared.rule_or_none(entity.type) is not None
