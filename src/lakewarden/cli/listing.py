"""`lakewarden list`: the entities on which a user may perform an operation."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.cross_realm import (
    NOWHERE,
    CrossRealm,
    RealmsTarget,
    cross_realm_question,
    note_other_realms,
)
from lakewarden.cli.formatting import entity_text
from lakewarden.cli.outcome import NO, YES, show, show_csv, show_json, show_table
from lakewarden.cli.question import (
    NO_CLAIMS,
    NO_PARTS,
    Act,
    Asker,
    AsRows,
    Claims,
    ParsedQuestion,
    Parts,
    ask,
    open_realm,
    question,
    show_notes,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.listing import count, page

PAGE = 1_000
"""Entities per page."""


def list_entities(  # noqa: PLR0913 — each is an option
    principal: Asker,
    operation: Act,
    /,
    *,
    where: RealmsTarget = NOWHERE,
    within: Annotated[str | None, Parameter(help="Only descendants of this entity.")] = None,
    limit: Annotated[int, Parameter(help="At most this number of entities.")] = 100,
    after: Annotated[str | None, Parameter(help="Continue after this entity.")] = None,
    count_only: Annotated[
        bool, Parameter("--count", help="Only print the number of entities.", show_default=False)
    ] = False,
    parts: Parts = NO_PARTS,
    claims: Claims = NO_CLAIMS,
    format: AsRows = "table",
) -> int:
    """Lists the stored entities on which PRINCIPAL may perform OPERATION.

    The order is that of the hierarchy. With several realms, OPERATION may be `see`, `read` or
    `change`, and `--limit` applies to each. Exit code 1 if there are none.

    For example:

        lakewarden list ana table.load --within schema:quillmere:lake.web --from realm

        lakewarden list ana read --all-realms
    """
    if limit < 1:
        raise BadInput(f"expected 1 or more, got {limit}", where="--limit")
    is_narrowed = within is not None or after is not None
    if where.is_cross_realm(needs_one=is_narrowed or bool(parts.attribute)):
        if is_narrowed:
            raise BadInput("need exactly one realm", where="--within and --after")
        asking = cross_realm_question(principal, operation, None, parts, claims, where.names())
        with where.estate() as estate:
            return _show_realms(
                _whole(estate, asking, 1 if count_only else limit), format, count_only
            )
    single = where.single_realm()
    remote = single.remote()
    if remote is not None:
        asking = question(remote.model, principal, operation, None, parts, claims)
        size = 1 if count_only else limit
        answer = remote.listing(asking, within, None if count_only else after, size)
    else:
        parsed = ask(open_realm(single), principal, operation, None, parts, claims)
        answer = _listed(parsed, within, after, 0 if count_only else limit)
    total, notes = answer["total"], answer["notes"]
    if format == "json":
        members = ("total", "notes") if count_only else ("total", "entities", "after", "notes")
        show_json({member: answer[member] for member in members})
    elif count_only:
        show(str(total))
        show_notes(notes)
    else:
        _show(answer, format)
    return YES if total else NO


def _listed(question: ParsedQuestion, within: str | None, after: str | None, limit: int) -> Any:
    """The answer in the format of a server; with `limit` 0, only the count."""
    system, matrix = question.realm.system, question.realm.matrix
    below = None if within is None else system.entity(within)
    start = None if after is None else system.entity(after)
    notes = list(question.notes)
    if below is not None and not matrix.snapshot.coded.is_known(below):
        notes.append(f"{below.type} `{below.name}` is not stored, so nothing lies below it")
    if not limit:
        return {"total": count(matrix, question.request, below), "notes": notes}
    entities = page(matrix, question.request, limit, start, below)
    return {
        "total": entities.total,
        "entities": [{"type": e.type, "name": e.name} for e in entities.entities],
        "after": None if entities.after is None else entity_text(entities.after),
        "notes": notes,
    }


def _show(answer: Any, format: str) -> None:
    entities = [Entity(entity["type"], entity["name"]) for entity in answer["entities"]]
    if format == "csv":
        show_csv(("type", "name"), entities)
    elif entities:
        show_table(("entity",), ((entity_text(entity),) for entity in entities))
    notes = list(answer["notes"])
    if answer["after"] is not None:
        left = f"--after '{answer['after']}'"
        notes.append(f"{len(entities)} of {answer['total']} shown; go on with {left}")
    show_notes(notes)


def _whole(estate: CrossRealm, asking: dict[str, Any], limit: int) -> Any:
    """Up to `limit` entities of each realm, in as many pages as needed."""
    answer = estate.ask("list", {**asking, "limit": min(limit, PAGE), "after": None})
    parts = {(part["realm"], part["operation"]): part for part in answer["realms"]}
    while True:
        after = [
            {"realm": realm, "operation": operation, "entity": part["after"]}
            for (realm, operation), part in parts.items()
            if part["after"] is not None and len(part["entities"]) < limit
        ]
        if not after:
            return answer
        more = estate.ask("list", {**asking, "limit": min(limit, PAGE), "after": after})
        for part in more["realms"]:
            known = parts[part["realm"], part["operation"]]
            known["entities"] += part["entities"]
            known["after"] = part["after"]
            if len(known["entities"]) > limit:
                known["entities"] = known["entities"][:limit]
                last = Entity(**known["entities"][-1])
                known["after"] = entity_text(last)


def _show_realms(answer: Any, format: str, count_only: bool) -> int:
    if count_only:
        for part in answer["realms"]:
            del part["entities"], part["after"]
    if format == "json":
        show_json(answer)
    elif count_only:
        show(str(answer["total"]))
        note_other_realms(answer)
    else:
        entities = [
            (part, Entity(**entity)) for part in answer["realms"] for entity in part["entities"]
        ]
        rows = [
            (part["realm"], part["operation"], entity_text(entity)) for part, entity in entities
        ]
        if format == "csv":
            cells = ((part["realm"], part["operation"], *entity) for part, entity in entities)
            show_csv(("realm", "operation", "type", "name"), cells)
        elif rows:
            show_table(("realm", "operation", "entity"), rows)
        note_other_realms(answer)
        if len(rows) < answer["total"]:
            show_notes([f"{len(rows)} of {answer['total']} shown; --limit shows more"])
    return YES if answer["total"] else NO
