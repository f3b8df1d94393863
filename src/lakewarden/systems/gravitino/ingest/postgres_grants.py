"""PostgreSQL's roles, owners and grants as those of a Gravitino catalog.

    LOGIN role                     user, member of the metalake
    other role                     role; users that inherit it, however far, are its members
    PUBLIC                         all users of the metalake
    CONNECT, CREATE on database    USE_CATALOG, CREATE_SCHEMA on the catalog
    USAGE, CREATE on schema        USE_SCHEMA, CREATE_TABLE on the schema
    SELECT on table, on view       SELECT_TABLE, SELECT_VIEW
    INSERT, UPDATE, DELETE         INSERT_ROWS, UPDATE_ROWS, DELETE_ROWS on the table
    the same on columns            the same and SELECT_COLUMN, on the columns of a table
    owner of table or view         owner; through a role: MODIFY_TABLE and SELECT_…
    owner of schema or database    owner, if everything inside has the same owner
    superuser                      every privilege of the table on the catalog

CREATE_VIEW also loads every view, which CREATE does not allow in PostgreSQL, so views are noted.
MODIFY_TABLE also alters a table, which PostgreSQL allows only to owners; so SELECT, INSERT, UPDATE
and DELETE count as MODIFY_TABLE only if `takes_data_for_modify` is set. Noted but not counted are a
membership without INHERIT, since it needs SET ROLE first; grants on a table with row security,
since they cover only some rows; writing to views, since many are not writable; and all others.

SOURCE: PostgreSQL documentation, Privileges; Predefined Roles; Row Security Policies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.systems.gravitino.ingest.grants import (
    MODIFIED,
    WRITES,
    Grants,
    closure,
    grantee_label,
    joined,
)

PUBLIC: Final = ""
"""The grantee that means everybody."""

TABLE_KINDS: Final = frozenset("rpf")
VIEW_KINDS: Final = frozenset("vm")

_DATABASE_OWNER = "pg_database_owner"
_READERS = "pg_read_all_data"
_WRITERS = "pg_write_all_data"
_EVERYTHING = (
    *("USE_CATALOG", "CREATE_SCHEMA", "USE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW"),
    *("SELECT_TABLE", "SELECT_VIEW", "MODIFY_TABLE", *WRITES.values()),
)
_ON_DATABASE = {"CONNECT": ("USE_CATALOG",), "CREATE": ("CREATE_SCHEMA",)}
_ON_SCHEMA = {"USAGE": ("USE_SCHEMA",), "CREATE": ("CREATE_TABLE",)}
_READS = ("SELECT_TABLE", "SELECT_VIEW")


class Role(NamedTuple):
    """A role: whether it may log in, and whether it bypasses all checks."""

    name: str
    can_login: bool
    is_super: bool = False


class Membership(NamedTuple):
    """`member` is a member of `role`; with `inherits` it has its privileges without SET ROLE."""

    member: str
    role: str
    inherits: bool


class Item(NamedTuple):
    """One item of an access list; the grantee `PUBLIC` is everybody."""

    grantee: str
    privilege: str
    with_grant_option: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, view or similar; `kind` is the letter of `pg_class`.

    `columns` are the access lists of columns that have one, by name.
    """

    schema: str
    name: str
    kind: str
    owner: str
    items: Sequence[Item] = ()
    has_row_security: bool = False
    columns: Mapping[str, Sequence[Item]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema."""

    name: str
    owner: str
    items: Sequence[Item] = ()


@dataclass(frozen=True, slots=True)
class Postgres:
    """The roles, owners and grants of one database."""

    owner: str
    items: Sequence[Item]
    roles: Sequence[Role]
    memberships: Sequence[Membership]
    schemas: Sequence[Schema]
    relations: Sequence[Relation]
    notes: Sequence[tuple[str, str]] = field(default=())


def read(database: Postgres, grants: Grants, *, takes_data_for_modify: bool = False) -> None:
    """Adds to `grants` what the database means."""
    _Reader(database, grants, takes_data_for_modify).read()


class _Reader:
    """One reading; `to` returns the principals that a role's privileges reach."""

    def __init__(self, database: Postgres, grants: Grants, takes_data: bool) -> None:
        self._database_catalog = database
        self._grants = grants
        self._catalog = grants.catalog
        self._takes_data = takes_data
        self._logins = {role.name for role in database.roles if role.can_login}
        edges: dict[str, set[str]] = {database.owner: {_DATABASE_OWNER}}
        for membership in database.memberships:
            if membership.inherits:
                edges.setdefault(membership.member, set()).add(membership.role)
        self._acting = {name: closure(name, edges) for name in self._logins}

    def read(self) -> None:
        self._principals()
        self._database()
        self._predefined()
        for schema in self._database_catalog.schemas:
            self._schema(schema)
        for relation in self._database_catalog.relations:
            self._relation(relation)
        for subject, note in self._database_catalog.notes:
            self._grants.note(subject, note)

    def _principals(self) -> None:
        for role in self._database_catalog.roles:
            if role.can_login:
                memberships = sorted(
                    name for name in self._acting[role.name] if self._is_group(name)
                )
                roles = [self._catalog.role(name) for name in memberships]
                self._grants.user(role.name, roles)
            elif self._is_group(role.name):
                self._grants.role(role.name)
            if role.is_super and role.can_login:
                user = Principal(USER, role.name)
                right = grantee_label("superuser", role.name)
                self._grants.grant(right, [user], self._catalog.entity, _EVERYTHING, ["everything"])
        for membership in self._database_catalog.memberships:
            if not membership.inherits:
                note = f"membership in {_grantee_label(membership.role)} without INHERIT"
                self._grants.note(membership.member, note)

    def _is_group(self, name: str) -> bool:
        """Whether the role becomes a role here: it is neither a user nor PostgreSQL's own."""
        return name not in self._logins and not name.startswith("pg_")

    def _members(self, name: str) -> list[Principal]:
        """The users that have the role's privileges, without the role itself."""
        return [Principal(USER, user) for user, roles in self._acting.items() if name in roles]

    def to(self, name: str) -> list[Principal]:
        """The principals that a role's privileges reach."""
        if name == PUBLIC:
            return [self._catalog.everybody]
        if self._is_group(name):
            return [self._catalog.role(name)]
        own = [Principal(USER, name)] if name in self._logins else []
        return own + self._members(name)

    def _state_grants(
        self,
        on: Entity,
        items: Sequence[Item],
        meanings: Mapping[str, tuple[str, ...]],
        owner: str,
    ) -> None:
        """Grants whose privileges each have their own meaning."""
        for grantee, privileges in _by_grantee(items):
            known = {name for name in privileges if name in meanings}
            granted = [name for privilege in known for name in meanings[privilege]]
            self._grants.grant(_grantee_label(grantee), self.to(grantee), on, granted, known)
            if grantee != owner:
                self._note_unmapped(on, items, grantee, privileges - known)

    def _note_unmapped(
        self, on: Entity, items: Sequence[Item], grantee: str, unmapped: set[str]
    ) -> None:
        """Notes a grantee's privileges without a counterpart."""
        subject = str(on)
        if unmapped:
            self._grants.note(subject, f"{joined(unmapped)} to {_grantee_label(grantee)}")
        passed_on = {i.privilege for i in items if i.grantee == grantee and i.with_grant_option}
        if passed_on:
            note = f"grant option of {joined(passed_on)} to {_grantee_label(grantee)}"
            self._grants.note(subject, note)

    def _owner(self, name: str) -> str:
        """The owning role; PostgreSQL's own placeholder is replaced by the database's owner."""
        return self._database_catalog.owner if name == _DATABASE_OWNER else name

    def _database(self) -> None:
        entity, database = self._catalog.entity, self._database_catalog
        self._state_grants(entity, database.items, _ON_DATABASE, database.owner)
        inside = [self._owner(schema.owner) for schema in database.schemas]
        inside += [relation.owner for relation in database.relations]
        self._own_all(entity, database.owner, inside)

    def _schema(self, schema: Schema) -> None:
        entity = self._catalog.schema(schema.name)
        self._state_grants(entity, schema.items, _ON_SCHEMA, schema.owner)
        for grantee, privileges in _by_grantee(schema.items):
            if "CREATE" in privileges and grantee != schema.owner:
                note = f"CREATE of views to {_grantee_label(grantee)}"
                self._grants.note(str(entity), note)
        inside = [r.owner for r in self._database_catalog.relations if r.schema == schema.name]
        self._own_all(entity, self._owner(schema.owner), inside)

    def _own_all(self, entity: Entity, owner: str, inside: Sequence[str]) -> None:
        """Adds the owner of a container, who in Gravitino also owns its contents, if that is so."""
        if owner in self._logins and set(inside) <= {owner}:
            self._grants.owner(entity, owner)
        else:
            reason = "others own some of it" if owner in self._logins else "it is a role"
            self._grants.note(str(entity), f"the owner {_grantee_label(owner)}: {reason}")

    def _relation(self, relation: Relation) -> None:
        subject = f"relation {relation.schema}.{relation.name}"
        if relation.kind in TABLE_KINDS:
            entity = self._catalog.leaf("table", relation.schema, relation.name)
            self._leaf_owner(entity, relation, ("SELECT_TABLE", "MODIFY_TABLE"))
        elif relation.kind in VIEW_KINDS:
            entity = self._catalog.leaf("view", relation.schema, relation.name)
            self._leaf_owner(entity, relation, ("SELECT_VIEW",))
        else:
            for grantee, privileges in _by_grantee(relation.items):
                if grantee != relation.owner:
                    self._grants.note(subject, f"{joined(privileges)} to {_grantee_label(grantee)}")
            return
        items = [item for item in relation.items if item.grantee != relation.owner]
        if relation.has_row_security:
            for grantee, privileges in _by_grantee(items):
                note = f"{joined(privileges)} to {_grantee_label(grantee)}, limited by row security"
                self._grants.note(str(entity), note)
        else:
            self._leaf(entity, items)
        self._columns(entity, relation)

    def _columns(self, entity: Entity, relation: Relation) -> None:
        """Grants on columns; the owner's add nothing to the ownership."""
        columns_by_grantee: dict[str, dict[str, set[str]]] = {}
        for column, items in relation.columns.items():
            for grantee, privileges in _by_grantee(items):
                if grantee != relation.owner:
                    columns_by_grantee.setdefault(grantee, {})[column] = privileges
        for grantee, granted in sorted(columns_by_grantee.items()):
            if relation.has_row_security:
                words = joined(set[str]().union(*granted.values()))
                note = f"{words} on columns to {_grantee_label(grantee)}, limited by row security"
                self._grants.note(str(entity), note)
            else:
                self._grants.columns(_grantee_label(grantee), self.to(grantee), entity, granted)

    def _leaf_owner(self, entity: Entity, relation: Relation, rights: Sequence[str]) -> None:
        owner = relation.owner
        if owner in self._logins:
            self._grants.owner(entity, owner)
            others = self._members(owner)
        else:
            others = self.to(owner)
            self._grants.note(str(entity), f"the owner {_grantee_label(owner)}: it is a role")
        self._grants.grant(grantee_label("owner", owner), others, entity, rights, ["ownership"])

    def _leaf(self, entity: Entity, items: Sequence[Item]) -> None:
        for grantee, privileges in _by_grantee(items):
            granted, expressible = set[str](), set[str]()
            if "SELECT" in privileges:
                granted.add("SELECT_TABLE" if entity.type == "table" else "SELECT_VIEW")
                expressible.add("SELECT")
            if entity.type == "table":
                writes = privileges & WRITES.keys()
                granted |= {WRITES[name] for name in writes}
                expressible |= writes
            if self._takes_data and entity.type == "table" and privileges >= MODIFIED:
                granted.add("MODIFY_TABLE")
                expressible |= MODIFIED
            self._grants.grant(
                _grantee_label(grantee), self.to(grantee), entity, granted, expressible
            )
            self._note_unmapped(entity, items, grantee, privileges - expressible)

    def _predefined(self) -> None:
        """The roles that read or write everything; row security applies to them, too."""
        on = self._catalog.entity
        for name, privileges, sql in (
            (_READERS, _READS, ["SELECT"]),
            (_WRITERS, tuple(WRITES.values()), list(WRITES)),
        ):
            members = self._members(name)
            if members:
                self._grants.grant(_grantee_label(name), members, on, ["USE_SCHEMA"], ["USAGE"])
                for entity in self._without_row_security():
                    fitting = [
                        privilege
                        for privilege in privileges
                        if self._grants.fits(privilege, entity)
                    ]
                    self._grants.grant(_grantee_label(name), members, entity, fitting, sql)
                self._note_row_security(name, sql)

    def _note_row_security(self, name: str, sql: Sequence[str]) -> None:
        for relation in self._database_catalog.relations:
            if relation.has_row_security:
                note = f"{joined(sql)} to {_grantee_label(name)}, limited by row security"
                self._grants.note(f"relation {relation.schema}.{relation.name}", note)

    def _without_row_security(self) -> Iterator[Entity]:
        """The fewest entities that cover everything without row security."""
        secured = {r.schema for r in self._database_catalog.relations if r.has_row_security}
        if not secured:
            yield self._catalog.entity
            return
        for schema in self._database_catalog.schemas:
            if schema.name not in secured:
                yield self._catalog.schema(schema.name)
        for relation in self._database_catalog.relations:
            if relation.schema in secured and not relation.has_row_security:
                if relation.kind in TABLE_KINDS:
                    yield self._catalog.leaf("table", relation.schema, relation.name)
                elif relation.kind in VIEW_KINDS:
                    yield self._catalog.leaf("view", relation.schema, relation.name)


def _grantee_label(grantee: str) -> str:
    """The label of the right through which a grantee's privileges are held."""
    return grantee_label("role", grantee) if grantee else "PUBLIC"


def _by_grantee(items: Sequence[Item]) -> list[tuple[str, set[str]]]:
    privileges_by_grantee: dict[str, set[str]] = {}
    for item in items:
        privileges_by_grantee.setdefault(item.grantee, set()).add(item.privilege)
    return sorted(privileges_by_grantee.items())
