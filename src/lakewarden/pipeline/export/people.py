"""The tables of an export with a row for each person, statement or question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.export import schemas
from lakewarden.pipeline.export.block_export import ELSEWHERE
from lakewarden.pipeline.export.need import NOTHING, need_of, need_text, need_words
from lakewarden.pipeline.export.schemas import SCHEMAS
from lakewarden.pipeline.export.user_sets import UserSets
from lakewarden.pipeline.index.task_context import TaskContext
from lakewarden.pipeline.review.audience import People
from lakewarden.pipeline.review.question import Chosen
from lakewarden.pipeline.unused.policy import scope_text

Cells = tuple[object, ...]

At = tuple[str, int]
"""A matter: the type of entities, and the place in that type's agenda."""

STATED: Final = "statements"
LED: Final = "owning or being what a relation leads to"


def numbered_matters(chosen: Chosen, people: People, types: Iterable[str]) -> dict[At, int]:
    """The matters of the types that occur, numbered as in a review."""
    matters = (
        (type, place)
        for type in sorted(types)
        for place, _ in enumerate(chosen.agenda(people.model, type).matters)
    )
    return {at: number for number, at in enumerate(matters)}


def numbered_needs(texts: Iterable[str]) -> dict[str, int]:
    """The needs by text: 0 is none, 1 is elsewhere, and from 2 on ties to the entity."""
    fixed = [need_text(NOTHING), ELSEWHERE]
    ordered = sorted(set(texts) - set(fixed), key=lambda text: (len(need_of(text)), text))
    return {text: number for number, text in enumerate([*fixed, *ordered])}


@dataclass(frozen=True, slots=True)
class Small:
    """The tables that are computed on the driver."""

    context: TaskContext
    user_sets: UserSets
    chosen: Chosen
    matters: dict[At, int]
    needs: dict[str, int]

    def all(self) -> Iterator[tuple[str, pa.Table]]:
        """Every table, by name."""
        makers = {
            schemas.PRINCIPALS: self._principals(),
            schemas.MEMBERSHIPS: self._memberships(),
            schemas.ACTS_AS: self._acts_as(),
            schemas.USERS: self._users(),
            schemas.ROLE_SETS: self._role_sets(),
            schemas.STATEMENTS: map(self._statement, self._stated()),
            schemas.STATEMENT_PRINCIPALS: self._addressed(),
            schemas.STATEMENT_PRIVILEGES: self._privileges(),
            schemas.QUESTIONS: self._questions(),
            schemas.NEEDS: self._needs(),
        }
        for name, rows in makers.items():
            yield name, table(name, rows)

    # people

    def _principals(self) -> Iterator[Cells]:
        memberships = self.context.memberships
        for id, (kind, name) in enumerate(memberships.principals):
            yield id, kind, name, id in memberships.stored

    def _memberships(self) -> Sequence[Cells]:
        return self.context.memberships.edges()

    def _acts_as(self) -> Iterator[Cells]:
        for id, _ in enumerate(self.context.memberships.principals):
            for user in self.user_sets.people.of([id]):
                yield user, id

    def _users(self) -> Iterator[Cells]:
        principals = self.context.memberships.principals
        for user, role_set in sorted(self.user_sets.sets.set_of.items()):
            yield user, principals[user].name, role_set

    def _role_sets(self) -> Iterator[Cells]:
        for number, principals in enumerate(self.user_sets.sets.principals):
            yield from ((number, principal) for principal in sorted(principals))

    # statements

    def _stated(self) -> Sequence[Statement]:
        return sorted(self.context.statements, key=lambda statement: statement.id)

    def _statement(self, statement: Statement) -> Cells:
        return (
            statement.id,
            statement.title,
            statement.effect.value,
            scope_text(statement),
            _owner_text(statement),
            statement.constraint is not None,
            statement.applies(self.context.now),
            statement.valid_from,
            statement.valid_until,
        )

    def _addressed(self) -> Iterator[Cells]:
        ids = self.context.memberships.ids
        for statement in self._stated():
            yield from (
                (statement.id, number) for number in sorted(ids[p] for p in statement.principals)
            )

    def _privileges(self) -> Iterator[Cells]:
        for statement in self._stated():
            yield from ((statement.id, privilege) for privilege in sorted(statement.privileges))

    # questions

    def _questions(self) -> Iterator[Cells]:
        number = 0
        for (type, place), matter in self.matters.items():
            for question in (
                self.chosen.agenda(self.user_sets.people.model, type).matters[place].questions
            ):
                yield (
                    number,
                    question.kind,
                    question.name,
                    question.title,
                    type,
                    matter,
                    question.request,
                )
                number += 1

    def _needs(self) -> Iterator[Cells]:
        for text, number in self.needs.items():
            says = STATED if number == 0 else LED if number == 1 else need_words(need_of(text))
            yield number, says


def _owner_text(statement: Statement) -> str | None:
    """The owners that a statement names, in the form of a statement file; None: none."""
    if statement.owners is None:
        return None
    to = write_statement(replace(statement, principals=frozenset()))["to"]
    return ", ".join(map(str, to)) if isinstance(to, list) and to else None


def table(name: str, rows: Iterable[Cells]) -> pa.Table:
    """The table of that name."""
    schema = SCHEMAS[name]
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)
