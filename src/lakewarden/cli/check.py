"""`lakewarden check`: may somebody do something?"""

from __future__ import annotations

from lakewarden.cli.asking import NOTHING, As, Extras, From, ask, tell
from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show_json
from lakewarden.kernel.request import Reason


def check(
    principal: str,
    operation: str,
    entity: str | None = None,
    /,
    *,
    from_: From,
    extras: Extras = NOTHING,
    format: As = "table",
) -> int:
    """May PRINCIPAL do OPERATION on ENTITY? Prints allow (exit 0) or deny (exit 1).

    PRINCIPAL is a user's name, or kind:name. OPERATION is an operation of the realm's
    model, or a privilege. ENTITY is type:name, or a URN; leave it out to ask without one.

    Example: lakewarden check ana table.load table:lake:sales.raw.orders --from realm
    """
    asked = ask(from_, principal, operation, entity, extras)
    decision = asked.warden.matrix.decide(asked.request)
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
        print("allow" if decision.allow else "deny")
        tell(asked.notes)
    if decision.reason is Reason.ERROR:
        return COULD_NOT_TELL
    return YES if decision.allow else NO
