"""`lakewarden check`: may somebody do something?"""

from __future__ import annotations

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
from lakewarden.kernel.request import Reason


def check(
    principal: Asker,
    operation: Act,
    entity: On = None,
    /,
    *,
    from_: From,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """May PRINCIPAL do OPERATION on ENTITY?

    Prints `allow` (exit code 0) or `deny` (exit code 1).

    For example:

        lakewarden check ana table.load table:quillmere:lake.web.logins --from realm
    """
    asked = ask(open_realm(from_), principal, operation, entity, parts, claims)
    decision = asked.realm.warden.matrix.decide(asked.request)
    if format == "json":
        show_json(
            {
                "allow": decision.allow,
                "reason": decision.reason.value,
                "revision": decision.revision,
                "notes": list(asked.notes),
            }
        )
    else:
        show("allow" if decision.allow else "deny")
        tell(asked.notes)
    if decision.reason is Reason.ERROR:
        return COULD_NOT_TELL
    return YES if decision.allow else NO
