"""The input of a search: words, criteria, an order."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.service.search_terms import MOST, check_search

MOST_VALUES = 10_000
"""The maximum number of values in all criteria of a question together."""

URN = "urn:li:"
"""A query with this prefix names entities, and has no words."""


class Condition(Enum):
    """How the values of a criterion are compared with those of an entity; one must match."""

    EQUAL = "EQUAL"
    IEQUAL = "IEQUAL"
    IN = "IN"
    CONTAIN = "CONTAIN"
    START_WITH = "START_WITH"
    END_WITH = "END_WITH"
    EXISTS = "EXISTS"
    GREATER_THAN = "GREATER_THAN"
    GREATER_THAN_OR_EQUAL_TO = "GREATER_THAN_OR_EQUAL_TO"
    LESS_THAN = "LESS_THAN"
    LESS_THAN_OR_EQUAL_TO = "LESS_THAN_OR_EQUAL_TO"
    DESCENDANTS_INCL = "DESCENDANTS_INCL"
    ANCESTORS_INCL = "ANCESTORS_INCL"
    RELATED_INCL = "RELATED_INCL"


HAS_PART = frozenset({Condition.CONTAIN, Condition.START_WITH, Condition.END_WITH})
"""Conditions whose value is compared with every string."""

IS_EQUAL = frozenset({Condition.EQUAL, Condition.IN})
BELOW = frozenset({Condition.DESCENDANTS_INCL, Condition.RELATED_INCL})
ABOVE = frozenset({Condition.ANCESTORS_INCL, Condition.RELATED_INCL})


@dataclass(frozen=True, slots=True)
class Criterion:
    """A condition on one field; `negated`: its opposite."""

    field: str
    values: tuple[str, ...]
    condition: Condition = Condition.EQUAL
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """A field to sort by."""

    field: str
    descending: bool = False


AnyOf = tuple[tuple[Criterion, ...], ...]
"""Groups of criteria: all criteria of one group must hold; without groups everything matches."""


@dataclass(frozen=True, slots=True)
class Question:
    """A search.

    `types` are the types to search. All of `filters` must hold. Softly deleted entities are left
    out, unless `removed` is set or a criterion refers to it. `query_field` is the caller's name for
    the query.
    """

    query: str
    types: tuple[str, ...]
    filters: tuple[AnyOf, ...] = ()
    order: tuple[Order, ...] = ()
    removed: bool = False
    named: bool = field(default=False)
    """Whether the words must occur in the name."""
    query_field: str = field(default="query", compare=False)

    @property
    def looks_at_removed(self) -> bool:
        """Whether softly deleted entities may match."""
        criteria = (c for any_of in self.filters for group in any_of for c in group)
        return self.removed or any(criterion.field == "removed" for criterion in criteria)

    def check(self) -> None:
        """Raises `BadInput` and `LimitExceeded` for too many words or values."""
        if not self.query.strip().startswith(URN):
            check_search(self.query, self.query_field)
        criteria = [c for any_of in self.filters for group in any_of for c in group]
        if sum(len(criterion.values) + 1 for criterion in criteria) > MOST_VALUES:
            raise LimitExceeded(f"more than {MOST_VALUES} values in the filters")
        parts = sum(len(c.values) for c in criteria if c.condition in HAS_PART)
        if parts > MOST:
            raise LimitExceeded(f"more than {MOST} values in filters that compare part of a text")
