"""`lakewarden list`: on what may somebody do something?"""

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
    Parts,
    ask,
    open_realm,
    tell,
)
from lakewarden.cli.outcome import NO, YES, show, show_json, show_table
from lakewarden.cli.wording import entity_text
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.listing import Page, count, page


def list_entities(  # noqa: PLR0913 — each is an option
    principal: Asker,
    operation: Act,
    /,
    *,
    from_: From,
    within: Annotated[str | None, Parameter(help="Only what lies below this entity.")] = None,
    limit: Annotated[int, Parameter(help="At most this many entities.")] = 100,
    after: Annotated[str | None, Parameter(help="Go on after this entity.")] = None,
    count_only: Annotated[
        bool, Parameter("--count", help="Only say how many there are.", show_default=False)
    ] = False,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """On which stored entities may PRINCIPAL do OPERATION?

    In the order of their places. Exit code 1 when there are none.

    For example:

        lakewarden list ana table.load --within schema:quillmere:lake.web --from realm
    """
    if limit < 1:
        raise BadInput(f"expected 1 or more, got {limit}", where="--limit")
    asked = ask(open_realm(from_), principal, operation, None, parts, claims)
    system, matrix = asked.realm.loaded.system, asked.realm.warden.matrix
    below = None if within is None else system.entity(within)
    start = None if after is None else system.entity(after)
    notes = list(asked.notes)
    if below is not None and not matrix.snapshot.coded.is_known(below):
        notes.append(f"{below.type} `{below.name}` is not stored, so nothing lies below it")
    if count_only:
        total = count(matrix, asked.request, below)
        show_json({"total": total, "notes": notes}) if format == "json" else show(str(total))
    else:
        found = page(matrix, asked.request, limit, start, below)
        total = found.total
        _show(found, format, notes)
    if format != "json":
        tell(notes)
    return YES if total else NO


def _show(found: Page, format: As, notes: list[str]) -> None:
    if format == "json":
        entities = [{"type": e.type, "name": e.name} for e in found.entities]
        after = None if found.after is None else entity_text(found.after)
        show_json({"total": found.total, "entities": entities, "after": after, "notes": notes})
        return
    if found.entities:
        show_table(("entity",), ((entity_text(entity),) for entity in found.entities))
    if found.after is not None:
        left = f"--after '{entity_text(found.after)}'"
        notes.append(f"{len(found.entities)} of {found.total} shown; go on with {left}")
