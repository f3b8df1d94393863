"""`lakewarden privileges`: everything that somebody holds on an entity."""

from __future__ import annotations

from lakewarden.cli.asking import (
    NO_CLAIMS,
    NO_PARTS,
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
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.kernel.privileges import operations_of, privileges_of


def privileges(
    principal: Asker,
    entity: On = None,
    /,
    *,
    from_: From,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """Which privileges does PRINCIPAL hold on ENTITY, and which operations do they open?

    Exit code 1 when there are none.

    For example:

        lakewarden privileges ana table:quillmere:lake.web.logins --from realm
    """
    asked = ask(open_realm(from_), principal, None, entity, parts, claims)
    matrix, model = asked.realm.warden.matrix, asked.realm.model
    held = privileges_of(matrix, asked.request)
    opened = operations_of(matrix, asked.request)
    if format == "json":
        found = {"privileges": list(held), "operations": list(opened)}
        show_json({**found, "notes": list(asked.notes)})
    else:
        rows = [("privilege", n, model.privileges[n].title) for n in held]
        rows += [("operation", n, model.operations[n].title) for n in opened]
        if rows:
            show_table(("kind", "name", "meaning"), rows)
        tell(asked.notes if rows else [*asked.notes, "nothing is held"])
    return YES if held or opened else NO
