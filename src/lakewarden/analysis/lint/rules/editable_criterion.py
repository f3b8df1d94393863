"""`editable-criterion`: a policy whose holders may change what it selects by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of, some, words
from lakewarden.analysis.lint.rules.homeless_entity import chooses
from lakewarden.kernel.model import ANY
from lakewarden.kernel.statement import Statement

_EDITS: Final[Mapping[str, str]] = {
    "CONTAINER": "entity.update",
    "DATA_PLATFORM_INSTANCE": "entity.update",
    "DOMAIN": "domain.edit",
    "GLOSSARY": "terms.edit",
    "OWNER": "owners.edit",
    "STRUCTURED_PROPERTY": "properties.edit",
    "TAG": "tags.edit",
}
"""The fields whose values are written like other metadata, and the operations that write them."""


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.policies:
        fields = {criterion.field for criterion in criteria_of(statement)} & _EDITS.keys()
        lent = {field: _lending(context, statement, field) for field in sorted(fields)}
        editable = [field for field, ids in lent.items() if ids]
        if editable:
            ids = sorted(set().union(*lent.values()))
            yield Found(
                at(statement),
                f"selects by {words(editable)}, which {some(ids)} lets its holders change",
                "select by what its holders cannot change, or leave that change to others",
            )


def _lending(context: LintContext, statement: Statement, field: str) -> set[str]:
    """The ids of the statements that let holders of this one change the field of something."""
    operation = _EDITS[field]
    if operation not in context.model.operations:
        return set()
    principals = {
        principal
        for _, grant in context.bearings.get(statement.id, ())
        for principal in grant.principals
    }
    alone = {name for way in context.meaning.ways(operation, ANY) if len(way) == 1 for name in way}
    return {
        other.statement.id
        for name in alone
        for principal in principals
        for other in context.table.allows(name).of(context.acts_as(principal))
        if other.constraint is None and context.stored(other)
    }


RULE = Rule(
    id="editable-criterion",
    title="A policy whose holders may change what it selects by",
    severity=Severity.WARNING,
    why=(
        "Whoever may write the tag, domain or container of something decides whether the policy"
        " covers it: with a wide right to change domains and a policy by domain, its holders give"
        " themselves what the policy gives on anything; with one that is limited to the domain,"
        " they take things out of it, and under `domain_write = original` into it too."
    ),
    mend="Select by what others look after, by owners or by names, or split the privileges.",
    source="DataHub, DomainWriteAuthorizationUtils; Policies Guide, Domain-Based Policy Targeting",
    find=_find,
    applies=chooses,
    misses="Grants to other groups of the same people, grants to owners, and limited tags.",
)
