"""What users may do on entities: an answer to every question, one for all that are alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap

from lakewarden.kernel.classes import Partition
from lakewarden.kernel.facts import ROOT
from lakewarden.pipeline.diff.entity_signature import Signed
from lakewarden.pipeline.diff.question import Asking, Question, questions
from lakewarden.pipeline.diff.user_numbering import UserNumbering
from lakewarden.pipeline.index.matching import canonical


@dataclass(frozen=True, slots=True)
class Profile:
    """Who may do what on some entities of one type, and which statements speak there.

    `users` are bitmaps of their numbers, by question; nobody: the question is left out.
    `statements` lie on the entity, on what is above it, or on what it is related to.
    """

    users: Mapping[Question, bytes] = field(default_factory=dict)
    statements: tuple[str, ...] = ()

    def text(self) -> str:
        """The profile as text, equal for equal ones."""
        rows = sorted([*question, bits.hex()] for question, bits in self.users.items())
        return json.dumps([rows, list(self.statements)], ensure_ascii=False)

    @staticmethod
    def read(text: str) -> Profile:
        """The profile of a text."""
        rows, statements = json.loads(text)
        users = {Question(kind, name): bytes.fromhex(bits) for kind, name, bits in rows}
        return Profile(users, tuple(statements))


NOTHING = Profile()
"""What nobody may do anything on: what is not there."""


class Profiler:
    """Makes profiles of a snapshot's entities; `about`: of questions on these privileges only."""

    def __init__(
        self, crowd: UserNumbering, signed: Signed, about: frozenset[str] | None = None
    ) -> None:
        self._crowd = crowd
        self._signed = signed
        self._about = about
        self._snapshot = crowd.snapshot
        self._tree = crowd.snapshot.coded.tree
        self._asked: dict[str, tuple[Asking, ...]] = {}
        self._answers: dict[tuple[object, ...], bytes] = {}
        self._chains: dict[int, int] = {}
        self._chain_numbers: dict[tuple[object, ...], int] = {}
        self._partitions: dict[frozenset[str], Partition] = {}

    def profile(self, id: int) -> Profile:
        """Who may do what on an entity, which is stored or stands for no resource."""
        type = self._tree.kinds[self._tree.types[id]]
        users: dict[Question, bytes] = {}
        for asking in self._askings(type):
            bits = self._answer(asking, type, id)
            if bits:
                users[asking.question] = bits
        return Profile(users, self._statements(id))

    def _askings(self, type: str) -> tuple[Asking, ...]:
        found = self._asked.get(type)
        if found is None:
            found = tuple(questions(self._snapshot.model, type, self._about))
            self._asked[type] = found
        return found

    def _answer(self, asking: Asking, type: str, id: int) -> bytes:
        key = (asking.question, type, *self._key(asking, id))
        bits = self._answers.get(key)
        if bits is None:
            found = self._crowd.judge.evaluate(asking.rule, id)
            numbers = self._crowd.numbered(found)
            bits = self._answers[key] = canonical(numbers) if numbers else b""
        return bits

    def _key(self, asking: Asking, id: int) -> tuple[object, ...]:
        """What decides the answer: entities with equal keys have one."""
        if asking.each:
            return ("each", self._signed.numbers[id])
        classes = self._classes(asking.privileges)
        at = (int(self._snapshot.path(path)[id]) for path in asking.paths)
        places = tuple(-1 if spot < 0 else int(classes.classes[spot]) for spot in at)
        return (places, self._chain(id) if asking.owner else -1)

    def _classes(self, privileges: frozenset[str]) -> Partition:
        found = self._partitions.get(privileges)
        if found is None:
            found = self._snapshot.partition(privileges) or self._signed.classes
            self._partitions[privileges] = found
        return found

    def _chain(self, id: int) -> int:
        """A number for who owns the entity and all above it."""
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
        spoken = (grant for spot in spots for _, grant in self._signed.spoken(spot))
        return tuple(sorted({grant.statement.id for grant in spoken}))


def profiles(profiler: Profiler, signed: Signed, ids: Iterable[int]) -> dict[int, Profile]:
    """The profiles of some entities, by the numbers of their signatures."""
    found: dict[int, Profile] = {}
    for id in ids:
        number = signed.numbers[id]
        if number not in found:
            found[number] = profiler.profile(id)
    return found


def domain(crowd: UserNumbering) -> BitMap:
    """The entities that are looked at: those stored, but for those too deep, and no resource."""
    tree = crowd.snapshot.coded.tree
    return (tree.stored | BitMap([ROOT])) - tree.deep
