"""The differences between two profiles: who gains and loses what, and for which reasons."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from pyroaring import BitMap

from lakewarden.kernel.grants import affected_privileges
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.rows import shape
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline.diff.profile import Profile
from lakewarden.pipeline.diff.question import OPERATION, Question
from lakewarden.pipeline.diff.user_numbering import Stated
from lakewarden.pipeline.index.matching import canonical

PART: Final = (
    "gained boolean, kind string, name string, users binary, principals array<string>,"
    " statements array<string>"
)
"""The columns of a part in Spark."""

PART_FIELDS: Final = (
    ("gained", pa.bool_()),
    ("kind", pa.string()),
    ("name", pa.string()),
    ("users", pa.binary()),
    ("principals", pa.list_(pa.string())),
    ("statements", pa.list_(pa.string())),
)
"""The columns of a part in Arrow."""


@dataclass(frozen=True, slots=True)
class Part:
    """Users, as a bitmap of their numbers, who gain or lose one question.

    `statements` were added, removed or changed, or now concern other users; `principals` are the
    principals named in them that the users act as. Without either, the reason is ownership, or the
    place of an entity.
    """

    gained: bool
    question: Question
    users: bytes
    principals: tuple[str, ...]
    statements: tuple[str, ...]

    def cells(self) -> list[object]:
        """All fields as a JSON list."""
        who = [list(self.principals), list(self.statements)]
        return [self.gained, *self.question, self.users.hex(), *who]


def class_of(type: str, parts: Iterable[Part]) -> str:
    """Identifies entities with the same gains and losses: a digest of all differences."""
    text = json.dumps([type, sorted((part.cells() for part in parts), key=repr)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


NOBODY: Final = BitMap()


class Comparison:
    """Compares profiles of two sides; has the statements of both."""

    def __init__(self, model: Model, before: Stated, after: Stated) -> None:
        self._model = model
        self._before = before
        self._after = after
        self._privileges: dict[tuple[Question, str], frozenset[str]] = {}
        self._touched: dict[Statement, frozenset[str]] = {}
        self._same: dict[str, bool] = {}
        self._differing: dict[
            tuple[bool, tuple[str, ...], tuple[str, ...]], tuple[tuple[Stated, Statement], ...]
        ] = {}
        self._reasons: dict[tuple[object, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def parts(self, type: str, before: Profile, after: Profile) -> Iterator[Part]:
        """The differences on entities of one type, in order of the questions."""
        for question in sorted(before.users.keys() | after.users.keys()):
            had, has = before.users.get(question, NOBODY), after.users.get(question, NOBODY)
            if had == has:
                continue
            for gained, users in ((True, has - had), (False, had - has)):
                if users:
                    yield self._part(gained, question, type, users, before, after)

    def _part(
        self,
        gained: bool,
        question: Question,
        type: str,
        users: BitMap,
        before: Profile,
        after: Profile,
    ) -> Part:
        bits = canonical(users)
        key = (gained, question, type, bits, before.statements, after.statements)
        reason = self._reasons.get(key)
        if reason is None:
            privileges = self._privileges_of(question, type)
            reason = self._reasons[key] = self._reason(
                gained, privileges, users, before.statements, after.statements
            )
        return Part(gained, question, bits, *reason)

    def _privileges_of(self, question: Question, type: str) -> frozenset[str]:
        """The privileges that a question depends on."""
        if question.kind != OPERATION:
            return frozenset({question.name})
        key = (question, type)
        if key not in self._privileges:
            operation = self._model.operations[question.name]
            self._privileges[key] = shape(self._model, operation, type).privileges
        return self._privileges[key]

    def _reason(
        self,
        gained: bool,
        privileges: frozenset[str],
        users: BitMap,
        before: tuple[str, ...],
        after: tuple[str, ...],
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Principals and statements: ALLOWs on the side with access, DENYs on the side without."""
        statements: set[str] = set()
        principals: set[Principal] = set()
        for side, statement in self._changed(gained, before, after):
            memberships = [p for p in statement.principals if side.users([p]) & users]
            if privileges & self._bearing(statement) and (memberships or statement.owners):
                statements.add(statement.id)
                principals.update(memberships)
        return tuple(sorted(map(principal_text, principals))), tuple(sorted(statements))

    def _changed(
        self, gained: bool, before: tuple[str, ...], after: tuple[str, ...]
    ) -> tuple[tuple[Stated, Statement], ...]:
        """The ALLOWs on the side with access and DENYs on the other that differ between them."""
        key = (gained, before, after)
        known = self._differing.get(key)
        if known is None:
            sides = (self._before, before), (self._after, after)
            (had, lying), (gaining, holding) = sides if gained else reversed(sides)
            changed = []
            for side, ids, others, effect in (
                (gaining, holding, lying, Effect.ALLOW),
                (had, lying, holding, Effect.DENY),
            ):
                beside = set(others)
                for id in ids:
                    statement = side.statements[id]
                    is_there = id in beside and self._is_same(id)
                    if statement.effect is effect and not is_there:
                        changed.append((side, statement))
            known = self._differing[key] = tuple(changed)
        return known

    def _bearing(self, statement: Statement) -> frozenset[str]:
        if statement not in self._touched:
            self._touched[statement] = affected_privileges(statement, self._model)
        return self._touched[statement]

    def _is_same(self, id: str) -> bool:
        """Whether both sides have the same statement, for the same users."""
        if id not in self._same:
            old, new = self._before.statements.get(id), self._after.statements.get(id)
            self._same[id] = (
                old is not None
                and new is not None
                and replace(old, title="") == replace(new, title="")
                and all(self._before.users([p]) == self._after.users([p]) for p in old.principals)
            )
        return self._same[id]
