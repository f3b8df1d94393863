"""The names of columns, and the columns that an engine means by a name.

Engines ignore case in names, and ask about a structure as a whole. A mask on `Email` or on
`address.city` therefore also applies to their `email` and `address`, and a mask on `email` to
`Email`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Final, NamedTuple, cast

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.reached_inside import namesakes
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Condition, Effect, Matching, On, Scope, Where
from lakewarden.kernel.wildcard import matches
from lakewarden.names.letter_case import same_but_for_case
from lakewarden.registry import registry
from lakewarden.service.state import RealmState

_OF_TYPES: Final = re.compile(r"\[[^\[\]]*\]")
_STATED: Final = "columns that statements name"
_ANYWHERE: Final = ""
"""The key for columns whose names do not contain their table."""

Path = tuple[str, ...]
"""A column's name as steps without case: its outer structures from the outermost, then itself."""


class _NamedColumns(NamedTuple):
    """The columns that masks and DENYs in force name.

    Full names by table, and the last parts of names with wildcards.
    """

    whole: Mapping[str, Sequence[Entity]]
    wildcards: Sequence[str]


def column_namer(realm: RealmState) -> Callable[[Entity], str]:
    """Names columns as in expressions: by the last part, unless the system defines the name."""
    system = registry().shipper_of(realm.realm.model)
    if system is not None and system.column_name:
        called: Callable[[Entity], str] = system.load(system.column_name)
        return called
    parts = realm.matrix.snapshot.coded.spelling.parts
    return lambda column: parts(column)[-1]


def column_of(realm: RealmState, table: Entity) -> Callable[[str], Entity | None]:
    """The column of a table by its name, stored or not; None if no entity can have that name."""
    system = registry().shipper_of(realm.realm.model)
    spelt: Callable[[Entity, str], str] = (
        system.load(system.column_spelling)
        if system is not None and system.column_spelling
        else lambda table, name: f"{table.name}.{name}"
    )
    declared = realm.matrix.snapshot.model.types.items()
    types = [type for type, one in declared if one.masked]

    def column(name: str) -> Entity | None:
        for type in types:
            try:
                return realm.system.spelling.parse(type, spelt(table, name))
            except WardenError:
                continue
        return None

    return column


class ColumnNames:
    """The columns of one table, by the names that engines use.

    `named` maps a name to its entity, stored or not: `column_of`, or the templates of an engine.
    COST: 1 µs for each column of the table, and 10 µs for each requested name.
    """

    def __init__(
        self, realm: RealmState, table: Entity, named: Callable[[str], Entity | None]
    ) -> None:
        snapshot, called = realm.matrix.snapshot, column_namer(realm)
        self._table, self._named, self._called = table, named, called
        stated = _named_columns(snapshot)
        self._wildcards = stated.wildcards
        known = (stated.whole.get(name, ()) for name in (table.name, _ANYWHERE))
        self._by_first: dict[str, list[tuple[Path, Entity]]] = {}
        for column in chain(_stored(snapshot, table), *known):
            name = called(column)
            if not _is_folded(name):  # folded names are found directly
                for path in self._paths(column, name):
                    self._by_first.setdefault(path[0], []).append((path, column))

    def candidates(self, name: str) -> list[Entity]:
        """The entities that an engine may mean by a name: the column of that name, then others.

        The others have a name that differs only in case, is a part of it, or contains it: stored
        columns, and columns with a mask or a DENY in force. If no entity can have the name, the
        table comes first, since the name could be any of its columns.
        """
        own, asked = self._named(name), _path(name)
        spelt = dict.fromkeys((name.lower(), ".".join(asked), asked[0])).keys() - {name}
        folded = filter(None, map(self._named, sorted(spelt)))
        paths = {asked} if own is None else {asked, *self._paths(own, self._called(own))}
        others = chain.from_iterable(map(self._matching_columns, sorted(paths)))
        matched = self._matched(same_but_for_case(name)) if self._wildcards else ()
        return [*dict.fromkeys((own or self._table, *folded, *others, *matched))]

    def _paths(self, column: Entity, called: str) -> Iterator[Path]:
        table = self._table.name
        yield _path(called)
        # A name without parts, such as a plain one, usually begins with the name of the table.
        if called == column.name and called.startswith(table):
            yield _path(called[len(table) + 1 :])

    def _matching_columns(self, asked: Path) -> Iterator[Entity]:
        for path, column in self._by_first.get(asked[0], ()):
            if all(own == other for own, other in zip(path, asked, strict=False)):
                yield column

    def _matched(self, folded: str) -> Iterator[Entity]:
        """For each wildcard that matches the name in another case, a column that it matches."""
        for pattern in self._wildcards:
            if matches(same_but_for_case(pattern), folded):
                example = self._named(pattern.replace("*", "x").replace("?", "x"))
                if example is not None:
                    yield example


def _is_folded(name: str) -> bool:
    """Whether all engines use this name regardless of case, and the column has no parts inside."""
    return name.isascii() and name.isidentifier() and name == name.lower()


def _path(name: str) -> Path:
    """The steps of a name, as engines may use them.

    Type markers in paths of DataHub's version 2 are removed.

    >>> _path("Address.City"), _path("[version=2.0].[type=struct].[type=string].iban")
    (('address', 'city'), ('iban',))
    """
    steps = (step for step in _OF_TYPES.sub("", name).split(".") if step)
    return tuple(map(same_but_for_case, steps)) or (same_but_for_case(name),)


def _stored(snapshot: Snapshot, table: Entity) -> Iterator[Entity]:
    tree, types = snapshot.coded.tree, snapshot.model.types
    for root in (table, *namesakes(snapshot, table)):
        id = tree.find(root)
        for below in () if id is None else tree.subtree(id):
            column = tree.entity(below)
            if types[column.type].masked:
                yield column


def _named_columns(snapshot: Snapshot) -> _NamedColumns:
    """The columns that masks and DENYs in force name; cached."""
    found = snapshot.memos.derived.get(_STATED)
    if found is None:
        found = snapshot.memos.derived[_STATED] = _compute_named_columns(snapshot)
    return cast("_NamedColumns", found)


def _compute_named_columns(snapshot: Snapshot) -> _NamedColumns:
    whole, wildcards = dict[str, dict[Entity, None]](), dict[str, None]()
    grants = chain(
        snapshot.table.obligations(Effect.MASK),
        (grant for grouped in snapshot.table.deny.values() for grant in grouped.every),
    )
    for scope in dict.fromkeys(grant.statement.scope for grant in grants):
        if isinstance(scope, Matching):
            if _is_column(snapshot, scope.type):
                wildcards[scope.parts[-1]] = None
            continue
        for column in _columns_of(snapshot, scope):
            above = next(snapshot.coded.ancestors(column), None)
            whole.setdefault(above.name if above else _ANYWHERE, {})[column] = None
    return _NamedColumns({name: [*columns] for name, columns in whole.items()}, [*wildcards])


def _columns_of(snapshot: Snapshot, scope: Scope) -> Iterator[Entity]:
    """The columns that a scope names, including by a criterion."""
    if isinstance(scope, On) and _is_column(snapshot, scope.entity.type):
        yield scope.entity
    for one in scope.criteria if isinstance(scope, Where) else ():
        is_name = snapshot.model.fields[one.field].origin == ("name",)
        if is_name and one.condition is Condition.EQUALS:
            yield from _called(snapshot, one.values)


def _called(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Entity]:
    """The columns of these names, which do not determine their type."""
    types = [name for name in snapshot.model.types if _is_column(snapshot, name)]
    for name, type in product(names, types):
        try:
            yield snapshot.coded.spelling.parse(type, name)
        except WardenError:
            continue


def _is_column(snapshot: Snapshot, type: str) -> bool:
    declared = snapshot.model.types.get(type)
    return declared is not None and declared.masked
