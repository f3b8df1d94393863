"""LF-tags of Lake Formation: the tables and columns that an expression matches, and their grants.

An object has one value of a tag. A table inherits the values of its database, and a column those of
its table; both may override them. An expression matches if the object has one of the values of each
of its keys. If a table matches and some of its columns do not, or vice versa, the matching columns
may be selected, and no other permission applies.

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
"""The permissions on tables that have a meaning here; `ALL` includes them all."""

Values: TypeAlias = dict[str, frozenset[str]]
"""The values of an object by tag key; more than one if replies differ."""

Expression: TypeAlias = tuple[tuple[str, frozenset[str]], ...]
"""Keys, each with the values of which an object must have one."""

Table: TypeAlias = tuple[str, str]
"""A database and the name of a table in it."""


@dataclass(frozen=True, slots=True)
class TagPolicy:
    """Permissions on all matching objects; `name` is a stored expression, if not `expression`."""

    on: Securable
    is_on_tables: bool
    expression: Expression
    name: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """The part of a table that matches: the table, or columns with values of their own."""

    is_table: bool
    columns: frozenset[str]
    others: frozenset[str]


def expression(items: Iterable[Section]) -> Expression:
    """The expression of a reply."""
    return tuple((item.text("TagKey").lower(), _lower(item.texts("TagValues"))) for item in items)


def tag_policy(resource: Section, on: Securable) -> TagPolicy:
    """The policy in a resource of a reply; `on` is its name in the report."""
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
        """The policy's expression; the empty one, which matches nothing, if it is not known."""
        return self.expressions.get(policy.name, ()) if policy.name else policy.expression

    def matching(self, policy: TagPolicy) -> Iterator[tuple[Table, Match]]:
        """The tables of which the policy matches a part.

        INVARIANT: all replies have been added.
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
        """The tables that have, inherit or have on columns one value of each key."""
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
        """The grants of permissions on a policy; none if nothing matches."""
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
                continue
            if "SELECT" in permissions:
                yield from _selected(grantee, on, match, place)
            lost = (w for w in permissions if w in ALL_ON_TABLE and w != "SELECT")
            yield from (Granted(grantee, w, on, place, "lf_tag_columns") for w in lost)


def _selected(grantee: Grantee, on: Securable, match: Match, place: str) -> Iterator[Record]:
    """The matching columns, except those that contain another column that does not match."""
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
    """The values in their stored form."""
    return frozenset(value.lower() for value in values)
