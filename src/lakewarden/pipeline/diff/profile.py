"""What users may do on entities: the answers to all questions, shared by equal entities."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap

from lakewarden.kernel.classes import Partition
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.rows import Path
from lakewarden.pipeline.diff.entity_signature import DifferingPrivileges, Signed
from lakewarden.pipeline.diff.question import Question, TypedQuestion, questions
from lakewarden.pipeline.diff.user_numbering import UserNumbering, bounded
from lakewarden.pipeline.index.matching import canonical


@dataclass(frozen=True, slots=True)
class Profile:
    """Who may do what on some entities of one type, and the statements that apply there.

    `users` are numbers of users, by question; a question that allows nobody is left out.
    `statements` apply to the entity, to its ancestors, or to entities that it is related to.
    """

    users: Mapping[Question, BitMap] = field(default_factory=dict)
    statements: tuple[str, ...] = ()

    def text(self) -> str:
        """The profile as text; equal profiles have equal texts."""
        rows = sorted([*question, canonical(users).hex()] for question, users in self.users.items())
        return json.dumps([rows, list(self.statements)], ensure_ascii=False)

    @staticmethod
    def read(text: str) -> Profile:
        """The profile from its text."""
        rows, statements = json.loads(text)
        users = {
            Question(kind, name): BitMap.deserialize(bytes.fromhex(bits))
            for kind, name, bits in rows
        }
        return Profile(users, tuple(statements))


NOTHING = Profile()
"""The profile of an entity that does not exist: nobody may do anything."""


Paths = tuple[Path, ...]


class Profiler:
    """Makes profiles of a snapshot's entities; `about` limits them to questions on privileges.

    `differing`: questions whose statements do not differ between the sides are left out, because
    their answers are the same.
    """

    def __init__(
        self,
        numbering: UserNumbering,
        signed: Signed,
        about: frozenset[str] | None = None,
        differing: DifferingPrivileges | None = None,
    ) -> None:
        self._numbering = numbering
        self._signed = signed
        self._about = about
        self._differing = differing
        self._snapshot = numbering.snapshot
        self._tree = numbering.snapshot.coded.tree
        self._questions: dict[str, Mapping[Paths, list[TypedQuestion]]] = {}
        self._answers: dict[tuple[object, ...], BitMap] = {}
        self._chains: dict[int, int] = {}
        self._chain_numbers: dict[tuple[object, ...], int] = {}
        self._partitions: dict[frozenset[str], Partition] = {}
        self._statement_ids: dict[tuple[int, ...], tuple[str, ...]] = {}

    def profile(self, id: int) -> Profile:
        """Who may do what on an entity, which is stored or represents no resource."""
        type = self._tree.kinds[self._tree.types[id]]
        users: dict[Question, BitMap] = {}
        for paths, typed_questions in self._questions_by_paths(type).items():
            for typed in self._open(typed_questions, paths, id):
                allowed = self._answer(typed, type, id)
                if allowed:
                    users[typed.question] = allowed
        return Profile(users, self._statements(id))

    def _questions_by_paths(self, type: str) -> Mapping[Paths, list[TypedQuestion]]:
        by_paths = self._questions.get(type)
        if by_paths is None:
            by_paths = self._questions[type] = {}
            for typed in questions(self._snapshot.model, type, self._about):
                by_paths.setdefault(typed.paths, []).append(typed)
        return by_paths

    def _open(
        self, typed_questions: list[TypedQuestion], paths: Paths, id: int
    ) -> Iterable[TypedQuestion]:
        """The questions whose answers may differ from the other side's."""
        if self._differing is None:
            return typed_questions
        spots = (int(self._snapshot.path(path)[id]) for path in paths)
        privileges = frozenset[str]().union(
            *(self._differing.at(spot) for spot in spots if spot >= 0)
        )
        return [
            matter
            for matter in typed_questions
            if matter.each or not matter.privileges.isdisjoint(privileges)
        ]

    def _answer(self, typed: TypedQuestion, type: str, id: int) -> BitMap:
        key = (typed.question, type, *self._key(typed, id))
        users = self._answers.get(key)
        if users is None:
            allowed = self._numbering.class_users.evaluate(typed.rule, id)
            users = bounded(self._answers)[key] = self._numbering.numbered(allowed)
        return users

    def _key(self, typed: TypedQuestion, id: int) -> tuple[object, ...]:
        """The key that determines the answer: entities with equal keys have the same answer."""
        if typed.each:
            return ("each", self._signed.numbers[id])
        classes = self._classes(typed.privileges)
        at = (int(self._snapshot.path(path)[id]) for path in typed.paths)
        places = tuple(-1 if spot < 0 else int(classes.classes[spot]) for spot in at)
        return (places, self._chain(id) if typed.owner else -1)

    def _classes(self, privileges: frozenset[str]) -> Partition:
        classes = self._partitions.get(privileges)
        if classes is None:
            classes = self._snapshot.partition(privileges) or self._signed.classes
            self._partitions[privileges] = classes
        return classes

    def _chain(self, id: int) -> int:
        """A number for the owners of the entity and of all its ancestors."""
        if id not in self._chains:
            chain = [id, *self._tree.ancestors(id)]
            owners = self._snapshot.coded.owners
            key = tuple((int(self._tree.types[at]), owners.of(at)) for at in chain)
            numbers = self._chain_numbers
            self._chains[id] = numbers.setdefault(key, len(numbers))
        return self._chains[id]

    def _statements(self, id: int) -> tuple[str, ...]:
        spots = {id, ROOT, *self._tree.ancestors(id)}
        for edges in self._snapshot.coded.relations.values():
            spots.update(target for target, _ in edges.of(id))
        view = self._signed.classes.view
        classes = tuple(sorted({view[spot] for spot in spots}))
        ids = self._statement_ids.get(classes)
        if ids is None:
            ids = self._statement_ids[classes] = tuple(sorted(self._signed.statements(classes)))
        return ids


def domain(numbering: UserNumbering) -> BitMap:
    """The entities to compare: stored ones that are not too deep, and no resource."""
    tree = numbering.snapshot.coded.tree
    return (tree.stored | BitMap([ROOT])) - tree.deep
