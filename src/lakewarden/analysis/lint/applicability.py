"""The models and realms to which rules apply, and the criteria fields that they check."""

from __future__ import annotations

from lakewarden.analysis.lint.lint_context import LintContext, criteria_of
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import Condition, Statement

DOMAIN = "DOMAIN"
CONTAINER = "CONTAINER"
TYPE = "TYPE"


def denies(model: Model) -> bool:
    """For rules about systems that have DENY."""
    return model.denies


def shows(model: Model) -> bool:
    """For rules about systems whose policies decide what is visible to whom."""
    return "entity.view" in model.operations and model.choosing


def chooses(model: Model) -> bool:
    """For rules about systems whose policies use criteria."""
    return model.choosing


def is_restricted(context: LintContext) -> bool:
    """Whether some policy in force shows assets by more than their type."""
    seeing = context.meaning.view_privileges
    return any(narrows(s) and context.privileges(s) & seeing for s in context.policies)


def narrows(statement: Statement) -> bool:
    """Whether a policy has criteria other than types and exclusions."""
    return any(
        criterion.field != TYPE and criterion.condition is not Condition.NOT_EQUALS
        for criterion in criteria_of(statement)
    )
