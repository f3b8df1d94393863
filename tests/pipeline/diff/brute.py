"""The difference of two sides, by single decisions of the kernel on everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.diff.question import OPERATION, PRIVILEGE, Question
from lakewarden.testing.world_draft import NOW


class Fact(NamedTuple):
    """A user's permission on an entity."""

    user: Principal
    question: Question
    entity: Entity


def allowed(snapshot: Snapshot, users: Sequence[Principal], now: float = NOW) -> set[Fact]:
    """All permissions of the users by `decide`, for privileges and operations."""
    matrix, tree, model = Matrix(snapshot), snapshot.coded.tree, snapshot.model
    found = set()
    for entity in (NO_RESOURCE, *(tree.entity(id) for id in tree.stored)):
        asked = [Question(PRIVILEGE, name) for name in model.privileges]
        for name, operation in model.operations.items():
            if operation.rule_or_none(entity.type) is not None:
                asked.append(Question(OPERATION, name))
        for question in asked:
            for user in users:
                if matrix.decide(Request(user, question.name, entity, now)).allow:
                    found.add(Fact(user, question, entity))
    return found


def split(before: set[Fact], after: set[Fact]) -> set[tuple[bool, Fact]]:
    """The gained (true) and lost permissions."""
    gained: Iterable[tuple[bool, Fact]] = ((True, fact) for fact in after - before)
    return {*gained, *((False, fact) for fact in before - after)}
