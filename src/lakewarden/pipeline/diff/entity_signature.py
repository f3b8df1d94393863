"""A signature of everything that rules read on an entity, comparable between two sides.

Two entities with the same signature give the same users the same privileges and operations, whether
they are in one block or in two indexes. It covers the statements on the entity and the users they
name, the owners, the ancestors, and the targets of relations. It contains no name and no number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.classes import Partition, partition
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.expression import (
    ANCESTORS,
    PLATFORM,
    REQUEST,
    TYPE,
    Anyone,
    At,
    Compare,
    Every,
    Holds,
    May,
    Node,
    NotDenied,
    ServiceAdmin,
    Some,
    children,
)
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal
from lakewarden.kernel.snapshot import SUBJECT, Snapshot
from lakewarden.pipeline.diff.user_numbering import UserNumbering, digest_of
from lakewarden.pipeline.index.guests import relations_read
from lakewarden.pipeline.review.column import joined

Key = tuple[object, ...]
Codes = NDArray[np.int64]


class Signed:
    """The signatures of a snapshot's entities.

    `marks[number]` is a signature, `numbers[id]` the number of an entity's signature. Numbers are
    local to this snapshot.
    """

    def __init__(self, snapshot: Snapshot, numbering: UserNumbering, side: str) -> None:
        self._numbering = numbering
        self._side = side
        self._snapshot = snapshot
        self._tree = snapshot.coded.tree
        self._known: dict[tuple[int, int, int, Key], int] = {}
        self._shared: dict[str, Key] = {}
        self._tokens: dict[tuple[int, ...], str] = {}
        self._keys_by_scope: dict[int, frozenset[tuple[str, ...]]] = {}
        self.marks: list[str] = []
        self.classes = classes_of(snapshot)
        self.by_scope = self._by_scope()
        self.numbers = self._numbers()

    def _by_scope(self) -> dict[int, list[tuple[str, Grant]]]:
        """By scope: the grants, each with a privilege that it concerns."""
        grants_by_scope: dict[int, list[tuple[str, Grant]]] = {}
        for side in (self._snapshot.table.allow, self._snapshot.table.deny):
            for privilege, grouped in side.items():
                for grant in grouped.every:
                    grants_by_scope.setdefault(grant.scope, []).append((privilege, grant))
        return grants_by_scope

    def statements(self, classes: Iterable[int]) -> set[str]:
        """The ids of the statements that cover entities of any of these classes."""
        scopes = {scope for number in classes for scope in self.classes.inside[number]}
        return {grant.statement.id for at in scopes for _, grant in self.by_scope.get(at, ())}

    def _numbers(self) -> list[int]:
        beside = self._own_facts()
        numbers = self._chained(beside)
        related = self._related()
        for _ in range(_nesting(self._snapshot.model) if related else 0):
            reached = {
                id: sorted({(kind, self.marks[numbers[target]]) for kind, target in targets})
                for id, targets in related.items()
            }
            more = {id: (*beside.get(id, ()), *marks) for id, marks in reached.items()}
            numbers = self._chained({**beside, **more})
        return numbers

    def _chained(self, beside: Mapping[int, Key]) -> list[int]:
        """A number for each entity, for its class, its own properties, and all its ancestors.

        Works level by level from the top, and numbers each combination once.
        """
        above = self._tree.above
        numbers = np.full(len(above), -1, dtype=np.int64)
        standing = [(), *dict.fromkeys(beside.values())]
        places = {key: place for place, key in enumerate(standing)}
        beside_codes = np.zeros(len(above), dtype=np.int64)
        rows = np.fromiter(beside, np.int64, len(beside))
        beside_codes[rows] = [places[key] for key in beside.values()]
        for ids in levels(above):
            up = above[ids]
            parents = np.where(up >= 0, numbers[up], -1)
            parts = [
                (self._tree.types[ids].astype(np.int64), len(self._tree.kinds)),
                (self.classes.classes[ids].astype(np.int64), len(self.classes.inside)),
                (parents + 1, len(self.marks) + 1),
                (beside_codes[ids], len(standing)),
            ]
            codes, stands = joined(parts)
            distinct_numbers = [
                self._number((type, place, parent - 1, standing[code]))
                for type, place, parent, code in stands.tolist()
            ]
            numbers[ids] = np.array(distinct_numbers, dtype=np.int64)[codes]
        known: list[int] = numbers.tolist()
        return known

    def _number(self, key: tuple[int, int, int, Key]) -> int:
        number = self._known.get(key)
        if number is None:
            type, place, parent, beside = key
            above = "" if parent < 0 else self.marks[parent]
            kind = self._tree.kinds[type]
            token = self._token(self.classes.inside[place])
            number = self._known[key] = len(self.marks)
            self.marks.append(_digest(repr((kind, token, above, beside, self._of_all(kind)))))
        return number

    def _token(self, scopes: tuple[int, ...], about: frozenset[str] | None = None) -> str:
        token = self._tokens.get(scopes) if about is None else None
        if token is None:
            cells_of_scopes = {
                cells for cells in self._grant_keys(scopes) if about is None or cells[0] in about
            }
            token = _digest(repr(sorted(cells_of_scopes)))
            if about is None:
                self._tokens[scopes] = token
        return token

    def _grant_keys(self, scopes: Iterable[int]) -> Iterator[tuple[str, ...]]:
        for scope in scopes:
            keys = self._keys_by_scope.get(scope)
            if keys is None:
                grants = self.by_scope.get(scope, ())
                keys = frozenset(grant_key(*one, self._numbering) for one in grants)
                self._keys_by_scope[scope] = keys
            yield from keys

    # what all entities share

    def _of_all(self, kind: str) -> Key:
        """What rules read independently of the entity: the platform, the type alone, the people."""
        if kind not in self._shared:
            looks = self._privileges_elsewhere_of
            tree = self._tree
            alone = tree.find(Entity(kind, ""))
            self._shared[kind] = (
                self._at(ROOT, looks.get(PLATFORM, frozenset())),
                "" if alone is None else self._at(alone, looks.get(TYPE, frozenset())),
                *self._people,
            )
        return self._shared[kind]

    def _at(self, id: int, about: frozenset[str]) -> str:
        inside = self.classes.inside[int(self.classes.classes[id])]
        return self._token(inside, about) if about else ""

    @cached_property
    def _privileges_elsewhere_of(self) -> Mapping[str, frozenset[str]]:
        return _privileges_elsewhere(self._snapshot.model)

    @cached_property
    def _people(self) -> Key:
        nodes = list(_nodes(self._snapshot.model))
        memberships = self._snapshot.coded.memberships
        numbering = self._numbering
        tokens: list[object] = []
        if any(isinstance(node, (Anyone, NotDenied)) for node in nodes):
            tokens.append(digest_of(numbering.everyone))
        if any(isinstance(node, ServiceAdmin) for node in nodes):
            tokens.append(numbering.digest(frozenset({memberships.ids[SERVICE_ADMINS]})))
        if any(isinstance(n, Compare) and n.attribute.startswith(SUBJECT) for n in nodes):
            tokens.append(self._side)  # attributes of users are not analysed
        return tuple(tokens)

    # the entity's own properties

    def _own_facts(self) -> dict[int, Key]:
        """By entity, if it has any: owners, its principal, stored attributes, excess depth."""
        tokens_by_id: dict[int, list[object]] = {}
        for id, token in (*self._owners(), *self._principal_entities(), *self._attributes()):
            tokens_by_id.setdefault(id, []).append(token)
        for id in self._tree.deep:
            tokens_by_id.setdefault(id, []).append("deep")
        return {id: tuple(tokens) for id, tokens in tokens_by_id.items()}

    def _owners(self) -> Iterator[tuple[int, object]]:
        coded = self._snapshot.coded
        ids = np.arange(len(self._tree), dtype=np.int32)
        rows = (column.tolist() for column in coded.owners.flat(ids))
        by_entity: dict[int, set[tuple[str, str]]] = {}
        for id, owner, label in zip(*rows, strict=True):
            token = (self._numbering.digest(frozenset({owner})), coded.ownerships[label])
            by_entity.setdefault(id, set()).add(token)
        for id, tokens in by_entity.items():
            yield id, ("owned", *sorted(tokens))

    def _principal_entities(self) -> Iterator[tuple[int, object]]:
        coded = self._snapshot.coded
        tree, model = coded.tree, coded.model
        people = [t.name for t in model.types.values() if t.principal is not None]
        codes = [tree.codes[type] for type in people if type in tree.codes]
        for id in np.flatnonzero(np.isin(tree.types, codes)).tolist():
            principal = model.principal_kind(tree.entity(id))
            number = None if principal is None else coded.memberships.ids.get(Principal(*principal))
            if principal is not None and number is not None:
                yield id, ("self", principal[0], self._numbering.digest(frozenset({number})))

    def _attributes(self) -> Iterator[tuple[int, object]]:
        declared = self._snapshot.model.attributes
        keys = {name.partition(".")[2] for name in declared}
        for id, values in self._snapshot.coded.attributes.items():
            known = tuple(sorted((k, v[0]) for k, v in values.items() if k in keys and v))
            if known:
                yield id, ("attributes", *known)

    def _related(self) -> dict[int, list[tuple[str, int]]]:
        """By entity: the targets of relations that rules follow."""
        targets_by_id: dict[int, list[tuple[str, int]]] = {}
        ids = np.arange(len(self._tree), dtype=np.int32)
        for kind in sorted(_followed(self._snapshot.model)):
            sources, targets, _ = self._snapshot.coded.relations[kind].flat(ids)
            for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
                targets_by_id.setdefault(source, []).append((kind, target))
        return targets_by_id


def grant_key(privilege: str, grant: Grant, numbering: UserNumbering) -> tuple[str, ...]:
    """What a grant gives or denies to whom, the same on both sides: privilege, effect, users.

    Behind them are the types of owners who are meant, if any.
    """
    owners = grant.owners
    types = () if owners is None else ("owners", *(sorted(owners.types or ("*",))))
    if owners is not None and owners.types == frozenset():
        types = ()
    effect = grant.statement.effect.value
    return (privilege, effect, numbering.digest(grant.principals), *types)


def classes_of(snapshot: Snapshot) -> Partition:
    """The entities that lie in the same scopes, without a limit on the number of classes."""
    scopes = dict(enumerate(snapshot.bitmaps))
    return snapshot.classes or unlimited_partition(len(snapshot.coded.tree), scopes)


def unlimited_partition(size: int, scopes: Mapping[int, BitMap]) -> Partition:
    """The classes of ids 0…size-1 under `scopes`, however many."""
    classes = partition(size, scopes, size + 1)
    assert classes is not None  # noqa: S101 — INVARIANT: at most one class per entity
    return classes


def levels(above: NDArray[np.int32]) -> Iterator[Codes]:
    """The ids of a tree by level: the top level first, then its members, and so on."""
    depths, at = np.zeros(len(above), dtype=np.int64), above
    while (at >= 0).any():
        depths += at >= 0
        at = np.where(at >= 0, above[at], -1)
    for depth in range(int(depths.max(initial=-1)) + 1):
        yield np.flatnonzero(depths == depth)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _nodes(model: Model) -> Iterator[Node]:
    """Every node of every rule."""
    todo = [rule for operation in model.operations.values() for rule in operation.rules.values()]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(children(node))


def _followed(model: Model) -> frozenset[str]:
    """The relations that rules follow."""
    sources = {node.source for node in _nodes(model) if isinstance(node, (Every, Some))}
    return frozenset(sources & model.relations.keys() & relations_read(model))


def _nesting(model: Model) -> int:
    """The longest chain of relations that a rule follows."""
    rules = [rule for operation in model.operations.values() for rule in operation.rules.values()]
    return max((_depth(model, rule) for rule in rules), default=0)


def _depth(model: Model, node: Node) -> int:
    inner: Iterable[Node] = children(node)
    if isinstance(node, May):
        inner = model.operation(node.operation).rules.values()
    deepest = max((_depth(model, node) for node in inner), default=0)
    if not isinstance(node, (Every, Some)) or node.source == ANCESTORS:
        return deepest
    return deepest + (not node.source.startswith(REQUEST))


def _privileges_elsewhere(model: Model) -> dict[str, frozenset[str]]:
    """The privileges that rules check on the platform, and on the type alone."""
    by_selector: dict[str, set[str]] = {PLATFORM: set(), TYPE: set()}
    for node in _nodes(model):
        if isinstance(node, At) and node.selector in by_selector:
            by_selector[node.selector] |= _privileges(model, node.inner)
    return {selector: frozenset(names) for selector, names in by_selector.items()}


def _privileges(model: Model, node: Node) -> set[str]:
    named = {node.privilege} if isinstance(node, (Holds, NotDenied)) else set[str]()
    inner: Iterable[Node] = children(node)
    if isinstance(node, May):
        inner = model.operation(node.operation).rules.values()
    return named.union(*(_privileges(model, node) for node in inner))
