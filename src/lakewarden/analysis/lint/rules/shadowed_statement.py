"""`shadowed-statement`: an ALLOW that opens nothing which others do not open already."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import Bearing, LintContext, at, some, union
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.statement import Effect

_Covered = dict[str, set[tuple[str, int]]]
"""By statement: for which privileges and principals others say it already."""


def _find(context: LintContext) -> Iterator[Found]:
    covered: _Covered = {}
    for privilege, grouped in context.table.allow.items():
        for principal in grouped.by_principal:
            _cover(context, privilege, principal, covered)
    for statement in context.in_force:
        bearings = context.bearings.get(statement.id, [])
        wanted = {(b.privilege, p) for b in bearings for p in b.grant.principals}
        if (
            not bearings
            or not wanted
            or statement.owners is not None
            or statement.effect is not Effect.ALLOW
        ):
            continue
        if wanted <= covered.get(statement.id, set()):
            by = sorted(_by(context, bearings[0], statement.id))
            hint = f", as {some(by)} {'does' if len(by) == 1 else 'do'}" if by else ""
            yield Found(
                at(statement),
                f"opens nothing that is not open without it{hint}",
                "delete it, or take those it is for out of what covers it",
            )


def _cover(context: LintContext, privilege: str, principal: int, covered: _Covered) -> None:
    """Looks at one principal's grants of one privilege, the widest first."""
    allows = context.table.allows(privilege)
    grants = [grant for grant in allows.by_principal[principal] if _lasts(grant)]
    if not grants:
        return
    others = context.acts_as(principal) - {principal}
    over = {g.scope for g in allows.of(others) if _lasts(g) and g.constraint is None}
    kept = union(context.snapshot.bitmaps[scope] for scope in over)
    sized = sorted(
        grants, key=lambda g: (-len(context.ids(g)), g.constraint is not None, g.statement.id)
    )
    for grant in sized:
        ids = context.ids(grant)
        if ids.issubset(kept) and ids.intersect(context.tree.stored):
            covered.setdefault(grant.statement.id, set()).add((privilege, principal))
        elif grant.constraint is None:
            kept |= ids


def _lasts(grant: Grant) -> bool:
    """Whether the grant counts at any time; what comes and goes covers nothing."""
    return grant.statement.valid_from is None and grant.statement.valid_until is None


def _by(context: LintContext, bearing: Bearing, id: str) -> set[str]:
    """Other statements each of which covers the whole of this one, for one of its principals."""
    ids = context.ids(bearing.grant)
    principal = min(bearing.grant.principals)
    grants = context.table.allows(bearing.privilege).of(context.acts_as(principal))
    return {
        g.statement.id
        for g in grants
        if g.statement.id != id and g.constraint is None and ids <= context.ids(g)
    }


RULE = Rule(
    id="shadowed-statement",
    title="An ALLOW that opens nothing which is not open without it",
    severity=Severity.WARNING,
    why=(
        "It looks like the reason for an access that has another one. When it is taken away"
        " nothing changes, and while it is there every review has one statement more to read."
    ),
    mend="Delete it, or delete what covers it.",
    source="DataHub documentation, Policies Guide: troubleshooting, count active policies",
    find=_find,
    misses=(
        "What only several smaller statements cover together. Looked at is what is stored now:"
        " a statement that waits for future entities may be found, and be wanted all the same."
    ),
)
