"""`lakewarden who`: who may do something on an entity?"""

from __future__ import annotations

from lakewarden.cli.asking import NO_PARTS, Act, As, From, On, Parts, ask, open_realm, tell
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.cli.wording import principal_name
from lakewarden.kernel.who import who as who_may


def who(
    operation: Act,
    entity: On = None,
    /,
    *,
    from_: From,
    parts: Parts = NO_PARTS,
    format: As = "table",
) -> int:
    """Which stored users may do OPERATION on ENTITY?

    Exit code 1 when nobody may.

    For example:

        lakewarden who table.load table:quillmere:lake.people.salaries --from realm
    """
    asked = ask(open_realm(from_), None, operation, entity, parts)
    found = sorted(who_may(asked.realm.warden.matrix, asked.request))
    if format == "json":
        names = [principal.name for principal in found]
        show_json({"total": len(names), "users": names, "notes": list(asked.notes)})
    else:
        if found:
            show_table(("user",), ((principal_name(principal),) for principal in found))
        tell(asked.notes if found else [*asked.notes, "nobody may"])
    return YES if found else NO
