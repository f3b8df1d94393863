"""How one table of an export is read: the meaning of its columns.

file        the file's name without its ending; default: the table's own name
query       for a database: the query that returns the rows
holds       entities, grants, members, limits, principals or tags
optional    whether the file may lack its columns, and is then read without them
required    why the export must contain it: without it more would be allowed
required_by a file without which it is not required
name        the columns with the parts of the name; or by type, lists of them
kind        a word of `[kinds]`; kind_column: the column that has one
owner, owner_kind_column                         for entities
grantee, grantee_kind, grantee_kind_column, privilege   for grants; `unless`: a feature that the
            table does not show, so a grant that another file has with it does not count
member, member_kind, member_kind_column, of, of_kind, within   for members; `within` is the column
            with the container of both
principal, principal_kind, active                for principals; `active` in `{column: words}`
column, feature                                  for limits; grants with a feature are left out
tag, tag_kind                                    for tags: the columns with its name
only, skip  rows that count or do not, by column: words; `gone`: a column that is empty if the row
            still counts, and otherwise holds a time
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Complete,
    Exists,
    Granted,
    Grantee,
    Limited,
    MemberOf,
    Present,
    Record,
    Securable,
    Tagged,
)

ENTITIES: Final = "entities"
GRANTS: Final = "grants"
MEMBERS: Final = "members"
LIMITS: Final = "limits"
PRINCIPALS: Final = "principals"
TAGS: Final = "tags"

Cells = Mapping[str, str]
"""One row: texts by column name in lower case; empty for null."""

Words = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class PrincipalColumns:
    """A principal in a row: the column with its name, and its kind or the column with the kind."""

    column: str
    kind: str
    kind_column: str

    def of(self, cells: Cells, container: str = "") -> Grantee:
        """The principal of a row."""
        kind = self.kind or cells.get(self.kind_column, "")
        return Grantee(kind, cells[self.column], container)

    def columns(self) -> Iterator[str]:
        """The columns that it reads."""
        yield from filter(None, (self.column, self.kind_column))


@dataclass(frozen=True, slots=True)
class TableSpec:
    """How a table is read, see the module."""

    name: str
    file: str
    query: str
    holds: str
    required: str
    required_by: str
    is_optional: bool
    parts: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]
    kind: str
    kind_column: str
    who: PrincipalColumns | None
    of: PrincipalColumns | None
    within: str
    privilege: str
    column: str
    feature: str
    unless: str
    tag: tuple[str, ...]
    tag_kind: str
    only: Words
    skip: Words
    active: Words
    gone: str

    def columns(self) -> frozenset[str]:
        """The columns that are required to read the table."""
        columns = {name for parts in self.parts.values() for name in parts}
        columns |= {*self.only, *self.skip, *self.active, *self.tag}
        columns |= {self.kind_column, self.privilege, self.column, self.gone, self.within}
        for who in (self.who, self.of):
            columns |= set(who.columns()) if who is not None else set()
        return frozenset(columns - {""})

    def lists(self) -> Iterator[Record]:
        """What the export lists completely, if it has this table."""
        if self.holds == PRINCIPALS and self.who is not None and self.who.kind:
            yield Complete(self.who.kind)
        if self.holds == TAGS:
            yield Complete(self.tag_kind)

    def records(self, cells: Cells, place: str) -> Iterator[Record]:
        """The records of one row; none if the row does not count. Raises `BadInput`."""
        if self.gone and cells[self.gone]:
            if not any(map(str.isdecimal, cells[self.gone])):
                message = f"expected a time or an empty cell, got {quoted(cells[self.gone])}"
                raise BadInput(message, where=f"{place}.{self.gone}")
            return
        if not _matches(self.only, cells) or (self.skip and _any(self.skip, cells)):
            return
        yield self._record(cells, place)

    def _record(self, cells: Cells, place: str) -> Record:
        who = self.who.of(cells) if self.who is not None else None
        if self.holds == PRINCIPALS and who is not None:
            return Present(who, place, not self.active or _matches(self.active, cells))
        if self.holds == MEMBERS and self.who is not None and self.of is not None:
            within = cells[self.within] if self.within else ""
            return MemberOf(self.who.of(cells, within), self.of.of(cells, within), place)
        on = self._securable(cells)
        if self.holds == TAGS:
            tag = Securable(self.tag_kind, tuple(cells[column] for column in self.tag))
            return Tagged(tag, on, place)
        if self.holds == LIMITS:
            return Limited(on, self.feature, place, cells[self.column] if self.column else "")
        if self.holds == GRANTS and self.who is not None:
            grantee = self.who.of(cells, next(iter(on.parts), ""))
            return Granted(grantee, cells[self.privilege], on, place, self.feature, self.unless)
        return Exists(on, place, who if who is not None and who.name else None)

    def _securable(self, cells: Cells) -> Securable:
        kind = self.kind or cells[self.kind_column]
        type = self.types.get(kind.upper().replace(" ", "_"), "")
        columns = self.parts.get(type) or self.parts.get("", ())
        return Securable(kind, tuple(cells[column] for column in columns))


def _matches(words: Words, cells: Cells) -> bool:
    return all(cells[column] in values for column, values in words.items())


def _any(words: Words, cells: Cells) -> bool:
    return any(cells[column] in values for column, values in words.items())


def read_table(
    name: str,
    section: Section,
    kinds: Mapping[str, object],
    principals: Collection[str],
    features: Collection[str],
) -> TableSpec:
    """The table that a section declares. Raises `BadInput`."""
    kinds_of_rows = (ENTITIES, GRANTS, MEMBERS, LIMITS, PRINCIPALS, TAGS)
    holds = section.choice("holds", dict.fromkeys(kinds_of_rows))
    kind, kind_column = section.text("kind", ""), section.text("kind_column", "")
    about_objects = holds in (ENTITIES, GRANTS, LIMITS, TAGS)
    if about_objects and bool(kind) is bool(kind_column):
        raise BadInput("expected `kind` or `kind_column`", where=section.where)
    if kind and kind not in kinds:
        raise BadInput(f"unknown kind `{kind}`", where=section.at("kind"))
    feature = section.text("feature", "")
    if feature not in features and (feature or holds == LIMITS):
        raise BadInput(f"unknown feature `{feature}`", where=section.at("feature"))
    unless = section.text("unless", "")
    if unless and unless not in features:
        raise BadInput(f"unknown feature `{unless}`", where=section.at("unless"))
    who = {ENTITIES: "owner", GRANTS: "grantee", MEMBERS: "member", PRINCIPALS: "principal"}
    spec = TableSpec(
        name=name,
        file=section.text("file", name),
        query=section.text("query", ""),
        holds=holds,
        required=section.text("required", ""),
        required_by=section.text("required_by", ""),
        is_optional=section.flag("optional"),
        parts=_parts(section) if about_objects else {},
        types={word: str(getattr(one, "type", "")) for word, one in kinds.items()},
        kind=kind,
        kind_column=kind_column,
        who=_principal_columns(who.get(holds, ""), section, principals),
        of=_principal_columns("of", section, principals),
        within=section.text("within", ""),
        privilege=section.text("privilege") if holds == GRANTS else "",
        column=section.text("column", ""),
        feature=feature,
        unless=unless,
        tag=section.texts("tag"),
        tag_kind=section.choice("tag_kind", kinds) if holds == TAGS else "",
        only=_words(section, "only"),
        skip=_words(section, "skip"),
        active=_words(section, "active"),
        gone=section.text("gone", ""),
    )
    if spec.who is None and holds in (GRANTS, MEMBERS, PRINCIPALS):
        raise BadInput(f"expected `{who[holds]}`", where=section.where)
    section.close()
    return spec


def _parts(section: Section) -> dict[str, tuple[str, ...]]:
    value = section.take("name")
    if isinstance(value, Mapping):
        inner = Section(value, section.at("name"))
        return {type: inner.texts(type) for type in inner.names()}
    return {"": Section({"name": value}, section.where).texts("name")}


def _principal_columns(
    key: str, section: Section, principals: Collection[str]
) -> PrincipalColumns | None:
    column = section.text(key, "") if key else ""
    if not column:
        return None
    kind = section.text(f"{key}_kind", "")
    if kind and kind not in principals:
        raise BadInput(f"unknown principal `{kind}`", where=section.at(f"{key}_kind"))
    return PrincipalColumns(column, kind, section.text(f"{key}_kind_column", ""))


def _words(section: Section, key: str) -> dict[str, frozenset[str]]:
    inner = Section(section.take(key) or {}, section.at(key))
    return {column: frozenset(inner.texts(column)) for column in inner.names()}
