"""One evaluation of the rule nodes, for every kind of answer.

The meaning of a rule is written here once; an algebra defines its truth values (a
boolean, a bit for each class, a set of entities, a set of users) and how to find the
atoms. A *place* is where the rule is evaluated: an entity, or many at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

from lakewarden.kernel.expression import (
    And,
    Anyone,
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    May,
    Node,
    NotDenied,
    Or,
    Owner,
    ServiceAdmin,
    Some,
)

Value = TypeVar("Value")
Place = TypeVar("Place")


class Algebra(ABC, Generic[Value, Place]):
    """Truth values and atoms; `evaluate` folds a rule over them."""

    def evaluate(self, node: Node, place: Place) -> Value:
        """The truth of `node` at `place`."""
        match node:
            case Holds(privilege):
                return self.holds(privilege, place)
            case And(parts):
                return self.all_of(self.evaluate(part, place) for part in parts)
            case Or(parts):
                return self.any_of(self.evaluate(part, place) for part in parts)
            case Owner(levels):
                return self.owner(levels, place)
            case At(selector, inner):
                return self.elsewhere(selector, inner, place)
            case NotDenied(privilege):
                return self.not_denied(privilege, place)
            case May(operation):
                return self.may(operation, place)
            case IsSelf():
                return self.is_self(place)
            case Every(source, inner):
                return self.related(source, inner, place, every=True)
            case Some(source, inner):
                return self.related(source, inner, place, every=False)
            case Compare():
                return self.compare(node, place)
            case ServiceAdmin():
                return self.service_admin(place)
            case _:
                return self.constant(isinstance(node, Anyone), place)

    @abstractmethod
    def all_of(self, values: Iterator[Value]) -> Value: ...

    @abstractmethod
    def any_of(self, values: Iterator[Value]) -> Value: ...

    @abstractmethod
    def constant(self, truth: bool, place: Place) -> Value: ...

    @abstractmethod
    def holds(self, privilege: str, place: Place) -> Value: ...

    @abstractmethod
    def not_denied(self, privilege: str, place: Place) -> Value: ...

    @abstractmethod
    def owner(self, levels: tuple[str, ...], place: Place) -> Value: ...

    @abstractmethod
    def is_self(self, place: Place) -> Value: ...

    @abstractmethod
    def service_admin(self, place: Place) -> Value: ...

    @abstractmethod
    def may(self, operation: str, place: Place) -> Value: ...

    @abstractmethod
    def elsewhere(self, selector: str, inner: Node, place: Place) -> Value: ...

    @abstractmethod
    def related(self, source: str, inner: Node, place: Place, *, every: bool) -> Value: ...

    @abstractmethod
    def compare(self, node: Compare, place: Place) -> Value: ...
