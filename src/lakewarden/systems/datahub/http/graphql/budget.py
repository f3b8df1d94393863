"""Limits of one document, counted before and during execution.

The document's own size limits the work of validation: every fragment counts once. Depth, and the
number of fields with all fragments expanded, limit the result. The fields that are actually
resolved, with lists by their lengths, are counted during execution. Depth is not counted inside
introspection, because the usual introspection query is deep and reads nothing from the store
(graphql-core limits its repetitions). SOURCE: security reference 5.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

from lakewarden.systems.datahub.http.graphql.errors import invalid

MAX_DEPTH: Final = 24
MAX_ALIASES: Final = 50
MAX_FIELDS: Final = 2_000
MAX_SPREADS: Final = 400
MAX_DIRECTIVES: Final = 20
MAX_SPREAD_FIELDS: Final = 500_000
MAX_RESOLVED: Final = 500_000
# CHOICE: the reference allows 400 fields and 12 levels. The pages of DataHub's own frontend request
# 1,650 fields, written once, in 23 levels; expanded these are 390,000, for every type that could be
# in a list, of which a page resolves a few thousand.

_OWN: Final = "__"
"""The prefix of names that describe the schema."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a part of a document; `whole`: its fields with all fragments expanded."""

    depth: int = 0
    whole: int = 0
    fields: int = 0
    aliases: int = 0
    spreads: int = 0
    directives: int = 0

    def __add__(self, other: Cost) -> Cost:
        """The sum of both, side by side."""
        return Cost(
            max(self.depth, other.depth),
            self.whole + other.whole,
            self.fields + other.fields,
            self.aliases + other.aliases,
            self.spreads + other.spreads,
            self.directives + other.directives,
        )


_LIMITS: Final = (
    ("depth", MAX_DEPTH, "levels of fields"),
    ("fields", MAX_FIELDS, "fields"),
    ("aliases", MAX_ALIASES, "aliases"),
    ("spreads", MAX_SPREADS, "fragment spreads"),
    ("directives", MAX_DIRECTIVES, "directives"),
    ("whole", MAX_SPREAD_FIELDS, "fields with their fragments"),
)


def check(document: DocumentNode) -> None:
    """Raises `Failure` for a document whose operations together exceed a limit."""
    counting = _CostCounter(document)
    total = counting.total()
    for name, limit, unit in _LIMITS:
        if getattr(total, name) > limit:
            raise invalid(f"more than {limit} {unit} are not allowed")


class _CostCounter:
    def __init__(self, document: DocumentNode) -> None:
        self._fragments: dict[str, FragmentDefinitionNode] = {}
        self._operations: list[OperationDefinitionNode] = []
        for node in document.definitions:
            if isinstance(node, FragmentDefinitionNode):
                self._fragments[node.name.value] = node
            elif isinstance(node, OperationDefinitionNode):
                self._operations.append(node)
        if len(self._fragments) > MAX_SPREADS:
            raise invalid(f"more than {MAX_SPREADS} fragments are not allowed")
        self._known: dict[str, Cost] = {}
        self._open: set[str] = set()

    def total(self) -> Cost:
        cost = Cost()
        for operation in self._operations:
            directives = len(operation.directives or ())
            directives += sum(len(v.directives or ()) for v in operation.variable_definitions or ())
            cost += Cost(directives=directives) + self._cost_of(
                operation.selection_set, counted=True
            )
        for name in self._fragments:
            # Validation also visits a fragment that is never spread.
            cost += replace(self._fragment_cost(name), depth=0, whole=0)
        return cost

    def _cost_of(self, selections: SelectionSetNode | None, *, counted: bool) -> Cost:
        cost = Cost()
        for selection_cost in self._costs(selections, counted=counted):
            cost += selection_cost
        return cost

    def _costs(self, selections: SelectionSetNode | None, *, counted: bool) -> Iterator[Cost]:
        for node in () if selections is None else selections.selections:
            directives = Cost(directives=len(node.directives or ()))
            match node:
                case FieldNode():
                    deeper = counted and not node.name.value.startswith(_OWN)
                    inner = self._cost_of(node.selection_set, counted=deeper)
                    alias = int(node.alias is not None)
                    depth = inner.depth + 1 if counted else 0
                    yield directives + inner + Cost(depth, 1, 1, alias)
                case InlineFragmentNode():
                    yield directives + self._cost_of(node.selection_set, counted=counted)
                case FragmentSpreadNode():
                    spread = self._fragment_cost(node.name.value)
                    yield directives + Cost(spread.depth, spread.whole, spreads=1)

    def _fragment_cost(self, name: str) -> Cost:
        fragment = self._fragments.get(name)
        # Validation rejects both: an unknown fragment, and one that spreads itself.
        if fragment is None or name in self._open:
            return Cost()
        if name not in self._known:
            self._open.add(name)
            counted = not fragment.type_condition.name.value.startswith(_OWN)
            directives = Cost(directives=len(fragment.directives or ()))
            self._known[name] = directives + self._cost_of(fragment.selection_set, counted=counted)
            self._open.discard(name)
        return self._known[name]


class BudgetExceeded(BaseException):
    """The execution resolved more fields than one document may.

    Not an `Exception`: the executor would catch it, and continue with all remaining fields.
    """


class FieldCounter:
    """Counts the fields of one execution, as a middleware of their resolvers."""

    def __init__(self) -> None:
        self._resolved = 0

    def resolve(
        self, following: Callable[..., Any], *arguments: Any, **named_arguments: Any
    ) -> Any:
        """The resolver's result. Raises `BudgetExceeded`."""
        self._resolved += 1
        if self._resolved > MAX_RESOLVED:
            raise BudgetExceeded(f"more than {MAX_RESOLVED} fields in one answer are not allowed")
        return following(*arguments, **named_arguments)
