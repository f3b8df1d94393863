"""Access that lasts unless the realm is changed: for systems that receive it only once."""

from __future__ import annotations

from dataclasses import replace

from lakewarden.kernel.grants import table
from lakewarden.kernel.snapshot import Snapshot, assemble
from lakewarden.kernel.statement import Effect, Statement


def permanent_access(snapshot: Snapshot) -> Snapshot:
    """The snapshot of what is allowed from now on at all times, if nothing is changed.

    It ignores ALLOWs that end, and includes DENYs, filters and masks that have not begun. ALLOWs
    only add access and the others only remove it, so the snapshot never allows more.
    """
    statements = {
        id: _without_period(statement, snapshot.table.moment)
        for id, statement in snapshot.table.statements.items()
    }
    kept = {id: statement for id, statement in statements.items() if statement is not None}
    index = table(kept, snapshot.model, snapshot.coded.memberships, snapshot.table.moment)
    return assemble(snapshot.coded, index, snapshot.revision)


def _without_period(statement: Statement, moment: float) -> Statement | None:
    if statement.valid_from is None and statement.valid_until is None:
        return statement
    ended = statement.valid_until is not None and statement.valid_until <= moment
    if statement.effect is Effect.ALLOW:
        return statement if statement.valid_until is None and statement.applies(moment) else None
    return None if ended else replace(statement, valid_from=None, valid_until=None)
