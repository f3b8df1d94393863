"""How a plan is shown: what changes, and the access that this gives and takes."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.whatif import Difference, Row
from lakewarden.cli.wording import entity_text, principal_name, some, statement_text
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service.planned import Edit, Plan

ROWS_SHOWN = 40
NAMES_SHOWN = 4


def told(plan: Plan, *, whole: bool = False) -> Iterator[str]:
    """A plan, for people."""
    if plan.is_empty:
        yield f"{plan.realm}: nothing is pending, at revision {plan.revision}"
        return
    yield f"{plan.realm}: changes that `{plan.keeper}` makes, at revision {plan.revision}"
    yield from _changes(plan)
    yield ""
    yield from access(plan.access, whole=whole)


def _changes(plan: Plan) -> Iterator[str]:
    people = [
        *(("+", f"role {role.name}") for role in plan.new_roles),
        *(("-", f"role {role.name}") for role in plan.gone_roles),
        *(("+", _member(row)) for row in plan.new_members),
        *(("-", _member(row)) for row in plan.gone_members),
    ]
    if people:
        yield from ("", "people")
        yield from (f"  {sign} {text}" for sign, text in people)
    if plan.edits:
        yield from ("", "statements")
        for edit in plan.edits:
            yield from _edit(edit)
    if not people and not plan.edits:
        yield from ("", "only the note of what the files keep")


def _member(row: MembershipRow) -> str:
    return f"{principal_name(row.member)} in {principal_name(row.of)}"


def _edit(edit: Edit) -> Iterator[str]:
    if edit.was == edit.now:
        yield f"  = {edit.id}: as it is, and kept by these files from now on"
        return
    if edit.was is None:
        sign = "+"
    elif edit.now is None:
        sign = "-"
    else:
        sign = "~"
    yield f"  {sign} {edit.id}"
    if edit.was is not None:
        yield f"      was {statement_text(edit.was)}"
    if edit.now is not None:
        yield f"      {'now ' if edit.was is not None else ''}{statement_text(edit.now)}"


def access(found: Difference, *, whole: bool = False) -> Iterator[str]:
    """What users gain and lose, for people."""
    if not found.rows:
        yield "access: nobody gains or loses anything"
        return
    yield (
        f"access: {found.gained:,} gained and {found.lost:,} lost, by {found.users:,} users on"
        f" {found.entities:,} entities"
    )
    rows = found.rows if whole else found.rows[:ROWS_SHOWN]
    for row in rows:
        yield f"  {_row(row)}"
    if len(rows) < len(found.rows):
        yield f"  and {len(found.rows) - len(rows):,} lines more; --whole shows them"


def _row(row: Row) -> str:
    verb = "gain" if row.gained else "lose"
    names = [principal_name(user) for user in row.users]
    if row.others:
        names.append("whoever is not stored")
    through = some([principal_name(p) for p in row.role_set], NAMES_SHOWN)
    by = f" (through {through})" if row.role_set else " (as owners)"
    if row.type:
        such = "" if row.entities == 1 else f"{row.entities:,} × {row.type}, such as "
        on = f"{such}{entity_text(row.sample)}"
    else:
        on = "the platform"
    sign = "+" if row.gained else "-"
    return f"{sign} {some(names, NAMES_SHOWN)} {verb} {row.privilege} on {on}{by}"
