"""Roles and grants of a database as a Gravitino catalog: shared by both engines.

A grant becomes a statement only if it means at least as much as the Gravitino privilege. A grant
that means less, or has no counterpart, is noted and gives nothing, so access is never shown greater
than it is. Roles are flattened, because Gravitino's do not nest: a user becomes a member of every
role whose privileges it has without taking any action.

SOURCE: gravitino reference 7.5, read backwards; engines in the modules of their names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.statement_file import principal_text, read_statements
from lakewarden.service.source_row import (
    BAD_NAME,
    BAD_STATEMENT,
    Row,
    entity_row,
    membership_row,
    note_row,
    owner_row,
    placement_row,
    principal_row,
    statement_row,
)
from lakewarden.systems.gravitino import names as gravitino

Columns = Mapping[str, Collection[str]]
"""Grants on columns: the database's own words, by the name of the column."""

Node = TypeVar("Node", bound=Hashable)

MODIFIED: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE"})
"""The privileges to change a table's data; `MODIFY_TABLE` also changes its definition."""

WRITES: Final = {"INSERT": "INSERT_ROWS", "UPDATE": "UPDATE_ROWS", "DELETE": "DELETE_ROWS"}
"""Write privileges on a table, or on all tables of a container."""

ON_COLUMN: Final = {
    "SELECT": "SELECT_COLUMN",
    "INSERT": "INSERT_ROWS",
    "UPDATE": "UPDATE_ROWS",
}
"""Privileges on one column of a table."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """The names of one database's objects as a catalog of a metalake."""

    metalake: str
    name: str

    @property
    def entity(self) -> Entity:
        """The catalog itself."""
        return Entity("catalog", f"{self.metalake}:{self.name}")

    def schema(self, name: str) -> Entity:
        """A schema."""
        return Entity("schema", f"{self.metalake}:{self.name}.{name}")

    def leaf(self, type: str, schema: str, name: str) -> Entity:
        """A table or view."""
        return Entity(type, f"{self.metalake}:{self.name}.{schema}.{name}")

    def column(self, schema: str, table: str, name: str) -> Entity:
        """A column of a table."""
        return Entity("column", f"{self.metalake}:{self.name}.{schema}.{table}.{name}")

    def role(self, name: str) -> Principal:
        """A role, which belongs to the metalake."""
        return Principal(ROLE, f"{self.metalake}:{name}")

    @property
    def everybody(self) -> Principal:
        """All users of the metalake: PUBLIC in a database."""
        return members_of(self.metalake)

    def root_rows(self, place: str) -> Iterator[Row]:
        """The metalake and the catalog."""
        yield from stored(Entity("metalake", self.metalake), place)
        yield from stored(self.entity, place)


def stored(entity: Entity, place: str, inside: Entity | None = None) -> Iterator[Row]:
    """An entity and its parent; both are rejected if Gravitino could not have the name.

    `inside`: the table of a column, because dots in the table's name would look like the column's.
    """
    problem = _problem(inside or entity) or _problem(entity)
    if problem:
        yield entity_row(entity, place).rejected(BAD_NAME, problem)
        return
    yield entity_row(entity, place)
    parent = gravitino.parent(entity)
    if parent is not None:
        yield placement_row(entity, parent, place)


def _problem(entity: Entity) -> str:
    try:
        gravitino.parse(*entity)
    except BadInput as error:
        return error.message
    return ""


def closure(start: Node, edges: Mapping[Node, Collection[Node]]) -> frozenset[Node]:
    """Everything reachable from `start`, without `start` itself unless it is on a cycle.

    >>> sorted(closure("a", {"a": ["b"], "b": ["c"]}))
    ['b', 'c']
    """
    reached: set[Node] = set()
    todo = list(edges.get(start, ()))
    while todo:
        node = todo.pop()
        if node not in reached:
            reached.add(node)
            todo.extend(edges.get(node, ()))
    return frozenset(reached)


@dataclass(slots=True)
class Grants:
    """Collected users, roles and grants, and the rows that they become.

    One statement collects what one grantee has on one entity.
    """

    catalog: Catalog
    model: Model
    place: str
    _rows: list[Row] = field(default_factory=list)
    _granted: dict[tuple[str, Entity], tuple[tuple[Principal, ...], set[str], set[str]]] = field(
        default_factory=dict
    )

    def user(self, name: str, roles: Iterable[Principal]) -> None:
        """Adds a user of the metalake, with its roles."""
        principal = Principal(USER, name)
        entity = Entity(USER, f"{self.catalog.metalake}:{name}")
        self._principal(entity, principal)
        if _problem(entity):
            return
        for of in (self.catalog.everybody, *roles):
            self._rows.append(membership_row(principal, of, self.place))

    def role(self, name: str) -> None:
        """Adds a role of the metalake."""
        principal = self.catalog.role(name)
        self._principal(Entity(ROLE, principal.name), principal)

    def group(self, name: str) -> None:
        """Adds a group of the metalake; its members are added with the users."""
        self._principal(Entity(GROUP, f"{self.catalog.metalake}:{name}"), Principal(GROUP, name))

    def _principal(self, entity: Entity, principal: Principal) -> None:
        self._rows += stored(entity, self.place)
        problem = _problem(entity)
        row = principal_row(principal, self.place)
        self._rows.append(row.rejected(BAD_NAME, problem) if problem else row)

    def owner(self, entity: Entity, user: str) -> None:
        """Adds a user as the owner of the entity."""
        row = owner_row(entity, Principal(USER, user), "", self.place)
        problem = _problem(entity) or _problem(Entity(USER, f"{self.catalog.metalake}:{user}"))
        self._rows.append(row.rejected(BAD_NAME, problem) if problem else row)

    def columns(
        self, grantee: str, to: Iterable[Principal], table: Entity, granted: Columns
    ) -> None:
        """A grantee's privileges on single columns of a table, by column, in the database's names.

        Columns of no table, and privileges without a counterpart, are noted.
        """
        is_table = table.type == "table" and not _problem(table)
        for column, sql in sorted(granted.items()):
            expressible = set(sql) & ON_COLUMN.keys() if is_table else set[str]()
            entity = Entity("column", f"{table.name}.{column}")
            self.grant(grantee, to, entity, {ON_COLUMN[name] for name in expressible}, expressible)
            if set(sql) - expressible:
                note = f"{joined(set(sql) - expressible)} on the column `{column}` to {grantee}"
                self.note(str(table), note)

    def grant(
        self,
        grantee: str,
        to: Iterable[Principal],
        on: Entity,
        privileges: Iterable[str],
        sql: Iterable[str],
    ) -> None:
        """Gives the principals `to` Gravitino privileges, which the database calls `sql`.

        `grantee` is a `grantee_label`. INVARIANT: it always means the same `to`.
        """
        principals, granted = tuple(sorted(set(to))), set(privileges)
        if principals and granted:
            _, had, sources = self._granted.setdefault((grantee, on), (principals, set(), set()))
            had |= granted
            sources |= set(sql)

    def deny(
        self, right: str, to: Iterable[Principal], on: Entity, privileges: Iterable[str]
    ) -> None:
        """Denies the principals `to` privileges, regardless of their other grants."""
        table: dict[str, object] = {
            "id": f"{right} on {on}",
            "effect": "deny",
            "title": f"{right}: readers do not get everything",
            "privileges": sorted(privileges),
            "to": [principal_text(principal) for principal in sorted(set(to))],
            "on": str(on),
        }
        self._rows.append(self._statement(table))

    def fits(self, privilege: str, on: Entity) -> bool:
        """Whether the privilege may be granted on an entity of that type."""
        return on.type in self.model.privilege(privilege).on

    def note(self, subject: str, note: str) -> None:
        """Notes something without a counterpart."""
        self._rows.append(note_row(subject, note))

    def rows(self) -> Iterator[Row]:
        """All collected rows."""
        yield from self._rows
        for (grantee, on), (to, privileges, sql) in sorted(self._granted.items()):
            table: dict[str, object] = {
                "id": f"{grantee} on {on}",
                "effect": "allow",
                "title": f"{joined(sql)}: {grantee}",
                "privileges": sorted(privileges),
                "to": [principal_text(principal) for principal in to],
                "on": str(on),
            }
            yield self._statement(table)

    def _statement(self, table: dict[str, object]) -> Row:
        row = statement_row(table, self.place)
        try:
            read_statements([table], self.model, gravitino, self.place)
        except BadInput as error:
            return row.rejected(BAD_STATEMENT, error.message)
        return row


def grantee_label(kind: str, name: str) -> str:
    """A label for a grantee, unique for its kind and name.

    >>> grantee_label("role", "readers")
    'role "readers"'
    """
    return f"{kind} {json.dumps(name, ensure_ascii=False)}"


def joined(names: Iterable[str]) -> str:
    """Sorted words, for people."""
    return ", ".join(sorted(names))
