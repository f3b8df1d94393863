"""How a plan is shown: its changes, and the access that they give and remove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lakewarden.analysis.access import Access, HeldChange, Idle, Reached
from lakewarden.cli.formatting import (
    WORDS_SHOWN,
    counted,
    entity_text,
    principal_name,
    some,
    statement_text,
)
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.service.plan_result import Edit, LookupEdit, Plan

ROWS_SHOWN = 40
NAMES_SHOWN = 4


def plan_lines(plan: Plan, *, whole: bool = False) -> Iterator[str]:
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
    if plan.lookups:
        yield from ("", "lookup tables")
        yield from (f"  {_lookup_edit(edit)}" for edit in plan.lookups)
    if not people and not plan.edits and not plan.lookups:
        yield from ("", "only the note of what the files keep")


def _member(row: MembershipRow) -> str:
    return f"{principal_name(row.member)} in {principal_name(row.of)}"


def _lookup_edit(edit: LookupEdit) -> str:
    if edit.now is None:
        return f"- {edit.name}"
    names = ", ".join(column.name for column in edit.now.columns)
    sign = "+" if edit.was is None else "~"
    return f"{sign} {edit.name} ({names}): {counted(len(edit.now.rows), 'row')}"


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
    if edit.was is not None and edit.now is not None:
        yield from (f"      {line}" for line in _in_long_lists(edit.was, edit.now))


def _in_long_lists(was: Statement, now: Statement) -> Iterator[str]:
    """The added and removed members of lists that are too long for one line."""
    tables = write_statement(was), write_statement(now)
    for key in ("privileges", "to", "except", "where", "constraint"):
        before, after = (set(_named(table.get(key, ()))) for table in tables)
        if before != after and max(len(before), len(after)) > WORDS_SHOWN:
            new = [f"+ {name}" for name in sorted(after - before)]
            yield f"{key}: {', '.join([*new, *(f'- {name}' for name in sorted(before - after))])}"


def _named(members: object) -> Iterator[str]:
    """The members of a list; of criteria, each value with its field."""
    for member in members if isinstance(members, list) else ():
        if isinstance(member, Mapping):
            start = f"{member['field']} {member['condition']}"
            yield from (f"{start} {value}" for value in member["values"])
        else:
            yield str(member)


def access(effect: Access, *, whole: bool = False) -> Iterator[str]:
    """What users can newly do and can no longer do, and the changed privileges; for people."""
    if not effect.reached:
        yield "access: nobody can do anything more, or less"
    else:
        yield f"access: {_sum(effect)}"
        yield from _cut(
            [_effect(effect_part, whole=whole) for effect_part in effect.reached], whole=whole
        )
    if not effect.is_whole:
        yield "  and more than is worked out here; `lakewarden pipeline diff` compares all"
    if effect.held:
        yield from ("", "privileges by their bare names")
        shown = [row for row in effect.held if whole or not row.technical]
        yield from _cut([_held_lines(row) for row in shown], whole=whole)
        if len(shown) < len(effect.held):
            count = len(effect.held) - len(shown)
            yield f"  and {counted(count, 'technical line')}; --whole shows them"


def _sum(effect: Access) -> str:
    """The number of people and assets, and the access levels."""
    ways = [
        f"{w.users:,} {'gain' if w.gained else 'lose'} {w.way} on {w.entities:,}"
        for w in effect.ways
        if w.entities
    ]
    nothing = "nobody gains or loses a way to see, read or change"
    reach = f"{counted(effect.users, 'user')}, {counted(effect.entities, 'entity', 'entities')}"
    return f"{reach}: {', '.join(ways) or nothing}"


def _cut(blocks: Sequence[Sequence[str]], *, whole: bool) -> Iterator[str]:
    shown = blocks if whole else blocks[:ROWS_SHOWN]
    for block in shown:
        yield from (f"  {line}" for line in block)
    if len(shown) < len(blocks):
        yield f"  and {len(blocks) - len(shown):,} lines more; --whole shows them"


def _effect(reached: Reached, *, whole: bool) -> list[str]:
    who = _people(reached.users, others=reached.others)
    sign, can = ("+", "can") if reached.gained else ("-", "can no longer")
    limit = len(reached.operations) if whole else NAMES_SHOWN
    if not reached.ways:
        return [f"{sign} {who} {can} do {some(reached.operations, limit)} on {_on(reached)}"]
    by = some(reached.operations, limit)
    return [f"{sign} {who} {can} {' and '.join(reached.ways)} {_on(reached)}", f"    by {by}"]


def _held_lines(row: HeldChange) -> list[str]:
    verb, sign = ("gain", "+") if row.gained else ("lose", "-")
    through = some([principal_name(p) for p in row.through], NAMES_SHOWN)
    by = f" (through {through})" if row.through else " (as owners)"
    who = _people(row.users, others=row.others)
    line = f"{sign} {who} {verb} {', '.join(row.privileges)} on {_on(row)}{by}"
    idle = [_idle(idle, row) for idle in row.idle]
    if len(idle) == 1 and (row.idle[0].users, row.idle[0].others) == (row.users, row.others):
        return [f"{line}: {idle[0]}"]
    return [
        line,
        *(
            f"    {text} for {_people(i.users, others=i.others)}"
            for text, i in zip(idle, row.idle, strict=True)
        ),
    ]


def _idle(idle: Idle, row: HeldChange) -> str:
    """Why a privilege changes nothing."""
    where = "" if row.entities == 1 else f", such as on {entity_text(row.sample)}"
    if idle.lacks:
        needs = (f"{need.privilege} on {entity_text(need.entity)}" for need in idle.lacks)
        return f"no effect yet{where}: lacks {' and '.join(needs)}"
    return f"no effect{where}: can as much without" if row.gained else f"no effect{where}"


def _people(users: Sequence[Principal], *, others: bool) -> str:
    names = [principal_name(user) for user in users]
    if others:
        names.append("whoever is not stored")
    return some(names, NAMES_SHOWN)


def _on(part: Reached | HeldChange) -> str:
    if not part.type:
        return "the platform"
    such = "" if part.entities == 1 else f"{part.entities:,} × {part.type}, such as "
    return f"{such}{entity_text(part.sample)}"
