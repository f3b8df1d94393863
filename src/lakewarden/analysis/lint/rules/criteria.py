"""How a policy selects its resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.analysis.lint.applicability import chooses
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import (
    LintContext,
    at,
    criteria_of,
    joined,
    some,
    values_of,
)
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.model import ANY
from lakewarden.kernel.statement import Anything, Condition, Statement, Where

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
_OF_COLUMNS: Final[Mapping[str, str]] = {
    "GLOSSARY": "column.terms.edit",
    "TAG": "column.tags.edit",
}
"""The same for columns, whose values are written with those of their tables."""
_URN = "URN"
ALIKE = 3
"""This many policies that differ only in their URNs are too many."""
URNS = 20
"""This many URNs in one policy are too many."""


@rule(
    title="Policy whose holders can change a field that it selects by",
    severity=Severity.WARNING,
    why="Anyone who can change the tag, domain or container of an entity controls whether the"
    " policy covers it. With an unrestricted right to change domains, the holders of a policy by"
    " domain can extend it to any entity. If that right is limited to the domain, they can move"
    " entities out of it and, with `domain_write = original`, into it as well.",
    mend="Select by a field that other users maintain, by owner or by name, or grant the privilege"
    " to change the field to other principals.",
    source="DataHub, DomainWriteAuthorizationUtils; Policies Guide, Domain-Based Policy Targeting",
    applies=chooses,
    misses="Does not report grants to other groups with the same members, grants to owners, or"
    " grants with a constraint on the tags.",
)
def editable_criterion(context: LintContext) -> Iterator[Violation]:
    for statement in context.policies:
        fields = {criterion.field for criterion in criteria_of(statement)} & _EDITS.keys()
        roles = {
            role
            for _, grant in context.bearings.get(statement.id, ())
            for principal in grant.principals
            for role in context.acts_as(principal)
        }
        lent = {
            field: {one.statement.id for one in editing(context, field) if one.principals & roles}
            for field in sorted(fields)
        }
        editable = [field for field, ids in lent.items() if ids]
        if editable:
            ids = sorted(set().union(*lent.values()))
            yield Violation(
                at(statement),
                f"selects by {joined(editable)}, which {some(ids)} allows its holders to change",
                "select by a field that its holders cannot change, or revoke that privilege",
            )


def editing(
    context: LintContext, field: str, operations: Mapping[str, str] = _EDITS
) -> Iterator[Grant]:
    """The grants that let their holders change the field on some stored entity."""
    operation = operations.get(field, "")
    if operation not in context.model.operations:
        return
    types = context.model.operations[operation].rules if operations is _OF_COLUMNS else (ANY,)
    ways = {way for type in types for way in context.meaning.ways(operation, type)}
    alone = {name for way in ways if len(way) == 1 for name in way}
    for name in sorted(alone):
        for grant in context.table.allows(name).every:
            if grant.constraint is None and context.stored(grant):
                yield grant


def editing_of_columns(context: LintContext, field: str) -> Iterator[Grant]:
    """The grants that let their holders change the field on columns of some stored entity."""
    return editing(context, field, _OF_COLUMNS)


@rule(
    title="Criterion without values",
    severity=Severity.WARNING,
    why="EQUALS without values never matches, so the policy has no effect. NOT_EQUALS without"
    " values always matches.",
    mend="Add values to the criterion, or remove it.",
    source="DataHub, PolicyEngine: conditions over empty sets",
    applies=chooses,
)
def empty_criterion(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        for criterion in (*criteria_of(statement), *(statement.constraint or ())):
            if any(criterion.values):
                continue
            is_not = criterion.condition is Condition.NOT_EQUALS
            yield Violation(
                at(statement),
                f"compares {criterion.field} with no values, which"
                f" {'always matches' if is_not else 'never matches'}",
                "add values, or remove the criterion",
            )


@rule(
    title="Metadata policy without a resource filter",
    severity=Severity.WARNING,
    why="A missing list of resources is not the same as an empty one: it matches every entity.",
    mend="Specify the resources. Restrict broad policies at least by type.",
    source="DataHub, DataHubResourceFilter: absent matches everything; Policies Guide, pattern A",
    applies=chooses,
    misses="Does not report policies for owners, which cover only the entities that these own.",
)
def no_resources(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        scope = statement.scope
        is_open = isinstance(scope, (Anything, Where)) and not criteria_of(statement)
        metadata = sorted(
            name for name in context.privileges(statement) if context.model.privileges[name].on
        )
        if is_open and metadata and statement.principals and statement.id not in context.shipped:
            yield Violation(
                at(statement),
                f"has no resource filter: {some(metadata)} on all present and future entities",
                "select by type, domain, owner or tag",
            )


@rule(
    title="Policy whose only filter is NOT_EQUALS",
    severity=Severity.WARNING,
    why="The policy covers every entity without a tag or a domain. In DataHub itself, it also"
    " covers entities for which a failed lookup returned no values. Forgetting to set a tag"
    " therefore grants access.",
    mend="Select with EQUALS, and use NOT_EQUALS only to narrow that selection.",
    source="DataHub, PolicyMatchCriterion; DataHub Policies Guide, experimental constraints",
    applies=chooses,
)
def not_equals_only(context: LintContext) -> Iterator[Violation]:
    for statement in context.policies:
        criteria = criteria_of(statement)
        if statement.owners is not None and not statement.principals:
            continue
        narrowing = [c for c in criteria if c.field != "TYPE"]
        if narrowing and all(c.condition is Condition.NOT_EQUALS for c in narrowing):
            fields = ", ".join(sorted({c.field for c in narrowing}))
            count = len(_entities_of(context, statement.id))
            yield Violation(
                at(statement),
                f"has only exclusions ({fields}): it matches {count:,} entities, including those"
                " without a value",
                "add an EQUALS criterion, such as a domain, container or owner",
            )


def _entities_of(context: LintContext, id: str) -> frozenset[int]:
    bearings = context.bearings.get(id)
    return frozenset(context.stored(bearings[0].grant)) if bearings else frozenset()


@rule(
    title=f"{ALIKE} or more policies that differ only in their URNs, or one policy with {URNS} or"
    " more URNs",
    severity=Severity.WARNING,
    why="Each new table requires a new policy, and each dropped table leaves an obsolete one.",
    mend="Tag the assets, and select by the tag.",
    source="DataHub documentation, Policies Guide: anti-patterns, URN-specific policies",
    applies=chooses,
)
def urn_policies(context: LintContext) -> Iterator[Violation]:
    alike: dict[object, list[Statement]] = {}
    for statement in context.policies:
        criteria = criteria_of(statement)
        rest = tuple(c for c in criteria if c.field != _URN)
        urns = values_of(statement, _URN)
        if len(criteria) - len(rest) != 1 or not urns:
            continue
        key = (
            context.privileges(statement),
            statement.principals,
            statement.owners,
            tuple(c for c in rest if c.condition is not Condition.EQUALS or c.field != "TYPE"),
            statement.constraint,
        )
        alike.setdefault(key, []).append(statement)
        if len(urns) >= URNS:
            yield Violation(
                at(statement),
                f"lists {len(urns):,} URNs",
                "tag the entities, and select by the tag",
            )
    for policies in alike.values():
        if len(policies) >= ALIKE:
            ids = [policy.id for policy in policies]
            yield Violation(
                at(policies[0]),
                f"and {len(policies) - 1} others differ only in their URNs: {some(ids)}",
                "tag the entities, and create one policy that selects by the tag",
            )
