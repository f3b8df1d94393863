"""Masks that show a value, on columns with stored types, and the expected values."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.relations import COLUMN_TYPE, AttributeRow, EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.service.read_limits import counting_mask, mask_of, mask_value
from lakewarden.service.state import RealmState

TYPES: Final = {"iban": "string", "mail": "varchar(40)", "region": "long", "note": "timestamp"}
MASKS: Final = (
    "null",
    "hash",
    "last4",
    "redact",
    "constant 'x'",
    "constant '{x}'",
    "sql 'lower($user.name)'",
    "sql 'substr(mail, 1, 2)'",
)


def with_typed_masks(facts: Facts, rng: random.Random) -> Facts:
    """The facts with typed columns in most tables, and masks of all kinds."""
    stored = {row.entity for row in facts.entities}
    tables = [row.entity for row in facts.entities if row.entity.type == "table"]
    columns = [
        EntityRow(column, table)
        for table in rng.sample(tables, len(tables) * 3 // 4)
        for name in rng.sample(sorted(TYPES), 3)
        for column in [Entity("column", f"{table.name}.{name}")]
        if column not in stored
    ]
    types = [
        AttributeRow(row.entity, COLUMN_TYPE, TYPES[name])
        for row in (*facts.entities, *columns)
        if row.entity.type == "column"
        for name in [row.entity.name.rpartition(".")[2]]
        if name in TYPES
    ]
    statements = [
        replace(one, expression=rng.choice(MASKS)) if one.effect is Effect.MASK else one
        for one in facts.statements
    ]
    return replace(
        facts,
        entities=[*facts.entities, *columns],
        attributes=[*facts.attributes, *types],
        statements=statements,
    )


def with_columns(facts: Facts, table: Entity, types: Mapping[str, str]) -> Facts:
    """The facts with columns of a table, of these types."""
    columns = {Entity("column", f"{table.name}.{name}"): type for name, type in types.items()}
    return replace(
        facts,
        entities=[*facts.entities, *(EntityRow(column, table) for column in columns)],
        attributes=[AttributeRow(column, COLUMN_TYPE, type) for column, type in columns.items()],
    )


def carried_types(state: RealmState) -> Any:
    """A function that returns the types of a table's columns."""
    coded = state.matrix.snapshot.coded

    def types(table: Entity) -> Mapping[str, str]:
        parts = coded.spelling.parts
        found = {}
        for id in coded.tree.subtree(coded.tree.find(table) or 0) & coded.tree.stored:
            for type in coded.attributes.get(id, {}).get(COLUMN_TYPE, ()):
                found[parts(coded.tree.entity(id))[-1]] = type
        return found

    return types


def shown(
    state: RealmState, service: RangerService, asked: Sequence[Request], table: Entity, column: str
) -> str:
    """The expected expression for a masked column; `asked` are the requests for it."""
    masks = [one for each in asked for one in obligations(state.matrix, each, Effect.MASK)]
    known = {
        name: own
        for name, type in carried_types(state)(table).items()
        if (own := service.type_of(type)) is not None
    }
    mask = mask_of(counting_mask(masks))
    if column not in known or mask.kind == "null":
        return "NULL"
    sql = mask_value(
        state, asked[0], mask, service.engine.name, column, known[column], beside=known
    )
    return "NULL" if "{" in sql else sql


def said(answer: Mapping[str, Any]) -> str:
    """The expression that Ranger's engine returns."""
    mask = answer["mask"]
    return "NULL" if mask["type"] == "MASK_NULL" else str(mask["value"])
