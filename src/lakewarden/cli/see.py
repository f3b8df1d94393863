"""`lakewarden see`: the rows of a table that a principal sees, and the values of its columns."""

from __future__ import annotations

from typing import Any

from lakewarden.cli.formatting import entity_text
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
from lakewarden.service.effective_read import EffectiveRead, denied_notes, effective_read


def see(
    principal: Asker,
    table: On = None,
    /,
    *,
    where: Where = NOWHERE,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: As = "table",
) -> int:
    """Lists the row filters and column masks that bind PRINCIPAL on TABLE.

    Rows have to meet all filters; of several masks on a column the strictest counts. Exit code 1
    if PRINCIPAL may not read the table at all.

    For example:

        lakewarden see ana table:quillmere:lake.finance.invoices --from realm
    """
    remote = where.remote()
    if remote is not None:
        asking = question(remote.model, principal, None, table, parts, claims)
        answer: Any = remote.ask("see", asking)
    else:
        parsed = ask(open_realm(where), principal, None, table, parts, claims)
        seen = effective_read(parsed.realm.matrix, parsed.request)
        answer = _answer(seen, (*parsed.notes, *denied_notes(seen)))
    if format == "json":
        show_json(answer)
    else:
        _show(answer)
    return YES if answer["may_read"] else NO


def _answer(seen: EffectiveRead, notes: tuple[str, ...]) -> dict[str, object]:
    """The answer in the format of the API."""
    return {
        "may_read": seen.may_read,
        "operation": seen.operation,
        "filters": [{"id": one.id, "expression": one.expression} for one in seen.filters],
        "columns": [
            {
                "column": entity_text(one.column),
                "mask": one.counting.id,
                "expression": one.counting.expression,
                "masks": [mask.id for mask in one.masks],
            }
            for one in seen.columns
        ],
        "stored": seen.stored,
        "notes": list(notes),
    }


def _show(answer: Any) -> None:
    filters, columns = answer["filters"], answer["columns"]
    rows = [("rows", one["expression"], one["id"]) for one in filters]
    rows += [(one["column"], one["expression"], _ids(one)) for one in columns]
    if rows:
        show_table(("of", "shows", "because of"), rows)
    notes = list(answer["notes"])
    if not answer["may_read"]:
        notes.append(f"it may not be read: {answer['operation'] or 'no operation'} is denied")
    elif not rows:
        notes.append("all rows and all values of stored columns are seen")
    show_notes(notes)


def _ids(column: Any) -> str:
    """The effective mask, followed by the others."""
    others = [id for id in column["masks"] if id != column["mask"]]
    return ", ".join([column["mask"], *others])
