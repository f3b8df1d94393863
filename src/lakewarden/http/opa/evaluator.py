"""What a realm answers Trino: an operation on a resource becomes an operation on an entity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import EngineMapping
from lakewarden.http.engine_access import EngineAccess, vouched
from lakewarden.http.opa.question import Question, Resource, member, parts
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.model import NONE
from lakewarden.kernel.tree import Index
from lakewarden.service.read_limits import HIDDEN_ROWS, HIDDEN_VALUE, column_mask, row_filters
from lakewarden.service.state import RealmState

ENGINE: Final = "trino"
_Tables = Sequence[tuple[Index, str]]


class Evaluator:
    """The answers to one question. An operation that is not known is denied."""

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
        self._engine = mapping.engine
        self._question = question
        self.act = mapping.engine.acts.get(self.operation)

    @property
    def operation(self) -> str:
        """The operation that is asked about, as the request has it."""
        return self._question.action.operation

    def allows(self) -> bool:
        """Whether the operation is allowed on its resource, and on the target of a move."""
        action = self._question.action
        if self.act is None:
            return False
        resource = action.resource or Resource()
        allowed = self._allows(self.act, resource)
        if allowed and action.target_resource is not None:
            return self._enters(self.act, resource, action.target_resource)
        return allowed

    def allowed_indices(self) -> Sequence[int]:
        """The indices of the resources on which it is allowed, in order.

        Of one table with columns they are the indices of its columns.
        """
        act, resources = self.act, self._question.action.filter_resources or []
        if act is None:
            return ()
        if act.name == "FilterColumns":
            return self._allowed_columns(act, resources)
        if act.resource == "table":
            return self._allowed_tables(act, resources)
        return [
            n for n, resource in enumerate(resources) if self._allows(act, resource, listed=True)
        ]

    @property
    def listed(self) -> int:
        """How many resources are asked about, or columns of one table."""
        resources = self._question.action.filter_resources or []
        if self.operation == "FilterColumns" and len(resources) == 1 and resources[0].table:
            return len(resources[0].table.columns or ())
        return len(resources)

    def row_filters(self) -> Sequence[Mapping[str, str]]:
        """The conditions that the rows of a table have to meet, all of them."""
        resource = self._question.action.resource
        if self.act is None or resource is None or resource.table is None:
            return [{"expression": HIDDEN_ROWS}]
        names = parts(resource)
        if self._is_declared(names):
            return ()
        table = self._access.stored(self._types_with_rows, names)
        if table is None:
            return [{"expression": HIDDEN_ROWS}]
        found = row_filters(self._realm, self._access.request("", table), ENGINE)
        return [{"expression": sql} for sql in found]

    def column_mask(self) -> Mapping[str, str] | None:
        """The value to show instead of a column's; None: its own."""
        resource = self._question.action.resource
        return {"expression": HIDDEN_VALUE} if resource is None else self._column_mask(resource)

    def column_masks(self) -> Sequence[Mapping[str, object]]:
        """The masks of the columns that have one, each with the column's index."""
        resources = self._question.action.filter_resources or []
        masks = ((n, self._column_mask(resource)) for n, resource in enumerate(resources))
        return [{"index": n, "viewExpression": mask} for n, mask in masks if mask is not None]

    def _column_mask(self, resource: Resource) -> Mapping[str, str] | None:
        column = resource.column
        if self.act is None or column is None:
            return {"expression": HIDDEN_VALUE}
        names = parts(resource)
        if self._is_declared(names):
            return None
        # A column that the realm cannot name has the masks of its table.
        named = {**names, "column": column.column_name}
        entity = self._access.stored(self._column_types, named) or self._access.stored(
            self._types_with_rows, names
        )
        if entity is None:
            return {"expression": HIDDEN_VALUE}
        request = self._access.request("", entity)
        mask = column_mask(self._realm, request, ENGINE, column.column_name, column.column_type)
        return None if mask is None else {"expression": mask}

    def _is_declared(self, names: Mapping[str, str]) -> bool:
        """Whether the engine declares what is read: no realm holds it."""
        engine = self._engine
        return (
            names.get("catalog", "") in engine.catalogs or names.get("schema", "") in engine.schemas
        )

    @cached_property
    def _types_with_rows(self) -> Mapping[str, object]:
        types = self._realm.matrix.snapshot.model.types
        return {name: type for name, type in types.items() if type.filtered}

    @cached_property
    def _column_types(self) -> Mapping[str, object]:
        types = self._realm.matrix.snapshot.model.types
        return {name: type for name, type in types.items() if type.masked}

    def _allowed_tables(self, act: Act, resources: Sequence[Resource]) -> Sequence[int]:
        """As for others, but each schema is looked at once: a list may have all tables there are.

        COST: under 1 µs for a table (`python -m bench.trino`).
        """
        schemas: dict[tuple[str, str], _Tables | None] = {}
        allowed: list[int] = []
        listed = self._listed_ids
        for number, resource in enumerate(resources):
            table = resource.table
            if table is None:
                continue
            key = table.catalog_name, table.schema_name
            if key not in schemas:
                schemas[key] = self._tables(act, *key)
            tables = schemas[key]
            if tables is None:
                if self._allows(act, resource, listed=True):
                    allowed.append(number)
                continue
            for index, prefix in tables:
                if index.get(prefix + table.table_name) in listed:
                    allowed.append(number)
                    break
        return allowed

    def _tables(self, act: Act, catalog: str, schema: str) -> _Tables | None:
        """What stored tables of a schema are called; None for a schema that the engine declares."""
        engine = self._engine
        if catalog in engine.catalogs or schema in engine.schemas:
            return None
        return self._access.indexes(act, catalog, schema)

    def _allowed_columns(self, act: Act, resources: Sequence[Resource]) -> Sequence[int]:
        if len(resources) != 1 or resources[0].table is None:
            return ()
        columns = resources[0].table.columns or ()
        return tuple(range(len(columns))) if self._allows(act, resources[0]) else ()

    def _allows(self, act: Act, resource: Resource, *, listed: bool = False) -> bool:
        if act.resource != "none" and member(resource, act.resource) is None:
            return False
        if resource.user is not None and act.own and self._is_asker(resource.user.user):
            return True
        names = parts(resource)
        declared = self._declared(act, names)
        if declared is not None:
            return declared
        types = self._access.types(act)
        if NONE in types:
            return self._access.decides_on(act, NO_RESOURCE)
        entity = self._access.stored(types, names)
        if entity is None:
            return False
        if listed:
            return self._access.lists(act, entity)
        return self._access.decides_on(act, entity)

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

    def _enters(self, act: Act, resource: Resource, target: Resource) -> bool:
        """Whether what is renamed may come to lie in the schema of its new name."""
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

    def _is_asker(self, user: str) -> bool:
        return user == self._question.context.identity.user
