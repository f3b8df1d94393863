"""What columns are called, and which of them an engine means by a name.

Engines fold names, and ask about a structure as a whole: a mask on `Email` or on `address.city`
is one on `email` and on `address` where they ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, cast

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.reached_inside import namesakes
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Effect, On
from lakewarden.registry import registry
from lakewarden.service.state import RealmState

_OF_TYPES: Final = re.compile(r"\[[^\[\]]*\]")
_ANCHORS: Final = "columns that statements name in another way than engines"

Anchors = Mapping[str, Sequence[Entity]]
"""Columns by the name of their table."""


def column_namer(realm: RealmState) -> Callable[[Entity], str]:
    """What expressions call a column: the last part of its name, unless the system says it."""
    system = registry().shipping(realm.realm.model)
    if system is not None and system.column_name:
        called: Callable[[Entity], str] = system.load(system.column_name)
        return called
    parts = realm.matrix.snapshot.coded.spelling.parts
    return lambda column: parts(column)[-1]


def columns_alike(realm: RealmState, table: Entity) -> Mapping[str, Sequence[Entity]]:
    """By the name that engines have: the columns of a table whose own name is another.

    Those that are stored, and those on which a mask or a DENY in force lies.
    COST: 1 µs for each column of the table.
    """
    snapshot, called = realm.matrix.snapshot, column_namer(realm)
    anchors = snapshot.memos.derived.get(_ANCHORS)
    if anchors is None:
        anchors = snapshot.memos.derived[_ANCHORS] = _anchors(snapshot, called)
    named = cast("Anchors", anchors).get(table.name, ())
    found: dict[str, list[Entity]] = {}
    for column in chain(_stored(snapshot, table), named):
        name = called(column)
        if name != _folded(name):
            found.setdefault(_folded(name), []).append(column)
    return found


def _folded(name: str) -> str:
    """The name that engines have: that of the whole, in small letters.

    Without what paths of DataHub's version 2 say of types.

    >>> _folded("Address.City"), _folded("[version=2.0].[type=struct].[type=string].iban")
    ('address', 'iban')
    """
    plain = (step for step in _OF_TYPES.sub("", name).split(".") if step)
    return next(plain, name).lower()


def _stored(snapshot: Snapshot, table: Entity) -> Iterator[Entity]:
    tree, types = snapshot.coded.tree, snapshot.model.types
    for root in (table, *namesakes(snapshot, table)):
        id = tree.find(root)
        for below in () if id is None else tree.subtree(id):
            column = tree.entity(below)
            if types[column.type].masked:
                yield column


def _anchors(snapshot: Snapshot, called: Callable[[Entity], str]) -> Anchors:
    """Of masks and DENYs in force on a column whose name is not the one that engines have."""
    types, found = snapshot.model.types, dict[str, list[Entity]]()
    grants = chain(
        snapshot.table.obligations(Effect.MASK),
        (grant for grouped in snapshot.table.deny.values() for grant in grouped.every),
    )
    for grant in grants:
        scope = grant.statement.scope
        declared = types.get(scope.entity.type) if isinstance(scope, On) else None
        if not isinstance(scope, On) or declared is None or not declared.masked:
            continue
        name, above = called(scope.entity), next(snapshot.coded.ancestors(scope.entity), None)
        if above is not None and name != _folded(name):
            found.setdefault(above.name, []).append(scope.entity)
    return found
