"""The differences between two profiles: who gains and loses what, and for which reasons."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
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

    def digest(self) -> str:
        """Identifies the part: a digest of all its fields."""
        text = _text(self.gained, self.question, self.principals, self.statements)
        return hashlib.sha256(text + self.users).hexdigest()[:32]


@lru_cache(maxsize=1 << 13)
def _text(
    gained: bool, question: Question, principals: tuple[str, ...], statements: tuple[str, ...]
) -> bytes:
    """The fields of a part without its users; ends with a byte that is nowhere else in it."""
    text = json.dumps([gained, *question, list(principals), list(statements)])
    return text.encode() + b"\0"


def class_of(type: str, parts: Iterable[str]) -> str:
    """Identifies entities with the same gains and losses: a digest of the digests of all parts."""
    text = json.dumps([type, sorted(parts)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


_REMEMBERED: Final = 1 << 13
"""How many reasons are cached: entities come in order, so repeated lookups follow soon."""

StatementIds = tuple[tuple[str, ...], tuple[str, ...]]
"""The ids of the statements that apply to an entity, before and after."""


class Comparison:
    """Compares access on two sides; has the statements and the people of both."""

    def __init__(self, model: Model, before: Stated, after: Stated) -> None:
        self._model = model
        self.before = before
        self.after = after
        self._privileges: dict[tuple[Question, str], frozenset[str]] = {}
        self._touched: dict[Statement, frozenset[str]] = {}
        self._same: dict[str, bool] = {}
        self._differing: dict[tuple[bool, StatementIds], tuple[tuple[Stated, Statement], ...]] = {}
        self._reasons: dict[tuple[object, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}

    @cached_property
    def same(self) -> frozenset[str]:
        """The ids of the statements that both sides have, for the same users."""
        return frozenset(filter(self._is_same, self.before.statements))

    def parts(self, type: str, before: Profile, after: Profile) -> Iterator[Part]:
        """The differences on entities of one type, in order of the questions."""
        statement_ids = before.statements, after.statements
        for question in sorted(before.users.keys() | after.users.keys()):
            had, has = before.users.get(question, b""), after.users.get(question, b"")
            if had != has:
                yield from self.differences(type, question, _users(had), _users(has), statement_ids)

    def differences(
        self, type: str, question: Question, had: BitMap, has: BitMap, statement_ids: StatementIds
    ) -> Iterator[Part]:
        """What users gain and lose, if other users are allowed than before."""
        for gained, users in ((True, has - had), (False, had - has)):
            if users:
                yield self._part(gained, question, type, users, statement_ids)

    def _part(
        self,
        gained: bool,
        question: Question,
        type: str,
        users: BitMap,
        statement_ids: StatementIds,
    ) -> Part:
        bits = canonical(users)
        key = (gained, question, type, bits, statement_ids)
        reason = self._reasons.get(key)
        if reason is None:
            if len(self._reasons) >= _REMEMBERED:
                self._reasons.clear()
            privileges = self._privileges_of(question, type)
            reason = self._reasons[key] = self._reason(gained, privileges, users, statement_ids)
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
        statement_ids: StatementIds,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Principals and statements: ALLOWs on the side with access, DENYs on the side without."""
        statements: set[str] = set()
        principals: set[Principal] = set()
        for side, statement in self._changed(gained, statement_ids):
            memberships = [p for p in statement.principals if side.users([p]) & users]
            if privileges & self._bearing(statement) and (memberships or statement.owners):
                statements.add(statement.id)
                principals.update(memberships)
        return tuple(sorted(map(principal_text, principals))), tuple(sorted(statements))

    def _changed(
        self, gained: bool, statement_ids: StatementIds
    ) -> tuple[tuple[Stated, Statement], ...]:
        """The ALLOWs on the side with access and DENYs on the other that differ between them."""
        key = (gained, statement_ids)
        known = self._differing.get(key)
        if known is None:
            sides = list(zip((self.before, self.after), statement_ids, strict=True))
            (without, not_given), (with_access, given) = sides if gained else reversed(sides)
            changed = []
            for side, ids, others, effect in (
                (with_access, given, not_given, Effect.ALLOW),
                (without, not_given, given, Effect.DENY),
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
            old, new = self.before.statements.get(id), self.after.statements.get(id)
            self._same[id] = (
                old is not None
                and new is not None
                and replace(old, title="") == replace(new, title="")
                and all(self.before.users([p]) == self.after.users([p]) for p in old.principals)
            )
        return self._same[id]


def _users(bits: bytes) -> BitMap:
    return BitMap.deserialize(bits) if bits else BitMap()
