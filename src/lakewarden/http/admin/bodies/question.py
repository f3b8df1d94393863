"""Bodies of questions: decisions, lists, who, and what a principal sees."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from lakewarden.http.admin.bodies.base import PageRequest, RequestBody
from lakewarden.http.admin.field_types import ActionName, EntityText, Scalar, described


class TargetQuestion(RequestBody, kw_only=True):
    """The target of a question, with its further parts.

    The schema is lenient: in a batch, a malformed question is denied with an error of its own.
    """

    entity: str | None = None
    targets: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    attributes: dict[str, Scalar] = field(default_factory=dict)
    subresources: list[str] = field(default_factory=list)


class PrincipalQuestion(TargetQuestion, kw_only=True):
    """Principal and target of a question.

    Without `principal` the question is about the caller. `groups` are those that an identity
    provider asserts, `roles` those that are active.
    """

    principal: str | None = None
    groups: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)


class SightQuestion(PrincipalQuestion, kw_only=True):
    """A question what a principal sees of a table.

    With an `engine`, the answer says in its SQL what a read has to keep to; `columns` are then the
    columns of the table as the engine has them, with the engine's types.
    """

    engine: str = ""
    columns: dict[str, str] = field(default_factory=dict)


class Question(PrincipalQuestion, kw_only=True):
    """A check: may the principal do the operation, or does it hold the privilege, on the entity?"""

    operation: str


class Questions(RequestBody, kw_only=True):
    """A batch of checks, answered in order."""

    questions: Annotated[list[Question], described(minItems=1)]


class ListQuestion(Question, kw_only=True):
    """A list question: on which entities may the principal do it? `entity` is ignored."""

    within: EntityText | None = None
    after: EntityText | None = None
    page: PageRequest = field(default_factory=PageRequest)


class WhoQuestion(TargetQuestion, kw_only=True):
    """A reverse question: who may do the operation on the entity? `reasons` adds the causes."""

    operation: ActionName
    reasons: bool = False
    page: PageRequest = field(default_factory=PageRequest)


class UnmaskedQuestion(RequestBody, kw_only=True):
    """Who sees the values of a column: the users who read its table and whom no mask binds."""

    entity: EntityText
    page: PageRequest = field(default_factory=PageRequest)


class AccessQuestion(RequestBody, kw_only=True):
    """An access review of an entity: who may do which operation?"""

    entity: EntityText | None = None
