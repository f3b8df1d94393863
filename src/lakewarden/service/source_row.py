"""Normalized rows, the common output of all sources.

All tables have one form: the table's name, its cells from left to right, the place of origin, and
the reason if the source itself rejects the row. In addition to the tables of the kernel's relations
there are

    placements   type, name, parent type, parent name: where an entity is; a row of its own,
                 so a bad place can be rejected without the entity
    statements   id, statement as JSON
    deleted      id of a default statement that the source deleted
    notes        subject, what has no counterpart: for the report, not counted as a row
    errors       the message of an error that refuses the whole input
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import TABLES
from lakewarden.names.canonical import check_segment

PLACEMENTS: Final = "placements"
STATEMENTS: Final = "statements"
DELETED: Final = "deleted"
NOTES: Final = "notes"
ERRORS: Final = "errors"

WIDTHS: Final = {
    **{name: len(columns) for name, columns in TABLES.items() if name != "entities"},
    "entities": 2,
    PLACEMENTS: 4,
    STATEMENTS: 2,
    DELETED: 1,
    NOTES: 2,
    ERRORS: 1,
}
"""The number of cells in a row of each table."""

COUNTED: Final = (*TABLES, PLACEMENTS, STATEMENTS)
"""The tables whose input rows are counted as output or as rejected."""

CELLS: Final = tuple(f"c{i}" for i in range(max(WIDTHS.values())))

BAD_NAME: Final = "bad name"
BAD_STATEMENT: Final = "bad statement"


class Row(NamedTuple):
    """A normalized row; `reason` and `detail` are set if the source rejects it."""

    table: str
    cells: tuple[str, ...]
    place: str = ""
    reason: str = ""
    detail: str = ""

    def rejected(self, reason: str, detail: str) -> Row:
        """The same row, as rejected."""
        return self._replace(reason=reason, detail=detail)


class At(NamedTuple):
    """The place that is read, and its model."""

    place: str
    model: Model


def entity_row(entity: Entity, place: str) -> Row:
    """An entity that exists."""
    return Row("entities", entity, place)


def placement_row(entity: Entity, parent: Entity, place: str) -> Row:
    """Where an entity is."""
    return Row(PLACEMENTS, (*entity, *parent), place)


def relation_row(kind: str, source: Entity, target: Entity, place: str) -> Row:
    """An edge."""
    return Row("relations", (kind, *source, *target), place)


def attribute_row(entity: Entity, attribute: str, value: str, place: str) -> Row:
    """A stored value."""
    return Row("attributes", (*entity, attribute, value), place)


def owner_row(entity: Entity, owner: Principal, ownership: str, place: str) -> Row:
    """An owner."""
    return Row("owners", (*entity, *owner, ownership), place)


def principal_row(principal: Principal, place: str) -> Row:
    """A principal that exists; rejected if no path could name it."""
    return _reachable(Row("principals", principal, place), principal)


def membership_row(member: Principal, of: Principal, place: str) -> Row:
    """One principal acting as another; rejected if no path could name one of them."""
    return _reachable(Row("memberships", (*member, *of), place), member, of)


def _reachable(row: Row, *principals: Principal) -> Row:
    try:
        for principal in principals:
            check_segment(principal.name, f"the {principal.kind} name")
    except BadInput as error:
        return row.rejected(BAD_NAME, str(error))
    return row


def statement_row(table: dict[str, object], place: str) -> Row:
    """A statement in the form of `lakewarden.kernel.statement_file`."""
    text = json.dumps(table, ensure_ascii=False, sort_keys=True)
    return Row(STATEMENTS, (str(table["id"]), text), place)


def note_row(subject: str, text: str) -> Row:
    """An object of the source that has no counterpart here."""
    return Row(NOTES, (subject, text))


def error_row(message: str, place: str) -> Row:
    """An error that refuses the whole input."""
    return Row(ERRORS, (message,), place)
