"""Compares two principals: where only one may do something, and where both may."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.explain import explain
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Request
from lakewarden.kernel.tree import Tree
from lakewarden.service import control, questions
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.question_text import QuestionText
from lakewarden.service.sentence import Phrase, Sentences
from lakewarden.service.state import State

SHOWN: Final = 100
"""The most containers per side; those with most entities come first."""

EXPLAINED: Final = 12
"""The number of these containers that are explained."""


@dataclass(frozen=True, slots=True)
class ContainerEntities:
    """Entities of one container: their number, the first ones, and the cause of the difference.

    `within` None: they are at the top level. `why` is empty if it was not computed.
    """

    within: Entity | None
    entities: int
    sample: Entity
    why: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class ComparedEntities:
    """The entities that one side alone, or both, may use: their number, and their containers."""

    entities: int
    inside: tuple[ContainerEntities, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The access of two principals, at a revision."""

    only_a: ComparedEntities
    both: ComparedEntities
    only_b: ComparedEntities
    revision: int


def compare(  # noqa: PLR0913 — who, what and where
    state: State,
    actor: Actor,
    realm: str,
    first: str,
    second: str,
    operation: str,
    now: float,
    *,
    within: str | None = None,
) -> Comparison | Denied:
    """The entities on which only the first, only the second, or both may do an operation.

    Requires the rights to ask about others and to explain. Raises `BadInput` and `Unknown` for
    invalid or unknown names.
    """
    for right in ("decision.ask", "explain.ask"):
        refused = control.denied_in(state, actor, right, realm, now)
        if refused is not None:
            return refused
    realm_state = state.realm(realm)
    requests: list[Request] = []
    for name, principal in (("a", first), ("b", second)):
        if not principal:
            raise BadInput("expected a principal", where=f"body.{name}")
        question = questions.ask(
            state, actor, realm, QuestionText(operation=operation, principal=principal), now
        )
        if isinstance(question, Denied):
            return question
        requests.append(question.request)
    below = None if within is None else parse_entity(realm_state, within)
    a, b = (listing(realm_state.matrix, request, below) for request in requests)
    telling = _Comparer(realm_state.matrix, Sentences(realm_state), requests[0], requests[1])
    return Comparison(
        only_a=telling.part(a - b, of_b=True),
        both=telling.part(a & b, of_b=False, why=False),
        only_b=telling.part(b - a, of_b=False),
        revision=realm_state.matrix.revision,
    )


@dataclass(frozen=True, slots=True)
class _Comparer:
    matrix: Matrix
    sentences: Sentences
    a: Request
    b: Request

    def part(self, ids: BitMap, *, of_b: bool, why: bool = True) -> ComparedEntities:
        """The entities by container, with the reason why the other side is refused there."""
        request = self.b if of_b else self.a
        groups = sorted(_by_container(self.matrix, ids), key=lambda part: (-len(part[1]), part[0]))
        tree = self.matrix.snapshot.coded.tree
        inside = [
            ContainerEntities(
                within=tree.entity(above) if above >= 0 else None,
                entities=len(members),
                sample=tree.entity(members.min()),
                why=self._reasons(tree, request, members.min())
                if why and place < EXPLAINED
                else (),
            )
            for place, (above, members) in enumerate(checked(groups[:SHOWN]))
        ]
        return ComparedEntities(len(ids), tuple(inside))

    def _reasons(self, tree: Tree, request: Request, id: int) -> tuple[Phrase, ...]:
        question_request = replace(request, target=tree.entity(id))
        explanation = explain(self.matrix, question_request)
        table = self.matrix.snapshot.table.statements
        named_ones = [table[id] for id in explanation.statements if id in table]
        return tuple(self.sentences.answer(question_request, explanation, named_ones))


def _by_container(matrix: Matrix, ids: BitMap) -> Iterator[tuple[int, BitMap]]:
    if not ids:
        return
    rows = np.asarray(ids.to_array(), dtype=np.int64)
    above = np.asarray(matrix.snapshot.coded.tree.above)[rows]
    for container in np.unique(above).tolist():
        yield container, BitMap(rows[above == container].astype(np.uint32))
