"""`lakewarden privileges`: everything that somebody holds on an entity."""

from __future__ import annotations

from lakewarden.cli.asking import NOTHING, As, Extras, From, ask, tell
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.kernel.privileges import operations_of, privileges_of


def privileges(
    principal: str,
    entity: str | None = None,
    /,
    *,
    from_: From,
    extras: Extras = NOTHING,
    format: As = "table",
) -> int:
    """Which privileges does PRINCIPAL hold on ENTITY, and which operations do they open?

    Exit 1 when there are none.

    Example: lakewarden privileges ana table:lake:sales.raw.orders --from realm
    """
    asked = ask(from_, principal, "", entity, extras)
    matrix, titles = asked.warden.matrix, asked.warden.system.model
    held = privileges_of(matrix, asked.request)
    opened = operations_of(matrix, asked.request)
    if format == "json":
        show_json({"privileges": list(held), "operations": list(opened)})
    else:
        rows = [("privilege", n, titles.privileges[n].title) for n in held]
        rows += [("operation", n, titles.operations[n].title) for n in opened]
        show_table(("", "name", "title"), rows)
        tell(asked.notes)
    return YES if held or opened else NO
