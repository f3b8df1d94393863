"""The tree of objects in the world of grants: the place and the name of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.pipeline.rows import Ints, Texts, joined, numbered, positions, spread, taken, words

LAKES = (0.8, 0.15, 0.05)
"""Shares of the catalogs in each metalake."""

HELD = ("table", "table", "fileset", "table", "table", "topic", "table", "table", "table", "table")
"""The content of catalogs, repeated in this order; some of the tables are views."""

MARKS = {"fileset": "f", "table": "t", "topic": "q", "view": "v"}
"""Every type of object, and the first letter of its names."""

VIEWS = 0.08
OBJECTS_PER_SCHEMA = 200

CATALOG_SKEW = 0.8
"""The k-th largest catalog has 1 / k^CATALOG_SKEW of the schemas of the largest."""

SCHEMA_SKEW = 1.5
"""Standard deviation of the logarithm of the number of objects in a schema."""

COLUMN_WIDTH = 3
"""The number of digits in the number of a column."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tree:
    """Containers and objects as numbers, in the order of their names.

    Catalogs are numbered over all metalakes, schemas over all catalogs, objects over all schemas.
    `held[c]` is the content of catalog c; `first[s]` is the first object of schema s (one more
    entry closes the last); `width` is the number of digits of an object's number in its schema.
    """

    lake_of: Ints
    catalog_of: Ints
    schema_of: Ints
    held: tuple[str, ...]
    is_view: Bools
    first: Ints
    width: int
    lakes: Texts
    catalogs: Texts
    schemas: Texts

    @staticmethod
    def draw(entities: int, draw: np.random.Generator, *, lopsided: bool = False) -> Tree:
        """A tree with this number of entities, including the metalakes.

        `lopsided`: a schema of tables holds half of all objects.
        """
        count = max(len(HELD), round(50 * (entities / 1e6) ** 0.5))
        schemas = max(2 * count, entities // OBJECTS_PER_SCHEMA)
        left = entities - len(LAKES) - count - schemas
        lake_of, _ = positions(spread(draw, count, np.array(LAKES)))
        popularity = draw.permutation(np.arange(1.0, count + 1)) ** -CATALOG_SKEW
        catalog_of, _ = positions(spread(draw, schemas, popularity))
        held = tuple(HELD[catalog % len(HELD)] for catalog in range(count))
        weights = np.exp(draw.normal(0, SCHEMA_SKEW, schemas))
        if lopsided:
            first = int(np.flatnonzero(_holding(held, "table")[catalog_of])[0])
            weights[first] = weights.sum() - weights[first]
        sizes = spread(draw, left, weights)
        schema_of, _ = positions(sizes)
        lakes = numbered("lake", np.arange(len(LAKES)), 1)
        catalogs = _below(taken(lakes, lake_of), ":c", np.arange(count), 4)
        return Tree(
            lake_of=lake_of,
            catalog_of=catalog_of,
            schema_of=schema_of,
            held=held,
            is_view=_holding(held, "table")[catalog_of][schema_of] & (draw.random(left) < VIEWS),
            first=np.concatenate([[0], np.cumsum(sizes)]),
            width=len(str(int(sizes.max()))),
            lakes=lakes,
            catalogs=catalogs,
            schemas=_below(taken(catalogs, catalog_of), ".s", np.arange(schemas), 6),
        )

    def of_type(self, type: str) -> Ints:
        """The numbers of the objects of a type."""
        holding = _holding(self.held, "table" if type == "view" else type)
        fits = holding[self.catalog_of][self.schema_of]
        return np.flatnonzero(fits & (self.is_view == (type == "view")))

    def type(self, number: int) -> str:
        """The type of one object."""
        held = self.held[int(self.catalog_of[self.schema_of[number]])]
        return "view" if self.is_view[number] else held

    def names(self, type: str, numbers: Ints) -> tuple[Texts, Texts]:
        """The names of objects of one type, and of their schemas."""
        schemas = self.schema_of[numbers]
        parents = taken(self.schemas, schemas)
        within = numbers - self.first[schemas]
        return _below(parents, f".{MARKS[type]}", within, self.width, numbers), parents

    def columns(self, tables: Ints, count: int) -> tuple[Texts, Texts]:
        """The names of the given number of columns of each table, and of the tables."""
        names, _ = self.names("table", tables)
        of, within = positions(np.full(len(tables), count))
        parents = taken(names, of)
        told_by = tables[of] + within
        return _below(parents, ".c", within, COLUMN_WIDTH, told_by), parents


def _holding(held: tuple[str, ...], type: str) -> Bools:
    return np.array([each == type for each in held])


def _below(
    parents: Texts, mark: str, numbers: Ints, width: int, told_by: Ints | None = None
) -> Texts:
    """Names below the parents' names: a number that is unique among siblings, and a word."""
    word = words(numbers if told_by is None else told_by)
    return joined(parents, numbered(mark, numbers, width), "_", word)
