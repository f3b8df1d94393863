"""The wanted roles of a target: made from the matrix, so they grant nothing that is denied.

Statements are not evaluated a second time. Users with equal rows are evaluated once, and all grants
with exactly the same users become one role.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyroaring import BitMap

from lakewarden.engines.mapping import EngineMapping
from lakewarden.kernel.denied_inside import denied_inside, with_denied_inside
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import NONE, Operation
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.pushdown.foreign_keys import Change
from lakewarden.pushdown.grants import (
    COLUMN_DEPTH,
    EVERY_ROW,
    READ,
    TABLE_DEPTH,
    Grant,
    MaskingView,
    Path,
    Role,
    RowPolicy,
)
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.service.column_names import ColumnNames, column_of
from lakewarden.service.equivalent_entities import equivalent_entities
from lakewarden.service.equivalent_users import Readers, equivalent_users
from lakewarden.service.limited_read import LimitedRead, limited_read
from lakewarden.service.limited_tables import newly_limited_tables
from lakewarden.service.permanent_access import permanent_access
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

_ALIKE: Final = "it is denied on a column whose name differs only in case, or is a part of it"


@dataclass(frozen=True, slots=True)
class DesiredRoles:
    """The wanted roles, and what they leave out.

    `roles` have no names yet, `named` roles have those of a style. `users` are the evaluated
    users with their names in the database, `limited` the tables on which filters or masks apply.
    """

    roles: tuple[Role, ...]
    residues: Residues
    named: Mapping[str, Role] = field(default_factory=dict)
    users: Mapping[Principal, str] = field(default_factory=dict)
    limited: frozenset[Path] = frozenset()


def desired_roles(
    realm: RealmState, mapping: EngineMapping, scope: Scope, objects: TargetObjects, now: float
) -> DesiredRoles:
    """The roles for what is allowed now, and stays allowed unless the realm is changed.

    Raises `StaleSnapshot` for a time outside the interval of the realm's snapshot.
    """
    realm.matrix.require(now)
    return _Builder(realm, mapping, scope, objects, now).desired_roles()


def stored_paths(realm: RealmState, mapping: EngineMapping, scope: Scope) -> frozenset[Path]:
    """The paths in a database of the entities that the realm stores of its catalog."""
    return frozenset(path for _, _, path in _stored(realm, mapping, scope))


def _stored(
    realm: RealmState, mapping: EngineMapping, scope: Scope
) -> Iterator[tuple[int, Entity, Path]]:
    """The stored entities of the catalog, by id, with their paths."""
    snapshot, parts = realm.matrix.snapshot, realm.system.spelling.parts
    tree, types = snapshot.coded.tree, snapshot.model.types
    top = (scope.metalake, scope.catalog)
    about = {type for one in _operations(realm, mapping) for type in one.rules}
    # The parents of an entity must exist, whether or not anything is granted on them.
    for type in sorted(about.union(*(types[one].parents for one in about))):
        for id in snapshot.of_type(type) & tree.stored:
            entity = tree.entity(id)
            names = tuple(parts(entity))
            if names[:TABLE_DEPTH] == top:
                yield id, entity, names[TABLE_DEPTH:]


def _operations(realm: RealmState, mapping: EngineMapping) -> Iterator[Operation]:
    """The operations of the realm for the privileges that can be granted."""
    for act in mapping.engine.acts:
        operation = realm.matrix.operation(mapping.operation(act))
        if NONE not in operation.rules:
            yield operation


@dataclass
class _Access:
    """The grants, policies and views of one exact set of users."""

    grants: set[Grant] = field(default_factory=set)
    policies: set[RowPolicy] = field(default_factory=set)
    views: set[MaskingView] = field(default_factory=set)


class _Builder:
    """Collects the roles for one target."""

    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        scope: Scope,
        objects: TargetObjects,
        now: float,
    ) -> None:
        self._mapping, self._scope, self._objects, self._now = mapping, scope, objects, now
        self._residues = Residues()
        self._present = realm
        snapshot = realm.matrix.snapshot
        ends = snapshot.table.end != float("inf")
        # Grants in a database do not expire, so only what stays allowed is granted.
        self._realm = replace(realm, matrix=Matrix(permanent_access(snapshot))) if ends else realm
        self._snapshot = self._realm.matrix.snapshot
        self._known: set[Path] = set()
        self._paths = self._placed()
        self._ids = {path: id for id, path in self._paths.items()}
        self._refused = dict(self._refused_ids())
        self._limited = newly_limited_tables(self._snapshot, self._snapshot) & BitMap(self._paths)
        self._starting = newly_limited_tables(self._snapshot, snapshot) if ends else BitMap()
        self._columns = self._columns_of()
        self._tables = BitMap(self._columns)
        self._column_types = frozenset(
            snapshot.coded.tree.entity(id).type for ids in self._columns.values() for id in ids
        )
        self._descendants = self._descendants_of()
        self._above = BitMap(
            table
            for table, below in self._descendants.items()
            if any(self._ids[path] in self._limited for path in below if path in self._ids)
        )
        self._beside = BitMap.union(
            BitMap(), *(self._columns[id] for id in (self._limited | self._above) & self._tables)
        )
        self._effects = self._effects_of()
        self._changes: dict[tuple[Principal, str], BitMap] = {}
        self._given: dict[frozenset[str], _Access] = {}
        self._reads: dict[tuple[int, Principal, bool], LimitedRead | None] = {}
        self._names: dict[Entity, ColumnNames] = {}

    def desired_roles(self) -> DesiredRoles:
        """The roles of all users."""
        users = list(self._named())
        # Access that expires distinguishes users, too: it is reported as left out for each.
        realms = [self._realm] if self._realm is self._present else [self._realm, self._present]
        snapshots = (one.matrix.snapshot for one in realms)
        groups = equivalent_users(users, *snapshots, single=self._is_personal())
        rows = list(self._rows(groups))
        self._add_shared(groups, rows)
        self._add_limited(groups, rows)
        roles = (
            Role(members, frozenset(one.grants), frozenset(one.policies), frozenset(one.views))
            for members, one in self._given.items()
        )
        return DesiredRoles(
            tuple(roles),
            self._residues,
            users={principal: name for name, principal in users},
            limited=frozenset(self._paths[id] for id in self._limited),
        )

    # --- who and what ---

    def _named(self) -> Iterator[tuple[str, Principal]]:
        """The stored users who exist in the database, by their names there."""
        memberships, identities = self._snapshot.coded.memberships, self._realm.system.identities
        for id in sorted(memberships.stored):
            principal = memberships.principals[id]
            if principal.kind != USER or memberships.is_too_nested(principal):
                continue
            name = identities.person(principal)
            if identities.user(name) != principal:
                self._omit("the database would read the name as another user", of=principal)
            elif name in self._objects.unlimited:
                self._omit("the rights of the account cannot be limited", of=principal)
            elif name not in self._objects.users:
                self._omit("the database has no such user", of=principal)
            elif name in self._objects.refused_users:
                self._omit(self._objects.refused_users[name], of=principal)
            else:
                yield name, principal

    def _placed(self) -> Mapping[int, Path]:
        """The stored entities that exist in the database, by id."""
        tree = self._snapshot.coded.tree
        found: dict[Path, list[int]] = {}
        for id, entity, path in _stored(self._realm, self._mapping, self._scope):
            self._known.add(path)
            if self._exists(entity.type, path, entity):
                found.setdefault(path, []).append(id)
        paths = {}
        for path, ids in found.items():
            for id in ids:
                if len(ids) > 1:
                    self._omit("another entity has the same name", tree.entity(id))
                elif any(path[:depth] not in found for depth in range(len(path))):
                    self._omit(
                        "the realm does not have the entity that contains it", tree.entity(id)
                    )
                else:
                    paths[id] = path
        return paths

    def _columns_of(self) -> Mapping[int, BitMap]:
        """The stored columns of each table that has any, whether or not the database has them.

        A column that is created after a push is then already denied if the realm denies it.
        """
        tree = self._snapshot.coded.tree
        found: dict[int, BitMap] = {}
        for type in {type for one in _operations(self._realm, self._mapping) for type in one.rules}:
            for id in self._snapshot.of_type(type) & tree.stored:
                table = int(tree.parents[id])
                if len(self._paths.get(table, ())) == TABLE_DEPTH:
                    found.setdefault(table, BitMap()).add(id)
        return found

    def _descendants_of(self) -> Mapping[int, Sequence[Path]]:
        """The tables below each table that the realm has, too; the others are part of the table."""
        return {
            self._ids[path]: known
            for path, below in self._objects.descendants.items()
            if path in self._ids and (known := sorted(below & self._known))
        }

    def _effects_of(self) -> Mapping[str, Mapping[int, Sequence[Change]]]:
        """By privilege, what a change of a table or of its columns also does to stored tables."""
        above = self._stored_above() if self._objects.effects else {}
        found: dict[str, dict[int, Sequence[Change]]] = {}
        for (path, act), changes in self._objects.effects.items():
            reached = {(one, other) for at, other in changes for one in above.get(at, [at])}
            known = sorted(one for one in reached if one[0] in self._known)
            table = self._ids.get(path)
            if table is not None and known:
                ids = self._columns.get(table, BitMap()) | BitMap([table])
                found.setdefault(act, {}).update(dict.fromkeys(ids, known))
        return found

    def _stored_above(self) -> Mapping[Path, Sequence[Path]]:
        """The stored tables of which each table that is not stored is a part."""
        found: dict[Path, list[Path]] = {}
        for path, below in self._objects.descendants.items():
            for part in below - self._known if path in self._known else ():
                found.setdefault(part, []).append(path)
        return found

    def _exists(self, type: str, path: Path, entity: Entity) -> bool:
        if len(path) == COLUMN_DEPTH and path[:TABLE_DEPTH] not in self._objects.columns:
            return False  # the residue of its table says so
        if not self._objects.has(path):
            self._omit("the database has no object of that name", entity)
            return False
        if len(path) == TABLE_DEPTH and (path in self._objects.views) != (type == "view"):
            self._omit("the database has an object of another kind with that name", entity)
            return False
        return True

    def _is_personal(self) -> bool:
        """Whether a rule depends on the user itself, beyond the statements about the user."""
        return any(
            plan.shape.personal or plan.shape.administrator
            for operation in _operations(self._realm, self._mapping)
            for type in operation.rules
            for plan in (self._realm.matrix.plan(operation, type),)
        )

    # --- access ---

    def _rows(self, groups: Sequence[Readers]) -> Iterator[tuple[str, int, BitMap]]:
        """Privileges, each with the number of the group of users, and the objects."""
        there = BitMap(self._paths)
        for number, group in enumerate(groups):
            for act in self._mapping.engine.acts:
                operation = self._realm.matrix.operation(self._mapping.operation(act))
                if NONE in operation.rules:
                    continue
                allowed, partly = self._allowed(self._realm.matrix, group, act)
                for table in partly & there:
                    why = "it is denied on a column; it is granted on the other stored columns"
                    self._omit_for(group, why, table, act)
                allowed &= there
                self._report_expiring(group, act, allowed | partly, there)
                for column in self._denied_by_other_names(group, act, allowed):
                    self._omit_for(group, _ALIKE, column, act)
                    allowed.discard(column)
                allowed = self._grantable(group, act, allowed)
                if allowed:
                    yield act, number, allowed

    def _allowed(self, matrix: Matrix, group: Readers, act: str) -> tuple[BitMap, BitMap]:
        """The objects on which the act is allowed, without the columns of allowed tables.

        Second, the tables that are left out because the act is denied on one of their columns: a
        stored column, or one that a DENY names.
        """
        operation = matrix.operation(self._mapping.operation(act))
        request = Request(group.any, operation.name, NO_RESOURCE, self._now)
        lists = (listing(matrix, request, type=type) for type in operation.rules)
        allowed = BitMap.union(BitMap(), *lists)
        inside = self._inside(allowed)
        denied = inside - allowed
        kinds = filter(operation.rule_or_none, self._column_types)
        denied &= BitMap.union(BitMap(), *map(self._snapshot.of_type, kinds))
        parents = self._snapshot.coded.tree.parents
        partly = BitMap(int(parents[id]) for id in denied)
        for one in self._mapping.engine.closing(self._mapping.engine.acts[act]):
            operation = matrix.operation(self._mapping.operation(one.name))
            closed = replace(request, operation=operation.name)
            for type in operation.rules if NONE not in operation.rules else ():
                ids = allowed & matrix.snapshot.of_type(type)
                partly |= with_denied_inside(matrix, closed, ids)
        return allowed - partly - (inside - self._inside(partly)), partly

    def _denied_by_other_names(self, group: Readers, act: str, allowed: BitMap) -> BitMap:
        """The allowed columns that some engine confuses with one that a DENY closes."""
        found, tree = BitMap(), self._snapshot.coded.tree
        is_closed = self._mapping.engine.acts[act].takes_values and bool(self._snapshot.table.deny)
        operation = self._mapping.operation(act)
        for column in allowed & self._inside(self._tables) if is_closed else ():
            table = tree.entity(int(tree.parents[column]))
            request = Request(group.any, operation, table, self._now)
            meant = self._names_of(table).candidates(self._paths[column][-1])
            if denied_inside(self._realm.matrix, request, meant):
                found.add(column)
        return found

    def _names_of(self, table: Entity) -> ColumnNames:
        if table not in self._names:
            self._names[table] = ColumnNames(self._realm, table, column_of(self._realm, table))
        return self._names[table]

    def _inside(self, tables: BitMap) -> BitMap:
        """The stored columns of the tables among these objects."""
        return BitMap.union(BitMap(), *(self._columns[id] for id in tables & self._tables))

    def _grantable(self, group: Readers, act: str, allowed: BitMap) -> BitMap:
        """The allowed objects on which the database can express a grant."""
        closed = {**self._refused, **dict(self._closed_below(allowed))}
        closed |= dict(self._closed_by_keys(group, act, allowed))
        for id in allowed & BitMap(closed):
            self._omit_for(group, closed[id], id, act)
        return allowed - BitMap(closed)

    def _refused_ids(self) -> Iterator[tuple[int, str]]:
        """The objects on which nothing can be granted, with the columns of such tables, and why."""
        refused = self._objects.refused
        for id, path in self._paths.items() if refused else ():
            for part in {path, path[:TABLE_DEPTH]} & refused.keys():
                yield id, refused[part]

    def _closed_below(self, allowed: BitMap) -> Iterator[tuple[int, str]]:
        """The tables and columns that reach what is denied in a table below."""
        for table, below in self._descendants.items():
            for id in allowed & (self._columns.get(table, BitMap()) | BitMap([table])):
                column = self._paths[id][TABLE_DEPTH:]
                for path in below:
                    ways = {path, path + column}
                    if not any(self._ids[way] in allowed for way in ways & self._ids.keys()):
                        yield id, f"it reaches `{'.'.join(path)}`, where it is denied"
                        break

    def _closed_by_keys(
        self, group: Readers, act: str, allowed: BitMap
    ) -> Iterator[tuple[int, str]]:
        """The tables, and their columns, whose changes make a foreign key do what is denied."""
        effects = self._effects.get(act, {})
        for id in allowed & BitMap(effects) if effects else ():
            for path, other in effects[id]:
                if not self._may_change(group, path, other):
                    why = f"{other} on `{'.'.join(path)}`, which is denied or limited"
                    yield id, f"through a foreign key it is also {why}"
                    break

    def _may_change(self, group: Readers, path: Path, act: str) -> bool:
        """Whether each of the group may do it on the whole table, in every row."""
        table, key = self._ids.get(path), (group.any, act)
        if table is None:
            return False
        if key not in self._changes:
            self._changes[key], _ = self._allowed(self._realm.matrix, group, act)
        if table not in self._changes[key]:
            return False
        return table not in self._limited or not any(
            self._is_bound(table, principal) for principal in group.principals
        )

    def _is_bound(self, table: int, principal: Principal) -> bool:
        """Whether a filter or a mask on the table binds the principal, or may do so."""
        read = self._read(table, principal)
        return read is None or bool(read.filters) or any((read.masks or {}).values())

    def _report_expiring(self, group: Readers, act: str, lasting: BitMap, there: BitMap) -> None:
        if self._realm is self._present:
            return
        present, partly = self._allowed(self._present.matrix, group, act)
        for id in ((present | partly) & there) - lasting:
            self._omit_for(group, "it expires, and grants cannot expire", id, act)

    def _add_shared(
        self, groups: Sequence[Readers], rows: Sequence[tuple[str, int, BitMap]]
    ) -> None:
        """Adds grants on objects that have no filter and no mask for any user."""
        for act, number, allowed in rows:
            for column in allowed & self._beside:
                why = "its table, or a table below it, has filters or masks"
                self._omit_for(groups[number], why, column, act)
        limited = self._limited | self._above | self._beside
        open_rows = [(act, number, ids - limited) for act, number, ids in rows]
        for ids, grants in equivalent_entities(open_rows, len(self._snapshot.coded.tree)):
            for act, numbers in grants:
                members = frozenset(name for number in numbers for name in groups[number].names)
                self._to(members).grants |= {Grant(self._paths[id], act) for id in ids}

    def _to(self, members: frozenset[str]) -> _Access:
        return self._given.setdefault(members, _Access())

    # --- filters and masks ---

    def _add_limited(
        self, groups: Sequence[Readers], rows: Sequence[tuple[str, int, BitMap]]
    ) -> None:
        """Adds grants on tables on which filters or masks apply to some user.

        A policy for each condition on rows, and a view for each set of masks and condition.
        """
        for table in self._limited | self._above:
            by_grant: dict[Grant, set[str]] = {}
            by_condition: dict[str, set[str]] = {}
            by_view: dict[MaskingView, set[str]] = {}
            for act, number, ids in rows:
                if table not in ids:
                    continue
                for name, principal in self._users(groups[number]):
                    limit = self._limit(table, principal, act)
                    if isinstance(limit, MaskingView):
                        by_view.setdefault(limit, set()).add(name)
                    elif limit is not None:
                        by_grant.setdefault(Grant(self._paths[table], act), set()).add(name)
                        by_condition.setdefault(limit, set()).add(name)
            for grant, names in by_grant.items():
                self._to(frozenset(names)).grants.add(grant)
            for view, names in by_view.items():
                self._to(frozenset(names)).views.add(view)
            if table not in self._limited or not self._has_policies(self._paths[table]):
                continue  # no user with a filter is granted it
            for condition, names in by_condition.items():
                policy = RowPolicy(self._paths[table], condition)
                self._to(frozenset(names)).policies.add(policy)

    @staticmethod
    def _users(group: Readers) -> Iterable[tuple[str, Principal]]:
        return zip(group.names, group.principals, strict=True)

    def _has_policies(self, path: Path) -> bool:
        beside = self._objects.views | self._objects.without_policies
        return self._objects.row_policies and path not in beside

    def _limit(self, table: int, principal: Principal, act: str) -> str | MaskingView | None:
        """The condition for the rows that the principal may see, or the view to read instead.

        None if the act cannot be limited to them.
        """
        path, entity = self._paths[table], self._snapshot.coded.tree.entity(table)
        read = self._read(table, principal)
        if read is None:
            self._omit("a mask names a column that does not exist", entity, principal, act)
            return None
        if not read.may_read:
            self._omit("filters limit who may read it", entity, principal, act)
            return None
        stricter = self._stricter_below(table, read, principal, act)
        if stricter is not None:
            why = f"it reaches `{'.'.join(stricter)}`, which has stricter filters or masks"
            self._omit(why, entity, principal, act)
            return None
        masks, is_masked = read.masks or {}, any((read.masks or {}).values())
        if not (is_masked or read.filters):
            return EVERY_ROW
        if table in self._starting and self._read(table, principal, self._present) != read:
            why = "a filter or a mask starts later, and is applied already"
            self._omit(why, entity, principal, act)
        condition = " AND ".join(f"({each})" for each in read.filters) or EVERY_ROW
        if not all(map(self._objects.can_encode, (condition, *filter(None, masks.values())))):
            why = "a filter or a mask has characters that the database encoding lacks"
            self._omit(why, entity, principal, act)
            return None
        if is_masked or not self._has_policies(path):
            columns = tuple((name, shown or "") for name, shown in masks.items())
            why = self._no_view(act, columns, is_masked=is_masked)
            if not why:
                return MaskingView(path, columns, condition)
            self._omit(why, entity, principal, act)
            return None
        if self._mapping.engine.acts[act].whole:
            self._omit("row policies do not limit it", entity, principal, act)
            return None
        return condition

    def _stricter_below(
        self, table: int, read: LimitedRead, principal: Principal, act: str
    ) -> Path | None:
        """A table below with filters or masks that the table itself does not have.

        The rows of that table are then read with the filters and masks of the table above alone.
        """
        masks = read.masks or {}
        for path in self._descendants.get(table, ()):
            if self._ids[path] not in self._limited:
                continue
            below = self._read(self._ids[path], principal)
            if below is None or not below.may_read or not {*below.filters} <= {*read.filters}:
                return path
            masked = {name: shown for name, shown in (below.masks or {}).items() if shown}
            if act != READ and masked:
                return path
            if any(masks[name] != shown for name, shown in masked.items() if name in masks):
                return path
        return None

    def _no_view(self, act: str, columns: Sequence[tuple[str, str]], *, is_masked: bool) -> str:
        """The reason why no masking view serves the act; "" if one does."""
        if act != READ:
            return "it has masked columns" if is_masked else "no row policies limit it"
        return self._objects.no_views if columns else "it has no columns there"

    def _read(
        self, table: int, principal: Principal, at: RealmState | None = None
    ) -> LimitedRead | None:
        """What the principal may permanently read of the table, or in the realm `at` present."""
        realm = at or self._realm
        key = table, principal, realm is self._realm
        if key not in self._reads:
            entity = self._snapshot.coded.tree.entity(table)
            request = Request(principal, "", entity, self._now)
            columns = self._objects.columns[self._paths[table]]
            try:
                engine = self._mapping.engine.name
                self._reads[key] = limited_read(realm, request, engine, columns)
            except WardenError:
                self._reads[key] = None
        return self._reads[key]

    def _omit_for(self, group: Readers, why: str, id: int, access: str) -> None:
        entity = self._snapshot.coded.tree.entity(id)
        for principal in group.principals:
            self._omit(why, entity, principal, access)

    def _omit(
        self, why: str, entity: Entity | None = None, of: Principal | None = None, access: str = ""
    ) -> None:
        at = "" if entity is None else str(entity)
        who = "" if of is None else f"{of.kind}:{of.name}"
        self._residues.add(Residue(why, at, who, "", access))
