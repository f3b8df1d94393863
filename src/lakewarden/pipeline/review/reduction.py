"""Partially evaluates a rule over many entities at once; the result is a residue per entity.

The values are columns: for each entity the index of its residue in a short list. Conditions on
ownership of the entity itself, or of entities at its path, stay symbols, so that owners do not
split classes. Behind a relation the owners are named, because there each entity differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.algebra import Algebra
from lakewarden.kernel.bulk_evaluator import BulkEvaluator, related_ids
from lakewarden.kernel.expression import ANCESTORS, REQUEST, SELF, Compare, Holds, May, Node
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.subject import nobody
from lakewarden.pipeline.review.column import Codes, Column, column_of, joined
from lakewarden.pipeline.review.residue import (
    EVERYBODY,
    NOBODY,
    Admins,
    Compared,
    Free,
    Given,
    Itself,
    One,
    Owned,
    Owners,
    Path,
    Residues,
    Types,
)
from lakewarden.pipeline.review.statement_coverage import Cover, Covering

Ids = NDArray[np.int32]

SUBJECT = "subject."
"""Prefix of the attributes of the subject."""

_ANYBODY = nobody(Principal(USER, ""))


@dataclass(frozen=True, slots=True, eq=False)
class Spots:
    """Distinct entities, and the path that led to them; `named`: through a relation.

    `moves` caches the targets of selectors from here.
    """

    ids: Ids
    path: Path = ()
    named: bool = False
    moves: dict[str, tuple[Spots, Ids]] = field(default_factory=dict)
    known: dict[Node, Column] = field(default_factory=dict)


class TooManyKinds(Exception):
    """A rule distinguishes more kinds of entities than the limit."""


class Reduction(Algebra[Column, Spots]):
    """Residues for a set of entities; each rule is reduced for one type at a time.

    If a part of a rule distinguishes more than `limit` kinds of entities (None: no limit),
    `evaluate` raises `TooManyKinds`. The statement coverage is reused from `like`, a reduction of
    the same snapshot.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        residues: Residues,
        limit: int | None = None,
        like: Reduction | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.residues = residues
        self._limit = limit
        self.covering: Covering = Covering(snapshot) if like is None else like.covering
        self._among = BulkEvaluator(snapshot, _ANYBODY)
        self._tree = snapshot.coded.tree
        self._persons: Codes = self._principals() if like is None else like._persons
        declared = (snapshot.model.types.get(kind) for kind in self._tree.kinds)
        self._users = np.array([t is not None and t.principal == USER for t in declared], bool)
        self._like = like
        self._owner_codes: tuple[Codes, list[tuple[tuple[int, int], ...]]] | None = None
        self._grants: dict[tuple[str, Path, bool], dict[int, int]] = {}

    # who the entities are, and who owns them

    def _principals(self) -> Codes:
        """The principal number of each entity; -1: unknown principal, -2: not a principal type."""
        coded, tree = self.snapshot.coded, self._tree
        principal_ids = np.full(len(tree), -2, dtype=np.int64)
        kinds = {t.name for t in coded.model.types.values() if t.principal is not None}
        codes = [tree.codes[kind] for kind in sorted(kinds & tree.codes.keys())]
        for id in np.flatnonzero(np.isin(tree.types, codes)).tolist():
            principal = coded.model.principal_kind(tree.entity(id))
            known = None if principal is None else coded.memberships.ids.get(Principal(*principal))
            principal_ids[id] = -1 if known is None else known
        return principal_ids

    def persons(self, ids: Ids) -> Codes:
        """The principal numbers of the entities; negative: none."""
        return np.where(ids >= 0, self._persons[ids], -2)

    @property
    def owners(self) -> tuple[Codes, list[tuple[tuple[int, int], ...]]]:
        """For each entity a code, and the (owner, ownership) pairs of each code."""
        if self._owner_codes is None:
            self._owner_codes = self._owners() if self._like is None else self._like.owners
        return self._owner_codes

    def _owners(self) -> tuple[Codes, list[tuple[tuple[int, int], ...]]]:
        codes = np.zeros(len(self._tree), dtype=np.int64)
        everyone = np.arange(len(self._tree), dtype=np.int32)
        places, owners, labels = self.snapshot.coded.owners.flat(everyone)
        code_by_owners: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        pairs = list(zip(owners.tolist(), labels.tolist(), strict=True))
        bounds = pairwise([*starts.tolist(), len(pairs)])
        for place, (start, end) in zip(places[starts].tolist(), bounds, strict=True):
            codes[place] = code_by_owners.setdefault(tuple(pairs[start:end]), len(code_by_owners))
        return codes, list(code_by_owners)

    # the algebra

    def evaluate_few(self, rule: Node, place: Spots) -> Column | None:
        """The residual rule; None if it distinguishes too many kinds of entities."""
        try:
            return self.evaluate(rule, place)
        except TooManyKinds:
            return None

    def evaluate(self, node: Node, place: Spots) -> Column:
        if not isinstance(node, (Holds, May)):
            return super().evaluate(node, place)
        known = place.known.get(node)
        if known is None:
            known = place.known[node] = super().evaluate(node, place)
        return known

    def _is_uniform(self, number: int, place: Spots) -> Column:
        return Column(np.zeros(len(place.ids), dtype=np.int64), (number,))

    def constant(self, truth: bool, place: Spots) -> Column:
        return self._is_uniform(EVERYBODY if truth else NOBODY, place)

    def all_of(self, values: Iterator[Column]) -> Column:
        return self._folded(values, NOBODY, self.residues.all_of)

    def any_of(self, values: Iterator[Column]) -> Column:
        return self._folded(values, EVERYBODY, self.residues.any_of)

    def _folded(
        self, values: Iterator[Column], last: int, join: Callable[[tuple[int, int]], int]
    ) -> Column:
        """The joined columns; stops once all entities have the residue `last`."""
        result = next(values)
        for more in values if result.of != (last,) else ():
            codes, stands = joined([(result.codes, len(result.of)), (more.codes, len(more.of))])
            rows = self._few(stands)
            result = column_of(codes, [join((result.of[a], more.of[b])) for a, b in rows])
            if result.of == (last,):
                break
        return result

    def _few(self, stands: Codes) -> list[list[int]]:
        """The rows of the combinations; raises `TooManyKinds` if they are too many."""
        if self._limit is not None and len(stands) > self._limit:
            raise TooManyKinds
        rows: list[list[int]] = stands.tolist()
        return rows

    def holds(self, privilege: str, place: Spots) -> Column:
        covers = self.covering.of(privilege)
        parts = [(covers.codes[place.ids], covers.count)]
        parts.append(self._owner_part(place) if covers.to_owners else self._nothing(place))
        is_own = privilege in self.snapshot.model.self_privileges
        persons, people = self._person_part(place, users=True) if is_own else self._no_one(place)
        parts.append((persons, len(people)))
        codes, stands = joined(parts)
        granted = self._grants.setdefault((privilege, place.path, place.named), {})
        numbers = []
        for cover, owner, person in self._few(stands):
            key = cover * parts[1][1] + owner
            number = granted.get(key, -1)
            if number < 0:
                number = granted[key] = self._granted(privilege, covers[cover], owner, place)
            if people[person] is not None:
                own = self._itself(place, people[person], exactly=True)
                number = self.residues.any_of((number, own))
            numbers.append(number)
        return column_of(codes, numbers)

    def _granted(self, privilege: str, cover: Cover, owner: int, place: Spots) -> int:
        """The residue for the statements that cover an entity."""
        residues = self.residues
        opened = [self._owned(place, owner, *clause) for clause in cover.owners]
        if cover.allows:
            opened.append(residues.number(Given(privilege, cover.allows)))
        return residues.all_of((residues.any_of(opened), self._free(privilege, cover)))

    def _free(self, privilege: str, cover: Cover) -> int:
        if not cover.denies:
            return EVERYBODY
        return self.residues.number(Free(privilege, cover.denies))

    def not_denied(self, privilege: str, place: Spots) -> Column:
        covers = self.covering.of(privilege)
        codes, stands = joined([(covers.codes[place.ids], covers.count)])
        few_covers = [covers[cover] for (cover,) in self._few(stands)]
        return column_of(codes, [self._free(privilege, cover) for cover in few_covers])

    # ownership

    def _nothing(self, place: Spots) -> tuple[Codes, int]:
        return np.zeros(len(place.ids), dtype=np.int64), 1

    def _owner_part(self, place: Spots) -> tuple[Codes, int]:
        """The owners of the entities as codes, if they must be named."""
        if not place.named:
            return self._nothing(place)
        codes, distinct_owners = self.owners
        return codes[place.ids], len(distinct_owners)

    def _owned(
        self, place: Spots, owner: int, types: Types = None, statements: tuple[str, ...] = ()
    ) -> int:
        if not place.named:
            return self.residues.number(Owned(place.path, types, statements))
        names = self.snapshot.coded.ownerships
        pairs = self.owners[1][owner]
        chosen = sorted({o for o, label in pairs if types is None or names[label] in types})
        return self.residues.number(Owners(place.path, types, statements, tuple(chosen)))

    def owner(self, levels: tuple[str, ...], place: Spots) -> Column:
        return self.any_of(self._owner_at(level, place) for level in levels)

    def _owner_at(self, level: str, place: Spots) -> Column:
        if level != SELF:
            spots, places = self._moved(level, place)
            return self._owner_at(SELF, spots).take(places)
        codes, stands = joined([self._owner_part(place)])
        return Column(codes, tuple(self._owned(place, owner) for (owner,) in stands.tolist()))

    # the entity as a principal

    def _no_one(self, place: Spots) -> tuple[Codes, list[int | None]]:
        return np.zeros(len(place.ids), dtype=np.int64), [None]

    def _person_part(self, place: Spots, *, users: bool) -> tuple[Codes, list[int | None]]:
        """The principals that entities are: None for none, and -1 if it need not be named."""
        persons = self._persons[place.ids]
        is_one = persons > -2
        if users:
            is_one &= self._users[self._tree.types[place.ids]]
        if not place.named:
            return is_one.astype(np.int64), [None, -1]
        shown = np.where(is_one, persons, -2)
        distinct_numbers, codes = np.unique(shown, return_inverse=True)
        people = [None if n == -2 else n for n in distinct_numbers.tolist()]
        return codes.reshape(-1).astype(np.int64), people

    def _itself(self, place: Spots, person: int | None, *, exactly: bool) -> int:
        if not place.named:
            return self.residues.number(Itself(place.path, exactly))
        return self.residues.number(One(place.path, exactly, -1 if person is None else person))

    def is_self(self, place: Spots) -> Column:
        codes, people = self._person_part(place, users=False)
        codes, stands = joined([(codes, len(people))])
        numbers = [
            NOBODY if people[n] is None else self._itself(place, people[n], exactly=False)
            for (n,) in stands.tolist()
        ]
        return column_of(codes, numbers)

    def service_admin(self, place: Spots) -> Column:
        return self._is_uniform(self.residues.number(Admins()), place)

    # other places

    def may(self, operation: str, place: Spots) -> Column:
        declared = self.snapshot.model.operation(operation)
        kinds = self._tree.types[place.ids]
        distinct_kinds = np.unique(kinds).tolist()
        if len(distinct_kinds) == 1:
            rule = declared.rule_or_none(self._tree.kinds[distinct_kinds[0]])
            return self.constant(False, place) if rule is None else self.evaluate(rule, place)
        parts = []
        for kind in distinct_kinds:
            rows = np.flatnonzero(kinds == kind)
            rule = declared.rule_or_none(self._tree.kinds[kind])
            inner = Spots(place.ids[rows], place.path, place.named)
            column = self.constant(False, inner) if rule is None else self.evaluate(rule, inner)
            parts.append((rows, column))
        return self._merge_disjoint(len(place.ids), parts)

    def _merge_disjoint(
        self, size: int, parts: Sequence[tuple[NDArray[np.int64], Column]]
    ) -> Column:
        """Columns of disjoint rows, merged into one; nobody for rows that none of them covers."""
        codes = np.zeros(size, dtype=np.int64)
        numbers = [NOBODY]
        for rows, column in parts:
            codes[rows] = column.codes + len(numbers)
            numbers.extend(column.of)
        codes, stands = joined([(codes, len(numbers))])
        return column_of(codes, [numbers[n] for (n,) in stands.tolist()])

    def _moved(self, selector: str, place: Spots) -> tuple[Spots, Ids]:
        """The target of a selector: the entities there, and for each row its index, or -1."""
        known = place.moves.get(selector)
        if known is None:
            at = self.snapshot.step(place.ids, selector)
            known = place.moves[selector] = _gathered(at, (*place.path, selector), place.named)
        return known

    def elsewhere(self, selector: str, inner: Node, place: Spots) -> Column:
        if selector.startswith(REQUEST):
            return self.constant(False, place)
        spots, places = self._moved(selector, place)
        if not len(spots.ids):
            return self.constant(False, place)
        return self.evaluate(inner, spots).take(places)

    def related(self, source: str, inner: Node, place: Spots, *, every: bool) -> Column:
        if source.startswith(REQUEST):
            return self.constant(False, place)
        if source == ANCESTORS:
            return self._siblings(inner, place, every=every)
        return self._related(source, inner, place, every=every)

    def _siblings(self, inner: Node, place: Spots, *, every: bool) -> Column:
        """Evaluates once per container: the ancestors of all its members are the same."""
        above = self._tree.above[place.ids]
        _, first, places = np.unique(above, return_index=True, return_inverse=True)
        one_each = Spots(place.ids[first], place.path, place.named)
        column = self._related(ANCESTORS, inner, one_each, every=every)
        return column.take(places.reshape(-1).astype(np.int32))

    def _related(self, source: str, inner: Node, place: Spots, *, every: bool) -> Column:
        rows, targets = related_ids(self.snapshot, source, place.ids)
        if not len(rows):
            return self.constant(False, place)
        spots, places = _gathered(targets, (*place.path, source), named=True)
        column = self.constant(False, spots)
        if len(spots.ids):
            column = self.evaluate(inner, spots)
        column = column.take(places)
        numbers = np.array(column.of, dtype=np.int64)[column.codes]
        return self._of_sets(len(place.ids), rows, numbers, every=every)

    def _of_sets(self, size: int, rows: Ids, numbers: Codes, *, every: bool) -> Column:
        """The joined residues of all targets of each row."""
        join = self.residues.all_of if every else self.residues.any_of
        order = np.lexsort((numbers, rows))
        rows, numbers = rows[order], numbers[order]
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        codes = np.zeros(size, dtype=np.int64)
        known: dict[bytes, int] = {}
        residues = [NOBODY]
        for row, part in zip(rows[starts].tolist(), np.split(numbers, starts[1:]), strict=True):
            key = part.tobytes()
            if key not in known:
                known[key] = len(residues)
                residues.append(join(part.tolist()))
            codes[row] = known[key]
            if self._limit is not None and len(residues) > self._limit:
                raise TooManyKinds
        codes, stands = joined([(codes, len(residues))])
        return column_of(codes, [residues[n] for (n,) in stands.tolist()])

    def compare(self, node: Compare, place: Spots) -> Column:
        if node.attribute.startswith(SUBJECT):
            comparison = Compared(node.attribute, node.operator, node.value)
            return self._is_uniform(self.residues.number(comparison), place)
        truths = self._among.compare(node, place.ids)
        codes, stands = joined([(truths.astype(np.int64), 2)])
        return Column(codes, tuple((NOBODY, EVERYBODY)[n] for (n,) in stands.tolist()))


def _gathered(at: Ids, path: Path, named: bool) -> tuple[Spots, Ids]:
    """The distinct entities in `at`, and for each row the index of its entity, or -1."""
    ids, places = np.unique(at, return_inverse=True)
    places = places.reshape(-1)
    absent = int(len(ids) > 0 and ids[0] < 0)
    spots = Spots(ids[absent:].astype(np.int32), path, named)
    return spots, (places - absent).astype(np.int32)
