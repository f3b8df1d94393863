"""The grants of an export as statements, by the mapping of their source.

A grant becomes a statement if it means at least as much as Gravitino's privilege. A grant that
means less, or nothing here, is noted with the mapping's reason. If readers of a table do not get
all of it (row filters, column masks), nobody is shown as a reader: everybody has a DENY on it,
since a grant further up would reach it, and its readers get the single columns that are whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, USER, Principal, members_of
from lakewarden.names.letter_case import same_but_for_case
from lakewarden.service.source_row import Row
from lakewarden.systems.gravitino.ingest.catalogs.export_content import (
    COLUMN,
    TABLE,
    VIEW,
    ExportContent,
    are_parts,
    containers,
    split,
)
from lakewarden.systems.gravitino.ingest.catalogs.mapping import SourceMapping
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Granted,
    GrantedColumns,
    Grantee,
    Limited,
    Securable,
    label,
)
from lakewarden.systems.gravitino.ingest.grants import Catalog, Grants, closure, grantee_label

Privileges = Mapping[Entity, set[str]]
"""Privileges by entity, either of the source or of the model."""

OPENS: Final = {"catalog": "USE_CATALOG", "schema": "USE_SCHEMA"}
"""The privilege required to use a container."""

READS: Final = {TABLE: "SELECT_TABLE", VIEW: "SELECT_VIEW"}

DENIED: Final = {
    TABLE: ("SELECT_TABLE", "MODIFY_TABLE", "INSERT_ROWS", "UPDATE_ROWS", "DELETE_ROWS"),
    VIEW: ("SELECT_VIEW",),
}
"""The privileges denied to everybody if readers do not get everything."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the readers of a table: on all of it, or only on `columns`."""

    is_whole: bool
    columns: frozenset[str]

    def hides(self, column: str) -> bool:
        """Whether readers do not get all values of a column."""
        return self.is_whole or any(are_parts(column, name) for name in self.columns)

    def whole(self, columns: Collection[str]) -> set[str]:
        """The known columns whose values readers get.

        Empty if the limit names an unknown column: it could be any.
        """
        for name in self.columns:
            if not any(are_parts(name, column) for column in columns):
                return set()
        return {name for name in columns if not self.hides(name)}


def rows(content: ExportContent, model: Model) -> Iterator[Row]:
    """All rows of an export, possibly with duplicates."""
    grants = Grants(Catalog(content.metalake, ""), model, content.mapping.title)
    _Policy(content, grants).read()
    for subject, text in content.notes:
        grants.note(subject, text)
    yield from content.rows(content.mapping.title)
    yield from grants.rows()


class _Policy:
    """One reading: `own` are the grants of every principal, in words of the source."""

    def __init__(self, content: ExportContent, grants: Grants) -> None:
        self._content = content
        self._mapping: SourceMapping = content.mapping
        self._grants = grants
        self._everybody = members_of(content.metalake)
        self._own: dict[Principal, dict[Entity, set[str]]] = defaultdict(_privileges)
        self._carried: dict[Principal, dict[Entity, set[str]]] = defaultdict(_privileges)
        self._edges: dict[Principal, set[Principal]] = defaultdict(set)
        self._limits: dict[Entity, Limit] = {}
        self._inside: dict[Entity, list[Entity]] | None = None
        self._folded: dict[tuple[bool, str], list[Entity]] | None = None
        limited = (one for one in content.granted if isinstance(one, Granted) and one.limit)
        self._limited_grants = {self._key(one, one.limit) for one in limited}

    def read(self) -> None:
        self._read_members()
        for granted in self._content.granted:
            self._read_granted(granted)
        self._read_limits()
        for principal in self._holders():
            self._carry(principal, self._effective(principal))
        self._read_owners()
        self._column_readers()
        self._statements()
        self._principals()

    def _note(self, subject: str, text: str) -> None:
        self._content.notes.append((subject, text))

    # the content of the export

    def _read_limits(self) -> None:
        for limited in self._content.limited:
            for one in self._on_objects(limited):
                for entity in self._limited(one):
                    before = self._limits.get(entity, Limit(False, frozenset()))
                    columns = before.columns | ({one.column} if one.column else frozenset())
                    self._limits[entity] = Limit(before.is_whole or not one.column, columns)

    def _on_objects(self, limited: Limited) -> Iterator[Limited]:
        """The limits that result from one on a tag: one on each object with the tag."""
        tag = Securable(self._mapping.word(limited.on.kind), limited.on.parts)
        if tag.kind not in self._content.tag_kinds or not all(tag.parts):
            yield limited
            return
        self._note(label(limited.on), self._content.reason(limited.feature))
        for one in self._content.tagged.get(tag, ()):
            is_column = self._mapping.kind(one.on.kind).type == COLUMN
            on = Securable("TABLE", one.on.parts[:-1]) if is_column else one.on
            column = one.on.parts[-1] if is_column else ""
            yield Limited(on, limited.feature, one.place, column)

    def _limited(self, limited: Limited) -> Sequence[Entity]:
        """The tables and views of a limit; for a container, all that are in it."""
        type = self._mapping.kind(limited.on.kind).type
        if type not in {*DENIED, *OPENS}:
            title = self._mapping.features[limited.feature].title
            message = f"{title} on {label(limited.on)}: nobody knows which tables it limits"
            raise BadInput(message, where=limited.place)
        if type in OPENS:
            named = self._content.named(limited.on)
            why = "nothing of it is known"
            found = self._leaves().get(named, []) if named is not None else []
            found = found or self._spelled_otherwise(limited.on)
        else:
            is_named = self._content.names(limited.on)
            entity, why = self._content.entity(limited.on, limited.place)
            found = [] if entity is None else [entity]
            if not is_named:
                found += (one for one in self._spelled_otherwise(limited.on) if one != entity)
        self._note(label(limited.on), self._content.reason(limited.feature) if found else why)
        return found

    def _spelled_otherwise(self, on: Securable) -> list[Entity]:
        """The tables and views of a limit whose own name the export does not list, or grant on.

        A source that folds names may list them in another case.
        """
        named = self._content.named(on)
        if named is None:
            return []
        if self._folded is None:
            self._folded = defaultdict(list)
            for container, leaves in self._leaves().items():
                self._folded[_folded(container)] += leaves
            for entity in self._content.tables_and_views():
                self._folded[_folded(entity)].append(entity)
        return self._folded[_folded(named)]

    def _leaves(self) -> dict[Entity, list[Entity]]:
        """The tables and views of each container."""
        if self._inside is None:
            self._inside = defaultdict(list)
            for entity in self._content.tables_and_views():
                for container in containers(entity):
                    self._inside[container].append(entity)
        return self._inside

    def _read_members(self) -> None:
        for record in self._content.members:
            member, why = self._content.principal(record.member)
            of, why_not = self._content.principal(record.of)
            if member is None or of is None:
                self._note(record.member.name, f"member of {record.of.name}: {why or why_not}")
            elif member not in self._content.inactive:
                self._edges[member].add(of)

    def _read_granted(self, granted: Granted | GrantedColumns) -> None:
        if isinstance(granted, GrantedColumns):
            for one in self._columns(granted):
                self._read_granted(one)
            return
        limit = granted.limit
        if granted.unless and self._key(granted, granted.unless) in self._limited_grants:
            limit = granted.unless
        if limit:
            reason = self._content.reason(limit)
            self._left_out(granted.on, granted.privilege, granted.grantee, reason)
            return
        principal, why = self._content.principal(granted.grantee)
        entity, why_not = self._content.entity(granted.on, granted.place)
        reason = why or why_not
        if entity is not None and principal is not None and not reason:
            if self._mapping.meaning(granted.privilege, entity.type) or self._is_part(
                granted, entity
            ):
                if principal not in self._content.inactive:
                    self._own[principal][entity].add(self._mapping.word(granted.privilege))
                return
            reason = self._meaningless(granted.privilege, entity)
        self._left_out(granted.on, granted.privilege, granted.grantee, reason)

    def _key(self, granted: Granted, limit: str) -> tuple[object, ...]:
        """A grant with a limit, in the same form for all files of an export.

        Only one of them may know that a table is a view, and addresses may differ in case.
        """
        named = self._content.named(granted.on)
        on = None if named is None else (named.type in DENIED, named.name)
        who = same_but_for_case(granted.grantee.name)
        return who, on, self._mapping.word(granted.privilege), limit

    def _meaningless(self, word: str, entity: Entity) -> str:
        return self._mapping.privilege(word).never or f"nothing on a {entity.type}"

    def _is_part(self, granted: Granted, entity: Entity) -> bool:
        """Whether the privilege has a meaning there together with others."""
        word = self._mapping.word(granted.privilege)
        return any(
            word in together.privileges and entity.type in together.means
            for together in self._mapping.together
        )

    def _left_out(self, on: Securable, privilege: str, grantee: Grantee, reason: str) -> None:
        self._note(label(on), f"{privilege} to {grantee.name}: {reason}")

    def _columns(self, granted: GrantedColumns) -> Iterator[Granted]:
        """The grants on single columns; none if the other columns are unknown."""
        entity, why = self._content.entity(granted.table, granted.place)
        known = self._content.columns.get(entity, set()) if entity is not None else set()
        names: Collection[str] = granted.columns
        if granted.is_excluding:
            excluded = Limit(False, granted.columns)
            names = [name for name in known if not excluded.hides(name)]
        if entity is None or entity.type != TABLE or not names:
            reason = why or "single columns of a view"
            if entity is not None and entity.type == TABLE:
                reason = "it names no column" if known else "its columns are not known"
            self._left_out(granted.table, granted.privilege, granted.grantee, reason)
            return
        for name in sorted(names):
            on = Securable("COLUMN", (*granted.table.parts, name))
            yield Granted(granted.grantee, granted.privilege, on, granted.place)

    # the meaning

    def _holders(self) -> list[Principal]:
        """All principals with grants of their own, or of a role that they inherit."""
        if not self._mapping.single_role:
            return sorted(self._own)
        inheriting = (one for one in self._edges if one.kind == ROLE or one == self._everybody)
        return sorted({*self._own, *inheriting})

    def _effective(self, principal: Principal) -> Privileges:
        is_acted_as = principal.kind == ROLE or principal == self._everybody
        if not self._mapping.single_role or not is_acted_as:
            return self._own.get(principal, {})
        merged = _privileges()
        acting = {principal, self._everybody}
        for one in acting.union(*(closure(start, self._edges) for start in acting)):
            for entity, words in self._own.get(one, {}).items():
                merged[entity] |= words
        return merged

    def _carry(self, principal: Principal, effective: Privileges) -> None:
        for entity, words in effective.items():
            lacking = {word: self._lacking(word, entity, effective) for word in words}
            sound = {word for word in words if not lacking[word]}
            for word in sound:
                self._carried[principal][entity] |= {*self._mapping.meaning(word, entity.type)}
            said = {word for word in sound if self._mapping.meaning(word, entity.type)}
            for together in self._mapping.together:
                if together.privileges <= sound:
                    self._carried[principal][entity] |= {*together.means.get(entity.type, ())}
                    said |= together.privileges
            for word in sorted(self._own.get(principal, {}).get(entity, set()) - said):
                why = f"it lacks {lacking[word]}" if lacking[word] else ""
                why = why or self._meaningless(word, entity)
                self._note(str(entity), f"{word} to {principal.name}: {why}")

    def _lacking(self, word: str, entity: Entity, effective: Privileges) -> str:
        """The privileges that the grantee also needs, and does not have."""
        for needed in self._mapping.privilege(word).needs:
            if not any(self._has((needed,), at, effective) for at in (entity, *_above(entity))):
                return needed
        if self._mapping.inside:
            is_inside = entity.type in OPENS and word not in self._mapping.inside
            for at in (*([entity] if is_inside else []), *_above(entity)):
                if not self._has(self._mapping.inside, at, effective):
                    return f"{self._mapping.inside[0]} on the {at.type}"
        return ""

    def _has(self, words: Sequence[str], on: Entity, effective: Privileges) -> bool:
        everybody = self._own.get(self._everybody, {}).get(on, set())
        having = everybody | effective.get(on, set())
        is_all = any(self._mapping.privilege(word).is_all for word in having)
        return is_all or not having.isdisjoint(words)

    def _read_owners(self) -> None:
        for entity, grantee in self._content.owners:
            ownership = self._mapping.owner.get(entity.type)
            principal, why = self._content.principal(grantee)
            if entity in self._limits:
                why = "readers of it do not get everything"
            if ownership is None:
                why = why or f"who owns a {entity.type} owns nothing in it"
            elif ownership.of_users and principal is not None and principal.kind != USER:
                why = why or f"only users own a {entity.type}"
            if principal is None or ownership is None or why:
                self._note(str(entity), f"the owner {grantee.name}: {why}")
            elif principal not in self._content.inactive:
                is_user = principal.kind == USER
                if ownership.is_owner and is_user:
                    self._grants.owner(entity, principal.name)
                self._carried[principal][entity] |= set(ownership.means)

    def _column_readers(self) -> None:
        """Readers of a table with some masked columns may read the others."""
        readers: dict[Entity, list[dict[Entity, set[str]]]] = defaultdict(list)
        for carried in self._carried.values():
            for entity, privileges in carried.items():
                if READS[TABLE] in privileges:
                    readers[entity].append(carried)
        for entity, limit in self._limits.items():
            whole = limit.whole(self._content.columns.get(entity, ()))
            if entity.type != TABLE or not whole:
                continue
            for at in (entity, *_above(entity)):
                for carried in readers.get(at, ()):
                    for name in whole:
                        carried[Entity(COLUMN, f"{entity.name}.{name}")].add("SELECT_COLUMN")

    # rows

    def _statements(self) -> None:
        for principal, carried in self._carried.items():
            if self._mapping.opens:
                self._open(carried)
            for entity, privileges in carried.items():
                if privileges and not self._is_masked(entity):
                    self._state(principal, entity, privileges)
        for entity in self._limits:
            self._grants.deny("limited", [self._everybody], entity, DENIED[entity.type])

    def _is_masked(self, column: Entity) -> bool:
        """Whether readers do not get everything of the column."""
        if column.type != COLUMN:
            return False
        table, name = split(column)
        limit = self._limits.get(table)
        return limit is not None and limit.hides(name)

    def _state(self, principal: Principal, entity: Entity, privileges: Iterable[str]) -> None:
        words = self._own.get(principal, {}).get(entity, set())
        title = grantee_label(principal.kind, principal.name)
        named = sorted(words) or sorted(privileges)
        self._grants.grant(title, [principal], entity, privileges, named)

    def _open(self, carried: dict[Entity, set[str]]) -> None:
        """A grant on a container, or inside it, includes using the container."""
        for entity in [one for one, privileges in carried.items() if privileges]:
            for at in (entity, *containers(entity)):
                if at.type in OPENS:
                    carried[at].add(OPENS[at.type])

    def _principals(self) -> None:
        everybody = {self._everybody}
        named = {*self._content.principals, *self._edges, *self._carried} - everybody
        for principal in sorted(named):
            if principal.kind == ROLE:
                self._grants.role(principal.name.partition(":")[2])
            elif principal.kind == GROUP:
                self._grants.group(principal.name)
            elif principal.kind not in IMPLIED and principal not in self._content.inactive:
                self._grants.user(principal.name, sorted(self._acting(principal) - everybody))
        if self._content.inactive:
            for principal in sorted(self._content.inactive):
                self._note(principal.name, "not active: no user here")

    def _acting(self, user: Principal) -> set[Principal]:
        """The roles and groups of a user."""
        if self._mapping.single_role:
            return {*self._edges.get(user, ())}
        return {*closure(user, self._edges), *closure(self._everybody, self._edges)}


def _privileges() -> dict[Entity, set[str]]:
    return defaultdict(set)


def _folded(entity: Entity) -> tuple[bool, str]:
    """The common form of the names of tables and views, or of containers, but for case."""
    return entity.type in DENIED, same_but_for_case(entity.name)


def _above(entity: Entity) -> list[Entity]:
    return list(containers(entity))
