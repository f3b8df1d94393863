"""How one table of an export is read: which column says what.

file        the file's name without its ending; default: the table's own name
query       for a database: what returns the rows
holds       entities, grants, members, limits or principals
required    why the export has to have it: without it more would be allowed
required_by a file without which it is not required
name        the columns with the parts of the name; or by type, lists of them
kind        a word of `[kinds]`; kind_column: the column that has one
owner, owner_kind_column                         for entities
grantee, grantee_kind, grantee_kind_column, privilege   for grants
member, member_kind, member_kind_column, of, of_kind    for members
principal, principal_kind, active                for principals; `active` in `{column: words}`
column, feature                                  for limits
only, skip  rows that count or do not, by column: words; `gone`: a column that is empty where
            the row still counts, and holds a time where it does not
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    Grantee,
    Limited,
    MemberOf,
    Present,
    Record,
    Securable,
)

ENTITIES: Final = "entities"
GRANTS: Final = "grants"
MEMBERS: Final = "members"
LIMITS: Final = "limits"
PRINCIPALS: Final = "principals"

Cells = Mapping[str, str]
"""One row: texts by the names of columns in lower case; empty for null."""

Words = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Who:
    """A principal of a row: the column with its name, and its kind or the column that has it."""

    column: str
    kind: str
    kind_column: str

    def of(self, cells: Cells) -> Grantee:
        """The principal of a row."""
        return Grantee(self.kind or cells.get(self.kind_column, ""), cells[self.column])

    def columns(self) -> Iterator[str]:
        """The columns that it takes."""
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
    parts: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]
    kind: str
    kind_column: str
    who: Who | None
    of: Who | None
    privilege: str
    column: str
    feature: str
    only: Words
    skip: Words
    active: Words
    gone: str

    def columns(self) -> frozenset[str]:
        """The columns without which the table cannot be read."""
        columns = {name for parts in self.parts.values() for name in parts}
        columns |= {*self.only, *self.skip, *self.active}
        columns |= {self.kind_column, self.privilege, self.column, self.gone}
        for who in (self.who, self.of):
            columns |= set(who.columns()) if who is not None else set()
        return frozenset(columns - {""})

    def records(self, cells: Cells, place: str) -> Iterator[Record]:
        """What one row says; nothing where it does not count. Raises `BadInput`."""
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
        if self.holds == MEMBERS and who is not None and self.of is not None:
            return MemberOf(who, self.of.of(cells), place)
        on = self._securable(cells)
        if self.holds == LIMITS:
            return Limited(on, self.feature, place, cells[self.column] if self.column else "")
        if self.holds == GRANTS and who is not None:
            return Granted(who, cells[self.privilege], on, place)
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
    holds = section.choice("holds", dict.fromkeys((ENTITIES, GRANTS, MEMBERS, LIMITS, PRINCIPALS)))
    kind, kind_column = section.text("kind", ""), section.text("kind_column", "")
    about_objects = holds in (ENTITIES, GRANTS, LIMITS)
    if about_objects and bool(kind) is bool(kind_column):
        raise BadInput("expected `kind` or `kind_column`", where=section.where)
    if kind and kind not in kinds:
        raise BadInput(f"unknown kind `{kind}`", where=section.at("kind"))
    feature = section.text("feature", "")
    if (holds == LIMITS) is not (feature in features):
        raise BadInput(f"unknown feature `{feature}`", where=section.at("feature"))
    who = {ENTITIES: "owner", GRANTS: "grantee", MEMBERS: "member", PRINCIPALS: "principal"}
    spec = TableSpec(
        name=name,
        file=section.text("file", name),
        query=section.text("query", ""),
        holds=holds,
        required=section.text("required", ""),
        required_by=section.text("required_by", ""),
        parts=_parts(section) if about_objects else {},
        types={word: str(getattr(one, "type", "")) for word, one in kinds.items()},
        kind=kind,
        kind_column=kind_column,
        who=_who(who.get(holds, ""), section, principals),
        of=_who("of", section, principals),
        privilege=section.text("privilege") if holds == GRANTS else "",
        column=section.text("column", ""),
        feature=feature,
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


def _who(key: str, section: Section, principals: Collection[str]) -> Who | None:
    column = section.text(key, "") if key else ""
    if not column:
        return None
    kind = section.text(f"{key}_kind", "")
    if kind and kind not in principals:
        raise BadInput(f"unknown principal `{kind}`", where=section.at(f"{key}_kind"))
    return Who(column, kind, section.text(f"{key}_kind_column", ""))


def _words(section: Section, key: str) -> dict[str, frozenset[str]]:
    inner = Section(section.take(key) or {}, section.at(key))
    return {column: frozenset(inner.texts(column)) for column in inner.names()}
