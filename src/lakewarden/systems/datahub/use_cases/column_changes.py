"""Columns that a new `schemaMetadata` adds to or removes from a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.service.column_uses import column_dependents
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.column_labels import DATASET, field_paths, plain_path
from lakewarden.systems.datahub.aspects.field_types import ASPECT

_COLUMN = "schemaField"


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """The columns of a dataset before and after a write, by all their names."""

    dataset: Entity
    before: frozenset[str]
    after: frozenset[str]

    @property
    def is_change(self) -> bool:
        """Whether there were columns, and they differ afterwards."""
        return bool(self.before) and self.before != self.after

    @property
    def gone(self) -> frozenset[str]:
        """The removed columns."""
        return self.before - self.after

    def needed_by(self, snapshot: Snapshot) -> list[str]:
        """The ids of the active filters and masks that need a removed column, in order."""
        if not self.gone:
            return []
        return column_dependents(snapshot, self.dataset, set(self._entities()), self.gone)

    def _entities(self) -> Iterator[Entity]:
        for name in sorted({*self.gone, *map(str.lower, self.gone - self.after)}):
            try:
                yield datahub.parse(_COLUMN, f"urn:li:schemaField:({self.dataset.name},{name})")
            except BadInput:  # nothing can be attached to it
                continue


def column_change(entity: Entity, aspect: str, old: object, new: object) -> ColumnChange | None:
    """The change that a write makes to a dataset's columns; None if it does not concern them."""
    if entity.type != DATASET or aspect != ASPECT:
        return None
    return ColumnChange(entity, _columns(old), _columns(new))


def _columns(value: object) -> frozenset[str]:
    """The columns of an aspect, and their parts, by their plain names."""
    plain = [plain_path(path) for path in field_paths(ASPECT, value)]
    return frozenset(plain) | {path.partition(".")[0] for path in plain}
