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
    title="A statement that is stored twice with two ids",
    severity=Severity.WARNING,
    why="Whoever takes the privilege away by removing one of the two takes nothing away.",
    mend="Delete all but one.",
    source="DataHub documentation, Policies Guide: number of active policies",
    misses="Statements that say the same in other words; see `shadowed-statement`.",
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
    title="A constraint that an unconstrained grant to the same principals removes",
    severity=Severity.WARNING,
    why="One policy alone has to allow the whole change. One without a constraint always does, and"
    " so does EDIT_ENTITY, which stands for every narrower edit.",
    mend="Give the privilege once, with its constraint.",
    source="DataHub, PrivilegeConstraintsValidator; Policies Guide, Experimental",
    applies=chooses,
    misses="Grants to other groups of the same people; grants to owners.",
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
                f"limits {privilege} to some sub-resources, and {some(sorted(lifting))} grants"
                " it to the same principals without limit",
                "remove the privilege, and EDIT_ENTITY, from the other policy",
            )


@rule(
    title="Policies that grant the same to the same principals on overlapping domains",
    severity=Severity.WARNING,
    why="Whoever narrows one of them narrows nothing, and every check tries both.",
    mend="Consolidate them, or let ownership decide.",
    source="DataHub documentation, Policies Guide: anti-patterns, overlapping domain policies",
    applies=chooses,
    misses="Policies for different groups with the same people. Of several only one is named.",
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
    why="The first thing to count when the original gets slow, and the first that nobody reads.",
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
            "start with the findings of other rules: duplicates, shadowed and overlapping ones",
        )


@rule(
    title=f"Privileges in more than {MAX_POLICIES_OF_PRIVILEGE} policies each",
    severity=Severity.NOTE,
    why="The original tries the policies of a privilege one after the other until one grants it.",
    mend="Consolidate policies.",
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
    title="An ALLOW that adds no access",
    severity=Severity.WARNING,
    why="It looks like the reason for an access that has another one. When it is taken away"
    " nothing changes, and while it is there every review has one statement more to read.",
    mend="Delete it, or delete what covers it.",
    source="DataHub documentation, Policies Guide: troubleshooting, count active policies",
    misses="What only several smaller statements cover together. Looked at is what is stored now:"
    " a statement that waits for future entities may be found, and be wanted all the same.",
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
            hint = f", as {some(by)} {'does' if len(by) == 1 else 'do'}" if by else ""
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
