"""The grants of roles in the world of grants: statements at every level of the tree.

A role works mostly in one catalog, which it may use. In addition it gets grants on schemas and
single objects, most of them in that catalog, and denials below something that it, or another role
of the same catalog, was granted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import numpy as np

from bench.pipeline.rows import Ints, positions, spread
from bench.pipeline.tree import LAKES, Tree
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.statement import Effect, On, Statement

DENIED = 0.08
ON_COLUMN = 0.2
"""Share of the statements on single tables that are on a column, if tables have columns."""

ON_LAKE = 0.02
ON_SCHEMA = 0.55
AT_HOME = 0.85

READ, WRITE, CREATE = 0, 1, 2
PRIVILEGES = {
    "table": ("SELECT_TABLE", "MODIFY_TABLE", "CREATE_TABLE"),
    "view": ("SELECT_VIEW", "SELECT_VIEW", "CREATE_VIEW"),
    "fileset": ("READ_FILESET", "WRITE_FILESET", "CREATE_FILESET"),
    "topic": ("CONSUME_TOPIC", "PRODUCE_TOPIC", "CREATE_TOPIC"),
}
"""For each type, the privileges to read, write and create."""

ON_COLUMNS = ("SELECT_COLUMN", "UPDATE_ROWS")
"""The privileges that are granted, and denied, on a single column."""


class Spot(NamedTuple):
    """A place in the tree, its number within its level, and its catalog.

    For a column, `number` is that of its table, and `column` its own within the table.
    """

    level: str
    number: int
    catalog: int
    column: int = 0


@dataclass
class Granting:
    """Generates the statements; `homes` holds the catalog that each role works in.

    `columns` is the number of columns of a table.
    """

    tree: Tree
    random: Random
    lake_of_role: Ints
    columns: int = 0
    homes: list[int] = field(default_factory=list)
    found: dict[str, Statement] = field(default_factory=dict)
    allowed: list[tuple[int, Spot]] = field(default_factory=list)

    @staticmethod
    def draw(tree: Tree, roles: int, statements: int, seed: int, columns: int = 0) -> Granting:
        """This number of statements for the given number of roles."""
        shares = spread(np.random.default_rng([seed, 9]), roles, np.array(LAKES))
        one = Granting(tree, Random(seed), positions(shares)[0], columns)
        one.homes = [one._catalog(role) for role in range(roles)]
        denied = round(statements * DENIED)
        for role in range(min(roles, statements - denied)):
            one._to_use(role)
        while len(one.found) < statements - denied:
            one._further()
        while len(one.found) < statements:
            one._denial()
        return one

    def role_name(self, number: int) -> str:
        """The name of a role."""
        return f"lake{self.lake_of_role[number]}:r{number:05}"

    def _catalog(self, role: int) -> int:
        """A catalog of the role's metalake; the first ones are more likely."""
        own = np.flatnonzero(self.tree.lake_of == self.lake_of_role[role])
        return int(own[int(len(own) * self.random.random() ** 2)])

    def _to_use(self, role: int) -> None:
        """The statement that lets a role use its catalog, or its whole metalake."""
        words = {"USE_CATALOG"}
        home = self.homes[role]
        read = PRIVILEGES[self.tree.held[home]][READ]
        if self.random.random() < 0.5:
            words.add("USE_SCHEMA")
        if self.random.random() < 0.1:
            words.add(read)
        if self.random.random() < ON_LAKE or role == 0:
            spot = Spot("metalake", int(self.lake_of_role[role]), home)
        else:
            spot = Spot("catalog", home, home)
        self._state(role, spot, Effect.ALLOW, words)

    def _further(self) -> None:
        """A grant on a schema or an object for some role."""
        role = self.random.randrange(len(self.homes))
        catalog = self.homes[role] if self.random.random() < AT_HOME else self._catalog(role)
        spot = self._schema_in(catalog)
        if self.random.random() < ON_SCHEMA:
            privileges = PRIVILEGES[self.tree.held[catalog]]
            further = self.random.sample((WRITE, CREATE), self.random.randrange(2))
            words = {"USE_SCHEMA", privileges[READ], *(privileges[one] for one in further)}
        else:
            spot = self._column_of(self._object_in(spot))
            words = {self._privileges(spot)[self.random.choice((READ, READ, WRITE))]}
        self._state(role, spot, Effect.ALLOW, words)

    def _denial(self) -> None:
        """A denial below a grant, for the same role or for one with the same catalog."""
        role, spot = self.random.choice(self.allowed)
        if self.random.random() < 0.4:
            beside = [other for other, home in enumerate(self.homes) if home == spot.catalog]
            role = self.random.choice(beside or [role])
        if spot.level in ("metalake", "catalog"):
            spot = self._schema_in(spot.catalog)
        if spot.level == "schema" and self.random.random() < 0.6:
            spot = self._column_of(self._object_in(spot))
        privileges = self._privileges(spot)
        words = {privileges[self.random.choice((READ, WRITE))]}
        if spot.level == "schema" and self.random.random() < 0.3:
            words = {"USE_SCHEMA"}
        self._state(role, spot, Effect.DENY, words)

    def _schema_in(self, catalog: int) -> Spot:
        start, end = np.searchsorted(self.tree.catalog_of, [catalog, catalog + 1]).tolist()
        return Spot("schema", self.random.randrange(start, end), catalog)

    def _object_in(self, schema: Spot) -> Spot:
        start, end = self.tree.first[schema.number : schema.number + 2].tolist()
        return Spot("object", self.random.randrange(start, end), schema.catalog)

    def _column_of(self, object: Spot) -> Spot:
        """A column of the object in some cases, if it is a table with columns; else the object."""
        is_table = self.columns > 0 and self.tree.type(object.number) == "table"
        if not is_table or self.random.random() >= ON_COLUMN:
            return object
        return object._replace(level="column", column=self.random.randrange(self.columns))

    def _privileges(self, spot: Spot) -> tuple[str, ...]:
        return ON_COLUMNS if spot.level == "column" else PRIVILEGES[self._type(spot)]

    def _type(self, spot: Spot) -> str:
        """The type that grants there concern: that of the object, or what the container holds."""
        if spot.level == "object":
            return self.tree.type(spot.number)
        return self.tree.held[spot.catalog]

    def _state(self, role: int, spot: Spot, effect: Effect, words: set[str]) -> None:
        """Adds the statement, with the id that ingestion gives it; keeps an existing one."""
        entity = self._entity(spot)
        holder = self.role_name(role)
        full_name = entity.name.partition(":")[2] or entity.name
        id = f"{holder}/{entity.type}:{full_name}/{effect.value}"
        if id in self.found:
            return
        title = holder.partition(":")[2]
        principals = frozenset({Principal(ROLE, holder)})
        privileges = frozenset(words)
        self.found[id] = Statement(id, effect, privileges, On(entity), principals, title=title)
        if effect is Effect.ALLOW:
            self.allowed.append((role, spot))

    def _entity(self, spot: Spot) -> Entity:
        tree = self.tree
        if spot.level == "object":
            type = tree.type(spot.number)
            return Entity(type, tree.names(type, np.array([spot.number]))[0][0].as_py())
        if spot.level == "column":
            columns, _ = tree.columns(np.array([spot.number]), self.columns)
            return Entity("column", columns[spot.column].as_py())
        names = {"metalake": tree.lakes, "catalog": tree.catalogs, "schema": tree.schemas}
        return Entity(spot.level, names[spot.level][spot.number].as_py())
