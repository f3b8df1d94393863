"""Worlds with filters and masks, and the part of `ROWS` that users then see."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from lakewarden.expressions.masks import Mask
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.service.read_limits import binding_mask, row_filters
from lakewarden.testing.world_draft import NOW
from tests.http.ranger.test_judged import belonging, limit, reading
from tests.pushdown.estate import COLUMN_ORDER, ROWS, TargetEstate

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MASKS = ("null", "hash", "last4", "redact", "constant 'x'", "sql 'upper(region)'")


def limited(facts: Facts, seed: int) -> Facts:
    """The facts with filters and masks, in which most users may read."""
    rng = random.Random(seed)
    drawn = [limit(facts, rng, number) for number in range(16)]
    allows = [one for one in facts.statements if one.effect is not Effect.DENY]
    limits = [
        one if one.effect is Effect.FILTER else replace(one, expression=rng.choice(MASKS))
        for one in drawn
        if one.effect is Effect.FILTER or rng.random() < 0.8
    ]
    return replace(
        facts,
        statements=[*allows, *limits, *reading(facts)],
        memberships=[*facts.memberships, *belonging(facts)],
    )


def rows_left(made: TargetEstate, user: Principal, table: Entity) -> list[tuple[Any, ...]]:
    """The user's view of `ROWS` in the table, computed by DuckDB and Python."""
    filters = row_filters(made.lasting, Request(user, "", table, NOW), "duckdb", _TYPES)
    where = " AND ".join(f"({one})" for one in filters) or "true"
    rows = _in_duckdb().execute(f"SELECT * FROM t WHERE {where}").fetchall()
    masks = masks_of(made, user, table)
    return [masked(row, masks) for row in rows]


_TYPES: Final = {**dict.fromkeys(COLUMN_ORDER, "varchar"), "amount": "integer"}


@cache
def _in_duckdb() -> DuckDBPyConnection:
    """A database with `ROWS` in table `t`; nobody writes to it."""
    import duckdb

    connection = duckdb.connect()
    columns = ", ".join(f"{name} {type}" for name, type in _TYPES.items())
    connection.execute(f"CREATE TABLE t ({columns})")
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(_TYPES))})", ROWS)
    return connection


def masks_of(made: TargetEstate, user: Principal, table: Entity) -> dict[str, Mask]:
    """The masks that bind the user, by column."""
    columns = {name: Entity("column", f"{table.name}.{name}") for name in COLUMN_ORDER}
    binding = {
        name: binding_mask(made.lasting, Request(user, "", column, NOW))
        for name, column in columns.items()
    }
    return {name: mask for name, mask in binding.items() if mask is not None}


def masked(row: tuple[Any, ...], masks: Mapping[str, Mask]) -> tuple[Any, ...]:
    """The row as the user sees it; this implements the meaning of masks again, in Python."""
    values = dict(zip(COLUMN_ORDER, row, strict=True))
    return tuple(
        _shown(value, masks[name], values) if name in masks else value
        for name, value in values.items()
    )


def _shown(value: Any, mask: Mask, row: Mapping[str, Any]) -> Any:
    is_text = not isinstance(value, int)
    match mask.kind:
        case "constant":
            return mask.argument if is_text else None
        case "sql":
            return row["region"] and row["region"].upper() if is_text else None
        case "redact":
            return None if value is None else "****" if is_text else 0
        case "hash" if is_text:
            return None if value is None else sha256(value.encode()).hexdigest()
        case "last4" if is_text and value is not None:
            return "****" + (value[-4:] if len(value) > 8 else "")
        case _:
            return None
