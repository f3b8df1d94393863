"""`lakewarden privileges`: all privileges of a principal on an entity."""

from __future__ import annotations

from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.cli.question import (
    NO_CLAIMS,
    NO_PARTS,
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
from lakewarden.kernel.privileges import operations_of, privileges_of


def privileges(
    principal: Asker,
    entity: On = None,
    /,
    *,
    where: Where = NOWHERE,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """Lists the privileges of PRINCIPAL on ENTITY, and the operations that they allow.

    Exit code 1 if there are none.

    For example:

        lakewarden privileges ana table:quillmere:lake.web.logins --from realm
    """
    remote = where.remote()
    if remote is not None:
        asking = question(remote.model, principal, None, entity, parts, claims)
        answer, model = remote.ask("privileges", asking), remote.model()
    else:
        parsed = ask(open_realm(where), principal, None, entity, parts, claims)
        matrix, model = parsed.realm.matrix, parsed.realm.model
        answer = {
            "privileges": list(privileges_of(matrix, parsed.request)),
            "operations": list(operations_of(matrix, parsed.request)),
            "notes": list(parsed.notes),
        }
    granted, opened, notes = answer["privileges"], answer["operations"], answer["notes"]
    if format == "json":
        show_json(answer)
    else:
        rows = [("privilege", n, model.privileges[n].title) for n in granted]
        rows += [("operation", n, model.operations[n].title) for n in opened]
        if rows:
            show_table(("kind", "name", "meaning"), rows)
        show_notes(notes if rows else [*notes, "nothing is held"])
    return YES if granted or opened else NO
