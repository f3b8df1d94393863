"""`lakewarden check`: may a principal perform an operation on an entity?"""

from __future__ import annotations

from lakewarden.cli.outcome import COULD_NOT_TELL, NO, YES, show, show_json
from lakewarden.cli.question import (
    NO_CLAIMS,
    NO_PARTS,
    Act,
    As,
    Asker,
    Claims,
    On,
    Parts,
    ask,
    open_realm,
    question,
    show_notes,
)
from lakewarden.cli.question_target import NOWHERE, Where
from lakewarden.kernel.request import Reason


def check(
    principal: Asker,
    operation: Act,
    entity: On = None,
    /,
    *,
    where: Where = NOWHERE,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """Checks whether PRINCIPAL may perform OPERATION on ENTITY.

    Prints `allow` (exit code 0) or `deny` (exit code 1).

    For example:

        lakewarden check ana table.load table:quillmere:lake.web.logins --from realm
    """
    remote = where.remote()
    if remote is not None:
        asking = question(remote.model, principal, operation, entity, parts, claims)
        answer = remote.ask("check", asking)
    else:
        parsed = ask(open_realm(where), principal, operation, entity, parts, claims)
        decision = parsed.realm.matrix.decide(parsed.request)
        answer = {
            "allow": decision.allow,
            "reason": decision.reason.value,
            "revision": decision.revision,
            "notes": list(parsed.notes),
        }
    if format == "json":
        show_json(answer)
    else:
        show("allow" if answer["allow"] else "deny")
        show_notes(answer["notes"])
    if answer["reason"] == Reason.ERROR.value:
        return COULD_NOT_TELL
    return YES if answer["allow"] else NO
