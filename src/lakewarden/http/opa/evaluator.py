"""The realm's answers to Trino: an operation on a resource becomes an operation on an entity."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import EngineMapping
from lakewarden.expressions.masks import Mask
from lakewarden.http.engine_access import EngineAccess, Names, vouched
from lakewarden.http.opa.question import Question, Resource, Table, chosen, member, parts
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service.denials import DeniedDecision
from lakewarden.service.read_limits import HIDDEN_VALUE, binding_mask, mask_value, row_filters
from lakewarden.service.state import RealmState

ENGINE: Final = "trino"
_FEW: Final = 500
"""The most columns of a short question."""

HIDING: Final = Mask("null")
_OF_FILES: Final = frozenset({"table_properties", "procedures"})
"""The kinds of choices that may set file locations."""

_STORING: Final = frozenset({"CreateMaterializedView", "RefreshMaterializedView"})
"""The operations that store rows of a view, which others read with no check of its tables."""

_INNER: Final = re.compile(r"[$:@]")
"""The signs in table names that refer to another table: its files, partitions and history, a
snapshot of it, or (Elasticsearch) a search in it."""

_QUERY: Final = re.compile(r"[\s*,<]|\A_all\Z")
"""Table names that may stand for other tables: a query (Pinot), a pattern (BigQuery), or several
indexes, those of a date or all of them (Elasticsearch)."""

_LISTING: Final = "FilterColumns"
_READING: Final = "SelectFromColumns"
_BY_VIEW: Final = "CreateViewWithSelectFromColumns"
"""Trino's question about the tables of a view with SECURITY DEFINER, as the owner of the view."""


_LookUp = tuple[Callable[[str], int | None], str, str, frozenset[str]]
"""The parts of `NamesIndex.id`, inlined: a call for each table would take as long again."""


class MaskedColumn(NamedTuple):
    """The mask of a column, and a function for the SQL that is shown; None: there is none."""

    mask: Mask
    value: Callable[[], str] | None

    @property
    def sql(self) -> str:
        """The SQL that is shown."""
        return HIDDEN_VALUE if self.value is None else self.value()


class Evaluator:
    """The answers to one question. An unknown operation is denied."""

    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        settings: TrinoRealm,
        question: Question,
        now: float,
    ) -> None:
        identity = question.context.identity
        groups = identity.groups if settings.groups == ENGINE else ()
        asking = vouched(realm, identity.user, groups, now)
        self._access = EngineAccess(realm, mapping, settings, asking)
        self._realm = realm
        self._settings = settings
        self._engine = mapping.engine
        self._question = question
        self.act = mapping.engine.acts.get(self.operation)

    @property
    def question(self) -> Question:
        """The question that is answered."""
        return self._question

    @property
    def operation(self) -> str:
        """The operation of the question, as in the request."""
        return self._question.action.operation

    def allows(self) -> bool:
        """Whether the operation is allowed on its resource, and on the target of a move."""
        action = self._question.action
        if self.act is None or self.is_withheld:
            return False
        resource = action.resource or Resource()
        if self.act.name == _LISTING and resource.table is not None and resource.table.columns:
            # If Trino has no address for lists, it asks about one column at a time.
            columns = self._allowed_columns(self.act, [resource])
            return len(columns) == len(resource.table.columns)
        allowed = self._allows(self.act, resource) and self._missing(resource) is None
        if allowed and action.target_resource is not None:
            return self._may_move_to_schema(self.act, resource, action.target_resource)
        return allowed

    @cached_property
    def is_withheld(self) -> bool:
        """Whether the operation is withheld from the user, because of limits or a DENY inside."""
        act, resource = self.act, self._question.action.resource
        if act is None or not (act.whole or act.renames) or resource is None:
            return False
        names = parts(resource)
        entity = self._access.stored(self._access.places_with_rows, names)
        entity = entity or self._access.target(act, names)
        return entity is not None and self._access.withholds(act, entity)

    def allowed_indices(self) -> Sequence[int]:
        """The indices of the resources on which the operation is allowed, in order.

        For one table with columns, they are the indices of its columns.
        """
        act, resources = self.act, self._question.action.filter_resources or []
        if act is None:
            return ()
        if act.name == _LISTING:
            return self._allowed_columns(act, resources)
        if act.resource == "table":
            return self._allowed_tables(act, resources)
        return [
            n for n, resource in enumerate(resources) if self._allows(act, resource, listed=True)
        ]

    def _missing(self, resource: Resource) -> tuple[Act, Names] | None:
        """A further act that the request requires and that is denied, with its names."""
        names = parts(resource)
        if not self._may_choose(resource):
            return self._engine.acts[self._engine.guarding], {"catalog": names["catalog"]}
        if not self._may_replace(resource, names):
            return self._engine.acts[self.act.replaces if self.act else ""], names
        return None

    def _may_replace(self, resource: Resource, names: Names) -> bool:
        """Whether an existing object may be dropped: `OR REPLACE` has no question of its own."""
        if self.act is None or not self.act.replaces:
            return True
        there = self._access.stored(self._access.places_with_rows, names)
        if there is None or not self._access.is_stored(there):
            return True
        # The act depends on what is dropped: a table does not replace a view.
        drops = {one.replaces for one in self._engine.acts.values() if one.replaces}
        return any(self._allows(self._engine.acts[one], resource) for one in sorted(drops))

    def _may_choose(self, resource: Resource) -> bool:
        """Whether the request may make its further choices, such as the location of files.

        The owner of these files is not known here, so it requires a right on the catalog.
        """
        engine, names = self._engine, parts(resource)
        guarded = {kind for kind, name in chosen(resource) if engine.guards(kind, name)}
        if self._settings.locations == "catalog":
            guarded -= _OF_FILES
        if not guarded:
            return True
        catalog = {"catalog": names.get("catalog", "")}
        return self._access.decides(engine.acts[engine.guarding], catalog)

    @property
    def is_short(self) -> bool:
        """Whether a few decisions answer it, without a search inside."""
        resource = self._question.action.resource
        table = None if resource is None else resource.table
        columns = () if table is None else table.columns or ()
        return not self._access.mapping.within and len(columns) <= _FEW

    def denied(self) -> DeniedDecision | None:
        """The decision behind a denial that is shown; None if none of the realm's is behind it."""
        act, action = self.act, self._question.action
        if act is None or act.silent:
            return None
        resource = action.resource or Resource()
        target = None if self.is_withheld else action.target_resource
        if target is not None and self._allows(act, resource):
            # The object may be moved, but not to its new schema.
            act, resource = self._engine.acts.get(act.enters, act), target
        names = parts(resource)
        if self._is_declared(names):
            act, names = self._engine.acts["AccessCatalog"], {"catalog": names["catalog"]}
        elif not self.is_withheld and self._allows(act, resource):
            act, names = self._missing(resource) or (act, names)
        if self._access.is_about_nothing(act):
            return self._access.denied_decision(act, NO_RESOURCE)
        entity = self._access.stored(self._access.places(act), names)
        if entity is None:
            return None
        return self._access.denied_decision(act, entity, self._named(act, entity, resource, names))

    @property
    def listed(self) -> int:
        """The number of resources in the question, or of columns of one table."""
        resources = self._question.action.filter_resources or []
        if self.operation == _LISTING and len(resources) == 1 and resources[0].table:
            return len(resources[0].table.columns or ())
        return len(resources)

    def row_filters(self) -> Sequence[str] | None:
        """The row filters of a table; None: the table cannot be named."""
        resource = self._question.action.resource
        if self.act is None or resource is None or resource.table is None:
            return None
        names = parts(resource)
        if self._is_declared(names):
            return ()
        table = self._access.stored(self._access.places_with_rows, names)
        if table is None:
            return None
        return row_filters(self._realm, self._access.request("", table), ENGINE)

    def masked(self, resource: Resource) -> MaskedColumn | None:
        """The mask of a column; None: its own values are shown."""
        column = resource.column
        if self.act is None or column is None:
            return MaskedColumn(HIDING, None)
        names = parts(resource)
        if self._is_declared(names):
            return None
        entities = self._access.columns(names, column.column_name)
        if not entities:
            return MaskedColumn(HIDING, None)
        requests = [self._access.request("", one) for one in entities]
        mask = binding_mask(self._realm, *requests)
        if mask is None:
            return None

        def value() -> str:
            of = column.column_name, column.column_type
            return mask_value(self._realm, requests[0], mask, ENGINE, *of)

        return MaskedColumn(mask, value)

    def _is_declared(self, names: Mapping[str, str]) -> bool:
        """Whether the engine declares what is read: no realm stores it."""
        engine = self._engine
        return (
            names.get("catalog", "") in engine.catalogs or names.get("schema", "") in engine.schemas
        )

    def _allowed_tables(self, act: Act, resources: Sequence[Resource]) -> Sequence[int]:
        """As for other resources, but with one lookup per schema: a list may contain all tables.

        COST: under 1 µs for a table (`python -m bench.trino`).
        """
        allowed: list[int] = []
        listed, judges = self._listed_ids, self._judges(act)
        look_ups: dict[str, dict[str, Sequence[_LookUp] | None]] = {}
        for number, resource in enumerate(resources):
            table = resource.table
            if table is None:
                continue
            try:
                looking = look_ups[table.catalog_name][table.schema_name]
            except KeyError:
                names = table.catalog_name, table.schema_name
                looking = self._lookup_indexes(act, *names)
                look_ups.setdefault(names[0], {})[names[1]] = looking
            name = table.table_name
            for get, start, end, ends in looking or ():
                id = get(f"{start}{name}{end}")
                if id in listed and ends.isdisjoint(name):
                    allowed.append(number)
                    break
            else:
                if (judges or looking is None) and self._allows(act, resource, listed=True):
                    allowed.append(number)
        return allowed

    def _judges(self, act: Act) -> bool:
        """Whether a name that is not stored may be allowed."""
        model, places = self._realm.matrix.snapshot.model, self._access.mapping.places
        return any(model.judged(places[name].type) for name in self._access.places(act))

    def _lookup_indexes(self, act: Act, catalog: str, schema: str) -> Sequence[_LookUp] | None:
        """The indexes for tables of a schema; None for a schema that the engine declares."""
        engine = self._engine
        if catalog in engine.catalogs or schema in engine.schemas:
            return None
        indexes = self._access.indexes(act, catalog, schema)
        return [(one.index.get, one.start, one.end, one.ends) for one in indexes if one.index]

    def _allowed_columns(self, act: Act, resources: Sequence[Resource]) -> Sequence[int]:
        if len(resources) != 1 or resources[0].table is None:
            return ()
        table = resources[0].table
        columns = table.columns or ()
        whole = Resource(table=Table(table.catalog_name, table.schema_name, table.table_name))
        names = parts(resources[0])
        if self._allows(act, whole):
            return self._columns_without_deny(names, columns)
        return [n for n, name in enumerate(columns) if self._allows_columns(act, names, [name])]

    def _columns_without_deny(self, names: Names, columns: Sequence[str]) -> Sequence[int]:
        """The columns, of a table that is read as a whole, that no DENY closes."""
        reading = self._engine.acts[_READING]
        table = self._access.stored(self._access.places(reading), names)
        if table is None or not self._access.may_be_denied_inside(reading, table):
            return tuple(range(len(columns)))
        found = [self._access.columns(names, one) for one in columns]
        named = [column for entities in found for column in entities]
        closed = self._access.denied_inside(reading, table, named)
        return [number for number, one in enumerate(found) if closed.isdisjoint(one)]

    def _allows(self, act: Act, resource: Resource, *, listed: bool = False) -> bool:
        if act.resource != "none" and member(resource, act.resource) is None:
            return False
        if resource.user is not None and act.own and self._is_caller(resource.user.user):
            return True
        names = parts(resource)
        declared = self._declared(act, names)
        if declared is not None:
            return declared
        if self._access.is_about_nothing(act):
            return self._access.decides_on(act, NO_RESOURCE)
        if act.name == _BY_VIEW and self._exposes_denied(names):
            return False
        if act.name in _STORING and self._settings.definer_views != "all":
            return not self._access.limits_anybody and self._allows_on(
                act, resource, names, listed=listed
            )
        table = names.get("table", "")
        if _INNER.search(table) and not self._allows_around(act, names):
            return False
        if _QUERY.search(table) and not self._allows_query(act, names):
            return False
        if table and self._is_limited_in_another_case(act, names):
            return False
        return self._allows_on(act, resource, names, listed=listed)

    def _allows_query(self, act: Act, names: Names) -> bool:
        """Whether a name that may stand for others is stored, or no table is closed or limited."""
        entity = self._access.stored(self._access.places(act), names)
        if entity is not None and self._access.is_stored(entity):
            return True
        return not (self._access.limits_anybody or self._access.denies_anything)

    def _is_limited_in_another_case(self, act: Act, names: Names) -> bool:
        """Whether a name that is not stored may be one with limits: the engine folds names."""
        if not (self._access.limits_anybody or self._access.denies_anything):
            return False
        entity = self._access.stored(self._access.places(act), names)
        return (
            entity is not None
            and not self._access.is_stored(entity)
            and self._access.is_limited_in_another_case(entity)
        )

    def _allows_around(self, act: Act, names: Names) -> bool:
        """Whether the act is allowed on the table that a name like `orders$partitions` refers to.

        Filters and masks of the table do not apply to its rows, so it is denied to every user whom
        one binds. A stored name is a table of its own.
        """
        places = self._access.places(act)
        entity = self._access.stored(places, names)
        if entity is None or self._access.is_stored(entity):
            return entity is not None
        around = {**names, "table": _INNER.split(names["table"])[0]}
        whole = self._access.stored(places, around)
        table = self._access.stored(self._access.places_with_rows, around) or whole
        if whole is None or table is None or self._access.is_limited(table):
            return False
        if self._is_limited_in_another_case(act, around):
            return False
        return self._access.decides_on(act, whole)

    def _allows_on(self, act: Act, resource: Resource, names: Names, *, listed: bool) -> bool:
        """Whether the act is allowed on the resource of the names."""
        entity = self._access.stored(self._access.places(act), names)
        if entity is not None:
            named = self._named(act, entity, resource, names)
            is_allowed = (
                self._access.lists(act, entity)
                if listed
                else self._access.decides_on(act, entity, named)
            )
            if is_allowed:
                return True
            if self._access.is_denied_inside(act, entity, named):
                return False
        columns = resource.table.columns if resource.table is not None else None
        return bool(columns) and self._allows_columns(act, names, columns or ())

    def _named(
        self, act: Act, entity: Entity, resource: Resource, names: Names
    ) -> Sequence[Entity] | None:
        """The columns in the question; None for all of them, if none are listed.

        Also None if a column has no name in the realm: it could be any.
        """
        columns = None if resource.table is None else resource.table.columns
        if columns is None or not self._access.may_be_denied_inside(act, entity):
            return None
        found = [self._access.columns(names, one) for one in columns]
        return [column for named in found for column in named] if all(found) else None

    def _exposes_denied(self, names: Names) -> bool:
        """Whether a view would show others what they may not see of the table."""
        if self._settings.definer_views == "all":
            return False
        table = self._access.stored(self._access.places_with_rows, names)
        return table is None or self._access.carries_limits(table)

    def _allows_columns(self, act: Act, names: Names, columns: Sequence[str]) -> bool:
        """Whether the act is allowed on each of the columns by itself."""
        places = [name for name in self._access.places(act) if name in self._access.column_places]
        entities = [self._access.stored(places, {**names, "column": one}) for one in columns]
        return all(one is not None and self._access.decides_on(act, one) for one in entities)

    def _declared(self, act: Act, names: Mapping[str, str]) -> bool | None:
        """Whether what the engine declares may be read; None: the realm decides."""
        engine, catalog = self._engine, names.get("catalog", "")
        schema, table = names.get("schema", ""), names.get("table", "")
        if catalog in engine.catalogs:
            return act.declared and engine.declares(catalog, schema, table)
        if schema in engine.schemas:
            access = engine.acts["AccessCatalog"]
            return act.declared and self._access.decides(access, {"catalog": catalog})
        return None

    def _may_move_to_schema(self, act: Act, resource: Resource, target: Resource) -> bool:
        """Whether the renamed object may be moved to the schema of its new name."""
        source, new = parts(resource), parts(target)
        if not new:
            return False
        if all(source.get(part) == new.get(part) for part in ("catalog", "schema")):
            return True
        entering = self._engine.acts.get(act.enters)
        return entering is not None and self._allows(entering, target)

    @cached_property
    def _listed_ids(self) -> frozenset[int | None]:
        return frozenset(self._access.listed(self.act) if self.act else ())

    def _is_caller(self, user: str) -> bool:
        return user == self._question.context.identity.user
