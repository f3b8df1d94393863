"""`lakewarden explain`: why may somebody do something, or what is missing?"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.asking import (
    NO_CLAIMS,
    NO_PARTS,
    Act,
    As,
    Asker,
    Claims,
    From,
    On,
    Parts,
    ask,
    open_realm,
    tell,
)
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show, show_json
from lakewarden.cli.wording import explanation
from lakewarden.kernel.explain import Explanation, Step, Way
from lakewarden.kernel.explain import explain as explained
from lakewarden.kernel.request import Reason


def explain(  # noqa: PLR0913 — each is an option
    principal: Asker,
    operation: Act,
    entity: On = None,
    /,
    *,
    from_: From,
    full: Annotated[
        bool, Parameter(help="Show the whole rule, also what decided nothing.", show_default=False)
    ] = False,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """Why may PRINCIPAL do OPERATION on ENTITY, or why not, and what would change it?

    Prints the parts of the rule that decided, the statements behind them and how they
    reach PRINCIPAL, and for a denial the smallest changes that would turn it. Exit code
    0 for yes, 1 for no.

    For example:

        lakewarden explain ana table.load table:quillmere:lake.web.logins --from realm
    """
    asked = ask(open_realm(from_), principal, operation, entity, parts, claims)
    found = explained(asked.realm.warden.matrix, asked.request)
    if format == "json":
        show_json({**as_json(found), "notes": list(asked.notes)})
    else:
        show(*explanation(found, asked, full=full))
        tell(asked.notes)
    if found.decision.reason is Reason.ERROR:
        return COULD_NOT_TELL
    return YES if found.decision.allow else NO


def as_json(found: Explanation) -> dict[str, object]:
    """The explanation as a JSON value, with the whole rule."""
    return {
        "allow": found.decision.allow,
        "reason": found.decision.reason.value,
        "revision": found.decision.revision,
        "rule": None if found.rule is None else _step_json(found.rule),
        "statements": list(found.statements),
        "ways": [_way_json(way) for way in found.ways],
    }


def _step_json(step: Step) -> dict[str, object]:
    return {
        "says": step.says,
        "holds": step.holds,
        "entity": None if step.entity is None else f"{step.entity.type}:{step.entity.name}",
        "allowed_by": list(step.allowed_by),
        "denied_by": list(step.denied_by),
        "steps": [_step_json(inner) for inner in step.steps],
    }


def _way_json(way: Way) -> dict[str, object]:
    return {
        "allow": [
            {
                "privilege": need.privilege,
                "on": f"{need.entity.type}:{need.entity.name}" if need.entity.type else None,
                "can_be_granted_by": None if names is None else [p.name for p in names],
            }
            for need, names in zip(way.needs, way.grantors, strict=True)
        ],
        "lift": list(way.lifted),
    }
