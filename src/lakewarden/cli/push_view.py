"""How plans, drift and adoptions of a push are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lakewarden.cli.formatting import some
from lakewarden.cli.outcome import show

if TYPE_CHECKING:
    from lakewarden.pushdown.drift import Difference, ForeignGrant
    from lakewarden.pushdown.grants import Grant, RowPolicy
    from lakewarden.service.push import PushDrift, PushPlan

SHOWN = 20
NAMES_SHOWN = 4
STATEMENT_CHARACTERS = 1_000


def show_plan(made: PushPlan, table: dict[str, Any], limit: int) -> None:
    """The steps of a plan, whose access changes, the first statements and what is left out."""
    if not table["steps"]:
        show(f"`{made.target.name}` already has what `{made.target.realm}` allows")
    if table["unfinished"]:
        show("a push was started and may not have finished: apply its plan again, or this one")
    for act, count in table["steps"].items():
        show(f"{act}: {count}")
    show_access(table["access"])
    _show_script(table["script"], limit)
    show_residue(made)


def _show_script(script: Sequence[dict[str, Any]], limit: int) -> None:
    """The statements in order; of a long statement, the first part and its length."""
    for one in script[: max(limit, 0)]:
        name = (one.get("body") or {}).get("name", "")
        text = f"{one['text']} {name}".rstrip()
        rest = len(text) - STATEMENT_CHARACTERS
        more = f"… ({rest} more characters)" if rest > 0 else ""
        show(f"  {text[:STATEMENT_CHARACTERS]}{more}")
    if len(script) > limit:
        show(f"  {len(script)} statements in all; --limit shows more, --format json has all")


def show_access(access: Sequence[dict[str, Any]]) -> None:
    """The users who gain or lose access."""
    for change in access[:SHOWN]:
        sign, who = "+" if change["gained"] else "-", some(change["users"], NAMES_SHOWN)
        show(f"  {sign} {who}: {change['privilege']} on {change['objects']}, such as"
             f" {'.'.join(change['example']) or 'the database'}")  # fmt: skip
    if len(access) > SHOWN:
        show(f"  and {len(access) - SHOWN} more; --format json has all")


def show_drift(name: str, found: PushDrift) -> None:
    """What others changed in a target, and granted in addition."""
    for one in found.differences:
        show(difference_text(one))
    show_access(found.table()["access"])
    for grant in found.foreign[:SHOWN]:
        show(foreign_text(grant))
    if len(found.foreign) > SHOWN:
        show(f"and {len(found.foreign) - SHOWN} more grants of others; --format json has all")
    if found.unfinished:
        show("a push was started and may not have finished: apply its plan again")
    if found.pending:
        show(f"the realm changed since the last push; run `lakewarden push plan {name}`")
    if not (found.differences or found.foreign):
        show(f"`{name}` has no drift")


def show_residue(made: PushPlan) -> None:
    """What a push leaves out, and why."""
    if not made.residues.count:
        return
    show(f"left out: {made.residues.count}")
    for residue in list(made.residues)[:SHOWN]:
        about = " ".join(filter(None, (residue.access, residue.entity, residue.principal)))
        show(f"  {residue.why}: {about}")


def show_adoption(name: str, table: dict[str, Any]) -> None:
    """The statements that an adoption proposes, and the grants that it leaves out."""
    statements = table["policy"]["statement"]
    if not (statements or table["left"]):
        show(f"no user of the realm holds anything in `{name}` that the realm does not allow")
    for one in statements:
        show(f"{' '.join(one['privileges'])} on {one['on']} to {' '.join(one['to'])}")
    for one in table["gained"][:SHOWN]:
        show(f"  + {some(one['users'], NAMES_SHOWN)}: {one['privilege']} on"
             f" {'.'.join(one['path']) or 'the database'}, which they do not hold now")  # fmt: skip
    for one in table["left"][:SHOWN]:
        where = ".".join(one["grant"]["path"]) or "the database"
        show(
            f"not adopted: {one['grant']['privilege']} on {where} of {one['grantee']}: {one['why']}"
        )
    if len(table["left"]) > SHOWN:
        show(f"and {len(table['left']) - SHOWN} more; --format json has all")


def difference_text(one: Difference) -> str:
    """One difference of a drift, in a line."""
    if one.member and one.grant is not None:
        what = f"{_grant(one.grant)} to {one.member}, an item"
    elif one.member:
        what = f"the member {one.member}"
    elif one.grant is not None:
        what = _grant(one.grant)
    elif one.policy is not None:
        what = _policy(one.policy)
    elif one.view is not None:
        what = f"the masking view of {'.'.join(one.view.path)}"
    else:
        what = "all"
    return f"{one.kind}: {what} of {one.role}"


def foreign_text(one: ForeignGrant) -> str:
    """One grant by others, in a line."""
    users, denied = (some(names, NAMES_SHOWN) for names in (one.users, one.denied))
    who = f", which the realm denies {denied}" if denied else ""
    return f"of others: {_grant(one.grant)} to {one.grantee}, for {users}{who}"


def _grant(one: Grant) -> str:
    return f"{one.privilege} on {'.'.join(one.path) or 'the database'}"


def _policy(one: RowPolicy) -> str:
    return f"the row policy on {'.'.join(one.path)}"
