"""What users may do on entities: the answers to all questions, shared by equal entities."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.diff.entity_signature import Signed
from lakewarden.pipeline.diff.question import Question, questions
from lakewarden.pipeline.diff.rule_evaluator import Ids, RuleEvaluator
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.review.reduction import Spots

_STEP: Final = 1 << 12
"""How many entities are processed at once."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Who may do what on some entities of one type, and the statements that apply there.

    `users` are numbers of users, as a canonical bitmap, by question; a question that allows nobody
    is left out. `statements` apply to the entity, to its ancestors, or to entities that it is
    related to.
    """

    users: Mapping[Question, bytes] = field(default_factory=dict)
    statements: tuple[str, ...] = ()

    def text(self) -> str:
        """The profile as text; equal profiles have equal texts."""
        rows = sorted([*question, users.hex()] for question, users in self.users.items())
        return json.dumps([rows, list(self.statements)], ensure_ascii=False)

    @staticmethod
    def read(text: str) -> Profile:
        """The profile from its text."""
        rows, statements = json.loads(text)
        users = {Question(kind, name): bytes.fromhex(bits) for kind, name, bits in rows}
        return Profile(users, tuple(statements))


NOTHING = Profile()
"""The profile of an entity that does not exist: nobody may do anything."""


class Profiler:
    """Makes profiles of a snapshot's entities, which are stored or represent no resource."""

    def __init__(self, evaluator: RuleEvaluator, signed: Signed) -> None:
        self._evaluator = evaluator
        self._signed = signed
        self._snapshot = evaluator.snapshot
        self._tree = evaluator.snapshot.coded.tree
        self._statement_ids: dict[tuple[int, ...], tuple[str, ...]] = {}

    def profiles(self, ids: Iterable[int]) -> Iterator[tuple[int, Profile]]:
        """The profile of each of some entities, by type."""
        every = np.fromiter(ids, np.int32)
        types = self._tree.types[every]
        for code in np.unique(types).tolist():
            of_type = every[types == code]
            for start in range(0, len(of_type), _STEP):
                some = of_type[start : start + _STEP]
                yield from zip(some.tolist(), self._profiles(code, some), strict=True)

    def _profiles(self, type_code: int, ids: Ids) -> list[Profile]:
        users: list[dict[Question, bytes]] = [{} for _ in ids]
        spots = Spots(ids)
        for typed in questions(self._snapshot.model, self._tree.kinds[type_code]):
            column = self._evaluator.column(typed.rule, spots)
            codes, allowed = self._evaluator.users(column, ids)
            bits = [canonical(members) if members else b"" for members in allowed]
            for row, code in enumerate(codes.tolist()):
                if bits[code]:
                    users[row][typed.question] = bits[code]
        self._evaluator.discard()
        return [
            Profile(of_entity, self._statements(id))
            for of_entity, id in zip(users, ids.tolist(), strict=True)
        ]

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


def domain(snapshot: Snapshot) -> BitMap:
    """The entities to compare: stored ones that are not too deep, and no resource."""
    tree = snapshot.coded.tree
    return (tree.stored | BitMap([ROOT])) - tree.deep
