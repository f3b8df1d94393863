"""The questions of a review: every privilege and every operation, for each type of entity.

Questions of one type with the same rule are one *matter*: they have the same classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.expression import (
    REQUEST,
    At,
    Compare,
    Every,
    Holds,
    May,
    Node,
    NotDenied,
    Some,
    children,
)
from lakewarden.kernel.model import ANY, WAYS, Model, Privilege, Source
from lakewarden.kernel.privileges import offered_on
from lakewarden.pipeline.review.residue import Compared

ACCESS: Final = "access"
"""As a choice of operations: those that see, read or change an asset."""

PRIVILEGE = "privilege"
OPERATION = "operation"

SUBJECT = "subject."
"""Prefix of the attributes of the subject."""


CLASSES: Final = 4_000
"""The default limit of classes of a matter; with more, it is reviewed by type and container.

Nobody reads more classes, and hundreds of matters of this size still fit the driver. Grants on
containers and on entities in them make far fewer.
"""

CLASSES_FOR_SQL: Final = 20_000
"""The default limit of classes of a matter in one block; with more, an export ends.

If nearly every entity is a class of its own, a hundred matters of 100,000 entities would take hours
and fill a disk; a caller who wants that for one of them can raise the limit.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A privilege or an operation; `request`: attributes of a request may change the answer."""

    kind: str
    name: str
    title: str
    request: bool


@dataclass(frozen=True, slots=True)
class Matter:
    """A rule on entities of one type, and its questions; without any, it is only used for ways."""

    rule: Node
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Agenda:
    """The questions about entities of one type.

    `ways[w]` is the index, in `matters`, of the rule by which such an entity is reached by the way
    `WAYS[w]`; None if it cannot be reached.
    """

    matters: tuple[Matter, ...]
    ways: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The privileges and operations to ask about, by name; None: all."""

    privileges: frozenset[str] | None = None
    operations: frozenset[str] | None = None
    _agendas: dict[tuple[str, str], Agenda] = field(default_factory=dict, compare=False)

    def options(self) -> dict[str, str]:
        """The choice as options in a manifest."""
        return {
            "privileges": _name_list(self.privileges),
            "operations": _name_list(self.operations),
        }

    def agenda(self, model: Model, type: str) -> Agenda:
        """The questions about entities of `type` (empty: without a resource); cached."""
        known = self._agendas.get((model.digest, type))
        if known is None:
            known = self._agendas[model.digest, type] = self._agenda(model, type)
        return known

    def _agenda(self, model: Model, type: str) -> Agenda:
        questions: dict[Node, list[Question]] = {}
        for rule, question in self._questions(model, type):
            questions.setdefault(rule, []).append(question)
        ways: list[Node | None] = []
        for way in WAYS:
            name = model.reaching(way, type) if type else None
            rule_of_way = None if name is None else model.operations[name].rule_or_none(type)
            ways.append(rule_of_way)
            if rule_of_way is not None:
                questions.setdefault(rule_of_way, [])
        places = {rule: place for place, rule in enumerate(questions)}
        return Agenda(
            matters=tuple(Matter(rule, tuple(of_rule)) for rule, of_rule in questions.items()),
            ways=tuple(None if rule is None else places[rule] for rule in ways),
        )

    def _questions(self, model: Model, type: str) -> Iterator[tuple[Node, Question]]:
        required = _required_privileges(model, type)
        for privilege in model.privileges.values():
            is_wanted = self.privileges is None or privilege.name in self.privileges
            if is_wanted and _is_relevant(model, privilege, type, required):
                question = Question(PRIVILEGE, privilege.name, privilege.title, request=False)
                yield Holds(privilege.name), question
        for operation in model.operations.values():
            rule = operation.rule_or_none(type)
            if rule is not None and (self.operations is None or operation.name in self.operations):
                uses_request = asks_request(model, rule, type)
                yield rule, Question(OPERATION, operation.name, operation.title, uses_request)


def _name_list(names: frozenset[str] | None) -> str:
    return "all" if names is None else " ".join(sorted(names)) or "none"


def _is_relevant(model: Model, privilege: Privilege, type: str, required: frozenset[str]) -> bool:
    """Whether the privilege has a meaning on entities of the type.

    It is offered there, or a grant of it reaches them and an operation has it as `required`.
    """
    if not type or not privilege.on:
        return not type and not privilege.on
    if ANY in privilege.on or type in privilege.on:
        return True
    reaches = type not in model.types or offered_on(model, privilege, type)
    return reaches and privilege.name in required


def _required_privileges(model: Model, type: str) -> frozenset[str]:
    """The privileges that operations on entities of the type require."""
    return frozenset(
        node.privilege
        for operation in model.operations.values()
        for rule in [operation.rule_or_none(type)]
        if rule is not None
        for node in parts(model, rule, type)
        if isinstance(node, (Holds, NotDenied))
    )


def chosen(
    model: Model, privileges: Iterable[str] | None, operations: Iterable[str] | None
) -> Chosen:
    """The choice with names looked up; raises `Unknown`. The word `none` means no names at all.

    Among operations, `ACCESS` means those of the access levels.
    """
    if operations is not None:
        given = list(operations)
        of_levels = {name for names in model.access.values() for name in names}
        operations = {*given, *of_levels} - {ACCESS} if ACCESS in given else given
    return Chosen(
        None if privileges is None else _names(privileges, lambda n: model.privilege(n).name),
        None if operations is None else _names(operations, lambda n: model.operation(n).name),
    )


def _names(texts: Iterable[str], look_up: Callable[[str], str]) -> frozenset[str]:
    return frozenset(look_up(text) for text in texts if text != "none")


def asks_request(model: Model, rule: Node, type: str) -> bool:
    """Whether the rule reads any attribute of a request."""
    return any(_is_of_request(model, node) for node in parts(model, rule, type))


def _is_of_request(model: Model, node: Node) -> bool:
    match node:
        case At(selector, _):
            return selector.startswith(REQUEST)
        case Every(source, _) | Some(source, _):
            return source.startswith(REQUEST)
        case Compare():
            return model.attributes[node.attribute].source is not Source.STORED
        case _:
            return False


def parts(model: Model, rule: Node, type: str = "") -> Iterator[Node]:
    """The nodes of a rule, including those of other operations that it names.

    For `may`, the rules of any type are included, unless the place is that of the target.
    """
    visited: set[str] = set()
    todo = [(rule, type)]
    while todo:
        node, at = todo.pop()
        yield node
        if isinstance(node, May) and node.operation not in visited:
            visited.add(node.operation)
            named = model.operation(node.operation)
            of_type = named.rule_or_none(at) if at else None
            rules = named.rules.values() if of_type is None else (of_type,)
            todo.extend((inner, at) for inner in rules)
        is_elsewhere = isinstance(node, (At, Every, Some))
        todo.extend((inner, "" if is_elsewhere else at) for inner in children(node))


def attribute_comparisons(model: Model) -> tuple[Compared, ...]:
    """The comparisons in the model's rules with stored attributes of the subject."""
    comparisons = {
        Compared(node.attribute, node.operator, node.value)
        for operation in model.operations.values()
        for rule in operation.rules.values()
        for node in parts(model, rule)
        if isinstance(node, Compare) and node.attribute.startswith(SUBJECT)
    }
    return tuple(sorted(comparisons, key=repr))
