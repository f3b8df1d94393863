"""Row filters and column masks of readers, in the form of Ranger's policies.

Ranger takes the first matching item, so there is one condition for each reader of a table. What
cannot be expressed hides data: a filter becomes FALSE, a mask NULL, and both are residue. A mask
other than NULL requires the type of its column, as in a catalog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, Matching, On, Statement, Where
from lakewarden.kernel.wildcard import matches
from lakewarden.service.column_names import ColumnNames, column_of
from lakewarden.service.equivalent_users import Readers
from lakewarden.service.limited_tables import newly_limited_tables
from lakewarden.service.read_limits import (
    HIDDEN_ROWS,
    HIDDEN_VALUE,
    counting_mask,
    mask_of,
    mask_value,
    row_filters,
)
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

EVERY_COLUMN: Final = "*"
_READS_USER: Final = "$user"
_PROBE: Final = "column_that_no_table_has_4f1c2a"
"""A column that is not stored: masks on it apply to every future column."""

_COLUMN: Final = re.compile(r"[a-z0-9_@#~=+:*?-]+")
"""Columns and column wildcards that Ranger interprets as intended."""

COLUMN_EXACTLY: Final = re.compile(r"[a-z0-9_@#~=+:-]+")
"""Columns that Ranger interprets as intended, without wildcards."""

_MACRO: Final = re.compile(r"[{}]|\$\$")
"""Parts of an expression that Ranger or its plugin would replace."""

_OF_NAMES: Final = frozenset({"type", "name"})
"""Origins of fields that entities which are not stored have, too."""


Types = Callable[[Entity], Mapping[str, str]]
"""The known types of a table's columns, in the catalog's spelling."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How one user reads a table: the condition on its rows, "" for none, and masked columns.

    `columns` are masked columns with the SQL that is shown instead, or NULL. `only` are the columns
    that may be read, if not all can be distinguished from masked ones.
    """

    condition: str
    columns: tuple[tuple[str, str], ...]
    only: tuple[str, ...] | None = None


def shows_masked(realm: RealmState) -> bool:
    """Whether any mask of the realm shows a value: such masks need the types of their columns."""
    masks = realm.matrix.snapshot.table.obligations(Effect.MASK)
    return any(mask_of(granted.statement).kind != "null" for granted in masks)


class Limits:
    """The filters and masks of a realm, in the SQL of an engine."""

    def __init__(
        self,
        realm: RealmState,
        service: RangerService,
        residues: Residues,
        now: float,
        types: Types | None,
    ) -> None:
        self._realm, self._residues, self._now = realm, residues, now
        self._service, self._known_types = service, types
        self._shows = shows_masked(realm)
        self._engine, self._has_wildcards = service.engine.name, service.wildcards
        self._access = "" if service.reading is None else service.reading.name
        snapshot = realm.matrix.snapshot
        declared = snapshot.model.types
        self._column_types = [name for name, type in declared.items() if type.masked]
        self._masks = [g.statement for g in snapshot.table.obligations(Effect.MASK)]
        self.tables = newly_limited_tables(snapshot, snapshot)
        self._names: dict[Entity, ColumnNames] = {}

    def bound(self, readers: Readers, table: int) -> Mapping[Principal, Bound] | None:
        """How each reader reads the table; None: they may not, since it cannot be expressed."""
        entity = self._realm.matrix.snapshot.coded.tree.entity(table)
        columns, only = self._columns(readers.any, table, entity), None
        if columns is not None and not self._has_wildcards:
            only = self._only(readers.any, table, entity)
            columns = columns if only is None else tuple(sorted({*columns} & {*only}))
        if columns is None or only == ():
            return None
        binding = obligations(self._realm.matrix, self._ask(readers.any, entity), Effect.FILTER)
        masks = {name: self._mask(readers.any, entity, name, columns) for name in columns}
        named = [*binding, *(mask for mask in masks.values() if mask is not None)]
        if not any(_READS_USER in statement.expression for statement in named):
            bound = self._bound(readers.any, entity, binding, masks, only)
            return dict.fromkeys(readers.principals, bound)
        return {
            principal: self._bound(principal, entity, binding, masks, only)
            for principal in readers.principals
        }

    def _bound(
        self,
        principal: Principal,
        table: Entity,
        binding: Sequence[Statement],
        masks: Mapping[str, Statement | None],
        only: tuple[str, ...] | None,
    ) -> Bound:
        types: Mapping[str, str] = {}
        if self._known_types is not None and self._shows and any(masks.values()):
            types = self._known_types(table)
        shown = tuple(
            (name, self._shown(principal, table, name, mask, types)) for name, mask in masks.items()
        )
        return Bound(self._condition(principal, table, binding), shown, only)

    def _condition(self, principal: Principal, table: Entity, binding: Sequence[Statement]) -> str:
        if not binding:
            return ""
        found = row_filters(self._realm, self._ask(principal, table), self._engine)
        for sql, statement in zip(found, binding, strict=True):
            if sql == HIDDEN_ROWS or _MACRO.search(sql):
                self._add(
                    "the filter cannot be said: it hides all rows", table, principal, statement
                )
                return HIDDEN_ROWS
        return " AND ".join(f"({sql})" for sql in found)

    def _columns(self, principal: Principal, table: int, entity: Entity) -> tuple[str, ...] | None:
        """The masked columns, `*` for all; None if they cannot be named.

        Without wildcards, the names of all masked stored columns.
        """
        if not self._masks:
            return ()
        masked: set[str] = set()
        for name in self._candidates(table, entity):
            if not self._masking(principal, entity, name):
                continue
            if name == _PROBE and self._has_wildcards:
                return (EVERY_COLUMN,)
            masked.add(name)
        if not self._has_wildcards:
            masked -= {_PROBE}
            return tuple(sorted(masked))
        masked |= self._wildcards(principal, entity)
        unsaid = sorted(name for name in masked if not _COLUMN.fullmatch(name))
        if unsaid or self._by_name(principal, entity):
            why = "a masked column cannot be named, so the table is not read"
            self._add(why, entity, principal, None)
            return None
        return tuple(sorted(masked))

    def _mask(
        self, principal: Principal, table: Entity, name: str, columns: Sequence[str]
    ) -> Statement | None:
        """The effective mask of a column; None for names with wildcards, and for names they match.

        Of two policies on one column Ranger takes the first one, so both use NULL.
        """
        if any(matches(one, name) for one in columns if one != name or "*" in one or "?" in one):
            if self._shows:
                self._add("a mask by a wildcard is NULL", table, principal, None)
            return None
        masks = self._masking(principal, table, name)
        return counting_mask(masks) if masks else None

    def _shown(
        self,
        principal: Principal,
        table: Entity,
        name: str,
        statement: Statement | None,
        types: Mapping[str, str],
    ) -> str:
        """The SQL that is shown instead of a column; NULL if it cannot be expressed."""
        mask = None if statement is None else mask_of(statement)
        if mask is None or mask.kind == "null":
            return HIDDEN_VALUE
        known = {column: self._service.type_of(type) for column, type in types.items()}
        type, why = known.get(name), "the mask cannot be said in the engine, so it is NULL"
        if type is None:
            why = "the type is not known or differs by connector, so the mask is NULL"
        else:
            beside = {column: one for column, one in known.items() if one is not None}
            asked = self._ask(principal, table)
            sql = mask_value(self._realm, asked, mask, self._engine, name, type, beside)
            if sql != HIDDEN_VALUE and not _MACRO.search(sql):
                return sql
        self._add(why, table, principal, statement)
        return HIDDEN_VALUE

    def _only(self, principal: Principal, table: int, entity: Entity) -> tuple[str, ...] | None:
        """The stored columns, if masks apply to others or to unnameable columns; else None.

        Here a mask must name each column, so columns without a name must not be read.
        """
        stored = [name for name in self._stored(table) if COLUMN_EXACTLY.fullmatch(name)]
        is_open = (
            self._masking(principal, entity, _PROBE)
            or self._wildcards(principal, entity)
            or self._by_name(principal, entity)
        )
        unsaid = (
            name for name in self._candidates(table, entity) if not COLUMN_EXACTLY.fullmatch(name)
        )
        if not is_open and not any(self._masking(principal, entity, name) for name in unsaid):
            return None
        self._add("a mask needs names of columns: those stored are read", entity, principal, None)
        return tuple(sorted(stored))

    def _stored(self, table: int) -> Iterator[str]:
        """The names of the stored columns of a table."""
        tree, parts = self._realm.matrix.snapshot.coded.tree, self._realm.system.spelling.parts
        for type in self._column_types:
            for id in tree.subtree(table) & tree.of_type(type):
                yield parts(tree.entity(id))[-1]

    def _candidates(self, table: int, entity: Entity) -> Iterator[str]:
        """Names of columns: one that no table has, stored ones, and those that masks name."""
        yield _PROBE
        parts = self._realm.system.spelling.parts
        yield from self._stored(table)
        for statement in self._masks:
            anchor = statement.scope.entity if isinstance(statement.scope, On) else None
            if anchor is None or anchor.type not in self._column_types:
                continue
            if tuple(parts(anchor)[:-1]) == tuple(parts(entity)):
                yield parts(anchor)[-1]

    def _wildcards(self, principal: Principal, table: Entity) -> frozenset[str]:
        """Wildcards of column names whose masks apply to the principal in the table."""
        own, found = tuple(self._realm.system.spelling.parts(table)), set()
        for statement in self._masks:
            scope = statement.scope
            if not isinstance(scope, Matching) or len(scope.parts) != len(own) + 1:
                continue
            if all(matches(p, part) for p, part in zip(scope.parts, own, strict=False)):
                example = scope.parts[-1].replace("*", "x").replace("?", "x")
                if statement in self._masking(principal, table, example):
                    found.add(scope.parts[-1])
        return frozenset(found)

    def _by_name(self, principal: Principal, table: Entity) -> bool:
        """Whether a mask with criteria may apply to columns by their names."""
        fields = self._realm.matrix.snapshot.model.fields
        subject = self._realm.matrix.subject(self._ask(principal, table))
        return any(
            isinstance(statement.scope, Where)
            and all(fields[one.field].origin[0] in _OF_NAMES for one in statement.scope.criteria)
            and not statement.exceptions & subject.named
            for statement in self._masks
        )

    def _masking(self, principal: Principal, table: Entity, name: str) -> Sequence[Statement]:
        """The masks on a column, including those on entities without own columns, such as views."""
        if table not in self._names:
            self._names[table] = ColumnNames(self._realm, table, column_of(self._realm, table))
        asked = self._names[table].candidates(name)
        if self._realm.system.spelling.parent(asked[0]) != table:
            asked = [*asked, table]
        found = {
            statement.id: statement
            for entity in asked
            for statement in obligations(
                self._realm.matrix, self._ask(principal, entity), Effect.MASK
            )
        }
        return [*found.values()]

    def _ask(self, principal: Principal, entity: Entity) -> Request:
        return Request(principal, "", entity, self._now)

    def _add(
        self, why: str, entity: Entity, principal: Principal, statement: Statement | None
    ) -> None:
        id = "" if statement is None else statement.id
        self._residues.add(
            Residue(
                why,
                str(entity),
                f"{principal.kind}:{principal.name}",
                id,
                self._access,
            )
        )
