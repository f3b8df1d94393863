"""The access of one user in the realm at one time, by Spark's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from lakewarden.config.engines import SparkRealm
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import EngineMapping
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.identifiers import join
from lakewarden.http.engine_access import EngineAccess
from lakewarden.http.engine_figures import decided
from lakewarden.kernel.entity import Entity
from lakewarden.service.actor import Actor
from lakewarden.service.read_limits import column_mask, row_filters
from lakewarden.service.state import RealmState

ENGINE: Final = "spark"
SESSION_CATALOG: Final = "spark_catalog"
_PARTS: Final = ("catalog", "schema", "table")

Name = Sequence[str]
"""Catalog, schema and table, or the first of these, depending on the kind of object."""


class Access:
    """The answers of the realm. An unknown name is denied like a hidden one."""

    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        settings: SparkRealm,
        actor: Actor,
        now: float,
    ) -> None:
        self.user = actor.user
        self._mapping = mapping
        self._settings = settings
        self._realm = realm
        self.used: dict[tuple[str, Entity], str] = {}
        """The operations that were checked and allowed, by act and entity."""
        asking = actor.request(realm.realm, realm.system, "", now=now)
        self._answers = EngineAccess(realm, mapping, settings, asking)

    def open_session(self) -> None:
        """Raises `Denied` for a user who is not one of the realm."""
        act = self._act("OpenSession")
        if not self._counted(act, self._answers.decides(act, {})):
            raise self._denial(act, ())

    def require(self, act: str, name: Name) -> None:
        """Raises `Denied` unless the act is allowed on the object with the name."""
        asked = self._act(act)
        if not self._counted(asked, self._is_allowed(asked, name)):
            raise self._denial(asked, name)
        self._note_used(asked, name)

    def require_writable(self, act: str, name: Name) -> None:
        """Like `require`; also denies if a filter or a mask binds the user on the table.

        Rows hidden by a filter must not be deleted, nor values hidden by a mask be revealed.
        """
        self.require(act, name)
        if self.is_limited(name):
            self._counted(self._act(act), False)
            raise self._denial(self._act(act), name, "without a row filter or column mask on it")

    def require_renamable(self, act: str, name: Name) -> None:
        """Like `require_writable`; also denies if a DENY on one of its columns binds the user.

        The DENY applies by name, and the act would move the table away from that name.
        """
        self.require_writable(act, name)
        asked = self._act(act)
        entity = self._table(asked, name)
        if entity is None or self._answers.withholds(asked, entity):
            self._counted(asked, False)
            raise self._denial(asked, name, "without a DENY on one of its columns")

    def _note_used(self, act: Act, name: Name) -> None:
        is_table = act.resource == "table"
        entity = self._table(act, name) if is_table else self._answers.target(act, _named(name))
        if entity is not None:
            self.used[act.name, entity] = self._mapping.operation(act.name)

    @property
    def follows(self) -> bool:
        """Whether the realm follows what Spark creates, drops and renames."""
        return self._settings.follow

    def entity(self, kind: str, name: Name) -> Entity | None:
        """The realm's entity for a schema, a table or a view of that name, stored or not."""
        return self._answers.entity(kind, _named(name))

    def operation(self, act: str) -> str:
        """The operation of the model for an act."""
        return self._mapping.operation(act)

    @property
    def principal(self) -> str:
        """The user's name in the realm's spelling."""
        return self._answers.request("").principal.name

    def _counted(self, act: Act, is_allowed: bool) -> bool:
        decided(ENGINE, act.name, allowed=int(is_allowed), denied=int(not is_allowed))
        return is_allowed

    def sees(self, name: Name) -> bool:
        """Whether the user may know that there is a table or view of that name."""
        return self._is_allowed(self._act("DescribeTable"), name)

    def is_limited(self, name: Name) -> bool:
        """Whether a filter or a mask binds the user on the table, or inside it."""
        entity = self._table(self._act("SelectFromTable"), name)
        return entity is None or self._answers.is_limited(entity)

    def filters(self, name: Name, columns: Mapping[str, str]) -> list[str]:
        """The row filters of the table, in Spark's SQL.

        `columns` has the types of all its columns.
        """
        entity = self._table(self._act("SelectFromTable"), name)
        if entity is None:
            return ["FALSE"]
        return row_filters(self._realm, self._answers.request("", entity), ENGINE, columns)

    def mask(self, name: Name, column: str, columns: Mapping[str, str]) -> str | None:
        """The expression shown instead of a column, in Spark's SQL; None: its values.

        `columns` has the types of all columns of the table.
        """
        entities = self._answers.columns(_named(name), column)
        if not entities:
            return "NULL"
        requests = [self._answers.request("", one) for one in entities]
        return column_mask(self._realm, requests, ENGINE, column, columns[column], columns)

    def schemas(self, catalog: str) -> list[str]:
        """The schemas of a catalog that the user may use."""
        act = self._act("UseSchema")
        return self._listed(act, {"catalog": catalog})

    def tables(self, catalog: str, schema: str) -> list[str]:
        """The tables and views of a schema that the user may see."""
        return self._listed(self._act("DescribeTable"), {"catalog": catalog, "schema": schema})

    def catalogs(self) -> list[str]:
        """The catalogs of Spark that the user may use."""
        act = self._act("UseCatalog")
        return [name for name in self._catalogs if self._is_allowed(act, (name,))]

    @cached_property
    def _catalogs(self) -> Sequence[str]:
        return sorted({SESSION_CATALOG, *self._settings.catalogs})

    def _listed(self, act: Act, within: Mapping[str, str]) -> list[str]:
        tree, spelling = self._realm.matrix.snapshot.coded.tree, self._realm.system.spelling
        container = self._answers.entity("schema" if "schema" in within else "catalog", within)
        id = None if container is None else tree.find(container)
        if id is None or within["catalog"] not in self._catalogs:
            return []
        entities = (tree.entity(one) for one in self._answers.listed(act) & tree.subtree(id))
        return sorted({spelling.parts(entity)[-1] for entity in entities})

    def _is_allowed(self, act: Act, name: Name) -> bool:
        if not name or name[0] not in self._catalogs:
            return False
        if act.resource == "table":
            entity = self._table(act, name)
            return entity is not None and self._answers.decides_on(act, entity)
        return self._answers.decides(act, _named(name))

    def _table(self, act: Act, name: Name) -> Entity | None:
        """The stored table or view with the name."""
        if len(name) != len(_PARTS) or name[0] not in self._catalogs:
            return None
        entity = self._answers.stored(self._answers.places(act), _named(name))
        tree = self._realm.matrix.snapshot.coded.tree
        return entity if entity is not None and tree.find(entity) is not None else None

    def _act(self, name: str) -> Act:
        return self._mapping.engine.acts[name]

    def _denial(self, act: Act, name: Name, required: str = "") -> Denied:
        operation = self._mapping.operation(act.name)
        rule = required or self._answers.requirement(act)
        target = join(name).replace("`", "") if name else "this realm"
        message = f"not allowed: {act.title}: `{target}` ({operation}); this takes {rule}"
        entity = self._answers.target(act, _named(name))
        decision = None if entity is None else self._answers.denied_decision(act, entity)
        return Denied(message, operation, f"{act.resource}:{target}" if name else "", decision)


def _named(name: Name) -> dict[str, str]:
    return dict(zip(_PARTS, name, strict=False))
