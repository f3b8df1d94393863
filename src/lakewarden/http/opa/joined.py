"""The joint answers of several realms to Trino about one table.

All of them must allow, or one, depending on `require`. In both cases the filters and masks of all
realms that know the table apply, so an additional realm never relaxes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

from lakewarden.expressions.masks import strictest
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.question import Resource
from lakewarden.service.denials import DeniedDecision
from lakewarden.service.read_limits import HIDDEN_ROWS, HIDDEN_VALUE

ALL: Final = "all"


class JoinedEvaluator:
    """The answers of realms to one question; there is at least one realm."""

    def __init__(self, evaluators: Sequence[Evaluator], require: str) -> None:
        self._evaluators = evaluators
        self._all = require == ALL

    @property
    def first(self) -> Evaluator:
        """The evaluator of one realm, for properties of the question itself."""
        return self._evaluators[0]

    @property
    def is_short(self) -> bool:
        """Whether a few decisions answer the question, without a search inside."""
        return all(evaluator.is_short for evaluator in self._evaluators)

    def allows(self) -> bool:
        """Whether the operation is allowed on its resource; denied if one realm withholds it."""
        if any(evaluator.is_withheld for evaluator in self._evaluators):
            return False
        answers = (evaluator.allows() for evaluator in self._evaluators)
        return all(answers) if self._all else any(answers)

    def denied(self) -> DeniedDecision | None:
        """The decision behind a denial that is shown: of the first realm that denies."""
        denying = (evaluator for evaluator in self._evaluators if not evaluator.allows())
        return next((decision for one in denying if (decision := one.denied())), None)

    def allowed_indices(self) -> Sequence[int]:
        """The indices of the resources, or of the columns of one table, in order."""
        first, *others = [evaluator.allowed_indices() for evaluator in self._evaluators]
        if not others:
            return first
        sets = map(frozenset, (first, *others))
        joined = reduce(frozenset.intersection if self._all else frozenset.union, sets)
        return sorted(joined)

    def row_filters(self) -> Sequence[Mapping[str, str]]:
        """The row filters of a table, of all realms."""
        answers = [evaluator.row_filters() for evaluator in self._evaluators]
        known = [answer for answer in answers if answer is not None]
        if not self._is_known_to_enough(len(known)):
            return [{"expression": HIDDEN_ROWS}]
        conditions = dict.fromkeys(sql for answer in known for sql in answer)
        return [{"expression": sql} for sql in conditions]

    def column_mask(self) -> Mapping[str, str] | None:
        """The value to show instead of a column's; None: its own."""
        resource = self._evaluators[0].question.action.resource
        return {"expression": HIDDEN_VALUE} if resource is None else self._mask(resource)

    def column_masks(self) -> Sequence[Mapping[str, object]]:
        """The masks of the columns that have one, each with the column's index."""
        resources = self._evaluators[0].question.action.filter_resources or []
        masks = ((n, self._mask(resource)) for n, resource in enumerate(resources))
        return [{"index": n, "viewExpression": mask} for n, mask in masks if mask is not None]

    def _mask(self, resource: Resource) -> Mapping[str, str] | None:
        if len(self._evaluators) == 1:
            only = self.first.masked(resource)
            return None if only is None else {"expression": only.sql}
        found = [evaluator.masked(resource) for evaluator in self._evaluators]
        known = [masked for masked in found if masked is None or masked.value is not None]
        if not self._is_known_to_enough(len(known)):
            return {"expression": HIDDEN_VALUE}
        masks = {f"{n:03}": masked for n, masked in enumerate(known) if masked is not None}
        if not masks:
            return None
        counting, _ = strictest((n, masked.mask) for n, masked in masks.items())
        return {"expression": masks[counting].sql}

    def _is_known_to_enough(self, known: int) -> bool:
        """Whether enough realms know the resource: a realm that must allow must know it."""
        return known == len(self._evaluators) if self._all else known > 0
