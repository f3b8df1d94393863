"""The questions about every entity: each privilege by its name, each operation by its rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from lakewarden.kernel.expression import (
    REQUEST,
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    May,
    Node,
    Some,
    children,
)
from lakewarden.kernel.model import ANY, NONE, Model, Operation
from lakewarden.kernel.rows import Path, shape

PRIVILEGE: Final = "privilege"
OPERATION: Final = "operation"


class Question(NamedTuple):
    """A privilege or an operation; `kind` says which."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class TypedQuestion:
    """A question about one type of entity (empty: no resource).

    Answers are equal for entities with equal classes at `paths`; with `owner`, their owners and
    those of all ancestors must be equal, too. With `each`, further properties may distinguish
    entities.
    """

    question: Question
    rule: Node
    paths: tuple[Path, ...]
    privileges: frozenset[str]
    owner: bool
    each: bool


def questions(
    model: Model, type: str, about: frozenset[str] | None = None
) -> Iterator[TypedQuestion]:
    """All questions about a type; with `about`, those that depend on any of these privileges."""
    for name, privilege in model.privileges.items():
        rule = Holds(name)
        operation = Operation(name, privilege.title, {ANY: rule, NONE: rule})
        yield from _typed_question(model, Question(PRIVILEGE, name), operation, type, about)
    for name, operation in model.operations.items():
        yield from _typed_question(model, Question(OPERATION, name), operation, type, about)


def _typed_question(
    model: Model, question: Question, operation: Operation, type: str, about: frozenset[str] | None
) -> Iterator[TypedQuestion]:
    rule = operation.rule_or_none(type)
    if rule is None:
        return
    dependencies = shape(model, operation, type)
    if about is not None and dependencies.privileges.isdisjoint(about):
        return
    yield TypedQuestion(
        question=question,
        rule=rule,
        paths=dependencies.paths,
        privileges=dependencies.privileges,
        owner=dependencies.owner,
        each=dependencies.other and _reads_more_than_classes(model, rule, type, at_home=True),
    )


def _reads_more_than_classes(model: Model, node: Node, type: str, *, at_home: bool) -> bool:
    """Whether a rule reads more than classes and owners; `at_home`: on an entity of the type."""
    match node:
        case Every(source, _) | Some(source, _) if source.startswith(REQUEST):
            return False  # the request is empty: there are none
        case IsSelf() | Compare() | Every() | Some():
            return True
        case Holds(privilege) if privilege in model.self_privileges:
            declared = model.types.get(type)
            return not at_home or declared is None or declared.principal is not None
        case At(selector, _) if selector.startswith(REQUEST):
            return False  # the request has no such entity
        case May(name):
            rule = model.operation(name).rule_or_none(type) if at_home else None
            return not at_home or (
                rule is not None and _reads_more_than_classes(model, rule, type, at_home=True)
            )
        case At():
            at_home = False
    return any(
        _reads_more_than_classes(model, inner, type, at_home=at_home) for inner in children(node)
    )
