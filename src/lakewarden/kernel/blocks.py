"""Two views of the coded facts as blocks, for `scopes.match`.

`Stored` has a row for every entity id, or for some of them; `Named` has a single row for an
entity that is not stored, with what its name says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity, Spelling
from lakewarden.kernel.facts import ROOT, Coded
from lakewarden.kernel.model import Field, Reach, above
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.wildcard import matches


class Stored:
    """All entities of the coded facts as a block, or only `ids`; rows are entity ids."""

    def __init__(self, coded: Coded, ids: BitMap | None = None) -> None:
        self._coded = coded
        self._tree = coded.tree
        self._ids = ids
        self._columns: dict[str, _Column] = {}

    def inside(self, rows: BitMap) -> BitMap:
        """The members of `rows` that belong to this block."""
        return rows if self._ids is None else rows & self._ids

    def everything(self) -> BitMap:
        return BitMap(range(len(self._tree))) if self._ids is None else self._ids

    def resources(self) -> BitMap:
        return self.everything() - BitMap([ROOT])

    def exactly(self, entity: Entity) -> BitMap:
        id = self._tree.find(entity)
        return BitMap() if id is None else self.inside(BitMap([id]))

    def below(self, entity: Entity) -> BitMap:
        id = self._tree.find(entity)
        return BitMap() if id is None else self.inside(self._tree.subtree(id))

    def above(self, entity: Entity) -> BitMap:
        chain = (entity, *self._coded.ancestors(entity))
        ids = (self._tree.find(other) for other in chain)
        return self.inside(BitMap([id for id in ids if id is not None]))

    def matching(self, type: str, parts: Sequence[str], reach: Reach) -> BitMap:
        kinds = {type}
        if reach is Reach.ABOVE:
            kinds |= above(self._coded.model.types, type)
        rows = BitMap()
        for kind in kinds:
            code = self._tree.codes.get(kind)
            ids = np.flatnonzero(self._tree.types == code) if code is not None else ()
            rows.update(id for id in map(int, ids) if self._matches(id, type, parts))
        if reach is Reach.BELOW and rows:
            rows = BitMap.union(*(self._tree.subtree(id) for id in rows))
        return self.inside(rows)

    def _matches(self, id: int, type: str, parts: Sequence[str]) -> bool:
        return named_like(self._coded.spelling, self._tree.entity(id), type, parts)

    def column(self, field: str) -> _Column:
        column = self._columns.get(field)
        if column is None:
            column = self._columns[field] = _Column(self, self._coded, field)
        return column


def named_like(spelling: Spelling, entity: Entity, type: str, parts: Sequence[str]) -> bool:
    """Whether the entity's name parts match the first of the patterns.

    An entity of the pattern's own type must match all of them.
    """
    if not entity.name:
        return False
    own = spelling.parts(entity)
    if len(own) > len(parts) or (entity.type == type and len(own) != len(parts)):
        return False
    return all(matches(pattern, part) for pattern, part in zip(parts, own, strict=False))


class _Column:
    """One field over the rows of a block, computed from the edges towards the value."""

    def __init__(self, block: Stored, coded: Coded, field: str) -> None:
        self._block = block
        self._coded = coded
        self._field = coded.model.fields[field]
        self._postings: dict[str, BitMap] | None = None
        self._by_value: dict[str, BitMap] = {}
        self._by_prefix: dict[str, BitMap] = {}
        self._answered: dict[str, BitMap] = {}

    def equal(self, value: str) -> BitMap:
        return self._block.inside(self._equal(value))

    def starting(self, prefix: str) -> BitMap:
        rows = self._by_prefix.get(prefix)
        if rows is None:
            rows = self._by_prefix[prefix] = self._starting(prefix)
        return self._block.inside(rows)

    def _starting(self, prefix: str) -> BitMap:
        if self._field.origin == ("name",):
            names = enumerate(self._coded.tree.names)
            return BitMap([id for id, name in names if name and name.startswith(prefix)])
        values = (value for value in self._values() if value.startswith(prefix))
        return BitMap.union(BitMap(), *(self._equal(value) for value in values))

    def _equal(self, value: str) -> BitMap:
        rows = self._by_value.get(value)
        if rows is None:
            rows = self._by_value[value] = self._resolving(value)
        return rows

    def _resolving(self, value: str) -> BitMap:
        if not value:
            return BitMap()
        match self._field.origin:
            case ("name",):
                return self._named(value)
            case ("type" | "owners" | "groups" | "attribute",):
                return self._posted().get(value, BitMap())
            case _:
                return self._related(value)

    def _values(self) -> Iterable[str]:
        match self._field.origin:
            case ("type" | "owners" | "groups" | "attribute",):
                return list(self._posted())
            case _:
                return {name for name in self._coded.tree.names if name}

    def _named(self, value: str) -> BitMap:
        tree = self._coded.tree
        ids = (index.get(value) for index in tree.named.values())
        return BitMap([id for id in ids if id is not None])

    def _posted(self) -> dict[str, BitMap]:
        if self._postings is None:
            self._postings = _POSTINGS[self._field.origin[0]](self._coded)
        return self._postings

    def _related(self, value: str) -> BitMap:
        """Rows that resolve to an entity called `value`, or with `up` to one below it."""
        called = {id: _resolving_to(self._coded, self._field, id) for id in self._named(value)}
        if not called:
            return BitMap()
        rows = self._leading_to(called)
        own = [self._coded.tree.codes.get(type, -1) for type in self._field.itself]
        kinds = self._coded.tree.types
        rows.update(id for id in BitMap.union(*called.values()) if kinds[id] in own)
        return self._coded.tree.below(rows) if self._field.inherited else rows

    def _leading_to(self, called: Mapping[int, BitMap]) -> BitMap:
        """The rows that lead to one of `called`, a mapping to the entities that resolve to it."""
        targets = BitMap.union(*called.values())
        rows, answered = BitMap(), BitMap()
        for origin in self._field.origin:
            if origin == "parent":
                found_rows = self._below_them(called)
            else:
                found_rows = self._coded.relations[origin].sources_of(targets)
            rows |= found_rows - answered
            if origin != self._field.origin[-1] and not self._field.every:
                answered |= self._having(origin)
        return rows

    def _below_them(self, called: Mapping[int, BitMap]) -> BitMap:
        """The rows that lie below one of `called`."""
        return self._below_directly(BitMap.union(*called.values()))

    def _having(self, kind: str) -> BitMap:
        """The rows that have any value for the origin."""
        sources = self._answered.get(kind)
        if sources is None:
            everything = BitMap(range(len(self._coded.tree)))
            if kind == "parent":
                sources = self._below_directly(everything)
            else:
                sources = self._coded.relations[kind].sources_of(everything)
            self._answered[kind] = sources
        return sources

    def _below_directly(self, targets: BitMap) -> BitMap:
        """The rows whose parent is one of the targets and has a type that the field follows."""
        tree = self._coded.tree
        up = [tree.codes[type] for type in self._field.up if type in tree.codes]
        ids = np.asarray(targets.to_array(), dtype=np.int32)
        followed = ids[np.isin(tree.types[ids], up)]
        return BitMap(np.flatnonzero(np.isin(tree.above, followed)).astype(np.uint32))


def _resolving_to(coded: Coded, field: Field, id: int) -> BitMap:
    """The entities whose closure under `field.up` contains `id`."""
    tree = coded.tree
    up = {tree.codes[type] for type in field.up if type in tree.codes}
    if int(tree.types[id]) not in up:
        return BitMap([id])
    ids = np.asarray((tree.subtree(id) - BitMap([id])).to_array(), dtype=np.int32)
    below = ids[np.isin(tree.types[tree.parents[ids]], list(up))]
    chained = np.zeros(len(tree), dtype=bool)
    while True:  # repeats only if another type lies between two of `up`
        chained[:] = False
        chained[below], chained[id] = True, True
        connected = below[chained[tree.parents[below]]]
        if len(connected) == len(below):
            return BitMap(below.astype(np.uint32)) | BitMap([id])
        below = connected


def _type_postings(coded: Coded) -> dict[str, BitMap]:
    types = coded.tree.types
    return {
        kind: BitMap(np.flatnonzero(types == code).astype(np.uint32))
        for kind, code in coded.tree.codes.items()
        if kind
    }


def _owner_postings(coded: Coded) -> dict[str, BitMap]:
    rows: dict[str, BitMap] = {}
    for owner, ids in coded.owners.inverted().items():
        name = coded.memberships.principals[owner].name
        rows[name] = rows.get(name, BitMap()) | ids
    return rows


def _group_postings(coded: Coded) -> dict[str, BitMap]:
    """Groups that a user entity is directly in."""
    rows: dict[str, BitMap] = {}
    for id in range(len(coded.tree)):
        for name in groups_of(coded, coded.tree.entity(id)):
            rows.setdefault(name, BitMap()).add(id)
    return rows


def groups_of(coded: Coded, entity: Entity) -> Iterator[str]:
    """The names of the groups that the entity, as a user, is directly a member of."""
    principal = coded.model.principal_kind(entity)
    if principal is not None and principal[0] == USER:
        member = coded.memberships.ids.get(Principal(*principal), -1)
        for group in coded.memberships.of.get(member, ()):
            if coded.memberships.principals[group].kind == GROUP:
                yield coded.memberships.principals[group].name


def _attribute_postings(coded: Coded) -> dict[str, BitMap]:
    """Values in the form `attribute` (it is present) and `attribute=value`."""
    rows: dict[str, BitMap] = {}
    for id, attributes in coded.attributes.items():
        for attribute, values in attributes.items():
            for text in (attribute, *(f"{attribute}={value}" for value in values)):
                rows.setdefault(text, BitMap()).add(id)
    return rows


_POSTINGS: dict[str, Callable[[Coded], dict[str, BitMap]]] = {
    "type": _type_postings,
    "owners": _owner_postings,
    "groups": _group_postings,
    "attribute": _attribute_postings,
}

_ONE = BitMap([0])
_NO_ROW = BitMap()


class Named:
    """One entity that is not stored, as a block of one row (row 0).

    It has its name, its type, the ancestors its name spells, and itself as a principal; no
    relations, owners or attributes.
    """

    def __init__(self, coded: Coded, entity: Entity) -> None:
        self._coded = coded
        self.entity = entity
        self.ancestors = tuple(coded.ancestors(entity))

    def everything(self) -> BitMap:
        return _ONE

    def resources(self) -> BitMap:
        return _row(self.entity != NO_RESOURCE)

    def exactly(self, entity: Entity) -> BitMap:
        return _row(entity == self.entity)

    def below(self, entity: Entity) -> BitMap:
        return _row(entity == self.entity or entity in self.ancestors)

    def above(self, entity: Entity) -> BitMap:
        return _row(entity == self.entity or self.entity in self._coded.ancestors(entity))

    def matching(self, type: str, parts: Sequence[str], reach: Reach) -> BitMap:
        spelling, types = self._coded.spelling, self._coded.model.types
        if reach is Reach.ABOVE and self.entity.type in {type, *above(types, type)}:
            return _row(named_like(spelling, self.entity, type, parts))
        chain = (self.entity, *self.ancestors) if reach is Reach.BELOW else (self.entity,)
        hit = (e.type == type and named_like(spelling, e, type, parts) for e in chain)
        return _row(any(hit))

    def column(self, field: str) -> _Values:
        declared = self._coded.model.fields[field]
        inherited = self._inherited(declared) if declared.inherited else frozenset[str]()
        return _Values(self._values(declared) | inherited)

    def _inherited(self, field: Field) -> frozenset[str]:
        """What the nearest stored ancestor resolves to, including what that inherits."""
        tree = self._coded.tree
        for ancestor in self.ancestors:
            id = tree.find(ancestor)
            if id is not None:
                return _values_of(self._coded, field, (id, *tree.ancestors(id)))
        return frozenset()

    def _values(self, field: Field) -> frozenset[str]:
        if field.origin == ("type",):
            return frozenset({self.entity.type})
        if field.origin == ("name",):
            return frozenset({self.entity.name} - {""})
        if field.origin == ("groups",):
            return frozenset(groups_of(self._coded, self.entity))
        values: set[str] = set()
        if self.entity.type in field.itself and self.entity.name:
            values.add(self.entity.name)
        if values or field.origin == ("parent",):
            for other in self.ancestors:
                if other.type not in field.up:
                    break
                values.add(other.name)
        return frozenset(values)


def _values_of(coded: Coded, field: Field, ids: Iterable[int]) -> frozenset[str]:
    """The names of what a field resolves to from any of the entities."""
    tree, (origin,) = coded.tree, field.origin
    targets = (target for id in ids for target, _ in coded.relations[origin].of(id))
    return frozenset(tree.names[target] for target in targets)


class _Values:
    """The values of one field of one row."""

    def __init__(self, values: frozenset[str]) -> None:
        self._values = values

    def equal(self, value: str) -> BitMap:
        return _row(value in self._values)

    def starting(self, prefix: str) -> BitMap:
        return _row(any(value.startswith(prefix) for value in self._values))


def _row(present: bool) -> BitMap:
    return _ONE if present else _NO_ROW
