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

    The answer depends on the statements on `privileges` that lie at `paths`, and on ownership. With
    `beyond`, it may also depend on those at other places.
    """

    question: Question
    rule: Node
    paths: tuple[Path, ...]
    privileges: frozenset[str]
    beyond: bool


def questions(model: Model, type: str) -> tuple[TypedQuestion, ...]:
    """All questions about a type, in their order; cached."""
    known = _QUESTIONS.get((model.digest, type))
    if known is None:
        known = _QUESTIONS[model.digest, type] = tuple(_questions(model, type))
    return known


_QUESTIONS: dict[tuple[str, str], tuple[TypedQuestion, ...]] = {}


def _questions(model: Model, type: str) -> Iterator[TypedQuestion]:
    operations = {Question(OPERATION, name): one for name, one in model.operations.items()}
    for name, privilege in model.privileges.items():
        rule = Holds(name)
        operation = Operation(name, privilege.title, {ANY: rule, NONE: rule})
        operations[Question(PRIVILEGE, name)] = operation
    for question in sorted(operations):
        yield from _typed_question(model, question, operations[question], type)


def _typed_question(
    model: Model, question: Question, operation: Operation, type: str
) -> Iterator[TypedQuestion]:
    rule = operation.rule_or_none(type)
    if rule is None:
        return
    dependencies = shape(model, operation, type)
    yield TypedQuestion(
        question=question,
        rule=rule,
        paths=dependencies.paths,
        privileges=dependencies.privileges,
        beyond=dependencies.other and _reads_more_than_classes(model, rule, type, at_home=True),
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
