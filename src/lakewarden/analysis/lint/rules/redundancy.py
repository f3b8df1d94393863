"""Statements that repeat other statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from pyroaring import BitMap

from lakewarden.analysis.lint.applicability import DOMAIN, chooses
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import Bearing, LintContext, at, some, union, values_of
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.statement import Effect, Statement

MAX_POLICIES = 100
"""More policies than this are too many."""
MAX_POLICIES_OF_PRIVILEGE = 10
"""More policies than this with one privilege are too many."""
_Covered = dict[str, set[tuple[str, int]]]
"""By statement: the privileges and principals that other statements cover already."""


@rule(
    title="Statement that is stored more than once under different ids",
    severity=Severity.WARNING,
    why="Removing one copy to revoke the privilege has no effect, because the other copy remains.",
    mend="Delete all but one copy.",
    source="DataHub documentation, Policies Guide: number of active policies",
    misses="Does not report statements that express the same access differently; see"
    " `shadowed-statement`.",
    is_mended_by_removal=True,
)
def duplicate_statement(context: LintContext) -> Iterator[Violation]:
    first: dict[Statement, str] = {}
    for statement in context.in_force:
        privileges = context.privileges(statement)
        content = replace(statement, id="", title="", privileges=privileges)
        known = first.setdefault(content, statement.id)
        if known != statement.id and privileges:
            yield Violation(
                at(statement),
                f"is identical to `{known}`",
                f"delete it; `{known}` remains",
            )


@rule(
    title="Constraint that an unconstrained grant to the same principals bypasses",
    severity=Severity.WARNING,
    why="A single policy must allow the whole change. A policy without a constraint always does,"
    " and so does EDIT_ENTITY, which includes every narrower edit privilege.",
    mend="Grant the privilege only once, with its constraint.",
    source="DataHub, PrivilegeConstraintsValidator; Policies Guide, Experimental",
    applies=chooses,
    misses="Does not report grants to other groups with the same members, or grants to owners.",
)
def lifted_constraint(context: LintContext) -> Iterator[Violation]:
    for statement, (privilege, grant) in context.bears(Effect.ALLOW):
        stored = context.stored(grant)
        if grant.constraint is None or not stored or not grant.principals:
            continue
        others = {privilege, *context.meaning.stand_ins(privilege)}
        lifting = {
            other.statement.id
            for name in others
            for principal in grant.principals
            for other in context.table.allows(name).of(context.acts_as(principal))
            if other.constraint is None and not context.ids(other).isdisjoint(stored)
        }
        if lifting:
            yield Violation(
                at(statement),
                f"limits {privilege} to some sub-resources, but {some(sorted(lifting))} grants"
                " it to the same principals without limit",
                "remove the privilege, and EDIT_ENTITY, from the other policy",
            )


@rule(
    title="Policies that grant the same to the same principals on overlapping domains",
    severity=Severity.WARNING,
    why="Narrowing one of the policies does not reduce access, and every check evaluates both.",
    mend="Consolidate the policies, or select by owner.",
    source="DataHub documentation, Policies Guide: anti-patterns, overlapping domain policies",
    applies=chooses,
    misses="Does not report policies for different groups with the same members. Names only one of"
    " several overlapping policies.",
)
def overlapping_domains(context: LintContext) -> Iterator[Violation]:
    granted: dict[tuple[str, int], tuple[BitMap, str]] = {}
    over: dict[str, set[str]] = {}
    with_domain = [s for s in context.policies if values_of(s, DOMAIN)]
    for statement in with_domain:
        for privilege, grant in context.bearings.get(statement.id, ()):
            ids = context.ids(grant)
            for principal in grant.principals:
                so_far, last = granted.get((privilege, principal), (BitMap(), ""))
                if so_far.intersect(ids):
                    over.setdefault(statement.id, set()).add(last)
                so_far |= ids
                granted[privilege, principal] = (so_far, statement.id)
    for statement in with_domain:
        if statement.id in over:
            yield Violation(
                at(statement),
                "grants the same privileges to the same principals as, on overlapping domains,"
                f" {some(sorted(over[statement.id]))}",
                "merge them; a domain includes the domains below it",
            )


@rule(
    title=f"More than {MAX_POLICIES} policies in force",
    severity=Severity.NOTE,
    why="The number of policies is the first thing to check when DataHub is slow, and so many"
    " policies are hard to review.",
    mend="Reduce overlapping and redundant policies.",
    source="DataHub documentation, Policies Guide: troubleshooting, count active policies",
    applies=chooses,
)
def policy_count(context: LintContext) -> Iterator[Violation]:
    count = len(context.in_force)
    if count > MAX_POLICIES:
        yield Violation(
            Place("realm", context.model.name),
            f"{count:,} policies are in force",
            "start with the findings of `duplicate-statement`, `shadowed-statement` and"
            " `overlapping-domains`",
        )


@rule(
    title=f"Privilege in more than {MAX_POLICIES_OF_PRIVILEGE} policies",
    severity=Severity.NOTE,
    why="DataHub evaluates the policies with a privilege one after another until one grants it.",
    mend="Consolidate the policies.",
    source="DataHub documentation, Policies Guide: number of active policies",
    applies=chooses,
)
def repeated_privilege(context: LintContext) -> Iterator[Violation]:
    counts: Counter[str] = Counter()
    for statement in context.in_force:
        counts.update(context.privileges(statement))
    for name, count in sorted(counts.items()):
        if count > MAX_POLICIES_OF_PRIVILEGE:
            yield Violation(
                Place("privilege", name),
                f"is in {count:,} policies",
                "consolidate policies with the same privileges",
            )


@rule(
    title="ALLOW that adds no access",
    severity=Severity.WARNING,
    why="The statement appears to be the reason for access that other statements grant as well."
    " Removing it does not revoke the access, and until then every review has to consider it.",
    mend="Delete it, or delete the statements that cover it.",
    source="DataHub documentation, Policies Guide: troubleshooting, count active policies",
    misses="Does not report a statement that only several smaller ones cover together. Considers"
    " only entities that are stored now, so it may report a statement that is intended for future"
    " entities.",
    is_mended_by_removal=True,
)
def shadowed_statement(context: LintContext) -> Iterator[Violation]:
    covered: _Covered = {}
    for privilege, grouped in context.table.allow.items():
        for principal in grouped.by_principal:
            _cover(context, privilege, principal, covered)
    for statement in context.in_force:
        bearings = context.bearings.get(statement.id, [])
        pairs = {(b.privilege, p) for b in bearings for p in b.grant.principals}
        if (
            not bearings
            or not pairs
            or statement.owners is not None
            or statement.effect is not Effect.ALLOW
        ):
            continue
        if pairs <= covered.get(statement.id, set()):
            by = sorted(_by(context, bearings[0], statement.id))
            hint = f" beyond {some(by)}" if by else ""
            yield Violation(
                at(statement),
                f"adds no access{hint}",
                "delete it, or remove its principals from the other statements",
            )


def _cover(context: LintContext, privilege: str, principal: int, covered: _Covered) -> None:
    """Examines one principal's grants of one privilege, the widest first."""
    allows = context.table.allows(privilege)
    grants = [grant for grant in allows.by_principal[principal] if _lasts(grant)]
    if not grants:
        return
    others = context.acts_as(principal) - {principal}
    over = {g.scope for g in allows.of(others) if _lasts(g) and g.constraint is None}
    reached = union(context.snapshot.bitmaps[scope] for scope in over)
    sized = sorted(
        grants, key=lambda g: (-len(context.ids(g)), g.constraint is not None, g.statement.id)
    )
    for grant in sized:
        ids = context.ids(grant)
        if ids.issubset(reached) and ids.intersect(context.tree.stored):
            covered.setdefault(grant.statement.id, set()).add((privilege, principal))
        elif grant.constraint is None:
            reached |= ids


def _lasts(grant: Grant) -> bool:
    """Whether the grant is unlimited in time; a temporary one covers nothing."""
    return grant.statement.valid_from is None and grant.statement.valid_until is None


def _by(context: LintContext, bearing: Bearing, id: str) -> set[str]:
    """The other statements that each cover all of this one for one of its principals."""
    ids = context.ids(bearing.grant)
    principal = min(bearing.grant.principals)
    grants = context.table.allows(bearing.privilege).of(context.acts_as(principal))
    return {
        g.statement.id
        for g in grants
        if g.statement.id != id and g.constraint is None and ids <= context.ids(g)
    }
