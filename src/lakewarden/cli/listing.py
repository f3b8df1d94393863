"""`lakewarden list`: on what may somebody do something?"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.asking import NOTHING, As, Extras, From, ask, tell
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.kernel.listing import Page, count, page


def list_entities(
    principal: str,
    operation: str,
    /,
    *,
    from_: From,
    within: Annotated[str | None, Parameter(help="Only what lies below this entity.")] = None,
    limit: Annotated[int, Parameter(help="At most this many entities.")] = 100,
    after: Annotated[str | None, Parameter(help="Go on after this entity.")] = None,
    count_only: Annotated[
        bool, Parameter("--count", negative=(), help="Only say how many there are.")
    ] = False,
    extras: Extras = NOTHING,
    format: As = "table",
) -> int:
    """On which stored entities may PRINCIPAL do OPERATION? Exit 1 when on none.

    Example: lakewarden list ana table.load --within schema:lake:sales.raw --from realm
    """
    asked = ask(from_, principal, operation, None, extras)
    system, matrix = asked.warden.system, asked.warden.matrix
    below = None if within is None else system.entity(within)
    if count_only:
        total = count(matrix, asked.request, below)
        show_json({"total": total}) if format == "json" else print(total)
        return YES if total else NO
    start = None if after is None else system.entity(after)
    found = page(matrix, asked.request, limit, start, below)
    _show(found, format)
    tell(asked.notes)
    return YES if found.total else NO


def _show(found: Page, format: As) -> None:
    if format == "json":
        entities = [{"type": e.type, "name": e.name} for e in found.entities]
        after = None if found.after is None else f"{found.after.type}:{found.after.name}"
        show_json({"total": found.total, "entities": entities, "after": after})
        return
    show_table(("type", "name"), found.entities)
    if found.after is not None:
        left = f"--after {found.after.type}:{found.after.name}"
        tell([f"{len(found.entities)} of {found.total} shown; go on with {left}"])
