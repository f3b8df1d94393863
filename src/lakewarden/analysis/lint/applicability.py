"""Of which models and estates rules speak, and the fields of criteria that they look at."""

from __future__ import annotations

from lakewarden.analysis.lint.lint_context import LintContext, criteria_of
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import Condition, Statement

DOMAIN = "DOMAIN"
CONTAINER = "CONTAINER"
TYPE = "TYPE"


def denies(model: Model) -> bool:
    """The rule speaks about systems that have DENY."""
    return model.denies


def shows(model: Model) -> bool:
    """The rule speaks about systems whose policies decide who is shown what."""
    return "entity.view" in model.operations and model.choosing


def chooses(model: Model) -> bool:
    """The rule speaks about systems whose policies choose by criteria."""
    return model.choosing


def is_restricted(context: LintContext) -> bool:
    """Whether some policy in force shows assets by anything but their type."""
    seeing = context.meaning.seeing
    return any(narrows(s) and context.privileges(s) & seeing for s in context.policies)


def narrows(statement: Statement) -> bool:
    """Whether a policy chooses by anything but types and what it leaves out."""
    return any(
        criterion.field != TYPE and criterion.condition is not Condition.NOT_EQUALS
        for criterion in criteria_of(statement)
    )
