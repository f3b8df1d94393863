"""LF-tags of Lake Formation: which tables and columns an expression matches, and what that permits.

An object has one value of a tag. A database hands its values on to its tables, and a table to its
columns; both may have another value of their own. An expression matches if all its keys have one
of its values. Where a table matches and some of its columns do not, or the other way round, the
columns that match may be selected from, and no other permission holds.

Nothing is permitted on a table that no reply about tags names: its columns could have other values.

SOURCE: Lake Formation API reference, TaggedDatabase, TaggedTable and LFTagPolicyResource; Developer
Guide, Lake Formation tag-based access control notes and restrictions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from lakewarden.kernel.toml_section import Section
from lakewarden.systems.gravitino.ingest.catalogs.export_content import are_parts
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Granted,
    GrantedColumns,
    Grantee,
    Record,
    Securable,
)

ALL_ON_TABLE: Final = ("SELECT", "INSERT", "DELETE", "ALTER")
"""The permissions on tables that mean something here; `ALL` has them all."""

Values: TypeAlias = dict[str, frozenset[str]]
"""The values of an object by the keys of its tags; more than one where replies differ."""

Expression: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""Keys, each with the values of which an object has to have one."""

Table: TypeAlias = tuple[str, str]
"""A database and the name of a table in it."""


@dataclass(frozen=True, slots=True)
class TagPolicy:
    """Permissions on all that matches; `name` is a stored expression, in place of `expression`."""

    on: Securable
    is_on_tables: bool
    expression: Expression
    name: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """What an expression matches of a table: the table, or columns with values of their own."""

    is_table: bool
    columns: frozenset[str]
    others: frozenset[str]


def expression(items: Iterable[Section]) -> Expression:
    """The expression of a reply."""
    return tuple((item.text("TagKey").lower(), _lower(item.texts("TagValues"))) for item in items)


def tag_policy(resource: Section, on: Securable) -> TagPolicy:
    """The policy that a resource of a reply is; `on` is what the report calls it."""
    kind = resource.choice("ResourceType", {"DATABASE": None, "TABLE": None})
    wanted = expression(resource.tables("Expression"))
    return TagPolicy(on, kind == "TABLE", wanted, resource.text("ExpressionName", ""))


@dataclass(slots=True)
class LfTags:
    """The tags of the databases and tables that replies name, and the stored expressions."""

    databases: dict[str, Values] = field(default_factory=lambda: defaultdict(dict))
    tables: dict[Table, Values] = field(default_factory=dict)
    columns: dict[Table, dict[str, Values]] = field(default_factory=dict)
    expressions: dict[str, Expression] = field(default_factory=dict)
    _having: dict[tuple[str, str], set[Table]] = field(default_factory=dict)

    def add_database(self, name: str, tags: Iterable[Section]) -> None:
        _add(self.databases[name], tags)

    def add_table(self, table: Table, item: Section) -> None:
        """The tags of a table, of its database and of its columns."""
        self.add_database(table[0], item.tables("LFTagOnDatabase"))
        _add(self.tables.setdefault(table, {}), item.tables("LFTagsOnTable"))
        columns = self.columns.setdefault(table, {})
        for column in item.tables("LFTagsOnColumns"):
            _add(columns.setdefault(column.text("Name"), {}), column.tables("LFTags"))

    def wanted(self, policy: TagPolicy) -> Expression:
        """Its expression; the empty one, which nothing matches, where that is not known."""
        return self.expressions.get(policy.name, ()) if policy.name else policy.expression

    def matching(self, policy: TagPolicy) -> Iterator[tuple[Table, Match]]:
        """The tables of which it matches something.

        INVARIANT: nothing is added any more.
        """
        wanted = self.wanted(policy)
        for table in self._candidates(wanted):
            inherited = {**self.databases[table[0]], **self.tables[table]}
            found = {
                name: _matches(wanted, {**inherited, **values})
                for name, values in self.columns[table].items()
            }
            columns = frozenset(name for name, is_matching in found.items() if is_matching)
            match = Match(_matches(wanted, inherited), columns, frozenset(found) - columns)
            if match.is_table or match.columns:
                yield table, match

    def _candidates(self, wanted: Expression) -> list[Table]:
        """The tables that have, or inherit, or have on columns one value of each key."""
        if not self._having:
            for table, own in self.tables.items():
                for values in (self.databases[table[0]], own, *self.columns[table].values()):
                    for key, some in values.items():
                        for value in some:
                            self._having.setdefault((key, value), set()).add(table)
        found = [
            set[Table]().union(*(self._having.get((key, value), ()) for value in some))
            for key, some in wanted
        ]
        return sorted(set.intersection(*found)) if found else []

    def permitted(
        self, policy: TagPolicy, grantee: Grantee, words: Iterable[str], place: str
    ) -> Iterator[Record]:
        """The grants that permissions on a policy are; none where nothing matches."""
        if not policy.is_on_tables:
            for name, values in self.databases.items():
                if _matches(self.wanted(policy), values):
                    on = Securable("DATABASE", (name,))
                    yield from (Granted(grantee, word, on, place) for word in words)
            return
        permissions = [w for word in words for w in (ALL_ON_TABLE if word == "ALL" else (word,))]
        for table, match in self.matching(policy):
            on = Securable("TABLE", table)
            if match.is_table and not match.others:
                yield from (
                    Granted(grantee, w, on, place) for w in permissions if w in ALL_ON_TABLE
                )
            elif "SELECT" in permissions:
                yield from _selected(grantee, on, match, place)


def _selected(grantee: Grantee, on: Securable, match: Match, place: str) -> Iterator[Record]:
    """The columns that match; not what has another column in it that does not."""
    if match.is_table:
        yield GrantedColumns(grantee, "SELECT", on, match.others, True, place)
        return
    names = frozenset(
        name for name in match.columns if not any(are_parts(name, other) for other in match.others)
    )
    if names:
        yield GrantedColumns(grantee, "SELECT", on, names, False, place)


def _matches(wanted: Expression, values: Mapping[str, frozenset[str]]) -> bool:
    return bool(wanted) and all(values.get(key) and values[key] <= some for key, some in wanted)


def _add(values: Values, tags: Iterable[Section]) -> None:
    for key, some in expression(tags):
        values[key] = values.get(key, frozenset()) | some


def _lower(values: Iterable[str]) -> frozenset[str]:
    """As they are stored."""
    return frozenset(value.lower() for value in values)
