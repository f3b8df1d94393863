"""What a realm answers Trino: an operation on a resource becomes an operation on an entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from pyroaring import BitMap

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import EngineMapping
from lakewarden.http.opa.question import Question, Resource, member, parts
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.listing import listing
from lakewarden.kernel.model import NONE
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.tree import Index
from lakewarden.service.read_limits import HIDDEN_ROWS, HIDDEN_VALUE, column_mask, row_filters
from lakewarden.service.state import RealmState

ENGINE: Final = "trino"
_Tables = Sequence[tuple[Index, str]]
_ORDER = ("metalake", "catalog", "schema", "table", "column", "function")
"""The parts of a name, from the outermost."""


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
        self._realm = realm
        self._mapping = mapping
        self._settings = settings
        self._question = question
        self._now = now
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

    def row_filters(self) -> Sequence[Mapping[str, str]]:
        """The conditions that the rows of a table have to meet, all of them."""
        resource = self._question.action.resource
        if self.act is None or resource is None or resource.table is None:
            return [{"expression": HIDDEN_ROWS}]
        names = parts(resource)
        if self._is_declared(names):
            return ()
        table = self._named_entity(names, self._types_with_rows)
        if table is None:
            return [{"expression": HIDDEN_ROWS}]
        found = row_filters(self._realm.matrix, self._request("", table), ENGINE)
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
        entity = self._named_entity(named, self._column_types) or self._named_entity(
            names, self._types_with_rows
        )
        if entity is None:
            return {"expression": HIDDEN_VALUE}
        request = self._request("", entity)
        matrix, name, type = self._realm.matrix, column.column_name, column.column_type
        mask = column_mask(matrix, request, ENGINE, name, type)
        return None if mask is None else {"expression": mask}

    def _is_declared(self, names: Mapping[str, str]) -> bool:
        """Whether the engine declares what is read: no realm holds it."""
        engine = self._mapping.engine
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

    def _named_entity(self, names: Mapping[str, str], types: Mapping[str, object]) -> Entity | None:
        """The entity that the names give: of those of the types the stored one, else the first."""
        entities = list(self._entities(types, names))
        tree = self._realm.matrix.snapshot.coded.tree
        stored = (entity for entity in entities if tree.find(entity) is not None)
        return next(stored, entities[0] if entities else None)

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
        """What stored tables of a schema are called: by type an index of names, and their start.

        None for a schema that the engine declares. Stored names have a fixed number of parts, so
        behind the start of a schema there is one part, whatever the request says.
        """
        engine = self._mapping.engine
        if catalog in engine.catalogs or schema in engine.schemas:
            return None
        named = self._realm.matrix.snapshot.coded.tree.named
        container = self._named("schema", {"catalog": catalog, "schema": schema})
        if container is None:
            return ()
        types = self._realm.matrix.snapshot.model.operations[self._operation(act)].rules
        templates = {type: self._mapping.names.get(type, "") for type in types if type in named}
        return [
            (named[type], self._filled(template.removesuffix("{table}"), catalog, schema))
            for type, template in templates.items()
            if template.endswith("{table}")
        ]

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
        rules = self._realm.matrix.snapshot.model.operations[self._operation(act)].rules
        if NONE in rules:
            return self._decides(self._operation(act), NO_RESOURCE)
        entity = self._entity(act, names)
        if entity is None:
            return False
        if listed:
            id = self._realm.matrix.snapshot.coded.tree.find(entity)
            return id is not None and id in self._listed
        return self._decides(self._operation(act), entity)

    def _declared(self, act: Act, names: Mapping[str, str]) -> bool | None:
        """Whether what the engine declares may be read; None: the realm decides."""
        engine, catalog = self._mapping.engine, names.get("catalog", "")
        schema, table = names.get("schema", ""), names.get("table", "")
        if catalog in engine.catalogs:
            return act.declared and engine.declares(catalog, schema, table)
        if schema in engine.schemas:
            access = engine.acts["AccessCatalog"]
            entity = self._entity(access, {"catalog": catalog})
            return (
                act.declared
                and entity is not None
                and self._decides(self._operation(access), entity)
            )
        return None

    def _enters(self, act: Act, resource: Resource, target: Resource) -> bool:
        """Whether what is renamed may come to lie in the schema of its new name."""
        source, new = parts(resource), parts(target)
        if not new:
            return False
        if all(source.get(part) == new.get(part) for part in ("catalog", "schema")):
            return True
        entering = self._mapping.engine.acts.get(act.enters)
        return entering is not None and self._allows(entering, target)

    def _operation(self, act: Act) -> str:
        return self._mapping.operation(act.name)

    def _decides(self, operation: str, entity: Entity) -> bool:
        return self._realm.matrix.decide(self._request(operation, entity)).allow

    def _request(self, operation: str, entity: Entity = NO_RESOURCE) -> Request:
        return Request(self.principal, operation, entity, self._now, groups=self._groups)

    @cached_property
    def _listed_ids(self) -> frozenset[int | None]:
        return frozenset(self._listed)

    @cached_property
    def _listed(self) -> BitMap:
        """The ids of the entities on which the operation is allowed."""
        if self.act is None:
            return BitMap()
        return listing(self._realm.matrix, self._request(self._operation(self.act)))

    @cached_property
    def principal(self) -> Principal:
        """Who asks, as the realm spells users."""
        return self._realm.system.identities.user(self._question.context.identity.user)

    @cached_property
    def _groups(self) -> tuple[Principal, ...]:
        if self._settings.groups != "trino":
            return ()
        system = self._realm.system
        return tuple(
            system.spelled(Principal(GROUP, name))
            for name in self._question.context.identity.groups
        )

    def _is_asker(self, user: str) -> bool:
        return user == self._question.context.identity.user

    def _entity(self, act: Act, names: Mapping[str, str]) -> Entity | None:
        """The entity that decides: of the types of the act's rules the one that is stored."""
        operation = self._realm.matrix.snapshot.model.operations[self._operation(act)]
        return self._named_entity(names, operation.rules)

    def _entities(self, types: Mapping[str, object], names: Mapping[str, str]) -> Iterator[Entity]:
        for type in types:
            entity = self._named(type, names)
            if entity is not None:
                yield entity

    def _named(self, type: str, names: Mapping[str, str]) -> Entity | None:
        """The entity of a type that the names give; None where they cannot name one."""
        template = self._mapping.names.get(type)
        if template is None:
            return None
        values = self._template_values(names)
        try:
            text = template.format_map(values)
            entity = self._realm.system.spelling.parse(type, text)
        except (KeyError, WardenError):
            return None
        return entity if self._is_exact(type, values, entity) else None

    def _template_values(self, names: Mapping[str, str]) -> dict[str, str]:
        """The names of a request, with the catalog as the realm calls it, and the metalake."""
        values = {**names, "metalake": self._settings.metalake}
        if "catalog" in names:
            values["catalog"] = self._settings.catalogs.get(names["catalog"], names["catalog"])
        return values

    def _filled(self, template: str, catalog: str, schema: str) -> str:
        return template.format_map(self._template_values({"catalog": catalog, "schema": schema}))

    def _is_exact(self, type: str, values: Mapping[str, str], entity: Entity) -> bool:
        """Whether each name is one part of the entity's: no name may reach into another."""
        own = self._realm.system.spelling.parts(entity)
        template = self._mapping.names[type]
        expected = tuple(values[name] for name in _ORDER if f"{{{name}}}" in template)
        return tuple(own) == expected
